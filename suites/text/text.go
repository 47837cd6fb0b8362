// Package text shortens and wraps texts for people to read, and finds the word that they meant. It knows nothing of the
// protocol and imports nothing of this module, so that every package can use it.
package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Unit is what the length of a text is counted in.
type Unit int

const (
	Bytes      Unit = iota // for a bound on what is kept
	Characters             // for lines and columns
)

// Shorten replaces the middle of a text that is longer than head and tail together by the gap: the beginning says what
// it is, the end whether it is complete. What is left of a character that was cut, and any other byte that is not
// UTF-8, goes with the middle. A shorter text stays as it is.
func Shorten(s string, unit Unit, head, tail int, gap string) string {
	length := unit.length(s)
	if length <= head+tail {
		return s
	}
	return validUTF8(s[:unit.offset(s, head)]) + gap + validUTF8(s[unit.offset(s, length-tail):])
}

// ShortenBytes is Shorten for bytes, of which no more than what is left is copied.
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

// offset is how many bytes come before the nth unit of a text.
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

// Wrap breaks each line of a text between words into lines of at most width characters, colours not counted. Longer
// words stay whole, and so does the indentation.
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

// BreakLine breaks a line anywhere into lines of at most width characters.
func BreakLine(s string, width int) (lines []string) {
	for utf8.RuneCountInString(s) > width {
		at := Characters.offset(s, width)
		lines = append(lines, s[:at])
		s = s[at:]
	}
	return append(lines, s)
}

// colourCode is a sequence that changes the colour of a terminal. (ECMA-48, 8.3.117 SGR)
var colourCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// columns is how wide a text is on a terminal.
func columns(s string) int { return utf8.RuneCountInString(colourCode.ReplaceAllString(s, "")) }

// Nearest is the candidate with the fewest edits to the word, or the first that begins with it; empty when none is
// near.
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

// Suggestion goes on behind a word that is none of the candidates: with the one that was probably meant, or otherwise.
func Suggestion(word string, candidates []string, otherwise string) string {
	if near := Nearest(word, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return otherwise
}

// distance is the Levenshtein distance of two words.
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
