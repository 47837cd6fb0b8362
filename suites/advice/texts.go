package advice

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// textChecks are the checks of the texts that people and models are shown.
var textChecks = check.Suite{
	"advice/text-without-control-characters": check.Probe(func(t *check.T) {
		shown := shownTexts(t)
		if len(shown) == 0 {
			t.Skip(check.NotOffered, "the server names and describes nothing")
		}
		t.Each(shown, func(t *check.T, s check.Subject) {
			for member, v := range s.Value {
				found := hiddenCharacter(v.(string), isMultiline[member])
				t.Expect(found == "").To(check.BeTrue("no control, directing or invisible characters", "%s in the %s",
					found, member))
			}
		})
	}),
}

// isMultiline holds the kinds of texts that may have several lines.
var isMultiline = map[string]bool{"description": true, "instructions": true}

// shownTexts returns the instructions, and the names, titles and descriptions of all that is listed and of its
// parameters.
func shownTexts(t *check.T) (shown []check.Subject) {
	add := func(name string, object check.M) {
		texts := check.M{}
		for _, member := range []string{"name", "title", "description", "instructions"} {
			if text, isString := object[member].(string); isString {
				texts[member] = text
			}
		}
		if len(texts) > 0 {
			shown = append(shown, check.Subject{Name: name, Value: texts})
		}
	}
	add("the server", t.Server.ConnectResult)
	add("serverInfo", t.Server.Identity())
	for _, list := range [][]check.M{t.Server.Tools, t.Server.Prompts, t.Server.Resources, t.Server.Templates} {
		for _, item := range list {
			name := strings.Trim(check.Show(item["name"]), `"`)
			add(name, item)
			add(name, hintsOf(item))
			for _, p := range parametersOf(item) {
				add(name+": "+p.name, p.object())
			}
			arguments, _ := item["arguments"].([]any)
			for _, argument := range check.Objects(arguments) {
				add(name+": "+strings.Trim(check.Show(argument["name"]), `"`), argument)
			}
		}
	}
	return shown
}

// hiddenCharacter names the first character of a text that is invisible or misleading; empty if there is none. Line
// breaks and tabs are allowed in a long text.
func hiddenCharacter(text string, long bool) string {
	runes := []rune(text)
	for i, r := range runes {
		before, after := rune(0), rune(0)
		if i > 0 {
			before = runes[i-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		if isHidden(r, before, after, long) {
			return fmt.Sprintf("U+%04X", r)
		}
	}
	return ""
}

// isHidden reports whether a character between two others is invisible. Some such characters have a meaning within
// emoji and in scripts other than the Latin one.
func isHidden(r, before, after rune, long bool) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return !long
	case unicode.IsControl(r):
		return true
	case r == '\u200c' || r == '\u200d': // joiners
		return before < unicode.MaxLatin1 || after < unicode.MaxLatin1
	case r == '\u200e' || r == '\u200f': // direction marks
		return !isRightToLeft(before) && !isRightToLeft(after)
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	case r == '\u200b' || r == '\u2060' || r == '\ufeff':
		return true
	case r >= '\U000e0000' && r <= '\U000e007f': // tags, of which flags are made
		return before != '\U0001f3f4' && (before < '\U000e0020' || before > '\U000e007e')
	}
	return false
}

func isRightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}
