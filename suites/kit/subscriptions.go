package kit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Listen is the method of the request for a subscription.
const Listen = "subscriptions/listen"

// Acknowledged is the method of the notification that a subscription begins with.
const Acknowledged = "notifications/subscriptions/acknowledged"

// Announced are the methods of the notifications that a subscription may bring, and the members of its filter that ask
// for them.
var Announced = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
}

// Subscription is a request of a session for announcements, and what came of it: over HTTP all that is on its stream,
// over stdio what says that it belongs to it.
type Subscription struct {
	Session *driver.Session
	Request *driver.Frame
	Filter  M    // what is asked for
	Beside  int  // how many subscriptions of the session were open when it was asked for
	Leaving int  // how many others had ended so shortly before that the server may not have let them go yet
	Over    bool // over HTTP: its stream had ended when it was last read

	heard

	pending   driver.Pending
	mark      int             // where it was asked for
	asked     map[string]int  // ids of the requests that were sent while it was open, with their places
	trips     []trip          // those of them that were answered before it was over
	cancelled int             // the place where the client took it back over stdio; 0: it did not
	takenBack time.Duration   // when it did
	fences    map[string]bool // ids of the requests that were sent after that
	deaf      int             // the place where the first of them was answered; 0: none was
}

// trip is a request and its answer, as places in what was said in the session, and when the answer came.
type trip struct {
	asked, answered int
	at              time.Duration
}

// Heard is a message that came, and its place in what was said in the session.
type Heard struct {
	*driver.Frame
	place int
}

// heard is what a subscription has brought. Servers may announce more than anybody could look through for each message.
type heard struct {
	Came []Heard // messages or, of an HTTP answer without one, its status

	ack, reply, end *Heard
	honoured        M
}

// hear notes a message.
func (h *heard) hear(m Heard) {
	h.Came = append(h.Came, m)
	switch {
	case m.Method == Acknowledged && h.ack == nil:
		params, _ := m.JSON()["params"].(M)
		h.honoured, _ = params["notifications"].(M)
		h.ack = &m
	case m.ends() && h.reply == nil:
		h.reply = &m
	}
	if h.end == nil && (m.ends() || m.Method == "notifications/cancelled") {
		h.end = &m
	}
}

// Wish is a subscription to ask for.
type Wish struct {
	ID     any
	Params M
}

// Subscribe asks for a subscription under an id and waits until it has begun, or was refused. It ends the check when
// the server sends so much that what came of it is not kept.
func Subscribe(t *T, s *driver.Session, id any, params M) *Subscription {
	return SubscribeAll(t, s, Wish{id, params})[0]
}

// SubscribeAll is Subscribe for several at a time, over HTTP, where each has its own stream.
func SubscribeAll(t *T, s *driver.Session, wishes ...Wish) (all []*Subscription) {
	mark := s.Mark()
	var sent []driver.Pending
	for _, w := range wishes {
		sent = append(sent, s.StandID(w.ID, Listen, w.Params))
	}
	for _, p := range sent {
		awaitBegin(s, mark, p)
		came := readSubscriptions(s.Record(0), s)
		u := came.under(p.ID)
		if excess := s.Unheard(mark); excess != nil && (u == nil || u.Ack() == nil) {
			t.Because(Limit).Inconclusive("%v", excess)
		}
		u.pending, u.mark = p, mark
		if errors.As(u.Reply().Err, new(*driver.Silence)) {
			TryHarmless(t, s) // shows whether anything is answered any more
			u.notLate(t)
		}
		all = append(all, u)
	}
	return all
}

// notLate ends a check whose subscription begins, but only in twice the time: the server is slow, and not wrong.
func (u *Subscription) notLate(t *T) {
	if u.Reread(); u.Ack() == nil {
		left := u.Request.SentAt() + 2*u.Session.Patience() - u.Session.LeftAt()
		u.Session.Wait(u.mark, left, func(f *driver.Frame) bool {
			own := u.Tagged(f)
			if f.HTTP != nil {
				own = f.HTTP == u.Request.HTTP
			}
			return own && f.Method == Acknowledged
		})
	} else if u.Ack().At <= u.Request.SentAt()+u.Session.Patience() {
		return
	}
	if u.Reread(); u.Ack() != nil {
		t.Because(Silent).Again("the server acknowledged %s, but after the --timeout of %v",
			Listen, u.Session.Patience())
	}
}

// subscribe is Subscribe for who does not look at what came.
func subscribe(s *driver.Session, id any, params M) driver.Pending {
	mark := s.Mark()
	p := s.StandID(id, Listen, params)
	awaitBegin(s, mark, p)
	return p
}

