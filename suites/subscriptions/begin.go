package subscriptions

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// begin are the checks of how subscriptions begin.
var begin = Suite{
	"subscriptions/listen-implemented": Probe(func(t *T) {
		u := try(t)[everything]
		switch {
		case u.Ack() != nil:
			return
		case u.Reply().Error() != nil && len(advertised(t)) == 0:
			t.Inconclusive("subscriptions/listen was refused: %s", Got(u.Reply()))
		case u.Beside > 0:
			t.Yield("another one of the session has begun")
		case u.IsBody():
			t.Yield("it is answered without a stream")
		}
		t.Fail("an acknowledgment", "%s", u.Reply())
	}),

	"subscriptions/ack-first": Probe(func(t *T) {
		acknowledged(t)
		told := slices.DeleteFunc(slices.Clone(try(t)), func(u *kit.Subscription) bool {
			return u.Ack() == nil && !isOverAtOnce(u)
		})
		Each(t, told, (*kit.Subscription).Subject, func(t *T, u *kit.Subscription) {
			first := u.Came[0].Method
			if u.Came[0].IsResponse() {
				first = Got(u.Reply())
			}
			t.Expect(first).To(BeOneOf(kit.Acknowledged), "the first message")
		})
	}),

	"subscriptions/ack-id": Probe(func(t *T) {
		eachAcknowledged(t, func(t *T, u *kit.Subscription) {
			t.Expect(kit.Tag(u.Ack().Frame)).To(beID(u.Request.ID), "%s in _meta", driver.MetaSubscription)
		})
	}),

	"subscriptions/ack-shape": Probe(func(t *T) {
		eachAcknowledged(t, func(t *T, u *kit.Subscription) {
			t.Expect(misshapen(t, u)).To(BeEmptyList[string]("notifications, as a filter"))
		})
	}),

	"subscriptions/ack-subset": Probe(func(t *T) {
		eachAcknowledged(t, func(t *T, u *kit.Subscription) {
			t.Expect(beyond(honoured(t, u), u.Filter)).To(BeEmptyList[string]("nothing but what was asked for"))
		})
	}),

	"subscriptions/ack-omits-unsupported": Probe(func(t *T) {
		kit.WantCapabilities(t, t.Server.Welcome)
		able := advertised(t)
		u := acknowledged(t)[everything]
		if len(able) == len(kit.Announced) {
			t.Because(NotObserved).Skip("the server announces all there is")
		}
		var claimed []string
		for _, a := range announcements {
			declared, _ := t.Server.Capabilities[a.family].(M)
			_, isFlag := declared[a.flag].(bool)
			switch {
			case !wants(honoured(t, u), a.member) || slices.Contains(able, a.member):
			case Has(declared, a.flag) && !isFlag:
				t.Yield("%s of %s is not a boolean", a.flag, a.family)
			case servesUndeclared(t, a.family):
				t.Yield("%s are served undeclared", a.family)
			default:
				claimed = append(claimed, a.member)
			}
		}
		t.By(u).Expect(claimed).To(BeEmptyList[string]("what the server declares that it announces"))
	}),

	"subscriptions/ack-supported-honoured": Probe(func(t *T) {
		u := acknowledged(t)[everything]
		var dropped []string
		for _, member := range advertised(t) {
			if wants(u.Filter, member) && !wants(honoured(t, u), member) {
				dropped = append(dropped, member)
			}
		}
		t.By(u).Expect(dropped).To(BeEmptyList[string]("all that the server declares that it announces"))
	}),

	"subscriptions/unknown-filter-member": Probe(func(t *T) {
		acknowledged(t)
		u := try(t)[unknown]
		wantRoom(t, u)
		t.Expect(u.Ack() != nil).To(Hold("an acknowledgment", "%s", u.Reply()))
		t.By(u).Expect(Member(u.Honoured(), "mcpcheckX")).To(BeOneOf[any](Absent{}, false))
	}),

	"subscriptions/http-sse": Probe(func(t *T) {
		u := try(t)[everything]
		if u.Reply().Error() != nil {
			t.Yield("it is refused")
		}
		answer := kit.Own(t, u.Request.HTTP.Answer())
		t.Expect(answer.IsStream).To(Hold("an event stream", "%s", answer))
	}),

	"subscriptions/missing-filter": Probe(func(t *T) {
		acknowledged(t)
		s := t.Hostile()
		u := kit.Subscribe(t, s, s.NextID(), nil)
		u.Cancel()
		t.By(u).Expect(u.Ack() == nil).To(Hold("error -32602", "an acknowledgment"))
		kit.WantRefuser(t, u.Reply())
		t.Expect(u.Reply()).To(BeError(-32602))
	}),

	"subscriptions/concurrent": WatchAfter(listenTwice, func(t *T, w Wire) {
		Judge(t, "subscription beside another one", beside(t, w), neighbour.Subject, sideBySide)
	}),
}

