package reporters

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// badge is the verdict in a few words. Its members are those of an endpoint that shields.io reads. (shields.io,
// "Endpoint Badge")
type badge struct {
	SchemaVersion int    `json:"schemaVersion"` // always 1
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color"`
	// IsError means that users cannot override the colour.
	IsError bool `json:"isError,omitempty"`
}

// newBadge returns the badge of a report. It says "conforms" only if nothing blocks even without the baseline and the
// exceptions for SDKs.
func newBadge(r report.Report) badge {
	b := badge{SchemaVersion: 1, Label: "MCP"}
	if revisions := revisionsOf(r.Revisions); len(revisions) == 1 {
		b.Label = "MCP " + shorten(printableLine(revisions[0]), 20)
	}
	t := count(r.Results)
	switch r.ExitCode {
	case report.ExitConforms:
		b.Message, b.Color = "conforms", "brightgreen"
		if accepted := cmp.Or(t.knownText(), t.sdkFailures()); accepted != "" {
			b.Message, b.Color = accepted, "yellow"
		}
	case report.ExitFails:
		b.Message, b.Color = Plural(t.Gating, "failure"), "red"
		if t.Gating == 0 {
			b.Message = staleText(r)
		}
	case report.ExitUntestable:
		b.Message, b.Color = "not tested", "lightgrey"
	case report.ExitInterrupted:
		b.Message, b.Color = "interrupted", "lightgrey"
	default:
		b.Message, b.Color, b.IsError = "error", "orange", true
	}
	return b
}

// BadgeJSON writes the badge for https://img.shields.io/endpoint?url=….
func BadgeJSON(w io.Writer, r report.Report) error { return writeJSON(w, newBadge(r)) }

// badgeColors are the colours of shields.io by name.
var badgeColors = map[string]string{
	"brightgreen": "#4c1", "yellow": "#dfb317", "orange": "#fe7d37", "red": "#e05d44", "lightgrey": "#9f9f9f",
}

// badgeTemplate is the drawing: %[1]d is its width, %[2]s its title, %[3]d and %[4]d are the widths of its halves,
// %[5]s is the colour of the right half, %[6]s and %[7]s are the texts of the halves.
//
//go:embed badge.format.svg
var badgeTemplate string

// BadgeSVG draws the badge in the style "flat" of shields.io.
func BadgeSVG(w io.Writer, r report.Report) error {
	b := newBadge(r)
	left, right := badgeWidth(b.Label), badgeWidth(b.Message)
	all := html.EscapeString(b.Label + ": " + b.Message)
	_, err := fmt.Fprintf(w, badgeTemplate, left+right, all, left, right, badgeColors[b.Color],
		badgeText(b.Label, 0, left), badgeText(b.Message, left, right))
	return err
}

// badgeText returns a text with its shadow, centred at x.
func badgeText(text string, x, width int) string {
	place := fmt.Sprintf(`x="%.1f" textLength="%d"`, float64(x)+float64(width)/2, width-badgePadding)
	const shadow = `y="15" fill="#010101" fill-opacity=".3" aria-hidden="true"`
	return fmt.Sprintf("<text %[1]s %[2]s>%[3]s</text><text %[1]s y=\"14\">%[3]s</text>\n",
		place, shadow, html.EscapeString(text))
}

const badgePadding = 10 // pixels, on both sides together

// badgeWidth returns the width of a half of the badge in pixels.
func badgeWidth(text string) int {
	width := 0.0
	for _, r := range text {
		width += glyphWidth(r)
	}
	return int(width+0.5) + badgePadding
}

// glyphWidth returns the approximate width of a character in Verdana at 11 pixels. The text is fitted to the sum, so
// that it need not be exact.
func glyphWidth(r rune) float64 {
	for _, class := range []struct {
		width float64
		runes string
	}{
		{3, "ijl'"},
		{4, " !,.Ift"},
		{5, `-/():;[]"Jr`},
		{6, "?csz"},
		{9, "#+<=>OQGDw~"},
		{11, "%@MWm"},
	} {
		if strings.ContainsRune(class.runes, r) {
			return class.width
		}
	}
	if r >= utf8.RuneSelf {
		return 11
	}
	return 7.2
}
