package subscriptions

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// listenChecks are the checks of how subscriptions begin.
var listenChecks = check.Suite{
	"subscriptions/listen-implemented": check.Probe(func(t *check.T) {
		u := trySubscriptions(t)[filterAll]
		switch {
		case u.Ack() != nil:
			return
		case u.Reply().Error() != nil && len(declaredMembers(t)) == 0:
			t.Inconclusive("subscriptions/listen was refused: %s", check.Got(u.Reply()))
		case u.OpenOthers > 0:
			t.Yield("another one of the session has begun")
		case u.IsAnsweredByBody():
			t.Yield("it is answered without a stream")
		}
		t.Fail("an acknowledgment", "%s", u.Reply())
	}),

	"subscriptions/ack-first": check.Probe(func(t *check.T) {
		requireAcknowledged(t)
		told := slices.DeleteFunc(slices.Clone(trySubscriptions(t)), func(u *transcript.Subscription) bool {
			return u.Ack() == nil && !hasEndedWithoutAck(u)
		})
		check.Each(t, told, (*transcript.Subscription).Subject, func(t *check.T, u *transcript.Subscription) {
			first := u.Messages[0].Method
			if u.Messages[0].IsResponse() {
				first = check.Got(u.Reply())
			}
			t.Expect(first).To(check.BeOneOf(transcript.AcknowledgedMethod), "the first message")
		})
	}),

	"subscriptions/ack-id": check.Probe(func(t *check.T) {
		eachAcknowledged(t, func(t *check.T, u *transcript.Subscription) {
			t.Expect(transcript.SubscriptionIDOf(u.Ack().Frame)).To(beRequestID(u.Request.ID), "%s in _meta",
				driver.MetaSubscription)
		})
	}),

	"subscriptions/ack-shape": check.Probe(func(t *check.T) {
		eachAcknowledged(t, func(t *check.T, u *transcript.Subscription) {
			t.Expect(filterViolations(t, u)).To(check.BeEmptyList[string]("notifications, as a filter"))
		})
	}),

	"subscriptions/ack-subset": check.Probe(func(t *check.T) {
		eachAcknowledged(t, func(t *check.T, u *transcript.Subscription) {
			t.Expect(unrequestedMembers(requireFilter(t, u),
				u.Filter)).To(check.BeEmptyList[string]("nothing but what was asked for"))
		})
	}),

	"subscriptions/ack-omits-unsupported": check.Probe(func(t *check.T) {
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		able := declaredMembers(t)
		u := requireAcknowledged(t)[filterAll]
		if len(able) == len(transcript.FilterMemberOf) {
			t.WithReason(check.NotObserved).Skip("the server announces all there is")
		}
		var claimed []string
		for _, a := range filterCapabilities {
			declared, _ := t.Server.Capabilities[a.capability].(check.M)
			_, isFlag := declared[a.flag].(bool)
			switch {
			case !isInFilter(requireFilter(t, u), a.member) || slices.Contains(able, a.member):
			case check.HasMember(declared, a.flag) && !isFlag:
				t.Yield("%s of %s is not a boolean", a.flag, a.capability)
			case servesUndeclared(t, a.capability):
				t.Yield("%s are served undeclared", a.capability)
			default:
				claimed = append(claimed, a.member)
			}
		}
		t.DecidedBy(u).Expect(claimed).To(check.BeEmptyList[string]("what the server declares that it announces"))
	}),

	"subscriptions/ack-supported-honoured": check.Probe(func(t *check.T) {
		u := requireAcknowledged(t)[filterAll]
		var dropped []string
		for _, member := range declaredMembers(t) {
			if isInFilter(u.Filter, member) && !isInFilter(requireFilter(t, u), member) {
				dropped = append(dropped, member)
			}
		}
		t.DecidedBy(u).Expect(dropped).To(check.BeEmptyList[string]("all that the server declares that it announces"))
	}),

	"subscriptions/unknown-filter-member": check.Probe(func(t *check.T) {
		requireAcknowledged(t)
		u := trySubscriptions(t)[filterUnknown]
		requireCapacity(t, u)
		t.Expect(u.Ack() != nil).To(check.BeTrue("an acknowledgment", "%s", u.Reply()))
		t.DecidedBy(u).Expect(check.Member(u.AcknowledgedFilter(), "mcpcheckX")).To(check.BeOneOf[any](check.Absent{},
			false))
	}),

	"subscriptions/http-sse": check.Probe(func(t *check.T) {
		u := trySubscriptions(t)[filterAll]
		if u.Reply().Error() != nil {
			t.Yield("it is refused")
		}
		answer := roundtrip.RequireHTTPResponse(t, u.Request.RoundTrip.Response())
		t.Expect(answer.IsStream).To(check.BeTrue("an event stream", "%s", answer))
	}),

	"subscriptions/missing-filter": check.Probe(func(t *check.T) {
		requireAcknowledged(t)
		s := t.SessionForInvalidInput()
		u := transcript.Subscribe(t, s, s.NextID(), nil)
		u.Cancel()
		t.DecidedBy(u).Expect(u.Ack() == nil).To(check.BeTrue("error -32602", "an acknowledgment"))
		invalid.SkipUnlessServerRejects(t, u.Reply())
		t.Expect(u.Reply()).To(check.BeError(errcode.InvalidParams))
	}),

	"subscriptions/concurrent": check.WatchWithSetup(subscribeTwice, func(t *check.T, w check.Wire) {
		check.Judge(t, "subscription beside another one", parallelSubscriptions(t, w), parallelSubscription.Subject,
			expectParallel)
	}),
}