// The subscriptions that are tried, one after the other.
const (
	everything = iota // what the server does not declare as well
	tools
	resources
	unknown // has a member that no server knows
	nothing
)

// attempts are what they ask for.
func attempts(t *T) []M {
	all := kit.AllChanges(t)
	uris, _ := all["resourceSubscriptions"].([]any)
	return []M{
		everything: all,
		tools:      {"toolsListChanged": true},
		resources:  {"resourceSubscriptions": append([]any{}, uris...)},
		unknown:    {"toolsListChanged": true, "mcpcheckX": true},
		nothing:    {},
	}
}

// try asks for subscriptions in a session, one after the other, and takes each back before the next. The first one is
// left for a moment, until later requests are answered; when it has no acknowledgment, there is no other. A server over
// HTTP that takes its time is asked for the others together.
func try(t *T) []*kit.Subscription {
	return Step(t, "subscriptions", func(t *T) []*kit.Subscription {
		s := t.Session()
		var wishes []kit.Wish
		for n, filter := range attempts(t) {
			id := any(s.NextID())
			if n%2 == 0 {
				id = fmt.Sprintf("mcpcheck-%d", id)
			}
			wishes = append(wishes, kit.Wish{ID: id, Params: M{"notifications": filter}})
		}
		first := kit.SubscribeAll(t, s, wishes[everything])
		Settle(t, s, s.Mark())
		first[0].Reread()
		first[0].Cancel()
		if first[0].Ack() == nil {
			return first
		}
		return append(first, inTurns(t, s, first[0].Took(), wishes[everything+1:])...)
	})
}

// inTurns asks for subscriptions one after the other or, where each takes long and has a stream of its own, all at a
// time. What is not a pass then is tried once more, one by one. One that asks for nothing is left for a moment: a
// server may end it by itself.
func inTurns(t *T, s *driver.Session, took time.Duration, wishes []kit.Wish) (all []*kit.Subscription) {
	const long = time.Second
	size := 1
	if took >= long && t.Site() != nil && !t.Site().Serial() && !t.Alone() {
		NeedsConfirmation(t)
		size = len(wishes)
	}
	for some := range slices.Chunk(wishes, size) {
		begun := kit.SubscribeAll(t, s, some...)
		if slices.ContainsFunc(some, asksNothing) {
			Settle(t, s, s.Mark())
		}
		for _, u := range begun {
			u.Cancel()
		}
		all = append(all, begun...)
	}
	return all
}

func asksNothing(w kit.Wish) bool {
	filter, _ := w.Params["notifications"].(M)
	return !wantsAny(filter)
}

// acknowledged are the subscriptions of try that have begun, the first of them for sure.
func acknowledged(t *T) []*kit.Subscription {
	all := try(t)
	if all[everything].Ack() == nil {
		t.Yield("no subscription begins")
	}
	return slices.DeleteFunc(slices.Clone(all), func(u *kit.Subscription) bool { return u.Ack() == nil })
}

// eachAcknowledged tries a check on them.
func eachAcknowledged(t *T, run func(*T, *kit.Subscription)) {
	Each(t, acknowledged(t), (*kit.Subscription).Subject, run)
}

// isOverAtOnce reports whether a subscription has ended with a result that no acknowledgment came before.
func isOverAtOnce(u *kit.Subscription) bool { return u.Ack() == nil && u.Reply().Result() != nil }

// misshapen are the rules that the filter in an acknowledgment breaks.
func misshapen(t *T, u *kit.Subscription) []string {
	return kit.Broken(t, "subscriptions/ack-shape", "SubscriptionsAcknowledgedNotification", u.Ack().JSON())
}

