package cancellation

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// ignored are the checks of cancellations that say nothing to the server.
var ignored = Suite{
	"cancellation/unknown-id-ignored": Probe(func(t *T) {
		wantNotice(t)
		s := t.Hostile()
		AskHarmless(t, s)
		expectIgnored(t, s, s.Mark(), M{"requestId": "mcpcheck-none"})
	}),

	"cancellation/completed-id-ignored": Probe(func(t *T) {
		wantNotice(t)
		s := t.Hostile()
		before := s.Mark()
		done := AskHarmless(t, s)
		expectIgnored(t, s, before, M{"requestId": done.Request.ID})
	}),

	"cancellation/malformed-ignored": Probe(func(t *T) {
		wantNotice(t)
		form := func(params M) Subject { return Named(fmt.Sprintf("params %s", Compact(params))) }
		Each(t, []M{nil, {}, {"requestId": M{}}}, form, func(t *T, params M) {
			s := t.Hostile()
			AskHarmless(t, s)
			expectIgnored(t, s, s.Mark(), params)
		})
	}),

	"cancellation/cancel-initialize-survives": Probe(func(t *T) {
		o := kit.Begin(t, kit.Opening{Cancelled: true})
		t.Expect(o.Welcome).To(BeResult())
		if !o.Pong.Answered() && !kit.Begin(t, kit.Opening{}).Pong.Answered() {
			t.Yield("nor is one where nothing was cancelled")
		}
		t.Expect(o.Pong).To(BeAnswered(), "the first request after the handshake")
	}),
}

// wantNotice ends a check of notifications where a request is taken back otherwise.
func wantNotice(t *T) {
	if t.Modern() && t.Site() != nil {
		t.Skip("over HTTP a client cancels a request by closing the stream of its answer")
	}
}

// expectIgnored sends a cancellation that says nothing to the server, and wants no reply to it, and the session to go
// on. Over HTTP the server may refuse it. What answers a request from before a mark is no reply to it.
func expectIgnored(t *T, s *driver.Session, before int, params M) {
	mark := s.Mark()
	note := M{"jsonrpc": "2.0", "method": cancelled}
	if params != nil {
		note["params"] = params
	}
	sent := s.SendJSON(note)
	came, err := s.Settle(mark)
	kit.ExpectAlive(t, err)
	came = s.WithoutEarlier(before, kit.WithoutCopies(t, came, sent))
	if sent.HTTP != nil {
		a := kit.Own(t, sent.HTTP.Answer())
		t.By(a).Expect(a.Status).To(That("an HTTP status below 500", func(status int) bool { return status < 500 }))
	}
	i := slices.IndexFunc(came, func(f *driver.Frame) bool {
		refusal := f.HTTP != nil && f.HTTP == sent.HTTP && f.HTTP.Answer().Status >= 400
		return f.MayAnswer(nil) && !refusal
	})
	if i >= 0 {
		kit.NotNoise(t, driver.Reply{Frame: came[i]})
		kit.SkipReplier(t)
		kit.SkipDoubler(t, s)
		t.Fail("no reply to the cancellation", "%s", came[i])
	}
}
