package handshake

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// secondConnection is a process of a server without a handshake to which was said, in this order: a list; lists by
// turns with another connection; server/discover; notifications. Then it was left to itself. Nobody reads its stderr.
//
// A process is dear, so one shows all of that: what was said before is not to matter to what is said later, nor to what
// the server says by itself. What does not pass here is tried once more alone, each in a process of its own, and all of
// it when the server does not serve as far as server/discover.
type secondConnection struct {
	lists        ConnectionLists
	requireLists func()       // ends a check of the lists as asking for them has ended
	connectReply driver.Reply // to server/discover
	session      *driver.Session
	idleMark     int // the mark since which it is left to itself
}

func openSecondConnection(t *T) *secondConnection {
	return Step(t, "another connection", func(t *T) *secondConnection {
		NeedsConfirmation(t)
		s := NewProcessWith(t, driver.Options{DiscardStderr: true})
		n := &secondConnection{session: s}
		n.requireLists = Deferred(t, func() {
			if list, _ := protocol.ListMethod(t); list != "" {
				n.lists.compare(t, list, s)
			}
		})
		if r := n.firstReply(); r.Err != nil {
			t.Retry("%v", Explain(r.Err))
		}
		if n.connectReply = s.Connect(driver.ConnectParams(t.Revision)); n.connectReply.Result() == nil {
			t.Retry("server/discover brought %s", Got(n.connectReply))
		}
		sendNotifications(t, s)
		n.idleMark = s.Mark()
		KeepIdle(t, s)
		return n
	})
}

// list is the answer to the first list or, of a server that declares none, to server/discover.
func (n *secondConnection) firstReply() driver.Reply {
	if n.lists.ListMethod == "" {
		return n.connectReply
	}
	return n.lists.FirstReply
}

// sendNotifications sends those that any client may send.
func sendNotifications(t *T, s *driver.Session) {
	mark := s.Mark()
	s.SendJSON(invalid.NewCancellation(s))
	s.Notify("notifications/mcpcheck/unknown", nil)
	Barrier(t, s, mark)
}

// StartIdleSession starts a server to which nothing is said, for watches to judge what it says all the same. Without a
// handshake it is left to itself after the first requests.
func StartIdleSession(t *T) {
	switch {
	case SharesProcess(t):
		openSecondConnection(t)
		return
	case !t.IsModern():
		RunScenario(t, Scenario{SilentStart: true})
		return
	}
	Step(t, "nothing", func(t *T) bool {
		KeepIdle(t, t.NewProcess())
		return true
	})
}

// Idle is what a server without a handshake has said so far in a process in which it was asked for nothing more, once
// it had answered server/discover.
func FramesWhileIdle(t *T) []*driver.Frame {
	if SharesProcess(t) {
		n := openSecondConnection(t)
		return n.session.ReceivedSince(n.idleMark)
	}
	return Step(t, "idle after server/discover", func(t *T) []*driver.Frame {
		s := t.NewProcess()
		if r := s.Connect(driver.ConnectParams(t.Revision)); r.Result() == nil {
			t.Retry("server/discover brought %s", Got(r))
		}
		mark := s.Mark()
		s.Sleep(LateWindow)
		return s.ReceivedSince(mark)
	})
}

// NotifyAndIdle sends notifications that any client may send, and leaves time for replies that come late. Nothing is
// said in the session meanwhile: whatever comes then could be meant for that.
func NotifyAndIdle(t *T) {
	switch {
	case SharesProcess(t):
		openSecondConnection(t)
		return
	case !t.IsModern():
		RunScenario(t, Scenario{NotifyAtEnd: true}).RequireConnected(t)
		return
	}
	Step(t, "notifications", func(t *T) bool {
		s := t.ExclusiveSession()
		sendNotifications(t, s)
		KeepIdle(t, s)
		return true
	})
}

// PrepareUnusedSession begins a further session with a handshake, like the first one of the run, and lists its tools
// before any is called. It is left for who wants an unused one.
func PrepareUnusedSession(t *T) {
	Step(t, "a further session", func(t *T) bool {
		s := t.ExclusiveSession()
		if t.Server.Declares("tools") {
			protocol.ToolNames(t, s, nil)
		}
		KeepUnused(t, s)
		return true
	})
}

// Muted is what a session came to that was begun with nobody to read stderr.
func RunWithoutStderrReader(t *T) ScenarioResult {
	if SharesProcess(t) {
		n := openSecondConnection(t)
		return ScenarioResult{ConnectReply: n.connectReply, ListReply: n.firstReply()}
	}
	return RunScenario(t, Scenario{NoStderrReader: true})
}
