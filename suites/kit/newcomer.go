package kit

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// newcomer is a process of a server without a handshake to which was said, in this order: a list; lists by turns with
// another connection; server/discover; notifications. Then it was left to itself. Nobody reads its stderr.
//
// A process is dear, so one shows all of that: what was said before is not to matter to what is said later, nor to what
// the server says by itself. What does not pass here is tried once more alone, each in a process of its own, and all of
// it when the server does not serve as far as server/discover.
type newcomer struct {
	lists    Connections
	endLists func()       // ends a check of the lists as asking for them has ended
	welcome  driver.Reply // to server/discover
	session  *driver.Session
	left     int // the mark since which it is left to itself
}

func meet(t *T) *newcomer {
	return Step(t, "another connection", func(t *T) *newcomer {
		NeedsConfirmation(t)
		s := StartWith(t, driver.Options{MuteStderr: true})
		n := &newcomer{session: s}
		n.endLists = Deferred(t, func() {
			if list, _ := ListMethod(t); list != "" {
				n.lists.compare(t, list, s)
			}
		})
		if r := n.list(); r.Err != nil {
			t.Again("%v", Explain(r.Err))
		}
		if n.welcome = s.Greet(driver.Hello(t.Revision)); n.welcome.Result() == nil {
			t.Again("server/discover brought %s", Got(n.welcome))
		}
		sendNotifications(t, s)
		n.left = s.Mark()
		KeepIdle(t, s)
		return n
	})
}

// list is the answer to the first list or, of a server that declares none, to server/discover.
func (n *newcomer) list() driver.Reply {
	if n.lists.List == "" {
		return n.welcome
	}
	return n.lists.First
}

// sendNotifications sends those that any client may send.
func sendNotifications(t *T, s *driver.Session) {
	mark := s.Mark()
	s.SendJSON(Cancellation(s))
	s.Notify("notifications/mcpcheck/unknown", nil)
	Settle(t, s, mark)
}

// Ignore starts a server to which nothing is said, for watches to judge what it says all the same. Without a handshake
// it is left to itself after the first requests.
func Ignore(t *T) {
	switch {
	case SharesProcess(t):
		meet(t)
		return
	case !t.Modern():
		Begin(t, Opening{Idle: true})
		return
	}
	Step(t, "nothing", func(t *T) bool {
		KeepIdle(t, t.Start())
		return true
	})
}

// Idle is what a server without a handshake has said so far in a process in which it was asked for nothing more, once
// it had answered server/discover.
func Idle(t *T) []*driver.Frame {
	if SharesProcess(t) {
		n := meet(t)
		return n.session.Since(n.left)
	}
	return Step(t, "idle after server/discover", func(t *T) []*driver.Frame {
		s := t.Start()
		if r := s.Greet(driver.Hello(t.Revision)); r.Result() == nil {
			t.Again("server/discover brought %s", Got(r))
		}
		mark := s.Mark()
		s.Idle(Late)
		return s.Since(mark)
	})
}

// Notify sends notifications that any client may send, and leaves time for replies that come late. Nothing is said in
// the session meanwhile: whatever comes then could be meant for that.
func Notify(t *T) {
	switch {
	case SharesProcess(t):
		meet(t)
		return
	case !t.Modern():
		Begin(t, Opening{Left: true}).WantWelcome(t)
		return
	}
	Step(t, "notifications", func(t *T) bool {
		s := t.Own()
		sendNotifications(t, s)
		KeepIdle(t, s)
		return true
	})
}

// MeetAgain begins a further session with a handshake, like the first one of the run, and lists its tools before any is
// called. It is left for who wants an unused one.
func MeetAgain(t *T) {
	Step(t, "a further session", func(t *T) bool {
		s := t.Own()
		if t.Server.Declares("tools") {
			ListNames(t, s, nil)
		}
		KeepUnused(t, s)
		return true
	})
}

// Muted is what a session came to that was begun with nobody to read stderr.
func Muted(t *T) Opened {
	if SharesProcess(t) {
		n := meet(t)
		return Opened{Welcome: n.welcome, List: n.list()}
	}
	return Begin(t, Opening{Muted: true})
}