// awaitBegin waits until a subscription has begun, or was refused. Over stdio any acknowledgment may be its own.
func awaitBegin(s *driver.Session, mark int, p driver.Pending) {
	s.Wait(mark, s.Patience(), func(f *driver.Frame) bool {
		if f.HTTP != nil && !driver.SameID(f.HTTP.Asked(), p.ID) {
			return false
		}
		return f.HTTP != nil && f.Side == driver.Status ||
			f.Side == driver.FromServer && slices.ContainsFunc(f.Members(), func(m *driver.Frame) bool {
				return m.Method == Acknowledged || m.IsResponse() && driver.SameID(m.Answers(), p.ID)
			})
	})
}

// Reread adds what has come since.
func (u *Subscription) Reread() {
	u.Over = u.Request.HTTP != nil && u.Request.HTTP.Answer().Ended
	all := readSubscriptions(u.Session.Record(0), u.Session)
	if now := all.under(u.Request.ID); now != nil {
		u.heard = now.heard
	}
}

// Cancel takes the subscription back.
func (u *Subscription) Cancel() { u.Session.Cancel(u.pending, enough) }

// enough is why subscriptions are taken back.
const enough = "mcpcheck has heard enough"

// Subscriptions are those of a session, and the announcements in it that belong to none.
type Subscriptions struct {
	List   []*Subscription
	Strays []Heard

	place int
}

// SubscriptionsIn are those of a session, as long as the client kept the protocol.
func SubscriptionsIn(s *driver.Session) Subscriptions {
	frames := s.Record(0)
	if i := slices.IndexFunc(frames, func(f *driver.Frame) bool { return f.Hostile }); i >= 0 {
		frames = frames[:i]
	}
	return readSubscriptions(frames, s)
}

// readSubscriptions are those in a record.
func readSubscriptions(frames []*driver.Frame, s *driver.Session) (all Subscriptions) {
	for _, f := range frames {
		all.place++
		switch {
		case f.Apart || f.Strayed:
		case f.Side == driver.FromClient:
			all.sent(s, f)
		case f.Side == driver.Status:
			if u := all.over(f); u != nil {
				u.hear(Heard{f, all.place})
			}
		case f.Side == driver.FromServer:
			for _, m := range f.Members() {
				all.came(f, Heard{m, all.place})
			}
		}
	}
	return all
}

// sent notes what the client has sent.
func (all *Subscriptions) sent(s *driver.Session, f *driver.Frame) {
	if f.Method == "notifications/cancelled" {
		params, _ := f.JSON()["params"].(M)
		if u := all.under(Compact(params["requestId"])); u != nil {
			u.cancelled, u.takenBack, u.fences = all.place, f.At, map[string]bool{}
		}
	}
	if !f.IsRequest() {
		return
	}
	beside, leaving := 0, 0
	for _, u := range all.List {
		if u.isLeaving(f) {
			leaving++
		}
		switch {
		case u.cancelled > 0:
			u.fences[driver.IDKey(f.ID)] = true
		case u.isOpen(f):
			beside++
			u.asked[driver.IDKey(f.ID)] = all.place
		}
	}
	if f.Method == Listen {
		params, _ := f.JSON()["params"].(M)
		filter, _ := params["notifications"].(M)
		all.List = append(all.List, &Subscription{
			Session: s, Request: f, Filter: filter, Beside: beside, Leaving: leaving, asked: map[string]int{},
		})
	}
}

// isOpen reports whether it has begun, and had not ended on either side when a frame was seen.
func (u *Subscription) isOpen(f *driver.Frame) bool {
	return u.Ack() != nil && u.End() == nil && u.cancelled == 0 && !u.closedBy(f)
}

// isLeaving reports whether it had ended so shortly before a frame was sent that the server may not know yet.
func (u *Subscription) isLeaving(f *driver.Frame) bool {
	switch {
	case u.cancelled > 0:
		return f.At < u.takenBack+Shortly
	case u.closedBy(f):
		return f.At < u.Request.HTTP.Answer().EndAt+Shortly
	}
	return false
}

// closedBy reports whether over HTTP the stream had ended, by whom ever, when a frame was sent.
func (u *Subscription) closedBy(f *driver.Frame) bool {
	if u.Request.HTTP == nil {
		return false
	}
	a := u.Request.HTTP.Answer()
	return a.Ended && a.EndAt <= f.At
}

// came notes a message of the server, which came in a frame.
func (all *Subscriptions) came(f *driver.Frame, m Heard) {
	if m.IsResponse() {
		all.answered(f, m)
	}
	u := all.of(f, m.Frame)
	switch {
	case u != nil:
		u.hear(m)
	case Announced[m.Method] != "":
		all.Strays = append(all.Strays, m)
	}
}

