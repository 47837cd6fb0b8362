package kit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// MadeUp are versions that were never published: one between two that were, and one that is later than any.
var MadeUp = []string{"2025-05-05", "2099-12-31"}

// Opening is how a session is begun. The zero value is the ordinary way.
type Opening struct {
	version string // that is asked for; empty: the revision that is judged
	Newer   bool   // the client sends fields of later revisions
	Client  bool   // it declares roots, sampling and elicitation, and refuses what comes
	Unknown bool   // it declares capabilities that no revision knows
	Form    string // params of initialized: "none", "{}" or "_meta"; empty is none, too

	Muted     bool // nobody reads its stderr
	Deaf      bool // the client declares roots, and leaves unanswered what it is asked for, which no client may
	Idle      bool // nothing is said for a while, before all else
	Lacking   bool // initialize comes without what it needs, and then once more
	Pinged    bool // ping comes before initialize
	Ungreeted bool // so do ordinary requests
	Cancelled bool // initialize is cancelled at once, which no client may do
	CutOff    bool // initialized and a request follow at once, and stdin ends
	Patient   bool // initialized comes late, from a client that can be asked for something
	Early     bool // ping comes between initialize and initialized
	Unready   bool // so do ordinary requests
	Left      bool // in the end come notifications that any client may send, and then nothing
	Tasks     bool // the client runs what it is asked for as tasks, and can be asked for more afterwards
}

// Opened is what came of it.
type Opened struct {
	Hello          M                       // what the client said of itself
	Incomplete     map[string]driver.Reply // to initialize, by the names of IncompleteHellos, as far as that went
	FirstPong      driver.Reply            // to the ping before initialize
	BeforeGreeting Gating
	Welcome        driver.Reply
	EarlyPong      driver.Reply // to the ping before initialized
	BeforeReady    Gating
	Replies        []*driver.Frame // what looks like a reply to initialized
	Pong           driver.Reply    // to the harmless request after initialized
	List           driver.Reply    // to the ordinary request after that
	Asked          []*driver.Frame // its requests
	LastPong       driver.Reply    // to a harmless request after the client has refused them, or left them unanswered
}

// manners are the ways in which the sessions of a run begin that begin with a handshake. A process is dear, and each
// can be asked for one version, so each tries several things that do not meddle with each other; whatever does not pass
// here is tried once more alone, in a session that is ordinary in everything else. Those without a version ask for the
// others, one each. The first begins with what no client says, and is lent for hostile input then; the second is lent
// to Chores where the server falls back to the revision that is judged.
var manners = []Opening{
	{version: MadeUp[0], Lacking: true, Ungreeted: true, Cancelled: true, Form: "{}"},
	{version: MadeUp[1], Form: "_meta", Tasks: true},
	{Form: "none", Left: true},
	{Muted: true, Deaf: true, Pinged: true, Patient: true, Unready: true},
	{Newer: true, Unknown: true, Idle: true, CutOff: true},
}

// inviting is the session of a client that can be asked for anything, which others use afterwards. It asks for the
// revision that is judged: there are servers that ask the client for nothing when it has asked for a later one.
var inviting = Opening{Client: true, Early: true}

// openings are the manners when a revision is judged.
func openings(judged string) []Opening {
	all := append(slices.Clone(manners), inviting)
	next := 0
	for _, version := range Handshake {
		if version == judged {
			continue
		}
		for all[next].version != "" {
			next++
		}
		all[next].version = version
	}
	return all
}

// includes reports whether an opening does all that another asks for.
func (o Opening) includes(other Opening) bool {
	is := func(mine, wanted bool) bool { return mine || !wanted }
	return is(o.Newer, other.Newer) && is(o.Client, other.Client) && is(o.Unknown, other.Unknown) &&
		is(o.Muted, other.Muted) && is(o.Deaf, other.Deaf) && is(o.Idle, other.Idle) && is(o.Lacking, other.Lacking) &&
		is(o.Pinged, other.Pinged) && is(o.Ungreeted, other.Ungreeted) && is(o.Cancelled, other.Cancelled) &&
		is(o.CutOff, other.CutOff) && is(o.Patient, other.Patient) && is(o.Early, other.Early) &&
		is(o.Unready, other.Unready) && is(o.Left, other.Left) && is(o.Tasks, other.Tasks) &&
		(other.version == "" || o.version == other.version) && (other.Form == "" || o.Form == other.Form)
}

