package handshake

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// secondConnection is a process of a modern server that received, in this order: a list request, server/discover, and
// notifications. Then it is left idle. Nobody reads its stderr.
//
// A process is expensive, so one is used for all of that: earlier requests must not affect later ones, nor what the
// server sends on its own. What fails here is confirmed in a process for each, and all of it is when the server does
// not serve as far as server/discover.
type secondConnection struct {
	// firstReply is the reply to the list request or, of a server that declares no list, to server/discover.
	firstReply driver.Reply
	// connectReply is the reply to server/discover.
	connectReply driver.Reply
	session      *driver.Session
	// idleMark is the mark since which the session is idle.
	idleMark int
}

func openSecondConnection(t *check.T) *secondConnection {
	return check.Step(t, "another connection", func(t *check.T) *secondConnection {
		check.NeedsConfirmation(t)
		s := t.Session(check.ProcessWith(driver.Options{DiscardStderr: true}))
		n := &secondConnection{session: s}
		list, _ := protocol.ListMethod(t)
		if list != "" {
			if n.firstReply = s.AwaitFirst(s.Request(list, nil)); n.firstReply.Err != nil {
				t.Retry(check.Undecided, "%v", check.Explain(n.firstReply.Err))
			}
		}
		if n.connectReply = s.Connect(driver.ConnectParams(t.Revision)); n.connectReply.Result() == nil {
			t.Retry(check.Undecided, "server/discover brought %s", check.Got(n.connectReply))
		}
		if list == "" {
			n.firstReply = n.connectReply
		}
		sendNotifications(t, s)
		n.idleMark = s.Mark()
		check.KeepIdle(t, s)
		return n
	})
}

// FirstListReply is the reply to a list request that is the first request on a connection.
func FirstListReply(t *check.T, list string) driver.Reply {
	if check.SharesProcess(t) {
		return openSecondConnection(t).firstReply
	}
	return check.Step(t, "a list at first", func(t *check.T) driver.Reply {
		s := t.Session(check.Process)
		return s.AwaitFirst(s.Request(list, nil))
	})
}

// sendNotifications sends notifications that any client may send.
func sendNotifications(t *check.T, s *driver.Session) {
	mark := s.Mark()
	s.SendJSON(invalid.NewCancellation(s))
	s.Notify("notifications/mcpcheck/unknown", nil)
	check.Barrier(t, s, mark)
}

// StartIdleSession starts a server to which nothing is sent, so that watches see what it sends on its own. A modern
// server may be left idle after its first requests.
func StartIdleSession(t *check.T) {
	switch {
	case check.SharesProcess(t):
		openSecondConnection(t)
		return
	case !t.IsModern():
		RunScenario(t, Scenario{SilentStart: true})
		return
	}
	check.Step(t, "nothing", func(t *check.T) bool {
		check.KeepIdle(t, t.Session(check.Process))
		return true
	})
}

// FramesWhileIdle are the messages of a modern server in a process that it sent after answering server/discover, while
// it received no further request.
func FramesWhileIdle(t *check.T) []*driver.Frame {
	if check.SharesProcess(t) {
		n := openSecondConnection(t)
		return n.session.ReceivedSince(n.idleMark)
	}
	return check.Step(t, "idle after server/discover", func(t *check.T) []*driver.Frame {
		s := t.Session(check.Process)
		if r := s.Connect(driver.ConnectParams(t.Revision)); r.Result() == nil {
			t.Retry(check.Undecided, "server/discover brought %s", check.Got(r))
		}
		mark := s.Mark()
		s.Sleep(timing.LateWindow)
		return s.ReceivedSince(mark)
	})
}

// NotifyAndIdle sends notifications that any client may send, and leaves the session idle afterwards, so that a late
// reply cannot be meant for anything else.
func NotifyAndIdle(t *check.T) {
	switch {
	case check.SharesProcess(t):
		openSecondConnection(t)
		return
	case !t.IsModern():
		RunScenario(t, Scenario{NotifyAtEnd: true}).RequireConnected(t)
		return
	}
	check.Step(t, "notifications", func(t *check.T) bool {
		s := t.Session(check.Exclusive)
		sendNotifications(t, s)
		check.KeepIdle(t, s)
		return true
	})
}

// PrepareUnusedSession begins a legacy session like the first one of the run, and lists its tools before any is called.
// It is kept for a check that needs an unused session.
func PrepareUnusedSession(t *check.T) {
	check.Step(t, "a further session", func(t *check.T) bool {
		s := t.Session(check.Exclusive)
		if t.Server.Declares("tools") {
			protocol.ToolNames(t, s, nil)
		}
		check.KeepUnused(t, s)
		return true
	})
}

// RunWithoutStderrReader is the outcome of a session whose stderr nobody reads.
func RunWithoutStderrReader(t *check.T) ScenarioResult {
	if check.SharesProcess(t) {
		n := openSecondConnection(t)
		return ScenarioResult{ConnectReply: n.connectReply, ListReply: n.firstReply}
	}
	return RunScenario(t, Scenario{NoStderrReader: true})
}
