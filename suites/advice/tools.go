package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// toolChecks are the checks of tools, one by one and together.
var toolChecks = check.Suite{
	"advice/tool-description-present": eachTool(func(t *check.T, tool check.M) {
		t.Expect(isDescribed(tool)).To(check.BeTrue("a description that says more than the name", "%s",
			check.Show(check.Member(tool, "description"))))
	}),

	"advice/tool-description-useful": eachShownTool(func(t *check.T, tool check.M) {
		if !isDescribed(tool) {
			t.Yield("there is no description")
		}
		description := textIn(tool, "description")
		n := weightedLength(description)
		t.Expect(40 <= n && n <= 2000).To(check.BeTrue("a description of 40 to 2,000 characters", "%d", n))
		t.Expect(clausePattern.MatchString(description)).To(check.BeTrue("when to use the tool and what it returns",
			"a single clause: %s"+byPattern, check.Show(description)))
	}),

	"advice/tool-title-present": eachTool(func(t *check.T, tool check.M) {
		t.Expect(textIn(tool, "title") != "" || textIn(hintsOf(tool), "title") != "").To(check.BeTrue("a title",
			"none"))
	}),

	"advice/tool-annotations-present": eachTool(func(t *check.T, tool check.M) {
		changes, destroys := hasChangeHints(tool)
		t.Expect(changes).To(check.BeTrue("readOnlyHint", "none: clients take it for one that changes things"))
		t.Expect(destroys).To(check.BeTrue("destructiveHint, since the tool is not read-only",
			"none: clients take the tool for destructive"))
	}),

	"advice/tool-hints-explicit": eachTool(func(t *check.T, tool check.M) {
		if changes, destroys := hasChangeHints(tool); !changes || !destroys {
			t.Yield("it does not say whether it changes things")
		}
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "openWorldHint"} {
			_, says := hintsOf(tool)[hint].(bool)
			t.Expect(says).To(check.BeTrue("readOnlyHint, destructiveHint and openWorldHint", "no %s", hint))
		}
	}),

	"advice/handle-lifetime-stated": check.Probe(func(t *check.T) {
		handles := toolcall.Handles(t)
		if len(handles) == 0 {
			t.Skip(check.NotOffered, "no tool creates something that another one takes the id of, by their schemas")
		}
		check.Each(t, handles, func(h toolcall.Handle) check.Subject { return h.Creator },
			func(t *check.T, h toolcall.Handle) {
				if !isDescribed(h.Creator.Value) {
					t.Yield("there is no description")
				}
				t.Expect(lifetimePattern.MatchString(toolTexts(h.Creator.Value, h.Name))).To(check.BeTrue(
					"how long "+h.Name+" lasts, in the description", "nothing of it"+byPattern))
			})
	}),

	"advice/tool-name-short": eachTool(func(t *check.T, tool check.M) {
		name, ok := tool["name"].(string)
		if !ok {
			t.Yield("the name is not a string")
		}
		n := utf8.RuneCountInString(name)
		t.Expect(n <= 64).To(check.BeTrue("a name of at most 64 characters", "%d", n))
	}),

	"advice/tool-count": check.Probe(func(t *check.T) {
		names := map[string]bool{} // a server may list a tool on two pages
		for _, tool := range skipIfNoTools(t, shownTools(t)) {
			names[tool.Name] = true
		}
		n := len(names)
		t.Note("%d tools", n)
		t.DecidedBy(check.DiscoveryReplies(t, "tools/list")).
			Expect(n <= 40).To(check.BeTrue("up to 40 tools, better up to 15", "%d", n))
		requireAllTools(t)
	}),

	"advice/tool-definitions-size": check.Probe(func(t *check.T) {
		tools := skipIfNoTools(t, shownTools(t))
		size := measureTexts(definitionTexts(tools)...)
		t.Note("%s in the definitions of %d tools", size, len(tools))
		t.DecidedBy(check.DiscoveryReplies(t, "tools/list")).Expect(size.tokens <= maxTokens).To(check.BeTrue(
			fmt.Sprintf("definitions of up to %d tokens, better up to 10000", maxTokens), "%s", size))
		requireAllTools(t)
	}),

	"advice/tool-name-prefix": check.Probe(func(t *check.T) {
		styles := map[string][]string{}
		for _, tool := range skipIfNoTools(t, shownTools(t)) {
			if style := namingStyle(tool.Name); style != "" {
				styles[style] = append(styles[style], tool.Name)
			}
		}
		var found []string
		for _, style := range []string{"snake_case", "kebab-case", "camelCase"} {
			if names := styles[style]; len(names) > 0 {
				found = append(found, style+" ("+shortList(names)+")")
			}
		}
		t.DecidedBy(check.DiscoveryReplies(t, "tools/list")).Expect(len(found) <= 1).To(
			check.BeTrue("names in one style", "%s", strings.Join(found, ", ")))
	}),
}