// Begin opens a session in a certain way and tells what came of it. Unless the check is tried alone, it may be a
// session of openings, which does more than was asked for: but not where it is a process that costs less than a wait.
func Begin(t *T, o Opening) Opened {
	if o.version == t.Revision {
		o.version = ""
	}
	if !t.Modern() && !t.Alone() && !t.Server.Slow() && o != (Opening{}) {
		all := openings(t.Revision)
		if i := slices.IndexFunc(all, func(c Opening) bool { return c.includes(o) }); i >= 0 {
			o = all[i]
			NeedsConfirmation(t)
		}
	}
	return Step(t, fmt.Sprintf("opening %+v", o), func(t *T) Opened { return open(t, o) })
}

// opener opens a session step by step.
type opener struct {
	Opening
	Opened
	t    *T
	s    *driver.Session
	ping driver.Pending // before initialize
}

func open(t *T, o Opening) Opened {
	if t.Server.Transport == "http" { // where a server has no way to speak first
		o.Idle, o.Patient = false, false
	}
	p := &opener{Opening: o, t: t, s: StartWith(t, driver.Options{MuteStderr: o.Muted})}
	p.before()
	if o.CutOff && p.s.Stdio() != nil {
		p.cutOff()
		return p.Opened
	}
	if p.greet(); p.Welcome.Result() != nil {
		p.between()
		p.confirm()
		p.afterwards()
	}
	return p.Opened
}

// before is what comes before initialize.
func (p *opener) before() {
	if p.Idle {
		p.s.Idle(Late)
	}
	if p.Lacking {
		p.greetLacking()
	}
	if p.Pinged {
		p.ping = p.s.Request("ping", nil)
	}
	if p.Ungreeted {
		p.BeforeGreeting.sendEarly(p.t, p.s)
	}
}

// greet sends initialize.
func (p *opener) greet() {
	hello := p.hello(p.t)
	p.Hello = hello
	if p.s.Refuse = p.Client || p.Tasks; p.Deaf {
		p.s.AnswerBy(asks)
	}
	if p.Cancelled {
		p.s.HostileThroughout()
		p.s.Greeted = func(sent driver.Pending) driver.Pending { return cancelGreeting(p.s, sent, hello) }
	}
	p.Welcome = p.s.Greet(hello)
}

// between is what comes between initialize and initialized.
func (p *opener) between() {
	if p.Patient {
		p.s.Idle(Late)
	}
	if p.Early {
		p.EarlyPong = p.s.Exchange("ping", nil)
	}
	if p.Unready {
		p.BeforeReady.sendEarly(p.t, p.s)
	}
}

// confirm sends initialized, and a harmless request after it.
func (p *opener) confirm() {
	if p.Deaf {
		p.s.Hostile()
	}
	mark := p.s.Mark()
	p.s.ConfirmWith(p.params())
	if p.s.Revision == p.t.Revision { // which a server falls back to
		p.s.AsAsked()
	}
	pong := HarmlessAs(p.s, 70052)
	p.s.React(mark)
	if p.Pong = p.s.AwaitFor(pong, Shortly); p.Pinged { // answers may come in any order
		p.FirstPong = p.s.AwaitFor(p.ping, Shortly)
	}
	p.Replies, _ = repliesSince(p.s, mark)
}

// afterwards is what comes once the session is established.
func (p *opener) afterwards() {
	if p.Deaf {
		p.letAsk()
	}
	if p.Client {
		p.refusals()
	}
	method, params := Ordinary(p.t, p.s)
	p.List = p.t.Try(p.s, method, params)
	if _, served := ListMethod(p.t); served && p.List.Result() == nil {
		p.s.Abandon() // it serves less than others, and is lent to nobody
	}
	p.BeforeGreeting.sendLate(p.t, p.s, p.List)
	p.BeforeReady.sendLate(p.t, p.s, p.List)
	if p.Deaf {
		if p.List.Answered() {
			p.s.Settle(p.s.Mark()) // the server may be about to ask
		}
		p.Asked, p.LastPong = asked(p.s), p.s.Exchange(p.s.Harmless())
	}
	if p.Tasks {
		p.s.Refuse, p.s.Invites = false, true
	}
	if p.Left {
		Deferred(p.t, func() { sendNotifications(p.t, p.s) })
		KeepIdle(p.t, p.s)
	}
}

