package lifecycle

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// earlyMessageChecks are the checks of what a server sends before it may. For each, a session is begun up to that point
// and left idle.
var earlyMessageChecks = check.Suite{
	"lifecycle/server-does-not-speak-first": check.WatchWithSetup(func(t *check.T) {
		if t.Server.Transport != "http" {
			handshake.StartIdleSession(t)
		}
	}, func(t *check.T, w check.Wire) {
		if t.Server.Transport == "http" {
			t.Skip(check.NotApplicable, "over Streamable HTTP a server cannot speak first")
		}
		eachWaitingPeriod(t, w, untilFirstMessage, func(t *check.T, m *driver.Frame) {
			t.Fail("silence until initialize was sent", "%s", check.Show(m))
		})
	}).InOwnSession().StartsFirst(),

	"lifecycle/no-server-requests-before-initialized": check.WatchWithSetup(func(t *check.T) {
		if t.Server.Transport != "http" { // over HTTP, there is no stream yet
			handshake.RunScenario(t, handshake.Scenario{DelayInitialized: true}).RequireConnected(t)
		}
	}, func(t *check.T, w check.Wire) {
		early := handshake.ServerSpokeFirst(w)
		eachWaitingPeriod(t, w, untilInitialized, func(t *check.T, m *driver.Frame) {
			switch {
			case m.IsRequest() && early:
				t.Yield("the server speaks before initialize, too")
			case m.IsRequest():
				t.Expect(m.Method).To(check.BeOneOf("ping"), "a request before initialized")
			case m.IsNotification():
				t.ExpectAdvice(m.Method).To(check.BeOneOf("notifications/message"), "a notification before initialized")
			}
		})
	}).InOwnSession().StartsFirst(),
}

// waitingPeriod is a time in a session during which the server has to wait for the client.
type waitingPeriod struct {
	// messages are what the server sent in this time.
	messages []*driver.Frame
	duration time.Duration
	// limitErr is set if not all messages of the session were kept.
	limitErr *driver.LimitError
}

func (w waitingPeriod) subject() check.Subject {
	return check.Subject{Frames: w.messages[:min(len(w.messages), 3)]}
}

// eachWaitingPeriod runs a check on what was sent in waiting periods. A period without messages counts if it was long
// enough for the server to send something. At least one period has to count.
func eachWaitingPeriod(
	t *check.T, w check.Wire, find func(*driver.Session) (waitingPeriod, bool), run func(*check.T, *driver.Frame),
) {
	var waits []waitingPeriod
	for _, s := range w.Sessions {
		if found, ok := find(s); ok {
			found.limitErr = s.UnsolicitedLimitErr(0)
			waits = append(waits, found)
		}
	}
	tells := func(w waitingPeriod) bool {
		return w.limitErr != nil || len(w.messages) > 0 || w.duration >= timing.LateWindow ||
			t.Server.Transport == "http"
	}
	if !slices.ContainsFunc(waits, tells) {
		t.NoVerdict(check.NotObserved, "no session was idle for %v", timing.LateWindow)
	}
	waits = slices.DeleteFunc(waits, func(w waitingPeriod) bool { return !tells(w) })
	check.Each(t, waits, waitingPeriod.subject, func(t *check.T, w waitingPeriod) {
		if w.limitErr != nil {
			t.NoVerdict(check.Undecided, "%v", w.limitErr)
		}
		for _, m := range w.messages {
			run(t, m)
		}
	})
}

// untilFirstMessage returns the time until the client sends its first message.
func untilFirstMessage(s *driver.Session) (waitingPeriod, bool) {
	return waitingPeriodIn(s, s.FramesSince(0), 0, isSent), true
}

// untilInitialized returns the time between initialize and notifications/initialized.
func untilInitialized(s *driver.Session) (waitingPeriod, bool) {
	record := s.FramesSince(0)
	isInitialize := func(f *driver.Frame) bool { return f.Side == driver.FromClient && f.Method == "initialize" }
	begin := slices.IndexFunc(record, isInitialize)
	if begin < 0 || s.ConnectResult == nil {
		return waitingPeriod{}, false
	}
	return waitingPeriodIn(s, record[begin:], record[begin].At, func(f *driver.Frame) bool {
		return f.AfterInvalidInput || isSent(f) && f.Method == "notifications/initialized"
	}), true
}

// isSent reports whether the client has sent a message; a GET has none.
func isSent(f *driver.Frame) bool { return f.Side == driver.FromClient && f.Raw.Len() > 0 }

// waitingPeriodIn returns the period from begin, where frames start, to the first frame that ends it or to the end of
// the session.
func waitingPeriodIn(
	s *driver.Session, frames []*driver.Frame, begin time.Duration, ends func(*driver.Frame) bool,
) (w waitingPeriod) {
	for _, f := range frames {
		switch {
		case f.AfterShutdown || f.Side == driver.SessionEvent || ends(f):
			w.duration = f.At - begin
			return w
		case f.Side == driver.FromServer:
			w.messages = append(w.messages, slices.DeleteFunc(f.Messages(), func(m *driver.Frame) bool {
				// These responses belong to another session.
				return !check.IsMessageByItself(m) || m.IsResponse() && s.OtherSessionUsedID(m.ID)
			})...)
		}
	}
	w.duration = time.Since(s.TimeOf(&driver.Frame{At: begin}))
	return w
}