// honoured is the filter in an acknowledgment, for a check that cannot do without.
func honoured(t *T, u *kit.Subscription) M {
	if len(misshapen(t, u)) > 0 {
		t.Yield("its notifications are not a filter")
	}
	return u.Honoured()
}

// wantRoom ends a check whose subscription was refused beside two others, and not for what it asks for.
func wantRoom(t *T, u *kit.Subscription) {
	crowded := u.Beside+u.Leaving > 1
	if code, _ := u.Reply().Code(); u.Ack() == nil && crowded && u.Reply().Error() != nil && code != -32602 {
		t.Because(Limit).Inconclusive("the server may have no room for a third one: %s", Got(u.Reply()))
	}
}

// members are those of a filter.
var members = []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}

// announcements are the members of a filter, each with the flag of a capability that declares what it is for.
var announcements = []struct{ family, flag, member string }{
	{"tools", "listChanged", "toolsListChanged"},
	{"prompts", "listChanged", "promptsListChanged"},
	{"resources", "listChanged", "resourcesListChanged"},
	{"resources", "subscribe", "resourceSubscriptions"},
}

// advertised are the members of a filter for what the server declares that it announces.
func advertised(t *T) (able []string) {
	for _, a := range announcements {
		if declared, _ := t.Server.Capabilities[a.family].(M); declared[a.flag] == true {
			able = append(able, a.member)
		}
	}
	return able
}

// servesUndeclared reports whether the server has a feature that it does not declare: then it does support what it
// announces of it.
func servesUndeclared(t *T, family string) bool {
	return !t.Server.Declares(family) && t.Ask(t.Hostile(), family+"/list", M{}).Result() != nil
}

// wants reports whether a filter asks for something.
func wants(filter M, member string) bool {
	uris, _ := filter[member].([]any)
	return filter[member] == true || len(uris) > 0
}

// beyond are the members of a filter, and the resources in it, that another one does not ask for.
func beyond(filter, asked M) (more []string) {
	for _, member := range members {
		if filter[member] == true && asked[member] != true {
			more = append(more, member)
		}
	}
	uris, _ := filter["resourceSubscriptions"].([]any)
	known, _ := asked["resourceSubscriptions"].([]any)
	for _, uri := range uris {
		if !slices.Contains(known, uri) {
			more = append(more, Show(uri))
		}
	}
	return more
}

// listenTwice asks for a subscription beside another one, and calls tools in a session that has several.
func listenTwice(t *T) {
	acknowledged(t)
	kit.CallTools(t)
}

// neighbour is a subscription beside others of its session.
type neighbour struct {
	*kit.Subscription
	all []*kit.Subscription // of the session
}

// beside are the subscriptions of the run that were asked for while others were open.
func beside(t *T, w Wire) (all []neighbour) {
	for _, s := range kit.Heeded(t, w) {
		list := kit.SubscriptionsIn(s).List
		for _, u := range list {
			if u.Beside > 0 {
				all = append(all, neighbour{u, list})
			}
		}
	}
	return all
}

// told are the methods of what was announced to a subscription.
func told(u *kit.Subscription) map[string]bool {
	methods := map[string]bool{}
	for _, m := range u.Came {
		methods[m.Method] = true
	}
	return methods
}

// isMuteSince reports whether more was asked for in a session after a subscription, and nothing of that was answered.
func isMuteSince(u *kit.Subscription) bool {
	frames, asked := u.Session.Since(0), false
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

// sideBySide wants a subscription to begin though there are others, and to be told what they are told.
func sideBySide(t *T, u neighbour) {
	wantRoom(t, u.Subscription)
	if code, _ := u.Reply().Code(); code == -32602 {
		t.Yield("it is refused for what it asks for, not for being another one")
	}
	if isOverAtOnce(u.Subscription) && slices.ContainsFunc(try(t), isOverAtOnce) {
		t.Yield("its result comes without an acknowledgment")
	}
	if u.Reply().Err != nil && isMuteSince(u.Subscription) {
		t.Yield("nothing is answered any more")
	}
	t.Expect(u.Ack() != nil).To(Hold("an acknowledgment beside another subscription", "%s", u.Reply()))
	own := told(u.Subscription)
	for _, other := range u.all {
		for _, m := range other.Changes() {
			isTold := own[m.Method] || !u.Hears(m, other)
			t.Expect(isTold).To(Hold(m.Method+", as another subscription was told", "none"))
		}
	}
}
