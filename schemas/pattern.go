package schemas

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	"github.com/dlclark/regexp2/v2/syntax"
)

// pattern is a regular expression of a schema, interpreted by ECMA-262 with the flag u (JSON Schema 2020-12 Core,
// section 6.4). When it is invalid, re is nil and reason says why.
type pattern struct {
	source string
	re     *regexp2.Regexp
	reason string
	// slow reports whether matching some text took too long.
	slow   atomic.Bool
	budget *workBudget
}

const (
	maxPatternLength = 4096                   // bytes of a regular expression
	matchStep        = 1000                   // bytes of text that are matched in one step
	matchTime        = 200 * time.Millisecond // for one text, since backtracking may take forever
	stepTime         = time.Second / maxSteps // a match that takes longer costs more steps
)

// ecmaOptions are the options for the engine.
const ecmaOptions = regexp2.ECMAScript | regexp2.Unicode

// The engine's timeout clock is started here and keeps running: if the first match started it inside a synctest bubble,
// all later matches would use the time of the bubble.
func init() {
	const forever = 1 << 62
	started := regexp2.MustCompile("", ecmaOptions)
	started.MatchTimeout = forever
	if _, err := started.MatchString(""); err != nil {
		panic(err)
	}
}

// ecmaEscape matches the escapes of ECMA-262 with u. Other escaped punctuation is allowed, since all engines read it
// alike.
const ecmaEscape = `\\(?:[dDsSwWbBtnvfr0-9 !-/:-@\[-` + "`" + `{-~]|c[A-Za-z]|x[0-9A-Fa-f]{2}` +
	`|u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]+\})|[pP]\{[\w=]+\}|k<[\w$]+>)`

// lexeme matches the parts of an expression. Its group holds what ECMA-262 with u does not have, although the engine or
// Go may support it: \a, \Z, \Q…\E, (?i), [[:alpha:]], x{,3}.
var lexeme = regexp.MustCompile(`(?s)\(\?(?::|<?[=!]|<[A-Za-z_$][\w$]*>)|\{\d+(?:,\d*)?\}|` + ecmaEscape +
	`|\[\^?(?:[^\]\\]|` + ecmaEscape + `)*\]|(\(\?.?|\\.?|[\[\]{}])|.`)

// newPattern compiles a regular expression. Its matches are charged to the budget m.
func newPattern(source string, m *workBudget) *pattern {
	p := &pattern{source: source, budget: m}
	if len(source) > maxPatternLength {
		p.reason = fmt.Sprintf("it is longer than %d bytes", maxPatternLength)
		return p
	}
	for _, part := range lexeme.FindAllStringSubmatch(source, -1) {
		if foreign := part[1]; foreign != "" {
			p.reason = foreign + " is not ECMA-262"
			return p
		}
	}
	re, err := regexp2.Compile(source, ecmaOptions)
	if err != nil {
		p.reason = err.Error()
		return p
	}
	re.MatchTimeout = matchTime
	p.re = re
	return p
}

func (p *pattern) String() string { return p.source }

// match reports whether the expression matches somewhere in the text. The error says why that is not known. Once a
// match took too long, no other is tried.
func (p *pattern) match(text string) (matched bool, err error) {
	if p.re != nil && !p.slow.Load() {
		matched, err = p.re.MatchString(text)
		p.slow.Store(err != nil)
	}
	switch {
	case p.re == nil:
		return false, fmt.Errorf("the pattern %s cannot be read: %s", truncate(p.source, 80), p.reason)
	case p.slow.Load():
		return false, fmt.Errorf("the pattern %s takes too long to match", truncate(p.source, 80))
	}
	return matched, nil
}

// MatchString is match for the validator. It panics where match fails or the budget is exhausted; (*Schema).check
// recovers.
func (p *pattern) MatchString(text string) bool {
	p.budget.charge(len(text) / matchStep * (1 + len(p.source)/10))
	began := time.Now()
	matched, err := p.match(text)
	if err != nil {
		panic(err)
	}
	p.budget.charge(int(time.Since(began) / stepTime))
	return matched
}

// maxExampleLength is the greatest length of strings that mcpcheck makes.
const maxExampleLength = 4096

// exampleOf makes a string that an expression matches, of at least minLength characters if its repetitions allow that.
// Different variants choose differently, as far as there is a choice. It ignores lookaheads, word boundaries and the
// like: the caller must test whether the string matches.
func exampleOf(node *syntax.RegexNode, minLength, variant int) (string, bool) {
	w := exampleWriter{variant: variant}
	w.missing = minLength - w.minLength(node)
	ok := w.write(node)
	return w.text.String(), ok
}

