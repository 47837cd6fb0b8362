package harness

import (
	"regexp"
	"strings"
)

// Requires is the requirement as a sentence about the server, without its subject: "must answer ping with an empty
// result object". The title says what a conforming server does, which beside a failure reads as if it did.
func (r Result) Requires() string {
	if r.Entry == Must || r.Entry == 0 && r.Level == Must {
		return "must " + infinitive(r.Title)
	}
	return "should " + infinitive(r.Title)
}

var (
	leading = regexp.MustCompile(`^(never |no longer |still )?([a-z-]+)`)
	// joined are the verbs that follow another one.
	joined = regexp.MustCompile(`( and | or )(still )?(keeps|refuses|says|serves)\b`)
)

// infinitive is a title with its verbs in the infinitive: "never sends a batch" becomes "never send a batch".
func infinitive(title string) string {
	if rest, negated := strings.CutPrefix(title, "does not "); negated {
		return "not " + rest
	}
	found := leading.FindStringSubmatch(title)
	if found == nil {
		return title
	}
	bare := func(verb string) string { return strings.TrimSuffix(verb, "s") }
	return found[1] + verb(found[2]) + joined.ReplaceAllStringFunc(title[len(found[0]):], bare)
}

// verb is a verb in the third person in its infinitive.
func verb(third string) string {
	switch {
	case third == "has":
		return "have"
	case strings.HasSuffix(third, "ies") && len(third) > len("ties"):
		return strings.TrimSuffix(third, "ies") + "y"
	case hissing.MatchString(third):
		return strings.TrimSuffix(third, "es")
	}
	return strings.TrimSuffix(third, "s")
}

// hissing are verbs that take es.
var hissing = regexp.MustCompile(`(ch|sh|ss|x|o)es$`)
