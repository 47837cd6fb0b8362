package lifecycle

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// shutdownChecks are the checks of how a session over stdio ends.
var shutdownChecks = check.Suite{
	// A quick run closes stdin, which shows more.
	"lifecycle/stdio-exit-on-sigterm": check.ShutdownProbe(func(t *check.T) {
		if !driver.HasSIGTERM {
			t.Skip(check.NotApplicable, "this system has no SIGTERM")
		}
		s := t.Session(check.ToEnd)
		s.Stdio().Terminate()
		_, gone := s.Stdio().AwaitExit(timing.Exit)
		t.Expect(gone).To(check.BeTrue("the process gone within 5s of SIGTERM", "a process that still runs"))
	}).InOwnSession(),

	"lifecycle/stdio-clean-exit": check.ShutdownProbe(func(t *check.T) {
		e := handshake.CloseStdin(t)
		if !e.ExitedByItself {
			t.Yield("the process did not exit by itself")
		}
		t.Expect(e.Exit.Status).To(check.BeOneOf(0), "exit status")
		t.ExpectAdvice(!hasStackTrace(e.Stderr)).To(check.BeTrue("a quiet end", "a stack trace on stderr"))
	}),

	"lifecycle/in-flight-request-at-eof": check.ProcessProbe(func(t *check.T) {
		if t.IsModern() {
			expectAnswersAtEOF(t)
			return
		}
		o := handshake.RunScenario(t, handshake.Scenario{CloseStdin: true})
		if silence := new(driver.TimeoutError); errors.As(o.ConnectReply.Err, &silence) {
			t.NoVerdict(check.Undecided, "%v", silence) // the server is slow and still working
		}
		if !o.NoOpReply.Answered() {
			check.RequestNoOp(t, t.Session(check.Exclusive)) // the server may leave this unanswered
		}
		t.Expect(o.ConnectReply).To(check.BeAnswered(), "initialize, sent before stdin was closed")
		t.Expect(o.NoOpReply).To(check.BeAnswered(), "%s, sent before stdin was closed", o.NoOpReply.Method)
	}),

	"lifecycle/server-shutdown-is-clean": check.Watch(func(t *check.T, w check.Wire) {
		var ends []serverExit
		for _, s := range w.Sessions {
			if e, unprompted := unrequestedExit(s); unprompted {
				ends = append(ends, e)
			}
		}
		if len(ends) == 0 {
			t.Skip(check.NotObserved, "the server ended no session by itself")
		}
		check.Each(t, ends, serverExit.subject, func(t *check.T, e serverExit) {
			// in this time, the exit may cross a request
			if n := len(e.pending); n > 0 && e.exit.At-e.pending[0].At < timing.Crossing {
				t.NoVerdict(check.Undecided, "%s was sent less than %v before the exit, and may have crossed it",
					e.pending[0].Method, timing.Crossing)
			}
			t.Expect(e.methods()).To(check.BeEmptyList[string]("an exit between requests"),
				"requests without an answer")
		})
	}),
}

// expectAnswersAtEOF closes the stdin of a new process right after its first requests, and requires a response to
// each.
func expectAnswersAtEOF(t *check.T) {
	s := t.Session(check.Process)
	s.MarkInvalidInputFromStart() // checks of ordinary sessions must not judge what is left unanswered here
	method, params := protocol.OrdinaryRequest(t, s)
	sent := []driver.Pending{s.Request(s.NoOp()), s.Request(method, params)}
	for range handshake.InFlightAtEOF(t) {
		sent = append(sent, s.Request(s.NoOp()))
	}
	s.Stdio().CloseStdin()
	for _, p := range sent {
		r := s.AwaitFirst(p)
		if silence := new(driver.TimeoutError); errors.As(r.Err, &silence) {
			t.NoVerdict(check.Undecided, "%v", silence) // the server is slow and still working
		}
		if !r.Answered() && slices.ContainsFunc(s.ReceivedSince(0), isUnmatched(sent)) {
			t.Yield("the responses do not have the ids of their requests")
		}
		t.Expect(r).To(check.BeAnswered(), "%s, sent before stdin was closed", r.Method)
	}
}

// isUnmatched returns a function that reports whether a message is a response to none of the requests.
func isUnmatched(sent []driver.Pending) func(*driver.Frame) bool {
	return func(f *driver.Frame) bool {
		isIts := func(p driver.Pending) bool { return driver.SameID(f.RequestID(), p.ID) }
		return f.IsResponse() && !slices.ContainsFunc(sent, isIts)
	}
}

// serverExit is the exit of a server in a session that the client had not ended.
type serverExit struct {
	// session is the name of the session.
	session string
	// pending are the unanswered requests, in the order in which they were sent.
	pending []*driver.Frame
	exit    *driver.Frame
}

func (e serverExit) subject() check.Subject {
	return check.Subject{Name: e.session, Frames: append(e.pending, e.exit)}
}

// methods returns the methods of the unanswered requests.
func (e serverExit) methods() (methods []string) {
	for _, request := range e.pending {
		methods = append(methods, request.Method)
	}
	return methods
}

// unrequestedExit returns the exit of a server that ended a session on its own, with the requests that it left
// unanswered; the second result reports whether it did. Cancelled requests and those in arrays or invalid messages do
// not count, since other checks judge these. An exit with another status than 0 is a crash, which the checks of the
// messages before it report.
func unrequestedExit(s *driver.Session) (e serverExit, unprompted bool) {
	if s.ConnectResult == nil {
		return serverExit{}, false // the session was not established
	}
	open := map[string]*driver.Frame{}
	for _, f := range s.FramesSince(0) {
		switch {
		case f.AfterInvalidInput || f.AfterShutdown:
			return serverExit{}, false
		case f.Side == driver.SessionEvent && f.Raw.String() == driver.CleanExit:
			sent := func(a, b *driver.Frame) int { return cmp.Compare(a.At, b.At) }
			return serverExit{s.Name(), slices.SortedFunc(maps.Values(open), sent), f}, true
		case f.Manual:
		case f.Side == driver.FromClient && f.IsRequest():
			open[driver.IDKey(f.ID)] = f
		case f.Side == driver.FromClient:
			delete(open, transcript.CancelledID(f))
		case f.Side == driver.FromServer && f.IsResponse():
			delete(open, driver.IDKey(f.RequestID()))
		}
	}
	return serverExit{}, false
}

// hasStackTrace reports whether a text contains a stack trace in the form of one of some languages.
func hasStackTrace(text string) bool {
	for _, sign := range []string{"Traceback (most recent call last)", "\ngoroutine ", "\n    at ", "thread " +
		"'main' panicked", "Exception in thread"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
