package reporters

import (
	"github.com/fatih/color"
)

// palette has the colours of a console by meaning.
type palette struct {
	pass, fail, warn, undecided, bold, faint *color.Color

	// labelColors are the colours of the labels for what was expected and received.
	labelColors map[string]*color.Color
}

// newPalette returns the colours, or ones that leave text unchanged. Unlike package color, it ignores the environment
// and the terminal.
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

// mark returns a symbol for the worst of some results.
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

// sign returns a symbol in its colour.
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

// failures returns the count of failures in the colour of the worst.
func (p palette) failures(t tally) string {
	switch {
	case t.newFails() == 0:
		return ""
	case t.gatingFails == 0:
		return p.warn.Sprint(t.failures())
	}
	return p.fail.Sprint(t.failures())
}
