package jsonrpc

import (
	"path"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// methodNotFound is the code of the error for a method that is unknown.
const methodNotFound = -32601

var methods = Suite{
	"jsonrpc/unknown-method-is-error": Probe(func(t *T) {
		e := kit.UnknownMethod(t)
		if e.Stray != nil {
			t.Yield("it was answered under another id")
		}
		t.Expect(e.Reply).To(BeError())
		if list, _ := kit.ListMethod(t); list != "" {
			method := kit.NoMethodOf(path.Dir(list))
			t.Expect(kit.TryAmiss(t, t.Session(), method, nil)).To(BeError(), method)
		}
	}),

	"jsonrpc/unknown-method-code": Probe(func(t *T) {
		r := kit.UnknownMethod(t).Reply
		if _, ok := r.Code(); !ok {
			t.Yield("no error with a code came")
		}
		t.Expect(r).To(BeError(methodNotFound))
	}),

	"jsonrpc/removed-method-ping":                  removed("ping", nil),
	"jsonrpc/removed-method-logging-setlevel":      removed("logging/setLevel", M{"level": "info"}),
	"jsonrpc/removed-method-resources-subscribe":   removed("resources/subscribe", M{"uri": kit.UnknownURI}),
	"jsonrpc/removed-method-resources-unsubscribe": removed("resources/unsubscribe", M{"uri": kit.UnknownURI}),

	"jsonrpc/undeclared-method-not-found": Probe(func(t *T) {
		kit.WantCapabilities(t, t.Server.Welcome)
		methods := undeclared(t)
		if len(methods) == 0 {
			t.Skip("the server declares every family")
		}
		switch unknown := kit.UnknownMethod(t).Reply; {
		case !unknown.Answered():
			t.Yield("the server leaves unknown methods unanswered")
		case unknown.Result() != nil:
			t.Yield("the server serves any method")
		}
		s := t.Hostile()
		var all []driver.Reply
		for _, method := range methods {
			r := kit.Await(s, s.Mark(), s.Request(method, paramsOf[method]), kit.Shortly).Reply
			if method == "prompts/list" && r.Result() != nil {
				t.Yield("%s is served", method)
			}
			t.Expect(r).To(beErrorFor(method))
			if t.Modern() {
				t.Expect(r).To(BeError(methodNotFound), method)
			}
			all = append(all, r)
		}
		for _, r := range all {
			t.Inform(r).To(BeError(methodNotFound))
		}
	}),

	"jsonrpc/extra-members-tolerated": Probe(func(t *T) {
		var served []string
		s := t.Session()
		harmless, _ := s.Harmless()
		for _, r := range []struct {
			method string
			extra  M
		}{{harmless, M{"mcpcheck": true}}, {"tools/list", M{"mcpcheck": M{"a": 1}}}} {
			if r.method == "tools/list" && !t.Server.Declares("tools") {
				continue
			}
			ask := func(params M) func() driver.Reply {
				return func() driver.Reply { return t.Try(s, r.method, params) }
			}
			plain := ask(M{})()
			if plain.Result() == nil {
				continue
			}
			reply, _ := kit.Compare(t, kit.BothServed, plain, ask(M{}), ask(r.extra))
			t.Expect(reply).To(BeResult())
			served = append(served, r.method)
		}
		if len(served) == 0 {
			t.Yield("no request is served even without extra members")
		}
		if served[0] == harmless {
			const line = `{"jsonrpc":"2.0","id":70051,$harmless,"mcpcheck":true}`
			const want = "a result despite an unknown top-level member"
			p := kit.Provoke(t, line)
			r := kit.Reaction(p, kit.IDIn(p.Line))
			t.Inform(r).To(That(want, func(r driver.Reply) bool { return r.Result() != nil }))
		}
	}),

	"jsonrpc/member-names-case-sensitive": Probe(func(t *T) {
		t.Expect(kit.Rejections(t, "member names in capitals")[0].Reply).NotTo(BeResult())
	}),
}

// removed wants a method that earlier revisions had to be as unknown as one that none has.
func removed(method string, params M) Check {
	return Probe(func(t *T) {
		unknown, _ := kit.UnknownMethod(t).Reply.Code()
		r := kit.TryAmiss(t, t.Hostile(), method, params)
		kit.WantRefuser(t, r)
		if code, isError := r.Code(); isError && code == unknown && code != methodNotFound {
			t.Yield("any unknown method is answered with %d", code)
		}
		t.Expect(r).To(BeError(methodNotFound))
	})
}

func beErrorFor(what string) types.GomegaMatcher {
	return That("an error for "+what, func(r driver.Reply) bool { return r.Answered() && r.Member("error") != nil })
}

// families are the features of a server: the capability that declares one, a method of it, and the revisions that have
// the method, nil for all. Of others without a declaration, tools/capability-declared, resources/capability-declared,
// completion/capability-declared, completion/undeclared-code and tasks/list-undeclared judge.
var families = []struct {
	capability, method string
	revisions          []string
}{
	{"prompts", "prompts/list", nil},
	{"logging", "logging/setLevel", Handshake},
}

var paramsOf = map[string]M{"logging/setLevel": {"level": "info"}}

// undeclared are methods of the families that the server does not declare.
func undeclared(t *T) (methods []string) {
	for _, f := range families {
		held := f.revisions == nil || slices.Contains(f.revisions, t.Revision)
		if held && !t.Server.Declares(f.capability) {
			methods = append(methods, f.method)
		}
	}
	return methods
}
