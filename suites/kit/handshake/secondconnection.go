package handshake

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
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

func openSecondConnection(t *check.T) *secondConnection {
	return check.Step(t, "another connection", func(t *check.T) *secondConnection {
		check.NeedsConfirmation(t)
		s := check.NewProcessWith(t, driver.Options{DiscardStderr: true})
		n := &secondConnection{session: s}
		n.requireLists = check.Deferred(t, func() {
			if list, _ := protocol.ListMethod(t); list != "" {
				n.lists.compare(t, list, s)
			}
		})
		if r := n.firstReply(); r.Err != nil {
			t.Retry("%v", check.Explain(r.Err))
		}
		if n.connectReply = s.Connect(driver.ConnectParams(t.Revision)); n.connectReply.Result() == nil {
			t.Retry("server/discover brought %s", check.Got(n.connectReply))
		}
		sendNotifications(t, s)
		n.idleMark = s.Mark()
		check.KeepIdle(t, s)
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
func sendNotifications(t *check.T, s *driver.Session) {
	mark := s.Mark()
	s.SendJSON(invalid.NewCancellation(s))
	s.Notify("notifications/mcpcheck/unknown", nil)
	check.Barrier(t, s, mark)
}

// StartIdleSession starts a server to which nothing is said, for watches to judge what it says all the same. Without a
// handshake it is left to itself after the first requests.
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
		check.KeepIdle(t, t.NewProcess())
		return true
	})
}

// Idle is what a server without a handshake has said so far in a process in which it was asked for nothing more, once
// it had answered server/discover.
func FramesWhileIdle(t *check.T) []*driver.Frame {
	if check.SharesProcess(t) {
		n := openSecondConnection(t)
		return n.session.ReceivedSince(n.idleMark)
	}
	return check.Step(t, "idle after server/discover", func(t *check.T) []*driver.Frame {
		s := t.NewProcess()
		if r := s.Connect(driver.ConnectParams(t.Revision)); r.Result() == nil {
			t.Retry("server/discover brought %s", check.Got(r))
		}
		mark := s.Mark()
		s.Sleep(check.LateWindow)
		return s.ReceivedSince(mark)
	})
}

// NotifyAndIdle sends notifications that any client may send, and leaves time for replies that come late. Nothing is
// said in the session meanwhile: whatever comes then could be meant for that.
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
		s := t.ExclusiveSession()
		sendNotifications(t, s)
		check.KeepIdle(t, s)
		return true
	})
}

// PrepareUnusedSession begins a further session with a handshake, like the first one of the run, and lists its tools
// before any is called. It is left for who wants an unused one.
func PrepareUnusedSession(t *check.T) {
	check.Step(t, "a further session", func(t *check.T) bool {
		s := t.ExclusiveSession()
		if t.Server.Declares("tools") {
			protocol.ToolNames(t, s, nil)
		}
		check.KeepUnused(t, s)
		return true
	})
}

// Muted is what a session came to that was begun with nobody to read stderr.
func RunWithoutStderrReader(t *check.T) ScenarioResult {
	if check.SharesProcess(t) {
		n := openSecondConnection(t)
		return ScenarioResult{ConnectReply: n.connectReply, ListReply: n.firstReply()}
	}
	return RunScenario(t, Scenario{NoStderrReader: true})
}
