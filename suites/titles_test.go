package suites

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestTitles checks that every title begins with a verb in the third person, and that reports put it and the verbs
// after a conjunction into the infinitive: "answers ping" becomes "must answer ping".
func TestTitles(t *testing.T) {
	begins := regexp.MustCompile(`^(?:does not [a-z]+|(?:(?:never|no longer|still) )?([a-z-]+s)) `)
	follows := regexp.MustCompile(`(?:and|or|, but) (?:still )?([a-z]+s)\b`)
	verbs := map[string]bool{}
	for _, r := range All() {
		found := begins.FindStringSubmatch(r.Title + " ")
		if found == nil {
			t.Errorf("%s: %q does not begin with a verb in the third person", r.ID, r.Title)
			continue
		}
		verbs[found[1]] = true
	}
	nouns := map[string]bool{"logs": true} // verbs in other titles
	for _, r := range All() {
		said := report.Result{Title: r.Title, EntryLevel: catalogue.Must}.RequirementText()
		rest := strings.TrimPrefix(said, "must ")
		if found := begins.FindStringSubmatch(r.Title + " "); found != nil && found[1] != "" {
			before, _, _ := strings.Cut(r.Title, found[1])
			verb, _, _ := strings.Cut(strings.TrimPrefix(rest, before), " ")
			if thirdPerson(verb) != found[1] {
				t.Errorf("%s: %q has the infinitive %q of %q", r.ID, said, verb, found[1])
			}
		}
		for _, found := range follows.FindAllStringSubmatch(rest, -1) {
			if verbs[found[1]] && !nouns[found[1]] {
				t.Errorf("%s: %q has a verb in the third person: %s", r.ID, said, found[1])
			}
		}
	}
}

// thirdPerson returns the third person of a verb.
func thirdPerson(verb string) string {
	switch {
	case verb == "have":
		return "has"
	case regexp.MustCompile(`(ch|sh|ss|x|o)$`).MatchString(verb):
		return verb + "es"
	case regexp.MustCompile(`[^aeiou]y$`).MatchString(verb):
		return strings.TrimSuffix(verb, "y") + "ies"
	}
	return verb + "s"
}

func TestRequirementText(t *testing.T) {
	for title, want := range map[string]string{
		"answers ping":                       "must answer ping",
		"does not trust Origin null":         "must not trust Origin null",
		"never replies to a notification":    "must never reply to a notification",
		"no longer uses the flat key":        "must no longer use the flat key",
		"has frontmatter":                    "must have frontmatter",
		"refuses a POST and keeps the rest":  "must refuse a POST and keep the rest",
		"reports these and still serves one": "must report these and still serve one",
	} {
		if got := (report.Result{Title: title, Level: catalogue.Should,
			EntryLevel: catalogue.Must}).RequirementText(); got != want {
			t.Errorf("%q is %q, want %q", title, got, want)
		}
	}
	if got := (report.Result{Title: "answers",
		EntryLevel: catalogue.Advice}).RequirementText(); got != "should answer" {
		t.Errorf("advice is %q", got)
	}
}
