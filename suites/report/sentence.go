package report

import (
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// RequirementText returns the requirement as a sentence without its subject: "must answer ping with an empty result
// object". The title describes what a conforming server does, which would be misleading next to a failure.
func (r Result) RequirementText() string {
	if r.EntryLevel == catalogue.Must || r.EntryLevel == 0 && r.Level == catalogue.Must {
		return "must " + infinitive(r.Title)
	}
	return "should " + infinitive(r.Title)
}

var (
	leadingVerb = regexp.MustCompile(`^(never |no longer |still )?([a-z-]+)`)
	// followingVerbs matches verbs after a conjunction.
	followingVerbs = regexp.MustCompile(`( and | or )(still )?(keeps|refuses|says|serves)\b`)
)

// infinitive returns a title with its verbs in the infinitive: "never sends a batch" becomes "never send a batch".
func infinitive(title string) string {
	if rest, negated := strings.CutPrefix(title, "does not "); negated {
		return "not " + rest
	}
	found := leadingVerb.FindStringSubmatch(title)
	if found == nil {
		return title
	}
	bare := func(verb string) string { return strings.TrimSuffix(verb, "s") }
	return found[1] + infinitiveVerb(found[2]) + followingVerbs.ReplaceAllStringFunc(title[len(found[0]):], bare)
}

// infinitiveVerb returns the infinitive of a verb in the third person.
func infinitiveVerb(third string) string {
	switch {
	case third == "has":
		return "have"
	case strings.HasSuffix(third, "ies") && len(third) > len("ties"):
		return strings.TrimSuffix(third, "ies") + "y"
	case verbsInES.MatchString(third):
		return strings.TrimSuffix(third, "es")
	}
	return strings.TrimSuffix(third, "s")
}

// verbsInES matches verbs whose third person ends in es.
var verbsInES = regexp.MustCompile(`(ch|sh|ss|x|o)es$`)