// answered notes for each subscription a response, which came in a frame.
func (all *Subscriptions) answered(f *driver.Frame, m Heard) {
	id := driver.IDKey(m.Answers())
	for _, u := range all.List {
		if u.deaf == 0 && u.fences[id] {
			u.deaf = m.place
		}
		if place := u.asked[id]; place > 0 && u.isOpen(f) {
			u.trips = append(u.trips, trip{place, m.place, f.At})
		}
	}
}

// of is the subscription that a message belongs to; nil when there is none. Over stdio an acknowledgment of none is
// that of the latest one which has none.
func (all *Subscriptions) of(f, m *driver.Frame) *Subscription {
	if f.HTTP != nil {
		return all.over(f)
	}
	params, _ := m.JSON()["params"].(M)
	switch {
	case m.IsResponse():
		return all.under(m.Answers())
	case m.Method == "notifications/cancelled":
		return all.under(Compact(params["requestId"]))
	}
	u := all.under(Compact(Tag(m)))
	if u == nil && m.Method == Acknowledged && len(all.List) > 0 {
		if last := all.List[len(all.List)-1]; last.Ack() == nil {
			return last
		}
	}
	return u
}

// over is the subscription whose stream a frame came on.
func (all *Subscriptions) over(f *driver.Frame) *Subscription {
	return all.first(func(u *Subscription) bool { return u.Request.HTTP == f.HTTP })
}

// under is the subscription of an id.
func (all *Subscriptions) under(id []byte) *Subscription {
	return all.first(func(u *Subscription) bool { return driver.SameID(u.Request.ID, id) })
}

func (all *Subscriptions) first(fits func(*Subscription) bool) *Subscription {
	if i := slices.IndexFunc(all.List, fits); i >= 0 {
		return all.List[i]
	}
	return nil
}

// Tag is what a message says of the subscription that it belongs to.
func Tag(m *driver.Frame) any {
	object, _ := m.JSON()["params"].(M)
	if m.IsResponse() {
		object, _ = m.JSON()["result"].(M)
	}
	return Member(MetaOf(object), driver.MetaSubscription)
}

// Tagged reports whether a message says that it belongs to the subscription.
func (u *Subscription) Tagged(m *driver.Frame) bool {
	return driver.SameID(u.Request.ID, Compact(Tag(m)))
}

// Ack is the acknowledgment; nil when none came.
func (h *heard) Ack() *Heard { return h.ack }

// Frames are the request, the acknowledgment, and what ended the subscription.
func (u *Subscription) Frames() []*driver.Frame {
	frames := []*driver.Frame{u.Request}
	for _, m := range []*Heard{u.ack, u.end} {
		if m != nil {
			frames = append(frames, m.Frame)
		}
	}
	return frames
}

// Took is how long its acknowledgment took; 0 when none came.
func (u *Subscription) Took() time.Duration {
	ack := u.Ack()
	if ack == nil {
		return 0
	}
	return ack.At - u.Request.At
}

// Honoured is the filter that was acknowledged; nil when none was.
func (h *heard) Honoured() M { return h.honoured }

// End is what ended the subscription of the server's own accord: a response, what stands for one over HTTP, or over
// stdio a cancellation; nil when nothing did.
func (h *heard) End() *Heard { return h.end }

// ends reports whether it is a response, or what stands for one.
func (m Heard) ends() bool { return m.Side == driver.Status || m.IsResponse() }

// IsBody reports whether over HTTP the answer is a body with a result instead of a stream.
func (u *Subscription) IsBody() bool {
	return u.Request.HTTP != nil && !u.Request.HTTP.Answer().IsStream && u.Reply().Result() != nil
}

// Reply is the response; not answered when there is none.
func (u *Subscription) Reply() driver.Reply {
	r := driver.Reply{Method: Listen, Request: u.Request}
	switch m := u.reply; {
	case m == nil:
		r.Err = &driver.Silence{Method: Listen, After: u.Session.Patience()}
	case m.Side == driver.Status:
		r = driver.Refused(m.Frame)
	default:
		r.Frame = m.Frame
	}
	return r
}

// Changes are the announcements that came.
func (h *heard) Changes() (changes []Heard) {
	for _, m := range h.Came {
		if Announced[m.Method] != "" {
			changes = append(changes, m)
		}
	}
	return changes
}