// The subscriptions that are tried, one after the other.
const (
	filterAll = iota // what the server does not declare as well
	filterTools
	filterResources
	filterUnknown // has a member that no server knows
	filterNone
)

// triedFilters are what they ask for.
func triedFilters(t *check.T) []check.M {
	all := transcript.FullFilter(t)
	uris, _ := all["resourceSubscriptions"].([]any)
	return []check.M{
		filterAll:       all,
		filterTools:     {"toolsListChanged": true},
		filterResources: {"resourceSubscriptions": append([]any{}, uris...)},
		filterUnknown:   {"toolsListChanged": true, "mcpcheckX": true},
		filterNone:      {},
	}
}

// trySubscriptions asks for subscriptions in a session, one after the other, and takes each back before the next. The
// first one is left for a moment, until later requests are answered; when it has no acknowledgment, there is no other.
// A server over HTTP that takes its time is asked for the others together.
func trySubscriptions(t *check.T) []*transcript.Subscription {
	return check.Step(t, "subscriptions", func(t *check.T) []*transcript.Subscription {
		s := t.Session()
		var wishes []transcript.SubscriptionRequest
		for n, filter := range triedFilters(t) {
			id := any(s.NextID())
			if n%2 == 0 {
				id = fmt.Sprintf("mcpcheck-%d", id)
			}
			wishes = append(wishes, transcript.SubscriptionRequest{ID: id, Params: check.M{"notifications": filter}})
		}
		first := transcript.SubscribeAll(t, s, wishes[filterAll])
		check.Barrier(t, s, s.Mark())
		first[0].Refresh()
		first[0].Cancel()
		if first[0].Ack() == nil {
			return first
		}
		return append(first, subscribeInTurn(t, s, first[0].AckLatency(), wishes[filterAll+1:])...)
	})
}

// subscribeInTurn asks for subscriptions one after the other or, where each takes long and has a stream of its own, all
// at a time. What is not a pass then is tried once more, one by one. One that asks for nothing is left for a moment: a
// server may end it by itself.
func subscribeInTurn(
	t *check.T, s *driver.Session, took time.Duration, wishes []transcript.SubscriptionRequest,
) (all []*transcript.Subscription) {
	const long = time.Second
	size := 1
	if took >= long && t.Site() != nil && !t.Site().IsSerial() && !t.IsConfirmation() {
		check.NeedsConfirmation(t)
		size = len(wishes)
	}
	for some := range slices.Chunk(wishes, size) {
		begun := transcript.SubscribeAll(t, s, some...)
		if slices.ContainsFunc(some, isEmptyRequest) {
			check.Barrier(t, s, s.Mark())
		}
		for _, u := range begun {
			u.Cancel()
		}
		all = append(all, begun...)
	}
	return all
}

func isEmptyRequest(w transcript.SubscriptionRequest) bool {
	filter, _ := w.Params["notifications"].(check.M)
	return !hasAnyMember(filter)
}

// requireAcknowledged are the subscriptions of try that have begun, the first of them for sure.
func requireAcknowledged(t *check.T) []*transcript.Subscription {
	all := trySubscriptions(t)
	if all[filterAll].Ack() == nil {
		t.Yield("no subscription begins")
	}
	return slices.DeleteFunc(slices.Clone(all), func(u *transcript.Subscription) bool { return u.Ack() == nil })
}

// eachAcknowledged tries a check on them.
func eachAcknowledged(t *check.T, run func(*check.T, *transcript.Subscription)) {
	check.Each(t, requireAcknowledged(t), (*transcript.Subscription).Subject, run)
}

// hasEndedWithoutAck reports whether a subscription has ended with a result that no acknowledgment came before.
func hasEndedWithoutAck(u *transcript.Subscription) bool {
	return u.Ack() == nil && u.Reply().Result() != nil
}

// filterViolations are the rules that the filter in an acknowledgment breaks.
func filterViolations(t *check.T, u *transcript.Subscription) []string {
	return protocol.Violations(t, "subscriptions/ack-shape", "SubscriptionsAcknowledgedNotification", u.Ack().JSON())
}

// requireFilter is the filter in an acknowledgment, for a check that cannot do without.
func requireFilter(t *check.T, u *transcript.Subscription) check.M {
	if len(filterViolations(t, u)) > 0 {
		t.Yield("its notifications are not a filter")
	}
	return u.AcknowledgedFilter()
}