// cutOff sends initialize, initialized and a harmless request at once, and ends stdin.
func (p *opener) cutOff() {
	var pong driver.Pending
	p.s.HostileThroughout() // what it leaves unanswered is judged here alone
	p.s.Greeted = func(sent driver.Pending) driver.Pending {
		p.s.Notify("notifications/initialized", nil)
		pong = HarmlessAs(p.s, 70053) // which is not taken for the answer to initialize under another id
		p.s.Stdio().CloseInput()
		return sent
	}
	p.Welcome = p.s.Greet(p.hello(p.t))
	p.Pong = p.s.Await(pong)
}

// IncompleteHellos are params of initialize that lack a required member.
func IncompleteHellos(revision string) (forms []Subject) {
	for _, member := range []string{"protocolVersion", "clientInfo", "capabilities"} {
		hello := driver.Hello(revision)
		delete(hello, member)
		forms = append(forms, Subject{Name: "without " + member, Value: hello, Sent: true})
	}
	return append(forms, Subject{Name: "without params"})
}

// greetLacking greets with what lacks something. A server that takes that for good is greeted in a further process, and
// so is one that ends or falls silent, which only a check that is tried alone goes on with.
func (p *opener) greetLacking() {
	p.Incomplete = map[string]driver.Reply{}
	for _, form := range IncompleteHellos(p.t.Revision) {
		p.s.HostileThroughout()
		reply := p.s.Greet(form.Value)
		if p.Incomplete[form.Name] = reply; p.s.Alive() && reply.Error() != nil {
			continue
		}
		p.s = p.t.Start()
		if !reply.Answered() && !p.t.Alone() {
			return
		}
	}
}

// cancelGreeting cancels initialize. Where that is heeded, by an error or since a later request is answered before it,
// initialize comes once more: it returns the one that is to be answered.
func cancelGreeting(s *driver.Session, p driver.Pending, hello M) driver.Pending {
	mark := s.Mark()
	s.Notify("notifications/cancelled", M{"requestId": p.ID, "reason": "mcpcheck"})
	ping := s.Request("ping", nil)
	s.Wait(mark, s.StartPatience(), func(f *driver.Frame) bool {
		return f.IsResponse() && (driver.SameID(f.Answers(), p.ID) || driver.SameID(f.Answers(), ping.ID))
	})
	if s.AwaitFor(p, Shortly).Result() != nil {
		return p
	}
	return s.Request("initialize", hello)
}

// LetAsk leaves time to a server that may ask the client for what it has declared: some wait a while after the
// handshake. Over HTTP, one without sessions has no way to ask.
func LetAsk(t *T, s *driver.Session) {
	if !t.Server.Sessionless {
		s.Wait(0, Late, asks)
	}
}

// mostSoon is how long most servers take at the most that ask a client for something by themselves.
const mostSoon = 500 * time.Millisecond

// letAsk is LetAsk, but less patient in a session that others wait for.
func (p *opener) letAsk() {
	if p.t.Alone() {
		LetAsk(p.t, p.s)
	} else {
		p.s.Wait(0, mostSoon, asks)
	}
}

// asks reports whether a frame is a request of the server for a feature of the client.
func asks(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.IsRequest() && f.Method != "ping"
}

// asked are the requests of the server that asks reports.
func asked(s *driver.Session) []*driver.Frame {
	return slices.DeleteFunc(s.Since(0), func(f *driver.Frame) bool { return !asks(f) })
}

// refusals is what came of the requests of a server whose client refuses them.
func (p *opener) refusals() {
	if LetAsk(p.t, p.s); p.Pong.Answered() {
		p.s.Settle(p.s.Mark())
	}
	p.Asked = asked(p.s)
	p.LastPong = p.s.Exchange(p.s.Harmless())
	p.s.Refuse, p.s.Invites = false, true
}