// isDescribed reports whether a tool has a description other than its name.
func isDescribed(tool check.M) bool {
	description := textIn(tool, "description")
	return description != "" && description != tool["name"]
}

// hasChangeHints reports whether a tool declares by hints whether it changes things and, if it does, whether it is
// destructive.
func hasChangeHints(tool check.M) (changes, destroys bool) {
	hints := hintsOf(tool)
	readOnly, says := hints["readOnlyHint"].(bool)
	destructive, judges := hints["destructiveHint"].(bool)
	return says || destructive, readOnly || judges
}

// hintsOf returns the annotations of a tool.
func hintsOf(tool check.M) check.M {
	hints, _ := tool["annotations"].(check.M)
	return hints
}

// weightedLength counts the characters of a text. Characters that stand for a syllable or a word count twice.
func weightedLength(text string) (n int) {
	for _, r := range text {
		if n++; unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return n
}

// clausePattern matches a text with more than one sentence or clause.
var clausePattern = regexp.MustCompile(`(?s)\S(?:[.,:;!?)…]\s|\s[–—(-]|\n|[。，、；：]|` +
	`\s(?:when|if|and|or|that|which|to|for|by|from|with)\s)\s*\S`)

// requireAllTools ends the check as inconclusive if not all tools were listed.
func requireAllTools(t *check.T) {
	if !t.Server.HasAllTools {
		t.NoVerdict(check.Limit, "the list of tools could not be read to its end")
	}
}

// namingStyle returns how words are joined in a name; empty if the name does not show it. The namespace before a dot or
// a slash does not count.
func namingStyle(name string) string {
	snake, kebab := strings.Contains(name, "_"), strings.Contains(name, "-")
	switch {
	case snake && kebab:
		return ""
	case snake:
		return "snake_case"
	case kebab:
		return "kebab-case"
	case camelCasePattern.MatchString(name):
		return "camelCase"
	}
	return ""
}

var camelCasePattern = regexp.MustCompile(`[a-z][A-Z][a-z]`)

// shortList joins the first names of a list.
func shortList(names []string) string {
	const most = 5
	names = slices.Clone(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// lifetimePattern matches texts that say how long something is kept.
var lifetimePattern = regexp.MustCompile(`(?i)expir|lifetime|time to live|\bttl\b|\bvalid\b|\buntil\b|\bafter\b|` +
	`inactiv|\bidle\b|\bkept\b|\bkeeps?\b|retain|retention|persist|permanent|forever|\bnever\b|` +
	`\b(second|minute|hour|day|week|month)s?\b|\b(restart|session|shutdown)s?\b`)

// toolTexts returns the description of a tool, and that of a member of its results.
func toolTexts(tool check.M, member string) string {
	schema, _ := tool["outputSchema"].(check.M)
	properties, _ := schema["properties"].(check.M)
	property, _ := properties[member].(check.M)
	return textIn(tool, "description") + "\n" + textIn(property, "description")
}
