package lifecycle

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// early are the checks of what a server says before it is its turn, at whatever time. For each a session is begun as
// far as that, and left to itself.
var early = Suite{
	"lifecycle/server-does-not-speak-first": WatchAfter(func(t *T) {
		if t.Server.Transport != "http" {
			kit.Ignore(t)
		}
	}, func(t *T, w Wire) {
		if t.Server.Transport == "http" {
			t.Skip("over Streamable HTTP a server cannot speak first")
		}
		judgeWaits(t, w, untilHello, func(t *T, m *driver.Frame) {
			t.Fail("silence until initialize was sent", "%s", Show(m))
		})
	}),

	"lifecycle/no-server-requests-before-initialized": WatchAfter(func(t *T) {
		if t.Server.Transport != "http" { // where there is no stream yet to speak on
			kit.Begin(t, kit.Opening{Patient: true}).WantWelcome(t)
		}
	}, func(t *T, w Wire) {
		early := kit.SpokeFirst(w)
		judgeWaits(t, w, untilInitialized, func(t *T, m *driver.Frame) {
			switch {
			case m.IsRequest() && early:
				t.Yield("the server speaks before initialize, too")
			case m.IsRequest():
				t.Expect(m.Method).To(BeOneOf("ping"), "a request before initialized")
			case m.IsNotification():
				t.Inform(m.Method).To(BeOneOf("notifications/message"), "a notification before initialized")
			}
		})
	}),
}

// wait is a time in a session in which the server has to wait for the client.
type wait struct {
	said   []*driver.Frame // what the server said in it
	took   time.Duration
	excess *driver.Excess // of what was kept of the session
}

func (w wait) subject() Subject { return Subject{Frames: w.said[:min(len(w.said), 3)]} }

// judgeWaits tries a check on what was said in waits. A silence counts when the server had all the time to speak; one
// that is shorter tells nothing, and there has to be one that counts.
func judgeWaits(t *T, w Wire, find func(*driver.Session) (wait, bool), run func(*T, *driver.Frame)) {
	var waits []wait
	for _, s := range w.Sessions {
		if found, ok := find(s); ok {
			found.excess = s.Unheard(0)
			waits = append(waits, found)
		}
	}
	tells := func(w wait) bool {
		return w.excess != nil || len(w.said) > 0 || w.took >= Late || t.Server.Transport == "http"
	}
	if !slices.ContainsFunc(waits, tells) {
		t.Because(NotObserved).Inconclusive("no session was idle for %v", Late)
	}
	waits = slices.DeleteFunc(waits, func(w wait) bool { return !tells(w) })
	Each(t, waits, wait.subject, func(t *T, w wait) {
		if w.excess != nil {
			t.Inconclusive("%v", w.excess)
		}
		for _, m := range w.said {
			run(t, m)
		}
	})
}

// untilHello is the time until the client says something.
func untilHello(s *driver.Session) (wait, bool) { return waitIn(s, s.Record(0), 0, isSaid), true }

// untilInitialized is the time between initialize and notifications/initialized.
func untilInitialized(s *driver.Session) (wait, bool) {
	record := s.Record(0)
	greets := func(f *driver.Frame) bool { return f.Side == driver.FromClient && f.Method == "initialize" }
	begin := slices.IndexFunc(record, greets)
	if begin < 0 || s.Welcome == nil {
		return wait{}, false
	}
	return waitIn(s, record[begin:], record[begin].At, func(f *driver.Frame) bool {
		return f.Hostile || isSaid(f) && f.Method == "notifications/initialized"
	}), true
}

// isSaid reports whether the client has said something; by a GET it only listens.
func isSaid(f *driver.Frame) bool { return f.Side == driver.FromClient && f.Raw.Len() > 0 }

// waitIn is the time with which frames of a session begin, until one is the end of it or the session ends.
func waitIn(s *driver.Session, frames []*driver.Frame, begin time.Duration, ends func(*driver.Frame) bool) (w wait) {
	for _, f := range frames {
		switch {
		case f.AfterEOF || f.Side == driver.Event || ends(f):
			w.took = f.At - begin
			return w
		case f.Side == driver.FromServer:
			w.said = append(w.said, slices.DeleteFunc(f.Members(), func(m *driver.Frame) bool {
				return !IsSpoken(m) || m.IsResponse() && s.AskedBeside(m.ID) // which is for another session
			})...)
		}
	}
	w.took = time.Since(s.Moment(&driver.Frame{At: begin}))
	return w
}