// Plain is what a client declares that can be asked for every feature, and for none of the options of one. Its roots
// may change.
var Plain = M{"roots": M{"listChanged": true}, "sampling": M{}, "elicitation": M{}}

// Inviting is the greeting of a client that a server may ask for anything.
func Inviting(revision string) M {
	hello := driver.Hello(revision)
	maps.Copy(hello["capabilities"].(M), Plain)
	return hello
}

func (o Opening) hello(t *T) M {
	hello := driver.Hello(t.Revision)
	if o.version != "" {
		hello["protocolVersion"] = o.version
	}
	capabilities := hello["capabilities"].(M)
	if o.Client {
		maps.Copy(capabilities, AbleIn(t.Revision))
	}
	if o.Patient {
		maps.Copy(capabilities, Plain)
	}
	if o.Tasks {
		maps.Copy(capabilities, delegating(t.Revision))
	}
	if o.Deaf {
		capabilities["roots"] = M{"listChanged": true}
	}
	if o.Unknown {
		maps.Copy(capabilities, UnknownCapabilities)
	}
	if o.Newer {
		maps.Copy(capabilities, M{
			"elicitation": M{"form": M{}, "url": M{}},
			"tasks":       M{"requests": M{}},
			"sampling":    M{"tools": M{}, "context": M{}},
		})
		icon := M{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": []any{"48x48"}}
		hello["clientInfo"] = M{
			"name": "mcpcheck", "version": "1", "title": "mcpcheck", "description": "A client of a later revision",
			"icons": []any{icon}, "websiteUrl": "https://example.com",
		}
	}
	return hello
}

// params of the notification initialized.
func (o Opening) params() M {
	switch o.Form {
	case "{}":
		return M{}
	case "_meta":
		return M{"_meta": M{"com.example/mcpcheck": true}}
	}
	return nil
}

// SpokeFirst reports whether the server said in some session, before its client said anything, what
// lifecycle/server-does-not-speak-first reports.
func SpokeFirst(w Wire) bool {
	return slices.ContainsFunc(w.Whole(), func(s *driver.Session) bool {
		for _, f := range s.Record(0) {
			switch {
			case f.Side == driver.FromClient && f.Raw.Len() > 0:
				return false
			case f.Side == driver.FromServer && speaks(f):
				return true
			}
		}
		return false
	})
}

// speaks reports whether a frame of the server is more than may come before initialize.
func speaks(f *driver.Frame) bool { return f.IsResponse() || f.IsRequest() && f.Method != "ping" }

// BeforeWelcome reports whether a message came before the answer to initialize.
func BeforeWelcome(m Message) bool {
	var hello *driver.Frame
	for _, f := range m.Session.Record(0) {
		switch {
		case f == m.Frame:
			return true
		case f.Side == driver.FromClient && f.Method == "initialize":
			hello = f
		case hello != nil && f.Side == driver.FromServer && driver.SameID(f.Answers(), hello.ID):
			return false
		}
	}
	return false
}

// WantWelcome ends a check that has nothing to go on with. Alone, it asks for the revision that the server grants.
func (r Opened) WantWelcome(t *T) {
	if r.Welcome.Result() == nil {
		t.Again("initialize brought %s", Got(r.Welcome))
	}
}

// WantCapabilities ends a check of what a server has not declared when its welcome does not say what it declares.
func WantCapabilities(t *T, welcome M) {
	if _, ok := welcome["capabilities"].(M); !ok {
		t.Yield("capabilities is not an object")
	}
}

// WelcomeFor is the answer to initialize with a version.
func WelcomeFor(t *T, version string) driver.Reply {
	if version == t.Server.Requested && t.Server.Welcome != nil && !t.Alone() {
		NeedsConfirmation(t)
		return t.Server.First // discovery has asked already
	}
	return Begin(t, Opening{version: version}).Welcome
}

// AskAll asks for several versions at a time; the answers are had from WelcomeFor.
func AskAll(t *T, versions []string) {
	Parallel(t, len(versions), func(t *T, i int) { WelcomeFor(t, versions[i]) })
}