// requireCapacity ends a check whose subscription was refused beside two others, and not for what it asks for.
func requireCapacity(t *check.T, u *transcript.Subscription) {
	crowded := u.OpenOthers+u.ClosingOthers > 1
	if code, _ := u.Reply().Code(); u.Ack() == nil && crowded && u.Reply().Error() != nil &&
		code != errcode.InvalidParams {
		t.WithReason(check.Limit).Inconclusive("the server may have no room for a third one: %s", check.Got(u.Reply()))
	}
}

// filterMembers are those of a filter.
var filterMembers = []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}

// filterCapabilities are the members of a filter, each with the flag of a capability that declares what it is for.
var filterCapabilities = []struct{ capability, flag, member string }{
	{"tools", "listChanged", "toolsListChanged"},
	{"prompts", "listChanged", "promptsListChanged"},
	{"resources", "listChanged", "resourcesListChanged"},
	{"resources", "subscribe", "resourceSubscriptions"},
}

// declaredMembers are the members of a filter for what the server declares that it announces.
func declaredMembers(t *check.T) (able []string) {
	for _, a := range filterCapabilities {
		if declared, _ := t.Server.Capabilities[a.capability].(check.M); declared[a.flag] == true {
			able = append(able, a.member)
		}
	}
	return able
}

// servesUndeclared reports whether the server has a feature that it does not declare: then it does support what it
// announces of it.
func servesUndeclared(t *check.T, family string) bool {
	return !t.Server.Declares(family) && t.Request(t.SessionForInvalidInput(), family+"/list",
		check.M{}).Result() != nil
}

// isInFilter reports whether a filter asks for something.
func isInFilter(filter check.M, member string) bool {
	uris, _ := filter[member].([]any)
	return filter[member] == true || len(uris) > 0
}

// unrequestedMembers are the members of a filter, and the resources in it, that another one does not ask for.
func unrequestedMembers(filter, asked check.M) (more []string) {
	for _, member := range filterMembers {
		if filter[member] == true && asked[member] != true {
			more = append(more, member)
		}
	}
	uris, _ := filter["resourceSubscriptions"].([]any)
	known, _ := asked["resourceSubscriptions"].([]any)
	for _, uri := range uris {
		if !slices.Contains(known, uri) {
			more = append(more, check.Show(uri))
		}
	}
	return more
}

// subscribeTwice asks for a subscription beside another one, and calls tools in a session that has several.
func subscribeTwice(t *check.T) {
	requireAcknowledged(t)
	toolcall.CallTools(t)
}

// parallelSubscription is a subscription beside others of its session.
type parallelSubscription struct {
	*transcript.Subscription
	sessionSubscriptions []*transcript.Subscription // of the session
}

// parallelSubscriptions are the subscriptions of the run that were asked for while others were open.
func parallelSubscriptions(t *check.T, w check.Wire) (all []parallelSubscription) {
	for _, s := range transcript.UntruncatedSessions(t, w) {
		list := transcript.SessionSubscriptions(s).List
		for _, u := range list {
			if u.OpenOthers > 0 {
				all = append(all, parallelSubscription{u, list})
			}
		}
	}
	return all
}

// announcedMethods are the methods of what was announced to a subscription.
func announcedMethods(u *transcript.Subscription) map[string]bool {
	methods := map[string]bool{}
	for _, m := range u.Messages {
		methods[m.Method] = true
	}
	return methods
}

// isSilentSince reports whether more was asked for in a session after a subscription, and nothing of that was answered.
func isSilentSince(u *transcript.Subscription) bool {
	frames, asked := u.Session.ReceivedSince(0), false
	for _, f := range frames[slices.Index(frames, u.Request)+1:] {
		switch {
		case f.IsResponse():
			return false
		case f.Side == driver.FromClient && f.IsRequest():
			asked = true
		}
	}
	return asked
}

// expectParallel wants a subscription to begin though there are others, and to be told what they are told.
func expectParallel(t *check.T, u parallelSubscription) {
	requireCapacity(t, u.Subscription)
	if code, _ := u.Reply().Code(); code == errcode.InvalidParams {
		t.Yield("it is refused for what it asks for, not for being another one")
	}
	if hasEndedWithoutAck(u.Subscription) && slices.ContainsFunc(trySubscriptions(t), hasEndedWithoutAck) {
		t.Yield("its result comes without an acknowledgment")
	}
	if u.Reply().Err != nil && isSilentSince(u.Subscription) {
		t.Yield("nothing is answered any more")
	}
	t.Expect(u.Ack() != nil).To(check.BeTrue("an acknowledgment beside another subscription", "%s", u.Reply()))
	own := announcedMethods(u.Subscription)
	for _, other := range u.sessionSubscriptions {
		for _, m := range other.ChangeNotifications() {
			isTold := own[m.Method] || !u.MustReceive(m, other)
			t.Expect(isTold).To(check.BeTrue(m.Method+", as another subscription was told", "none"))
		}
	}
}
