package cancellation

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// ignoredChecks are the checks of cancellations that must have no effect.
var ignoredChecks = check.Suite{
	"cancellation/unknown-id-ignored": check.Probe(func(t *check.T) {
		skipUnlessCancelledByNotification(t)
		id := func(id any) check.Subject { return check.NamedSubject("requestId " + check.Show(id)) }
		all := unknownIDs
		if check.SavesRequests(t) {
			all = all[:2] // one of each type
		}
		check.Each(t, all, id, func(t *check.T, id any) {
			s := t.Session(check.ForInvalidInput)
			check.RequestNoOp(t, s)
			expectIgnored(t, s, s.Mark(), check.M{"requestId": id})
		})
	}),

	"cancellation/completed-id-ignored": check.Probe(func(t *check.T) {
		skipUnlessCancelledByNotification(t)
		s := t.Session(check.ForInvalidInput)
		before := s.Mark()
		done := check.RequestNoOp(t, s)
		expectIgnored(t, s, before, check.M{"requestId": done.Request.ID})
		if named := invalid.StringIDOrDefault(t, "mcpcheck-done"); named != nil {
			before = s.Mark()
			done = check.RequireServerReply(t, s.Await(protocol.SendNoOp(s, named)))
			expectIgnored(t, s, before, check.M{"requestId": done.Request.ID})
		}
	}),

	"cancellation/malformed-ignored": check.Probe(func(t *check.T) {
		skipUnlessCancelledByNotification(t)
		form := func(params check.M) check.Subject {
			return check.NamedSubject(fmt.Sprintf("params %s", text.CompactJSON(params)))
		}
		check.Each(t, []check.M{nil, {}, {"requestId": check.M{}}}, form, func(t *check.T, params check.M) {
			s := t.Session(check.ForInvalidInput)
			check.RequestNoOp(t, s)
			expectIgnored(t, s, s.Mark(), params)
		})
	}),

	"cancellation/cancel-initialize-survives": check.Probe(func(t *check.T) {
		o := handshake.RunScenario(t, handshake.Scenario{CancelInitialize: true})
		t.Expect(o.ConnectReply).To(check.BeResult())
		if !o.NoOpReply.Answered() && !handshake.RunScenario(t, handshake.Scenario{}).NoOpReply.Answered() {
			t.Yield("nor is one where nothing was cancelled")
		}
		t.Expect(o.NoOpReply).To(check.BeAnswered(), "the first request after the handshake")
	}).InOwnSession(),
}

// unknownIDs are ids of both types that no request has.
var unknownIDs = []any{"mcpcheck-none", 987654321, -7654321, "", "987654322", "é✓😀"}

// skipUnlessCancelledByNotification ends the check as skip where requests are not cancelled by notifications.
func skipUnlessCancelledByNotification(t *check.T) {
	if t.IsModern() && t.Site() != nil {
		t.Skip(check.NotApplicable, "over HTTP a client cancels a request by closing the stream of its answer")
	}
}

// expectIgnored sends a cancellation that refers to no running request. It expects no reaction, and that the session
// continues. Over HTTP the server may refuse the cancellation. Responses to requests from before the mark do not count.
func expectIgnored(t *check.T, s *driver.Session, before int, params check.M) {
	mark := s.Mark()
	note := check.M{"jsonrpc": "2.0", "method": cancelledMethod}
	if params != nil {
		note["params"] = params
	}
	sent := s.SendJSON(note)
	came, err := s.Barrier(mark)
	goesOn := check.ReportedBy("cancellation/race-safe", check.BeTrue("the session to go on", "%v", err))
	t.Expect(err == nil).To(goesOn)
	came = s.WithoutEarlierResponses(before, invalid.WithoutStreamCopies(t, came, sent))
	if sent.RoundTrip != nil {
		a := roundtrip.RequireHTTPResponse(t, sent.RoundTrip.Response())
		t.DecidedBy(a).Expect(a.StatusCode).To(check.Satisfy("an HTTP status below 500",
			func(status int) bool { return status < 500 }))
	}
	i := slices.IndexFunc(came, func(f *driver.Frame) bool {
		refusal := f.RoundTrip != nil && f.RoundTrip == sent.RoundTrip && f.RoundTrip.Response().StatusCode >= 400
		return f.MayBeResponseTo(nil) && !refusal
	})
	if i >= 0 {
		invalid.SkipIfUnsolicitedResponses(t, driver.Reply{Frame: came[i]})
		invalid.SkipIfRepliesToNotifications(t)
		transcript.SkipIfAnswersTwice(t, s)
		t.Fail("no reply to the cancellation", "%s", came[i])
	}
}
