package cancellation

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// ignored are the checks of cancellations that say nothing to the server.
var ignoredChecks = Suite{
	"cancellation/unknown-id-ignored": Probe(func(t *T) {
		skipUnlessCancelledByNotification(t)
		s := t.SessionForInvalidInput()
		RequestNoOp(t, s)
		expectIgnored(t, s, s.Mark(), M{"requestId": "mcpcheck-none"})
	}),

	"cancellation/completed-id-ignored": Probe(func(t *T) {
		skipUnlessCancelledByNotification(t)
		s := t.SessionForInvalidInput()
		before := s.Mark()
		done := RequestNoOp(t, s)
		expectIgnored(t, s, before, M{"requestId": done.Request.ID})
	}),

	"cancellation/malformed-ignored": Probe(func(t *T) {
		skipUnlessCancelledByNotification(t)
		form := func(params M) Subject { return NamedSubject(fmt.Sprintf("params %s", CompactJSON(params))) }
		Each(t, []M{nil, {}, {"requestId": M{}}}, form, func(t *T, params M) {
			s := t.SessionForInvalidInput()
			RequestNoOp(t, s)
			expectIgnored(t, s, s.Mark(), params)
		})
	}),

	"cancellation/cancel-initialize-survives": Probe(func(t *T) {
		o := handshake.RunScenario(t, handshake.Scenario{CancelInitialize: true})
		t.Expect(o.ConnectReply).To(BeResult())
		if !o.NoOpReply.Answered() && !handshake.RunScenario(t, handshake.Scenario{}).NoOpReply.Answered() {
			t.Yield("nor is one where nothing was cancelled")
		}
		t.Expect(o.NoOpReply).To(BeAnswered(), "the first request after the handshake")
	}),
}

// skipUnlessCancelledByNotification ends a check of notifications where a request is taken back otherwise.
func skipUnlessCancelledByNotification(t *T) {
	if t.IsModern() && t.Site() != nil {
		t.Skip("over HTTP a client cancels a request by closing the stream of its answer")
	}
}

// expectIgnored sends a cancellation that says nothing to the server, and wants no reply to it, and the session to go
// on. Over HTTP the server may refuse it. What answers a request from before a mark is no reply to it.
func expectIgnored(t *T, s *driver.Session, before int, params M) {
	mark := s.Mark()
	note := M{"jsonrpc": "2.0", "method": cancelledMethod}
	if params != nil {
		note["params"] = params
	}
	sent := s.SendJSON(note)
	came, err := s.Barrier(mark)
	invalid.ExpectAlive(t, err)
	came = s.WithoutEarlierResponses(before, invalid.WithoutStreamCopies(t, came, sent))
	if sent.RoundTrip != nil {
		a := roundtrip.RequireHTTPResponse(t, sent.RoundTrip.Response())
		t.DecidedBy(a).Expect(a.StatusCode).To(Satisfy("an HTTP status below 500",
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
