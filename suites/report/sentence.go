package report

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"regexp"
	"strings"
)

// RequirementText is the requirement as a sentence about the server, without its subject: "must answer ping with an
// empty result object". The title says what a conforming server does, which beside a failure reads as if it did.
func (r Result) RequirementText() string {
	if r.EntryLevel == catalogue.Must || r.EntryLevel == 0 && r.Level == catalogue.Must {
		return "must " + infinitive(r.Title)
	}
	return "should " + infinitive(r.Title)
}

var (
	leadingVerb = regexp.MustCompile(`^(never |no longer |still )?([a-z-]+)`)
	// followingVerbs are the verbs that follow another one.
	followingVerbs = regexp.MustCompile(`( and | or )(still )?(keeps|refuses|says|serves)\b`)
)

// infinitive is a title with its verbs in the infinitive: "never sends a batch" becomes "never send a batch".
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

// infinitiveVerb is a verb in the third person in its infinitive.
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

// verbsInES are verbs that take es.
var verbsInES = regexp.MustCompile(`(ch|sh|ss|x|o)es$`)
