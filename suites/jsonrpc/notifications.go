package jsonrpc

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var notifications = Suite{
	"jsonrpc/notification-no-response": Probe(func(t *T) {
		s := t.Session()
		cancellation := kit.Cancellation(s)
		mark := s.Mark()
		s.SendJSON(cancellation)
		Settle(t, s, mark)
		kit.ExpectNoReply(t, s, mark)
	}),

	"jsonrpc/unknown-notification-ignored": Probe(func(t *T) {
		s := t.Session()
		AskHarmless(t, s) // what the handshake brought is not a reply
		mark := s.Mark()
		s.Notify("notifications/mcpcheck/unknown", nil)
		_, err := s.Settle(mark)
		kit.ExpectAlive(t, err)
		kit.ExpectIgnored(t, s, mark)
	}),

	"jsonrpc/request-method-without-id": Probe(func(t *T) {
		p := kit.Provoke(t, kit.RequestWithoutID)
		if p.Fatal != nil {
			t.Yield("the session did not survive it")
		}
		r := kit.Reaction(p, nil)
		kit.NotNoise(t, r)
		if r.Answered() && !refusedByHTTP(r) {
			kit.SkipReplier(t)
		}
		t.Expect(r).NotTo(BeResult())
		if refusedByHTTP(r) {
			return // a notification that a server cannot accept gets an HTTP error status
		}
		t.Warn(r).NotTo(BeError())
	}),

	"jsonrpc/notification-method-with-id": Probe(func(t *T) {
		r := kit.Reaction(kit.Provoke(t, kit.NotificationWithID), kit.IDIn(kit.NotificationWithID))
		kit.WantRefuser(t, r)
		t.Expect(r).To(BeAnswered())
		skipRenumbered(t)
		t.Expect(r.Frame).To(kit.HaveID(kit.IDIn(kit.NotificationWithID)))
		t.Inform(r).To(BeError())
	}),

	"jsonrpc/server-notification-no-id": Watch(func(t *T, w Wire) {
		notifications := func(m Message) bool { return strings.HasPrefix(m.Method, "notifications/") }
		t.Judge(w.Messages().Filter("notification", notifications), func(t *T, m Message) {
			t.Expect(m.ID == nil).To(Hold("no id", "id %s", m.ID))
		})
	}),
}

// refusedByHTTP reports whether the answer is an HTTP error that names no request.
func refusedByHTTP(r driver.Reply) bool { return r.Answered() && kit.NeedsNoID(r.Frame) }
