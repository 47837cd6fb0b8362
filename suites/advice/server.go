package advice

import (
	"regexp"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// server is how a server presents itself.
var server = Suite{
	"advice/instructions-present": Probe(func(t *T) {
		instructions := textIn(t.Server.Welcome, "instructions")
		t.By(t.Server.First).Expect(instructions != "").To(Hold("instructions for the model", "none"))
	}),

	"advice/instructions-stable": WatchAfter(readAgain, func(t *T, w Wire) {
		again := readings(t, w)
		if len(again) == 0 {
			t.Because(NotObserved).Inconclusive("neither instructions nor descriptions were read more than once")
		}
		Each(t, again, reading.subject, func(t *T, r reading) {
			t.Expect(r.second == r.first).To(Hold("the same text every time", "%s, and before %s",
				Show(r.second), Show(r.first)))
		})
	}),

	"advice/server-name-machine-friendly": Probe(func(t *T) {
		name, ok := wantIdentity(t)["name"].(string)
		if !ok {
			t.Yield("the server has no name")
		}
		t.By(t.Server.First).Expect(len(name) <= 64 && friendlyName.MatchString(name)).To(Hold(
			"a short name of lower-case letters, digits, hyphens, dots and underscores", "%s", Show(name)))
	}),

	"advice/server-description-present": Probe(func(t *T) {
		description := textIn(wantIdentity(t), "description")
		t.By(t.Server.First).Expect(description != "").To(Hold("a description in serverInfo", "none"))
	}),

	"advice/completions-for-enumerable-arguments": Probe(func(t *T) {
		what := completable(t.Server)
		if what == "" {
			t.Because(NotOffered).Skip("no prompt has arguments, and no template of resources is listed")
		}
		t.By(t.Server.First).Expect(t.Server.Declares("completions")).To(
			Hold("the capability completions, since "+what, "none"))
	}),
}

// friendlyName is one that may have a scope or a namespace before a slash.
var friendlyName = regexp.MustCompile(`^@?[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?$`)

// wantIdentity is how the server names itself; a check ends that finds nothing of the kind.
func wantIdentity(t *T) M {
	identity := t.Server.Identity()
	if identity == nil {
		t.Because(NotOffered).Skip("the server does not name itself")
	}
	return identity
}

// completable says what a client could complete; empty: nothing.
func completable(s *Server) string {
	for _, prompt := range s.Prompts {
		if len(kit.ObjectsIn(prompt["arguments"])) > 0 {
			return "the prompt " + Show(prompt["name"]) + " has arguments"
		}
	}
	if len(s.Templates) > 0 {
		return "there are templates of resources"
	}
	return ""
}
