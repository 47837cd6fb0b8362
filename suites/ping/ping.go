// Package ping holds the checks of ping: the response, how soon it is sent, and how often servers send pings
// themselves.
//
// requirePing reads a shared step, plainPing; checks that need a served ping end there. That ping works while a tool
// runs is read from the calls of package toolcall.
package ping

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"ping/empty-result": check.Probe(func(t *check.T) {
		expectEmpty(t, plainPing(t))
	}),

	"ping/prompt": check.Probe(func(t *check.T) {
		requirePing(t) // the first ping may load what the others need
		const pings, prompt = 10, time.Second
		var options []check.SessionOption
		if t.Server.Latency > prompt {
			// it was slow when nothing else ran: to confirm that would take as long again
			options = append(options, check.Exclusive)
		}
		s := t.Session(options...)
		var late []time.Duration
		for n := 0; n < pings && len(late) <= pings/2; n++ {
			begin := time.Now()
			t.Expect(t.Send(s, "ping", nil, check.AllowSilence)).To(check.BeAnswered())
			if took := time.Since(begin); took > prompt {
				late = append(late, took.Round(time.Millisecond))
			}
		}
		t.ExpectShould(len(late) <= pings/2).To(check.BeTrue("half of ten pings answered within 1s", "answers after %v",
			late))
	}),

	"ping/params-forms": check.Probe(func(t *check.T) {
		requirePing(t)
		s := t.Session()
		for _, params := range []check.M{nil, {}} {
			t.Expect(t.Send(s, "ping", params, check.AllowSilence)).To(check.BeResult())
		}
		if t.Send(s, "ping", check.M{"_meta": protocol.UnknownMeta}, check.AllowSilence).Result() == nil {
			t.Yield("it is not served with _meta")
		}
	}),

	"ping/during-long-request": check.Probe(func(t *check.T) {
		var slow []toolcall.ToolCall
		for _, c := range toolcall.ValidCalls(t).List {
			if c.IsLong {
				slow = append(slow, c)
			}
			if c.IsLong && !c.PingAnsweredFirst {
				check.NeedsConfirmation(t) // the server may have loaded something for the first time
			}
		}
		held := callsThatHoldPing(t)
		if len(slow) == 0 && len(held) == 0 {
			t.NoVerdict(check.NotObserved, "no called tool runs long enough to test this")
		}
		tool := func(c toolcall.ToolCall) check.Subject { return c.Tool }
		check.Each(t, append(slow, held...), tool, func(t *check.T, c toolcall.ToolCall) {
			if !c.IsLong {
				expectPingMeanwhile(t, c)
				return
			}
			if !c.PingAnsweredFirst {
				roundtrip.RequireNotCrowded(t)
			}
			t.Expect(c.PingAnsweredFirst).To(check.BeTrue("ping answered while the tool runs",
				"its answer after that of the tool, which took %v", c.Duration))
			if c.PingReply.Result() == nil && isPingServedAfter(c) && !c.PingReply.IsBusy() {
				t.Expect(c.PingReply).To(check.BeResult(), "ping while %s runs", c.Tool.Name)
			}
		})
	}),

	"ping/server-ping-rate": check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(w.Requests().Filter("ping", func(m check.Message) bool { return m.Method == "ping" }),
			func(t *check.T, m check.Message) {
				n, calls, seconds := countPings(m.Session)
				t.ExpectShould(n-pingsPerCall*calls <= maxPings(seconds)).To(check.BeTrue(
					"at most about one ping a second",
					"%d pings in a session of %.1fs with %d calls", n, seconds, calls))
			})
	}),
}

// callsThatHoldPing are a few calls after which a ping was answered that was sent while they ran, though not for so
// long that they must have been the reason.
func callsThatHoldPing(t *check.T) (held []toolcall.ToolCall) {
	const few = 3
	for _, c := range toolcall.ValidCalls(t).List {
		if c.HeldPing && !c.IsLong && c.IsDirectSuccess() && len(held) < few {
			held = append(held, c)
		}
	}
	return held
}

// expectPingMeanwhile repeats a call until a ping that is sent while it runs is answered first, three times at most.
func expectPingMeanwhile(t *check.T, c toolcall.ToolCall) {
	s := t.Session(check.Exclusive)
	for range 3 {
		p := c.Repeat(s, nil)
		if s.AwaitFor(p, timing.LongCall).Answered() {
			t.Skip(check.NotObserved, "it is answered within %v", timing.LongCall)
		}
		pong := s.Call(s.NoOp())
		reply := s.AwaitLongRunning(p)
		if !pong.Answered() || !reply.Answered() {
			t.Retry(check.Undecided, "no answer to ping and %s at the same time", c.Tool.Name)
		}
		if !toolcall.HoldsPing(t, reply, pong) {
			return
		}
	}
	roundtrip.RequireNotCrowded(t)
	t.Fail("ping answered while the tool runs", "its answer after that of the tool, three times")
}

// isPingServedAfter reports whether a later ping in the session of a call had a result.
func isPingServedAfter(c toolcall.ToolCall) bool {
	pings := check.Wire{Sessions: []*driver.Session{c.Session}}.ResultsOf("ping").List
	return slices.ContainsFunc(pings, func(m check.Message) bool {
		return m.Request.At > c.PingReply.Request.At && protocol.ResultOf(m) != nil
	})
}

// plainPing returns the reply to a ping without params.
func plainPing(t *check.T) driver.Reply {
	return check.Step(t, "a plain ping",
		func(t *check.T) driver.Reply { return t.Send(t.Session(), "ping", nil, check.AllowSilence) })
}

// requirePing ends the check if ping is not served at all.
func requirePing(t *check.T) {
	if plainPing(t).Result() == nil {
		t.Yield("ping is not served")
	}
}

// countPings counts the server's pings and the client's tool calls in a session, each of which may be the reason for
// pings. It also returns the duration of the session in seconds.
func countPings(s *driver.Session) (n, calls int, seconds float64) {
	for _, f := range s.FramesSince(0) {
		seconds = f.At.Seconds()
		if f.Side == driver.FromServer && f.IsRequest() && f.Method == "ping" {
			n++
		}
		if f.Side == driver.FromClient && f.Method == "tools/call" {
			calls++
		}
	}
	return n, calls, seconds
}

// pingsPerCall is how many pings of the server a call may be the reason for.
const pingsPerCall = 2

// maxPings returns how many pings are acceptable in a session of some seconds: one a second, and a few more since the
// sessions of mcpcheck are short.
func maxPings(seconds float64) int { return 5 + int(seconds) }

// expectEmpty requires a result without members; _meta is allowed in every result.
func expectEmpty(t *check.T, r driver.Reply) {
	protocol.SkipUnlessObject(t, r)
	t.Expect(r).To(check.BeResult())
	for name := range r.Result() {
		t.Expect(name).To(check.BeOneOf("_meta"))
	}
}
