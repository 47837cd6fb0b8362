// Package text formats texts for people: it shortens and wraps them, quotes commands for a shell, suggests the name
// that was probably meant, and selects the lines of a program's output that explain why it ended.
//
// It knows nothing of the protocol and imports nothing of this module, so that every package can use it. It never reads
// or writes anything, and all of its functions may be called by any goroutine. Begin with Shorten, Wrap, ErrorLines and
// Excerpt.
package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Unit is what the length of a text is counted in.
type Unit int

const (
	// Bytes is the unit for limits on memory.
	Bytes Unit = iota
	// Characters is the unit for lines and columns.
	Characters
)

// Shorten replaces the middle of a text that is longer than head and tail together with gap. It keeps the first head
// and the last tail units, because the beginning says what the text is and the end whether it is complete. Bytes of
// characters that were cut, and all other bytes that are not UTF-8, are dropped. A shorter text is returned unchanged.
func Shorten(s string, unit Unit, head, tail int, gap string) string {
	length := unit.length(s)
	if length <= head+tail {
		return s
	}
	return validUTF8(s[:unit.offset(s, head)]) + gap + validUTF8(s[unit.offset(s, length-tail):])
}

// ShortenBytes is Shorten for a text in bytes. It copies only what it returns.
func ShortenBytes(raw []byte, head, tail int, gap string) string {
	if len(raw) <= head+tail {
		return string(raw)
	}
	return validUTF8(string(raw[:head])) + gap + validUTF8(string(raw[len(raw)-tail:]))
}

func (u Unit) length(s string) int {
	if u == Characters {
		return utf8.RuneCountInString(s)
	}
	return len(s)
}

// offset returns the number of bytes before the nth unit of a text.
func (u Unit) offset(s string, n int) int {
	if u == Bytes {
		return n
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "") }

// Wrap breaks each line of a text between words into lines of at most width characters. Escape sequences of colours do
// not count. Words that are longer than width stay whole, and the indentation is kept.
func Wrap(s string, width int) (lines []string) {
	for line := range strings.SplitSeq(s, "\n") {
		words := strings.Split(line, " ")
		line = words[0]
		for _, word := range words[1:] {
			if strings.TrimSpace(line) != "" && columns(line)+1+columns(word) > width {
				lines = append(lines, line)
				line = word
				continue
			}
			line += " " + word
		}
		lines = append(lines, line)
	}
	return lines
}

// BreakLine breaks a line into lines of at most width characters, also inside words.
func BreakLine(s string, width int) (lines []string) {
	for utf8.RuneCountInString(s) > width {
		at := Characters.offset(s, width)
		lines = append(lines, s[:at])
		s = s[at:]
	}
	return append(lines, s)
}

// colourCode matches a sequence that changes the colour of a terminal (ECMA-48, section 8.3.117, SGR).
var colourCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// columns returns the width of a text on a terminal.
func columns(s string) int { return utf8.RuneCountInString(colourCode.ReplaceAllString(s, "")) }

// Nearest returns the first candidate that begins with the word or, if there is none, the candidate with the fewest
// edits to it. It returns "" when no candidate is near.
func Nearest(word string, candidates []string) (nearest string) {
	best := len(word)/2 + 1
	for _, c := range candidates {
		if strings.HasPrefix(c, word) {
			return c
		}
		if d := distance(word, c); d < best {
			nearest, best = c, d
		}
	}
	return nearest
}

// Suggestion returns the end of a message about a word that is not among the candidates: the question whether the
// nearest candidate was meant, or otherwise if none is near.
func Suggestion(word string, candidates []string, otherwise string) string {
	if near := Nearest(word, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return otherwise
}

// distance returns the Levenshtein distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
