package lifecycle

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
)

// earlyMessageChecks are the checks of what a server says before it is its turn, at whatever time. For each a session
// is begun as far as that, and left to itself.
var earlyMessageChecks = check.Suite{
	"lifecycle/server-does-not-speak-first": check.WatchWithSetup(func(t *check.T) {
		if t.Server.Transport != "http" {
			handshake.StartIdleSession(t)
		}
	}, func(t *check.T, w check.Wire) {
		if t.Server.Transport == "http" {
			t.Skip("over Streamable HTTP a server cannot speak first")
		}
		eachWaitingPeriod(t, w, untilFirstMessage, func(t *check.T, m *driver.Frame) {
			t.Fail("silence until initialize was sent", "%s", check.Show(m))
		})
	}),

	"lifecycle/no-server-requests-before-initialized": check.WatchWithSetup(func(t *check.T) {
		if t.Server.Transport != "http" { // where there is no stream yet to speak on
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
	}),
}

// waitingPeriod is a time in a session in which the server has to wait for the client.
type waitingPeriod struct {
	messages []*driver.Frame // what the server said in it
	duration time.Duration
	limitErr *driver.LimitError // of what was kept of the session
}

func (w waitingPeriod) subject() check.Subject {
	return check.Subject{Frames: w.messages[:min(len(w.messages), 3)]}
}

// eachWaitingPeriod tries a check on what was said in waits. A silence counts when the server had all the time to
// speak; one that is shorter tells nothing, and there has to be one that counts.
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
		return w.limitErr != nil || len(w.messages) > 0 || w.duration >= check.LateWindow ||
			t.Server.Transport == "http"
	}
	if !slices.ContainsFunc(waits, tells) {
		t.WithReason(check.NotObserved).Inconclusive("no session was idle for %v", check.LateWindow)
	}
	waits = slices.DeleteFunc(waits, func(w waitingPeriod) bool { return !tells(w) })
	check.Each(t, waits, waitingPeriod.subject, func(t *check.T, w waitingPeriod) {
		if w.limitErr != nil {
			t.Inconclusive("%v", w.limitErr)
		}
		for _, m := range w.messages {
			run(t, m)
		}
	})
}

// untilFirstMessage is the time until the client says something.
func untilFirstMessage(s *driver.Session) (waitingPeriod, bool) {
	return waitingPeriodIn(s, s.FramesSince(0), 0, isSent), true
}

// untilInitialized is the time between initialize and notifications/initialized.
func untilInitialized(s *driver.Session) (waitingPeriod, bool) {
	record := s.FramesSince(0)
	greets := func(f *driver.Frame) bool { return f.Side == driver.FromClient && f.Method == "initialize" }
	begin := slices.IndexFunc(record, greets)
	if begin < 0 || s.ConnectResult == nil {
		return waitingPeriod{}, false
	}
	return waitingPeriodIn(s, record[begin:], record[begin].At, func(f *driver.Frame) bool {
		return f.AfterInvalidInput || isSent(f) && f.Method == "notifications/initialized"
	}), true
}

// isSent reports whether the client has said something; by a GET it only listens.
func isSent(f *driver.Frame) bool { return f.Side == driver.FromClient && f.Raw.Len() > 0 }

// waitingPeriodIn is the time with which frames of a session begin, until one is the end of it or the session ends.
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
				// which is for another session
				return !check.IsMessageByItself(m) || m.IsResponse() && s.OtherSessionUsedID(m.ID)
			})...)
		}
	}
	w.duration = time.Since(s.TimeOf(&driver.Frame{At: begin}))
	return w
}
