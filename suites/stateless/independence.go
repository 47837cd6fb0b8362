package stateless

import (
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// independenceChecks are the checks that a request is judged by its own _meta only.
var independenceChecks = check.Suite{
	"stateless/no-inherited-meta": check.Probe(func(t *check.T) {
		list := protocol.RequireListMethod(t)
		all := handshake.RequestsWithoutMeta(t)
		// The last request is for a list.
		fresh := all[len(all)-1].Reply
		s := t.Session(check.ForInvalidInput)
		t.Send(s, list, nil)
		r := invalid.TryInvalid(t, s, list, check.M{"_meta": driver.Omitted})
		if fresh.Result() != nil && check.HasMember(fresh.Result(), "resultType") == check.HasMember(r.Result(),
			"resultType") {
			requireDecided(t, fresh)
			t.Yield("it is served as the first request, too")
		}
		t.Expect(r.Result() == nil).To(check.BeTrue(
			"an error for a request without _meta, also after requests that had it", "%s", r))
	}).InOwnSession(),

	"stateless/no-inherited-capabilities": check.Probe(func(t *check.T) {
		tried, passed := map[string]bool{}, false
		for _, c := range toolcall.ValidCalls(t).List {
			for _, method := range inputMethods {
				if tried[method] || c.InputLoop == nil || len(c.InputLoop.InputReplies) == 0 ||
					!requestsInput(c.InputLoop.InputReplies[0], method) {
					continue
				}
				asksAnyone, asksAgain := expectNotInherited(t, c, method)
				tried[method], passed = asksAgain, passed || asksAgain && !asksAnyone
			}
		}
		if !passed {
			t.Skip(check.NotOffered, "no tool that was called asks only clients that declare what it asks for")
		}
	}),

	"stateless/state-by-explicit-handle": check.Probe(func(t *check.T) {
		calls := toolcall.ValidCalls(t)
		all := slices.DeleteFunc(slices.Clone(calls.List), func(c toolcall.ToolCall) bool { return !asksUser(c) })
		if len(all) == 0 {
			toolcall.SkipNotObserved(t, "tool with readOnlyHint that asks the user was called", calls.Uncalled,
				func(tool check.M) bool { return report.IsReadOnly(tool) })
		}
		toolcall.EachToolCall(t, all[:min(len(all), maxAsking)], expectAskedAgain)
	}),

	"stateless/version-per-request": check.Probe(func(t *check.T) {
		handshake.RequireVersionError(t)
		if usual := check.RequestNoOp(t, t.Session()); usual.Result() == nil {
			t.Yield("server/discover is not served")
		}
		s := t.Session(check.ForInvalidInput)
		var sent []driver.Pending
		for _, version := range []string{t.Revision, handshake.NewerVersion, t.Revision} {
			sent = append(sent, s.Request("server/discover", check.M{"_meta": check.M{driver.MetaRevision: version}}))
		}
		for i, where := range map[int]string{0: "before", 2: "after"} {
			t.Expect(s.Await(sent[i])).To(check.BeResult(), "the request %s the one in %s", where,
				handshake.NewerVersion)
		}
	}).InOwnSession(),

	"stateless/same-id-other-connection": check.Probe(func(t *check.T) {
		list := protocol.RequireListMethod(t)
		const id = "mcpcheck-same"
		if t.Send(t.Session(), list, nil).Result() == nil {
			t.Yield("%s is not served under an id of its own either", list)
		}
		discovered := roundtrip.PostRequest(t.Session(), roundtrip.ManualRequest{ID: id, Method: "server/discover"})
		listed := roundtrip.PostRequest(check.OtherConnection(t), roundtrip.ManualRequest{ID: id, Method: list})
		t.ExpectAdvice(discovered.AwaitReply()).To(haveMember("supportedVersions"),
			"server/discover with the id of %s", list)
		t.ExpectAdvice(listed.AwaitReply()).To(haveMember(listMember(list)), "%s with the id of server/discover",
			list)
	}),

	"stateless/client-info-no-behaviour": check.Probe(func(t *check.T) {
		s := t.Session()
		usual := func() []string { return protocol.Sorted(protocol.ToolNames(t, s, check.M{})) }
		names := usual()
		for _, client := range []any{check.M{"name": "mcpcheck-a", "version": "0"}, driver.Omitted} {
			other := func() []string {
				return protocol.Sorted(protocol.ToolNames(t, s, check.M{"_meta": check.M{driver.MetaClient: client}}))
			}
			got, same := protocol.Compare(t, slices.Equal[[]string], names, usual, other)
			t.Expect(same).To(check.BeTrue("the same tools for every client", "%s", protocol.Difference(names, got)))
		}
	}),
}

// maxAsking is the number of tools that are called again after the user has answered.
const maxAsking = 3

// asksUser reports whether a call of a tool that only reads asked for nothing but what a user or a client may answer
// otherwise the next time, and had a result once it was answered.
func asksUser(c toolcall.ToolCall) bool {
	return report.IsReadOnly(c.Tool.Value) && c.Reply.Result() != nil && !c.Reply.IsFailure() &&
		c.InputLoop != nil && len(c.InputLoop.InputReplies) == 1 &&
		(requestsInput(c.InputLoop.InputReplies[0], "elicitation/create") ||
			requestsInput(c.InputLoop.InputReplies[0], "roots/list")) &&
		!requestsInput(c.InputLoop.InputReplies[0], "sampling/createMessage")
}

// expectAskedAgain calls a tool twice, and answers each time. It requires the second call to ask like the first one,
// unless it does not ask in a new process, either.
func expectAskedAgain(t *check.T, c toolcall.ToolCall) {
	params := protocol.WithCapabilities(check.M{"name": c.Tool.Name, "arguments": c.Arguments},
		protocol.AllModernCapabilities)
	call := func(s *driver.Session) *toolcall.InputLoop { return toolcall.RunInputLoop(t, s, "tools/call", params) }
	s := t.Session()
	call(s)
	again := call(s)
	switch {
	case len(again.InputReplies) > 0:
		return
	case again.LastReply.Result() == nil || again.LastReply.IsFailure():
		t.NoVerdict(check.Undecided, "it fails without asking: %s", check.Got(again.LastReply))
	case len(call(t.Session(check.Exclusive)).InputReplies) == 0:
		t.NoVerdict(check.Undecided, "it asks in no process any more")
	}
	t.Fail("a result that asks, as in a new process", "%s", again.LastReply)
}

// inputMethods are the methods of the input requests that a client has to declare.
var inputMethods = []string{"elicitation/create", "sampling/createMessage", "roots/list"}

// requestsInput reports whether a result has an input request with a method.
func requestsInput(r driver.Reply, method string) bool {
	requests, _ := r.Result()["inputRequests"].(check.M)
	for _, v := range requests {
		if request, _ := v.(check.M); request["method"] == method {
			return true
		}
	}
	return false
}

// expectNotInherited requires a tool not to ask a client because of what an earlier request has declared. It reports
// whether the tool asks without any declaration, which mrtr/undeclared-elicitation and its like report, and whether it
// asks again at all.
func expectNotInherited(t *check.T, c toolcall.ToolCall, method string) (asksAnyone, asksAgain bool) {
	params := check.M{"name": c.Tool.Name, "arguments": c.Arguments}
	able := protocol.WithCapabilities(params, protocol.AllModernCapabilities)
	unable := protocol.WithCapabilities(params, check.M{})
	s := t.Session()
	// The cause may be a declaration in a request of another check.
	if requestsInput(invalid.RequestInvalid(t, s, "tools/call", unable), method) {
		if s = t.Session(check.Exclusive); requestsInput(t.Send(s, "tools/call", unable), method) {
			return true, true
		}
	}
	if !requestsInput(t.Send(s, "tools/call", able), method) {
		return false, false
	}
	r := t.Send(s, "tools/call", unable)
	t.Expect(!requestsInput(r, method)).
		To(check.BeTrue("no "+method+" by "+c.Tool.Name+" for a client that does not declare it", "%s", r))
	return false, true
}

// haveMember matches results with a member.
func haveMember(name string) types.GomegaMatcher {
	return check.Satisfy("a result with "+name, func(r driver.Reply) bool { return check.HasMember(r.Result(), name) })
}