// maxWrites bounds the expressions that are written for one string, since repetitions of nothing would never end.
const maxWrites = 10_000

// exampleWriter writes a string that matches an expression.
type exampleWriter struct {
	text strings.Builder
	// missing is how many characters repetitions should still add.
	missing int
	variant int
	// isMixed asks for characters of all kinds, since a lookahead may require them.
	isMixed bool
	writes  int
}

func (w *exampleWriter) minLength(node *syntax.RegexNode) int {
	s := exampleWriter{variant: w.variant}
	s.write(node)
	return utf8.RuneCountInString(s.text.String())
}

// write appends a string for one expression. It returns false if there is none, or only a very long one.
func (w *exampleWriter) write(node *syntax.RegexNode) bool {
	if w.writes++; w.writes > maxWrites {
		return false
	}
	switch node.T {
	case syntax.NtNothing, syntax.NtRef:
		return false
	case syntax.NtPosLook, syntax.NtNegLook:
		w.isMixed = true
	case syntax.NtMulti:
		w.text.WriteString(string(node.Str))
	case syntax.NtOne, syntax.NtNotone, syntax.NtSet:
		return w.writeChar(node)
	case syntax.NtOneloop, syntax.NtOnelazy, syntax.NtOneloopatomic,
		syntax.NtNotoneloop, syntax.NtNotonelazy, syntax.NtNotoneloopatomic,
		syntax.NtSetloop, syntax.NtSetlazy, syntax.NtSetloopatomic:
		return w.repeat(node, w.writeChar)
	case syntax.NtLoop, syntax.NtLazyloop:
		return w.repeat(node, func(node *syntax.RegexNode) bool { return w.write(node.Children[0]) })
	case syntax.NtAlternate:
		return w.write(node.Children[w.variant%len(node.Children)])
	default: // a group, a sequence, or an assertion, which has no children
		for _, child := range node.Children {
			if !w.write(child) {
				return false
			}
		}
	}
	return w.text.Len() <= maxExampleLength
}

// repeat writes an expression as often as necessary, and then as often as allowed while characters are missing.
func (w *exampleWriter) repeat(node *syntax.RegexNode, write func(*syntax.RegexNode) bool) bool {
	least, most := node.M, node.N
	for n := 0; n < least || w.missing > 0 && n < most; n++ {
		before := w.text.Len()
		if !write(node) || w.text.Len() > maxExampleLength {
			return n >= least
		}
		added := w.text.Len() - before
		if n >= least {
			w.missing -= added
		}
		if added == 0 {
			break
		}
	}
	return true
}

const plainText = "mcpcheck"

var preferredRunes = []string{
	plainText, "abdfgijlnoqrstuvwxyz", "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "_-. !@#$%&*+?",
}

// writeChar writes one character that a leaf of the expression matches: if possible one of "mcpcheck", a letter or a
// digit, otherwise any printable one.
func (w *exampleWriter) writeChar(leaf *syntax.RegexNode) bool {
	c, ok := leaf.Ch, true
	switch leaf.T {
	case syntax.NtOne, syntax.NtOneloop, syntax.NtOnelazy, syntax.NtOneloopatomic:
	case syntax.NtSet, syntax.NtSetloop, syntax.NtSetlazy, syntax.NtSetloopatomic:
		c, ok = w.pick(leaf.Set.Contains)
	default:
		c, ok = w.pick(func(c rune) bool { return c != leaf.Ch })
	}
	w.text.WriteRune(c)
	return ok
}

// pick selects a character of a set.
func (w *exampleWriter) pick(in func(rune) bool) (rune, bool) {
	variant := w.variant + w.text.Len()
	for kind, preferred := range preferredRunes {
		if w.isMixed {
			preferred = preferredRunes[(variant+kind)%len(preferredRunes)]
		}
		for i := range len(preferred) {
			if c := rune(preferred[(variant+i)%len(preferred)]); in(c) {
				return c, true
			}
		}
	}
	first := rune(-1)
	for c := rune(0); c <= unicode.MaxRune; c++ {
		switch {
		case !in(c):
		case unicode.IsGraphic(c):
			return c, true
		case first < 0:
			first = c
		}
	}
	return first, first >= 0
}
