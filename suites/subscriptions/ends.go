package subscriptions

import (
	"encoding/json"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// ends are the checks of how subscriptions end.
var ends = Suite{
	"subscriptions/stays-open": Probe(func(t *T) {
		u := acknowledged(t)[everything]
		if !wantsAny(honoured(t, u)) {
			t.Because(NotObserved).Skip("nothing was granted, and then the server may end it")
		}
		t.By(u).Expect(u.End() == nil && !u.Over).To(Hold("a subscription that lasts", "its end at once"))
	}),

	"subscriptions/close-result-shape": WatchAfter(leaveOpen, func(t *T, w Wire) {
		closing := kit.Results(t, w).Filter("result of "+kit.Listen, func(m Message) bool {
			return m.Request.Method == kit.Listen
		})
		t.Judge(closing, func(t *T, m Message) {
			t.Expect(kit.Tag(m.Frame)).To(beID(m.Request.ID), "%s in _meta", driver.MetaSubscription)
		})
	}),

	"subscriptions/graceful-close": Ending(func(t *T) {
		if !driver.HasSIGTERM {
			t.Skip("this system has no SIGTERM")
		}
		acknowledged(t)
		s := LastSession(t)
		u := kit.Subscribe(t, s, s.NextID(), M{"notifications": kit.AllChanges(t)})
		if u.Ack() == nil || u.End() != nil {
			t.Yield("no subscription is open")
		}
		s.Stdio().Terminate()
		exit, gone := s.Stdio().AwaitExit(kit.ExitLimit)
		switch {
		case !gone:
			t.Yield("the process still runs")
		case exit.Signal != "":
			t.Because(NotObserved).Skip("SIGTERM has ended the process, not the server itself")
		}
		u.Reread()
		t.By(u).Expect(u.End() != nil).To(Hold("the result of "+kit.Listen, "none before the process ended"))
	}),
}

// wantsAny reports whether a filter asks for anything.
func wantsAny(filter M) bool {
	for _, member := range members {
		if wants(filter, member) {
			return true
		}
	}
	return false
}

// leaveOpen has a session end with a subscription, which many servers close then: any session or, when none asks for
// one by itself since the server announces nothing, one of its own.
func leaveOpen(t *T) {
	try(t)
	if SharesProcess(t) && t.Session().Listens() {
		return
	}
	s := t.Own()
	kit.Subscribe(t, s, s.NextID(), M{"notifications": kit.AllChanges(t)})
}

// beID matches the id of a request, however it is written.
func beID(id json.RawMessage) types.GomegaMatcher {
	return That(string(id), func(tag any) bool { return driver.SameID(id, Compact(tag)) })
}