// Hears reports whether an announcement that another subscription of the session was told had to come to this one as
// well: both were open, and this one so long after that a request was answered then and not at once, since a server may
// tell one after the other. Over HTTP, where what was announced earlier may still be on its way on another stream, an
// earlier one was answered as well.
func (u *Subscription) Hears(m Heard, other *Subscription) bool {
	ack, end := u.Ack(), u.End()
	if ack == nil || m.place < ack.place || end != nil && end.place < m.place || !Covers(u.Filter, m) ||
		!Covers(u.Honoured(), m) || other.cancelled > 0 && other.cancelled < m.place {
		return false
	}
	isKnown := func(r trip) bool { return r.answered < m.place }
	return (u.Request.HTTP == nil || slices.ContainsFunc(u.trips, isKnown)) &&
		slices.ContainsFunc(u.trips, func(r trip) bool { return r.asked > m.place && r.at >= m.At+Shortly })
}

// Missed reports whether an announcement was for the subscription, had that not been taken back.
func (u *Subscription) Missed(m Heard) bool {
	return u.deaf > 0 && m.place > u.deaf && Covers(u.Honoured(), m)
}

// IsLate reports whether a message came that the server has sent though it knew that the subscription was taken back.
func (u *Subscription) IsLate(m Heard) bool { return u.deaf > 0 && m.place > u.deaf }

// Covers reports whether a filter asks for an announcement. A resource may be announced by one below it.
func Covers(filter M, m Heard) bool {
	switch wanted := filter[Announced[m.Method]].(type) {
	case bool:
		return wanted
	case []any:
		params, _ := m.JSON()["params"].(M)
		uri, _ := params["uri"].(string)
		return slices.ContainsFunc(wanted, func(v any) bool {
			subscribed, _ := v.(string)
			return strings.HasPrefix(uri, subscribed)
		})
	}
	return false
}

// Subject shows the request and the first that came.
func (u *Subscription) Subject() Subject {
	const most = 2
	frames := []*driver.Frame{u.Request}
	for _, m := range u.Came[:min(most, len(u.Came))] {
		frames = append(frames, m.Frame)
	}
	return Subject{Name: string(Compact(u.Filter)), Frames: frames}
}

// Heeded are the sessions of the run whose announcements were all kept. It ends a check when there is none.
func Heeded(t *T, w Wire) (sessions []*driver.Session) {
	var excess *driver.Excess
	for _, s := range Established(t, w) {
		if unheard := s.Unheard(0); unheard != nil {
			excess = unheard
		} else {
			sessions = append(sessions, s)
		}
	}
	if sessions == nil && excess != nil {
		t.Because(Limit).Inconclusive("%v", excess)
	}
	return sessions
}

// listenBeside asks for further subscriptions than the one that the session has, so that watches see what each of them
// brings: a second one for changes of tools; one for all but that, with what only other requests may ask for; and over
// stdio one that is taken back at once.
func listenBeside(t *T, s *driver.Session) {
	if !t.Modern() || len(SubscriptionsIn(s).List) == 0 {
		return
	}
	id := func(name string) string { return fmt.Sprintf("mcpcheck-%s-%d", name, s.Number()) }
	tools := M{"notifications": M{"toolsListChanged": true}}
	if t.Server.Transport == "stdio" {
		s.Cancel(subscribe(s, id("taken-back"), tools), enough)
		s.Settle(s.Mark())
	}
	subscribe(s, id("tools"), tools)
	subscribe(s, id("others"), M{
		"notifications": declining(AllChanges(t), "toolsListChanged"),
		"_meta":         M{driver.MetaLogLevel: "debug", "progressToken": OnSubscription},
	})
}

// hearsOf reports whether a subscription of a session is open that is for changes of a list.
func hearsOf(s *driver.Session, member string) bool {
	return slices.ContainsFunc(SubscriptionsIn(s).List, func(u *Subscription) bool {
		ended := u.Request.HTTP != nil && u.Request.HTTP.Answer().Ended
		return u.Honoured()[member] == true && u.End() == nil && u.cancelled == 0 && !ended
	})
}

// OnSubscription is the token of a subscription that asks for progress, which it never gets.
const OnSubscription = "mcpcheck-subscription"

// AllChanges is the filter for all that a server may announce: of resources, the first ones that it lists.
func AllChanges(t *T) M {
	const most = 3
	all := M{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
	var uris []any
	for _, resource := range t.Server.Resources[:min(most, len(t.Server.Resources))] {
		uris = append(uris, resource["uri"])
	}
	if len(uris) > 0 {
		all["resourceSubscriptions"] = uris
	}
	return all
}

// declining is a filter that says not to want a member of it.
func declining(filter M, member string) M {
	filter = maps.Clone(filter)
	filter[member] = false
	return filter
}
