package reporters

import (
	"github.com/fatih/color"
)

// palette is what the colours of one console mean.
type palette struct {
	pass, fail, warn, undecided, bold, faint *color.Color

	labelColors map[string]*color.Color // of the words for what was expected and what came
}

// newPalette returns the colours, or ones that leave text as it is. It does not ask the environment or the terminal, as
// package color would.
func newPalette(enabled bool) palette {
	ink := func(attributes ...color.Attribute) *color.Color {
		c := color.New(attributes...)
		if enabled {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return palette{
		pass:      ink(color.FgGreen, color.Bold),
		fail:      ink(color.FgRed, color.Bold),
		warn:      ink(color.FgYellow, color.Bold),
		undecided: ink(color.FgMagenta, color.Bold),
		bold:      ink(color.Bold),
		faint:     ink(color.Faint),
		labelColors: map[string]*color.Color{
			"expected": ink(color.FgGreen), "got": ink(color.FgRed),
		},
	}
}

// mark is the worst of some results as one character.
func (p palette) mark(t tally) string {
	switch {
	case t.Error > 0 || t.Gating > 0:
		return p.sign("✗")
	case t.newFails()+t.Advice > 0:
		return p.sign("!")
	case t.Fail > 0:
		return p.sign("~")
	case t.Pass > 0:
		return p.sign("✓")
	case t.Inconclusive > 0:
		return p.sign("?")
	}
	return p.sign("–")
}

// symbol is such a character in its colour.
func (p palette) sign(sign string) string {
	switch sign {
	case "✗":
		return p.fail.Sprint(sign)
	case "!", "~":
		return p.warn.Sprint(sign)
	case "✓":
		return p.pass.Sprint(sign)
	case "?":
		return p.undecided.Sprint(sign)
	}
	return p.faint.Sprint(sign)
}

// failures is the count of fails in the colour of the worst.
func (p palette) failures(t tally) string {
	switch {
	case t.newFails() == 0:
		return ""
	case t.gatingFails == 0:
		return p.warn.Sprint(t.failures())
	}
	return p.fail.Sprint(t.failures())
}
