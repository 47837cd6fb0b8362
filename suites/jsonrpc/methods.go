package jsonrpc

import (
	"path"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// methodChecks are the checks of methods that the server does not support, and of params.
var methodChecks = check.Suite{
	"jsonrpc/unknown-method-is-error": check.Probe(func(t *check.T) {
		e := invalid.SendUnknownMethod(t)
		if e.UnknownIDResponse != nil {
			t.Yield("it was answered under another id")
		}
		t.Expect(e.Reply).To(check.BeError())
		for _, list := range protocol.ListMethods(t.Server.Capabilities) {
			method := invalid.UnknownMethodOf(path.Dir(list))
			t.Expect(invalid.TryInvalid(t, t.Session(), method, nil)).To(check.BeError(), method)
		}
	}),

	"jsonrpc/unknown-method-code": check.Probe(func(t *check.T) {
		r := invalid.SendUnknownMethod(t).Reply
		if _, ok := r.Code(); !ok {
			t.Yield("no error with a code came")
		}
		t.Expect(r).To(check.BeError(errcode.MethodNotFound))
	}),

	"jsonrpc/removed-method-ping":             removedMethodCheck("ping", nil),
	"jsonrpc/removed-method-logging-setlevel": removedMethodCheck("logging/setLevel", check.M{"level": "info"}),
	"jsonrpc/removed-method-resources-subscribe": removedMethodCheck("resources/subscribe",
		check.M{"uri": invalid.UnknownURI}),
	"jsonrpc/removed-method-resources-unsubscribe": removedMethodCheck("resources/unsubscribe",
		check.M{"uri": invalid.UnknownURI}),

	"jsonrpc/undeclared-method-not-found": check.Probe(func(t *check.T) {
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		methods := undeclaredMethods(t)
		if len(methods) == 0 {
			t.Skip(check.NotApplicable, "the server declares every family")
		}
		switch unknown := invalid.SendUnknownMethod(t).Reply; {
		case !unknown.Answered():
			t.Yield("the server leaves unknown methods unanswered")
		case unknown.Result() != nil:
			t.Yield("the server serves any method")
		}
		s := t.Session(check.ForInvalidInput)
		var all []driver.Reply
		for _, method := range methods {
			r := invalid.AwaitWithBarrier(s, s.Mark(), s.Request(method, methodParams[method]),
				timing.ShortWait).Reply
			if method == "prompts/list" && r.Result() != nil {
				t.Yield("%s is served", method)
			}
			t.Expect(r).To(beErrorFor(method))
			if t.IsModern() {
				t.Expect(r).To(check.BeError(errcode.MethodNotFound), method)
			}
			all = append(all, r)
		}
		for _, r := range all {
			t.ExpectAdvice(r).To(check.BeError(errcode.MethodNotFound))
		}
	}),

	"jsonrpc/extra-members-tolerated": check.Probe(func(t *check.T) {
		var served []string
		s := t.Session()
		harmless, _ := s.NoOp()
		for _, r := range []struct {
			method string
			extra  check.M
		}{{harmless, check.M{"mcpcheck": true}}, {"tools/list", check.M{"mcpcheck": check.M{"a": 1}}}} {
			if r.method == "tools/list" && !t.Server.Declares("tools") {
				continue
			}
			ask := func(params check.M) func() driver.Reply {
				return func() driver.Reply { return t.Send(s, r.method, params, check.AllowSilence) }
			}
			plain := ask(check.M{})()
			if plain.Result() == nil {
				continue
			}
			reply, _ := protocol.Compare(t, protocol.SameSuccess, plain, ask(check.M{}), ask(r.extra))
			t.Expect(reply).To(check.BeResult())
			served = append(served, r.method)
		}
		if len(served) == 0 {
			t.Yield("no request is served even without extra members")
		}
		if served[0] == harmless {
			const line = `{"jsonrpc":"2.0","id":70051,$harmless,"mcpcheck":true}`
			const want = "a result despite an unknown top-level member"
			p := invalid.SendMalformed(t, line)
			r := invalid.ReplyToMalformed(p, invalid.IDInLine(p.Line))
			t.ExpectAdvice(r).To(check.Satisfy(want, func(r driver.Reply) bool { return r.Result() != nil }))
		}
	}),

	"jsonrpc/member-names-case-sensitive": check.Probe(func(t *check.T) {
		t.Expect(invalid.MalformedReplies(t, "member names in capitals")[0].Reply).NotTo(check.BeResult())
	}),
}

// removedMethodCheck makes a check that a method of earlier revisions is rejected as unknown.
func removedMethodCheck(method string, params check.M) check.Check {
	return check.Probe(func(t *check.T) {
		unknown, _ := invalid.SendUnknownMethod(t).Reply.Code()
		r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), method, params)
		invalid.SkipUnlessServerRejects(t, r)
		if code, isError := r.Code(); isError && code == unknown && code != errcode.MethodNotFound {
			t.Yield("any unknown method is answered with %d", code)
		}
		t.Expect(r).To(check.BeError(errcode.MethodNotFound))
	})
}

// beErrorFor matches an error response to what is named.
func beErrorFor(what string) types.GomegaMatcher {
	return check.Satisfy("an error for "+what,
		func(r driver.Reply) bool { return r.Answered() && r.Member("error") != nil })
}

// featureMethods are optional features of servers: the capability that declares one, a method of it, and the revisions
// that have the method (nil is all). Undeclared features that are not listed here have checks of their own:
// tools/capability-declared, resources/capability-declared, completion/capability-declared, completion/undeclared-code
// and tasks/list-undeclared.
var featureMethods = []struct {
	capability, method string
	revisions          []string
}{
	{"prompts", "prompts/list", nil},
	{"logging", "logging/setLevel", catalogue.LegacyRevisions},
}

// methodParams are the params of the methods that need some.
var methodParams = map[string]check.M{"logging/setLevel": {"level": "info"}}

// undeclaredMethods returns the methods of featureMethods that the server does not declare.
func undeclaredMethods(t *check.T) (methods []string) {
	for _, f := range featureMethods {
		held := f.revisions == nil || slices.Contains(f.revisions, t.Revision)
		if held && !t.Server.Declares(f.capability) {
			methods = append(methods, f.method)
		}
	}
	return methods
}
