package advice

import (
	"regexp"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// serverChecks is how a server presents itself.
var serverChecks = Suite{
	"advice/instructions-present": Probe(func(t *T) {
		instructions := textIn(t.Server.ConnectResult, "instructions")
		t.DecidedBy(t.Server.ConnectReply).Expect(instructions != "").To(BeTrue("instructions for the model", "none"))
	}),

	"advice/instructions-stable": WatchWithSetup(rereadTexts, func(t *T, w Wire) {
		again := textComparisons(t, w)
		if len(again) == 0 {
			t.WithReason(NotObserved).Inconclusive("neither instructions nor descriptions were read more than once")
		}
		Each(t, again, textComparison.subject, func(t *T, r textComparison) {
			t.Expect(r.second == r.first).To(BeTrue("the same text every time", "%s, and before %s",
				Show(r.second), Show(r.first)))
		})
	}),

	"advice/server-name-machine-friendly": Probe(func(t *T) {
		name, ok := skipIfNoServerInfo(t)["name"].(string)
		if !ok {
			t.Yield("the server has no name")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(len(name) <= 64 && namePattern.MatchString(name)).To(BeTrue(
			"a short name of lower-case letters, digits, hyphens, dots and underscores", "%s", Show(name)))
	}),

	"advice/server-description-present": Probe(func(t *T) {
		description := textIn(skipIfNoServerInfo(t), "description")
		t.DecidedBy(t.Server.ConnectReply).Expect(description != "").To(BeTrue("a description in serverInfo", "none"))
	}),

	"advice/completions-for-enumerable-arguments": Probe(func(t *T) {
		what := completableFeature(t.Server)
		if what == "" {
			t.WithReason(NotOffered).Skip("no prompt has arguments, and no template of resources is listed")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(t.Server.Declares("completions")).To(
			BeTrue("the capability completions, since "+what, "none"))
	}),
}

// namePattern is one that may have a scope or a namespace before a slash.
var namePattern = regexp.MustCompile(`^@?[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?$`)

// skipIfNoServerInfo is how the server names itself; a check ends that finds nothing of the kind.
func skipIfNoServerInfo(t *T) M {
	identity := t.Server.Identity()
	if identity == nil {
		t.WithReason(NotOffered).Skip("the server does not name itself")
	}
	return identity
}

// completableFeature says what a client could complete; empty: nothing.
func completableFeature(s *Server) string {
	for _, prompt := range s.Prompts {
		if len(protocol.ObjectsIn(prompt["arguments"])) > 0 {
			return "the prompt " + Show(prompt["name"]) + " has arguments"
		}
	}
	if len(s.Templates) > 0 {
		return "there are templates of resources"
	}
	return ""
}
