package subscriptions

import (
	"encoding/json"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// endChecks are the checks of how subscriptions end.
var endChecks = check.Suite{
	"subscriptions/stays-open": check.Probe(func(t *check.T) {
		u := requireAcknowledged(t)[filterAll]
		if !hasAnyMember(requireFilter(t, u)) {
			t.Skip(check.NotObserved, "nothing was granted, and then the server may end it")
		}
		t.DecidedBy(u).Expect(u.end == nil && !u.StreamEnded).To(check.BeTrue("a subscription that lasts",
			"its end at once"))
	}),

	"subscriptions/close-result-shape": check.WatchWithSetup(leaveSubscriptionOpen, func(t *check.T, w check.Wire) {
		closing := protocol.ModernResults(t, w).Filter("result of "+transcript.ListenMethod,
			func(m check.Message) bool {
				return m.Request.Method == transcript.ListenMethod
			})
		t.Judge(closing, func(t *check.T, m check.Message) {
			t.Expect(transcript.SubscriptionIDOf(m.Frame)).To(reportedByAckID(beRequestID(m.Request.ID)),
				"%s in _meta", driver.MetaSubscription)
		})
	}),

	"subscriptions/graceful-close": check.RestartProbe(func(t *check.T) {
		u := terminateSubscribed(t)
		t.DecidedBy(u).Expect(announcesEnd(u)).To(check.BeTrue("the result of "+transcript.ListenMethod,
			"none before the stream ended"))
	}).InOwnSession(),
}

// announcesEnd reports whether a message of the server ended the subscription, not the end of its stream alone.
func announcesEnd(u *subscription) bool {
	end := u.end
	return end != nil && end.Side != driver.StatusOnly
}

// terminateSubscribed sends SIGTERM to the server while a subscription is open, and returns the subscription with all
// that came before the process had ended. It ends the check if the server did not end itself.
func terminateSubscribed(t *check.T) *subscription {
	requireAcknowledged(t)
	return check.Step(t, "SIGTERM with a subscription", holdTermination)
}

func holdTermination(t *check.T) *subscription {
	s := t.Session(check.ToEnd)
	u := subscribe(t, s, s.NextID(), check.M{"notifications": toolcall.FullFilter(t)})
	if u.ack == nil || u.end != nil {
		t.Yield("no subscription is open")
	}
	exit, gone := check.TerminateServer(t, s)
	switch {
	case !gone && t.Site() == nil:
		t.Yield("the process still runs")
	case !gone:
		t.NoVerdict(check.Undecided, "the process still runs %v after SIGTERM", timing.Exit)
	case exit.Signal != "":
		t.Skip(check.NotObserved, "SIGTERM has ended the process, not the server itself")
	}
	u.Refresh()
	return u
}

// hasAnyMember reports whether a filter asks for anything.
func hasAnyMember(filter check.M) bool {
	for _, member := range filterMembers {
		if isInFilter(filter, member) {
			return true
		}
	}
	return false
}

// leaveSubscriptionOpen makes sure that a session ends with an open subscription. Unless the pooled session has one
// already, it subscribes in an exclusive session.
func leaveSubscriptionOpen(t *check.T) {
	trySubscriptions(t)
	if check.SharesProcess(t) && t.Session().HasOpenStreams() {
		return
	}
	s := t.Session(check.Exclusive)
	subscribe(t, s, s.NextID(), check.M{"notifications": toolcall.FullFilter(t)})
}

// reportedByAckID is a matcher of what fails as well where the acknowledgments have wrong ids.
func reportedByAckID(of types.GomegaMatcher) types.GomegaMatcher {
	return check.ReportedBy("subscriptions/ack-id", of)
}

// beRequestID matches the id of a request in any JSON form.
func beRequestID(id json.RawMessage) types.GomegaMatcher {
	return check.Satisfy(string(id), func(tag any) bool { return driver.SameID(id, text.CompactJSON(tag)) })
}
