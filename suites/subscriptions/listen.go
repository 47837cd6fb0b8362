package subscriptions

import (
	"fmt"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// listenChecks are the checks of how subscriptions begin.
var listenChecks = check.Suite{
	"subscriptions/listen-implemented": check.Probe(func(t *check.T) {
		u := trySubscriptions(t)[filterAll]
		requireAlone(t, u)
		switch {
		case u.ack != nil:
			return
		case u.Reply().Error() != nil && len(declaredMembers(t)) == 0:
			t.NoVerdict(check.Undecided, "subscriptions/listen was refused: %s", check.Got(u.Reply()))
		case u.IsAnsweredByBody():
			t.Yield("it is answered without a stream")
		}
		t.Fail("an acknowledgment", "%s", u.Reply())
	}),

	"subscriptions/ack-first": check.Probe(func(t *check.T) {
		requireAcknowledged(t)
		selected := slices.DeleteFunc(slices.Clone(trySubscriptions(t)), func(u *subscription) bool {
			return u.ack == nil && !hasEndedWithoutAck(u)
		})
		check.Each(t, selected, (*subscription).Subject, func(t *check.T, u *subscription) {
			first := u.Messages[0].Method
			if u.Messages[0].IsResponse() {
				first = check.Got(u.Reply())
			}
			t.Expect(first).To(check.BeOneOf(transcript.AcknowledgedMethod), "the first message")
		})
	}),

	"subscriptions/ack-id": check.Probe(func(t *check.T) {
		eachAcknowledged(t, func(t *check.T, u *subscription) {
			t.Expect(transcript.SubscriptionIDOf(u.ack.Frame)).To(beRequestID(u.Request.ID), "%s in _meta",
				driver.MetaSubscription)
		})
	}),

	"subscriptions/ack-shape": check.Probe(func(t *check.T) {
		eachAcknowledged(t, func(t *check.T, u *subscription) {
			t.Expect(filterViolations(t, u)).To(check.BeEmptyList[string]("notifications, as a filter"))
		})
	}),

	"subscriptions/ack-subset": check.Probe(func(t *check.T) {
		eachAcknowledged(t, func(t *check.T, u *subscription) {
			t.Expect(unrequestedMembers(requireFilter(t, u), u.Filter)).
				To(check.BeEmptyList[string]("nothing but what was asked for"))
		})
	}),

	"subscriptions/ack-omits-unsupported": check.Probe(func(t *check.T) {
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		able := declaredMembers(t)
		all := requireAcknowledged(t)
		u := all[filterAll]
		if len(able) == len(filterMemberOf) {
			t.Skip(check.NotObserved, "the server announces all there is")
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
			case slices.ContainsFunc(all, func(u *subscription) bool {
				return slices.Contains(unrequestedMembers(requireFilter(t, u), u.Filter), a.member)
			}):
				t.Yield("%s is acknowledged unasked, too", a.member)
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
		t.Expect(u.ack != nil).To(check.BeTrue("an acknowledgment", "%s", u.Reply()))
		t.DecidedBy(u).Expect(check.Member(u.acknowledged, "mcpcheckX")).To(check.BeOneOf[any](check.Absent{},
			false))
	}),

	"subscriptions/http-sse": check.Probe(func(t *check.T) {
		u := trySubscriptions(t)[filterAll]
		if u.Reply().Error() != nil {
			t.Skip(check.NotOffered, "it is refused")
		}
		answer := roundtrip.RequireHTTPResponse(t, u.Request.RoundTrip.Response())
		t.Expect(answer.IsStream).To(check.BeTrue("an event stream", "%s", answer))
	}),

	"subscriptions/missing-filter": check.Probe(func(t *check.T) {
		requireAcknowledged(t)
		s := t.Session(check.ForInvalidInput)
		u := subscribe(t, s, s.NextID(), nil)
		u.Cancel()
		t.DecidedBy(u).Expect(u.ack == nil).To(check.BeTrue("error -32602", "an acknowledgment"))
		invalid.SkipUnlessServerRejects(t, u.Reply())
		t.Expect(u.Reply()).To(check.BeError(errcode.InvalidParams))
	}),

	"subscriptions/concurrent": check.WatchWithSetup(subscribeTwice, func(t *check.T, w check.Wire) {
		check.Judge(t, "subscription of several at a time", parallelSubscriptions(t, w), parallelSubscription.Subject,
			expectParallel)
	}),
}

// These are the filters that are tried, one after the other.
const (
	filterAll = iota // includes what the server does not declare
	filterTools
	filterResources
	filterUnknown // has an unknown member
	filterNone
)

// triedFilters returns the filters by the constants above.
func triedFilters(t *check.T) []check.M {
	all := toolcall.FullFilter(t)
	uris, _ := all["resourceSubscriptions"].([]any)
	return []check.M{
		filterAll:       all,
		filterTools:     {"toolsListChanged": true},
		filterResources: {"resourceSubscriptions": append([]any{}, uris...)},
		filterUnknown:   {"toolsListChanged": true, "mcpcheckX": true},
		filterNone:      {},
	}
}

// trySubscriptions opens subscriptions in a session one after the other, and cancels each before the next. If the first
// is not acknowledged, the others are not tried. The first, and one with an empty filter, which a server may end
// itself, stay open until a later request is answered. The first that the server ends at once is tried again alone.
func trySubscriptions(t *check.T) []*subscription {
	return check.Step(t, "subscriptions", func(t *check.T) (all []*subscription) {
		s := t.Session()
		for n, filter := range triedFilters(t) {
			id := any(s.NextID())
			if n%2 == 0 {
				id = fmt.Sprintf("mcpcheck-%d", id)
			}
			params := check.M{"notifications": filter}
			u := subscribe(t, s, id, params)
			if hasEndedWithoutAck(u) && u.OpenOthers+u.ClosingOthers > 0 && !t.IsQuick() &&
				!slices.ContainsFunc(all, hasEndedWithoutAck) {
				u, s = subscribeAlone(t, s, params)
			}
			if n == filterAll || !hasAnyMember(filter) {
				check.Barrier(t, s, s.Mark())
				u.Refresh()
			}
			u.Cancel()
			if all = append(all, u); all[filterAll].ack == nil {
				break
			}
		}
		return all
	})
}

// subscribeAlone is subscribe in a session that has no other subscription, and has cancelled none for ShortWait. A
// server that ends one there at once does not do so because of others. It returns that session for further ones.
func subscribeAlone(t *check.T, s *driver.Session, params check.M) (*subscription, *driver.Session) {
	if s.HasOpenStreams() {
		s = t.Session(check.Exclusive)
		s.CancelStreams("mcpcheck subscribes to something else")
	}
	s.Sleep(timing.ShortWait)
	return subscribe(t, s, s.NextID(), params), s
}

// requireAcknowledged returns the tried subscriptions that were acknowledged. If the first was not, it ends the check.
func requireAcknowledged(t *check.T) []*subscription {
	all := trySubscriptions(t)
	requireAlone(t, all[filterAll])
	if all[filterAll].ack == nil {
		t.Yield("no subscription begins")
	}
	return slices.DeleteFunc(slices.Clone(all), func(u *subscription) bool { return u.ack == nil })
}

// requireAlone ends a check that another session may decide: one whose subscription was not acknowledged while another
// one of the session was open, which subscriptions/concurrent judges.
func requireAlone(t *check.T, u *subscription) {
	if u.ack == nil && u.OpenOthers > 0 {
		t.Retry(check.Undecided, "another subscription of the session has begun")
	}
}

// eachAcknowledged runs a check on the acknowledged subscriptions.
func eachAcknowledged(t *check.T, run func(*check.T, *subscription)) {
	check.Each(t, requireAcknowledged(t), (*subscription).Subject, run)
}

// hasEndedWithoutAck reports whether a subscription ended with a result without an acknowledgment.
func hasEndedWithoutAck(u *subscription) bool {
	return u.ack == nil && u.Reply().Result() != nil
}

// filterViolations returns the rules that the filter in an acknowledgment violates.
func filterViolations(t *check.T, u *subscription) []string {
	return protocol.Violations(t, "subscriptions/ack-shape", "SubscriptionsAcknowledgedNotification", u.ack.JSON())
}

// requireFilter returns the filter in an acknowledgment. If it is invalid, it ends the check.
func requireFilter(t *check.T, u *subscription) check.M {
	if len(filterViolations(t, u)) > 0 {
		t.Yield("its notifications are not a filter")
	}
	return u.acknowledged
}

// isCrowded reports whether there were two others when the subscription was requested, as far as the server may know.
func (u *subscription) isCrowded() bool { return u.OpenOthers+u.ClosingOthers > 1 }

// requireCapacity ends the check if the subscription was not begun while two others were open, and not refused because
// of its params.
func requireCapacity(t *check.T, u *subscription) {
	code, _ := u.Reply().Code()
	if u.isCrowded() && u.ack == nil && code != errcode.InvalidParams {
		t.NoVerdict(check.Limit, "the server may have no room for a third one: %s", check.Got(u.Reply()))
	}
}

// filterMembers are the members of a filter.
var filterMembers = []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}

// filterCapabilities maps the flags of capabilities to the members of a filter that they stand for.
var filterCapabilities = []struct{ capability, flag, member string }{
	{"tools", "listChanged", "toolsListChanged"},
	{"prompts", "listChanged", "promptsListChanged"},
	{"resources", "listChanged", "resourcesListChanged"},
	{"resources", "subscribe", "resourceSubscriptions"},
}

// declaredMembers returns the members of a filter that the server declares.
func declaredMembers(t *check.T) (able []string) {
	for _, a := range filterCapabilities {
		if declared, _ := t.Server.Capabilities[a.capability].(check.M); declared[a.flag] == true {
			able = append(able, a.member)
		}
	}
	return able
}

// servesUndeclared reports whether the server serves a feature that it does not declare, and so supports its
// notifications.
func servesUndeclared(t *check.T, family string) bool {
	return !t.Server.Declares(family) && t.Send(t.Session(check.ForInvalidInput), family+"/list",
		check.M{}).Result() != nil
}

// isInFilter reports whether a filter asks for a member.
func isInFilter(filter check.M, member string) bool {
	uris, _ := filter[member].([]any)
	return filter[member] == true || len(uris) > 0
}

// unrequestedMembers returns the members and resources of a filter that the requested one does not have.
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

// subscribeTwice opens a subscription while another one is open, and calls tools in a session with several.
func subscribeTwice(t *check.T) {
	requireAcknowledged(t)
	toolcall.CallTools(t)
}

// parallelSubscription is a subscription that was open while others of its session were.
type parallelSubscription struct {
	*subscription
	// sessionSubscriptions are all subscriptions of the session.
	sessionSubscriptions []*subscription
	// mostBegin reports whether the server has acknowledged as many subscriptions while others were open as it has
	// ended without an acknowledgment while fewer than two were.
	mostBegin bool
}

// parallelSubscriptions returns the subscriptions of the run that were opened while others were open, and those next to
// which others were opened.
func parallelSubscriptions(t *check.T, w check.Wire) (all []parallelSubscription) {
	for _, s := range untruncatedSessions(t, w) {
		list := subscriptionsIn(s).List
		for i, u := range list {
			isFirst := u.ack != nil && slices.ContainsFunc(list[i+1:], func(later *subscription) bool {
				return later.OpenOthers > 0
			})
			if u.OpenOthers > 0 || isFirst {
				all = append(all, parallelSubscription{subscription: u, sessionSubscriptions: list})
			}
		}
	}
	begun, ended := 0, 0
	for _, u := range all {
		switch {
		case u.OpenOthers > 0 && u.ack != nil:
			begun++
		case hasEndedWithoutAck(u.subscription) && !u.isCrowded():
			ended++
		}
	}
	for i := range all {
		all[i].mostBegin = begun >= ended
	}
	return all
}

// announcedMethods returns the methods of the notifications of a subscription.
func announcedMethods(u *subscription) map[string]bool {
	methods := map[string]bool{}
	for _, m := range u.Messages {
		methods[m.Method] = true
	}
	return methods
}

// isSilentSince reports whether requests were sent in a session after a subscription, and none was answered.
func isSilentSince(u *subscription) bool {
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

// expectParallel requires a subscription to begin although others are open, and to receive the notifications that the
// others receive.
func expectParallel(t *check.T, u parallelSubscription) {
	requireCapacity(t, u.subscription)
	if code, _ := u.Reply().Code(); code == errcode.InvalidParams {
		t.Yield("it is refused for what it asks for, not for being another one")
	}
	if u.Reply().Error() != nil && u.WatchesUnlisted() {
		t.Skip(check.NotApplicable, "it may be refused for the resource that it names, which does not exist")
	}
	if hasEndedWithoutAck(u.subscription) &&
		(u.mostBegin || slices.ContainsFunc(trySubscriptions(t), hasEndedWithoutAck)) {
		t.Yield("its result comes without an acknowledgment")
	}
	if u.Reply().Err != nil && isSilentSince(u.subscription) {
		t.Yield("nothing is answered any more")
	}
	if u.Reply().HTTPResponse().IsForOneClient() {
		t.Yield("the server serves one client at a time")
	}
	isMalformed := func(f *driver.Frame) bool { return f.At >= u.Request.At && f.IsMalformed() }
	reported := func(of types.GomegaMatcher) types.GomegaMatcher {
		if slices.ContainsFunc(u.Session.ReceivedSince(0), isMalformed) { // what is missing may be in that line
			of = check.ReportedBy("stdio/stdout-only-messages", of)
		}
		return reportedByAckID(of)
	}
	t.Expect(u.ack != nil).To(reported(
		check.BeTrue("an acknowledgment while another subscription is open", "%s", u.Reply())))
	own := announcedMethods(u.subscription)
	for _, other := range u.sessionSubscriptions {
		for _, m := range other.ChangeNotifications() {
			isReceived := own[m.Method] || !u.MustReceive(m, other)
			t.Expect(isReceived).To(reported(check.BeTrue(m.Method+", as another subscription was told", "none")))
		}
	}
}
