package schemas

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pattern is a regular expression of a schema, which ought to be ECMA-262 (JSON Schema 2020-12 Core section 6.4). re is
// nil if Go cannot compile it, or only to a huge program; it then matches everything.
type pattern struct {
	source string
	re     *regexp.Regexp
	meter  *meter
}

const (
	maxPattern = 4096   // bytes of a regular expression
	maxProgram = 10_000 // nodes of it once its repetitions are written out
	matchStep  = 1000   // bytes of text that are matched in one step
)

// newPattern compiles a regular expression; matching draws on the meter.
func newPattern(source string, m *meter) jsonschema.Regexp {
	p := &pattern{source: source, meter: m}
	if len(source) > maxPattern {
		return p
	}
	translated := toGo(source)
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil || programSize(tree) > maxProgram {
		return p
	}
	p.re, _ = regexp.Compile(translated)
	return p
}

func (p *pattern) String() string { return p.source }

func (p *pattern) MatchString(s string) bool {
	if p.re == nil {
		return true
	}
	p.meter.spend(len(s) / matchStep * (1 + len(p.source)/10))
	return p.re.MatchString(s)
}

// programSize estimates the size of the compiled expression: nested repetitions multiply.
func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), 2*maxProgram)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, 2*maxProgram)
}

// ecmaSpace is what \s matches in ECMA-262, as the inside of a Go character class.
const ecmaSpace = `\t\n\v\f\r \x{a0}\x{feff}\p{Z}`

// toGo rewrites the escapes that ECMA-262 spells otherwise than Go: \u0041, \u{41}, \cA, \s and \S. The rest is left as
// it is, also what only Go and other engines know: servers publish the expressions of their own language.
func toGo(source string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case '\\':
			text, n := escapeToGo(source[i:], inClass)
			b.WriteString(text)
			i += n - 1
			continue
		case '[':
			inClass = true
		case ']':
			inClass = false
		}
		b.WriteByte(source[i])
	}
	return b.String()
}

var (
	unicodeEscape = regexp.MustCompile(`^\\u(?:([0-9A-Fa-f]{4})|\{([0-9A-Fa-f]{1,6})\})`)
	controlEscape = regexp.MustCompile(`^\\c[A-Za-z]`)
)

// escapeToGo translates the escape at the beginning of rest, and tells how long it is there.
func escapeToGo(rest string, inClass bool) (text string, length int) {
	if m := unicodeEscape.FindStringSubmatch(rest); m != nil {
		return `\x{` + m[1] + m[2] + `}`, len(m[0])
	}
	if controlEscape.MatchString(rest) {
		return fmt.Sprintf(`\x%02x`, rest[2]&0x1f), 3
	}
	switch {
	case strings.HasPrefix(rest, `\s`) && inClass:
		return ecmaSpace, 2
	case strings.HasPrefix(rest, `\s`):
		return `[` + ecmaSpace + `]`, 2
	case strings.HasPrefix(rest, `\S`) && !inClass:
		return `[^` + ecmaSpace + `]`, 2
	}
	n := min(2, len(rest))
	return rest[:n], n
}

// maxExample is how long a string mcpcheck makes.
const maxExample = 4096

// example makes a string that the expression matches, of at least minLength characters if its repetitions allow that.
// Different variants choose differently, as far as there is a choice. It does not know about word boundaries and the
// like: the caller must try whether the string does match.
func (p *pattern) example(minLength, variant int) (string, bool) {
	if p.re == nil {
		return "", false
	}
	tree, err := syntax.Parse(toGo(p.source), syntax.Perl)
	if err != nil {
		return "", false
	}
	w := exampleWriter{variant: variant}
	w.missing = minLength - w.shortest(tree)
	ok := w.write(tree)
	return w.text.String(), ok
}

// exampleWriter writes a string that matches an expression.
type exampleWriter struct {
	text    strings.Builder
	missing int // characters that repetitions should still add to the shortest string
	variant int
	writes  int // how many expressions have been written: repetitions of nothing could go on for ever
}

func (w *exampleWriter) shortest(re *syntax.Regexp) int {
	s := exampleWriter{variant: w.variant}
	s.write(re)
	return utf8.RuneCountInString(s.text.String())
}

// write appends a string for one expression. It fails if there is none, or only a very long one.
func (w *exampleWriter) write(re *syntax.Regexp) bool {
	if w.writes++; w.writes > maxProgram {
		return false
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		w.text.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		c, ok := pickRune(re.Rune, w.variant+w.text.Len())
		w.text.WriteRune(c)
		return ok
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.text.WriteByte(plainText[(w.variant+w.text.Len())%len(plainText)])
	case syntax.OpAlternate:
		return w.write(re.Sub[w.variant%len(re.Sub)])
	case syntax.OpStar:
		return w.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		return w.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		return w.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		return w.repeat(re.Sub[0], re.Min, re.Max)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			if !w.write(sub) {
				return false
			}
		}
	}
	return w.text.Len() <= maxExample
}

// repeat writes an expression as often as it must be, then as often as it may be while characters are missing.
func (w *exampleWriter) repeat(re *syntax.Regexp, least, most int) bool {
	for n := 0; n < least || w.missing > 0 && (n < most || most < 0); n++ {
		before := w.text.Len()
		if !w.write(re) {
			return n >= least
		}
		added := w.text.Len() - before
		if n >= least {
			w.missing -= added
		}
		if added == 0 && n >= least {
			break
		}
	}
	return true
}

const plainText = "mcpcheck"

var niceRunes = []string{plainText, "abdfgijlnoqrstuvwxyz", "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "_-. "}

// pickRune takes a character out of a class, given as pairs of bounds: if possible one of "mcpcheck", a letter or a
// digit, then any printable one.
func pickRune(class []rune, variant int) (rune, bool) {
	if len(class) == 0 {
		return 0, false
	}
	in := func(c rune) bool {
		for i := 0; i < len(class); i += 2 {
			if class[i] <= c && c <= class[i+1] {
				return true
			}
		}
		return false
	}
	for _, preferred := range niceRunes {
		for i := range len(preferred) {
			if c := rune(preferred[(variant+i)%len(preferred)]); in(c) {
				return c, true
			}
		}
	}
	for i := 0; i < len(class); i += 2 {
		for c := class[i]; c <= min(class[i+1], class[i]+0xff); c++ {
			if unicode.IsGraphic(c) {
				return c, true
			}
		}
	}
	return class[0], true
}
