package jsonrpc

import (
	"encoding/json"
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// malformedChecks are the checks of messages that are not valid JSON-RPC.
var malformedChecks = check.Suite{
	"jsonrpc/parse-error-reported": check.Probe(func(t *check.T) {
		r := invalid.MalformedReplies(t, invalid.NotJSON)[0].Reply
		if hasNoCode(r) {
			t.Skip(check.NotApplicable, "over HTTP a status of an error is enough")
		}
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(check.BeError(errcode.ParseError))
	}),

	"jsonrpc/parse-error-id": check.Probe(func(t *check.T) {
		r := invalid.MalformedReplies(t, invalid.NotJSON)[0].Reply
		if r.Error() == nil {
			t.Skip(check.NotObserved, "no error was returned")
		}
		t.Expect(r.Frame).To(invalid.HaveNoID())
	}),

	"jsonrpc/invalid-envelope-is-error": check.Probe(func(t *check.T) {
		all := invalid.MalformedReplies(t, invalidEnvelopes...)
		for _, r := range all {
			invalid.SkipUnlessServerRejects(t, r.Reply)
			t.Expect(r.Reply).To(invalid.BeAnswerFor(r.Name))
			if r.Name == invalid.NumericMethod { // servers may tolerate the others
				t.Expect(r.Reply).To(beErrorFor(r.Name))
			}
		}
		for _, r := range withCode(all) {
			t.ExpectAdvice(r.Reply).To(check.BeError(errcode.InvalidRequest))
		}
	}),

	"jsonrpc/invalid-envelope-echoes-id": check.Probe(func(t *check.T) {
		refused := false
		for _, r := range invalid.MalformedReplies(t, invalidEnvelopes...) {
			if r.Reply.Error() != nil && !protocol.MayLackID(r.Reply.Frame) {
				refused = true
				requireRepeatedIDs(t)
				t.Expect(r.Reply.Frame).To(haveID(r.ID))
			}
		}
		if !refused {
			t.Skip(check.NotObserved, "no error was returned that needs an id")
		}
	}),

	"jsonrpc/params-must-be-object": check.Probe(func(t *check.T) {
		all := invalid.MalformedReplies(t, "params that are a string", "params that are an array")
		for _, r := range all {
			invalid.SkipUnlessServerRejects(t, r.Reply)
			t.Expect(r.Reply).To(invalid.BeAnswerFor(r.Name))
			requireRepeatedIDs(t)
			t.Expect(r.Reply.Frame).To(haveID(r.ID))
		}
		codes := []int{errcode.InvalidRequest, errcode.InvalidParams}
		if t.IsModern() { // without _meta it may be taken for one of an earlier revision, which lacks the method
			codes = append(codes, errcode.MethodNotFound)
		}
		for _, r := range withCode(all) {
			t.ExpectAdvice(r.Reply).To(check.BeError(codes...))
		}
	}),

	"jsonrpc/null-id-not-answered-with-result": check.Probe(func(t *check.T) {
		r := invalid.MalformedReplies(t, "a request with id null")[0].Reply
		invalid.SkipIfUnsolicitedResponses(t, r)
		t.Expect(r).NotTo(check.BeResult())
	}),

	"jsonrpc/invalid-id-type": check.Probe(func(t *check.T) {
		for _, id := range []string{"true", "{}", "70090.5"} {
			p := invalid.SendMalformed(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,$harmless}`, id))
			invalid.ExpectAlive(t, p.SessionErr)
			if r := invalid.ReplyToMalformed(p,
				json.RawMessage(id)); r.Answered() && !protocol.IsMissingID(r.Frame.ID) {
				t.Expect(r.Frame).To(haveID(json.RawMessage(id)))
			}
		}
	}),
}

// invalidEnvelopes are the names of the malformed messages whose envelope is wrong.
var invalidEnvelopes = []string{"a request without jsonrpc", "a request of jsonrpc 1.0", invalid.NumericMethod}

// hasNoCode reports whether the reply is an HTTP error without a JSON-RPC error.
func hasNoCode(r driver.Reply) bool {
	_, has := r.Code()
	return r.IsStatusOnly() && !has
}

// withCode returns the replies that are not bare HTTP errors. Those have no code, and what is not a request needs no
// JSON-RPC response.
func withCode(all []invalid.MalformedReply) (rest []invalid.MalformedReply) {
	for _, r := range all {
		if !hasNoCode(r.Reply) {
			rest = append(rest, r)
		}
	}
	return rest
}

// haveID matches frames with this id. The body of an HTTP error need not have it.
func haveID(id json.RawMessage) types.GomegaMatcher {
	return check.Satisfy("id "+driver.Brief(id),
		func(f *driver.Frame) bool { return driver.SameID(f.ID, id) || protocol.MayLackID(f) })
}
