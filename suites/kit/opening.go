package kit

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// MadeUp are versions that were never published.
var MadeUp = []string{"1999-01-01", "2099-12-31", "2025-01-01", "2025-05-05"}

// Opening is how a session is begun. The zero value is the ordinary way.
type Opening struct {
	Muted   bool   // nobody reads its stderr
	Pinged  bool   // ping comes before initialize
	version string // that is asked for; empty: the revision that is judged
	Newer   bool   // the client sends fields of later revisions
	Client  bool   // it declares roots, sampling and elicitation, and refuses what comes
	Early   bool   // ping comes between initialize and initialized
	Unknown bool   // it declares capabilities that no revision knows

	Cancelled bool   // initialize is cancelled at once, which no client may do
	Form      string // params of initialized: "none", "{}" or "_meta"; empty is none, too
}

// Opened is what came of it.
type Opened struct {
	FirstPong driver.Reply
	Welcome   driver.Reply
	EarlyPong driver.Reply
	Replies   []*driver.Frame // what looks like a reply to initialized
	Pong      driver.Reply    // to the harmless request after initialized
	List      driver.Reply    // to the ordinary request after that
	Asked     []*driver.Frame // its requests
	LastPong  driver.Reply    // to a harmless request after the client has refused them
}

// openings are the ways in which the sessions of a run are begun that begin with a handshake. A process is dear, so
// each tries several things that do not meddle with each other; whatever does not pass here is tried once more alone,
// in a session that is ordinary in everything else.
var openings = []Opening{
	{version: MadeUp[0], Form: "{}"},
	{version: MadeUp[1], Form: "_meta"},
	{version: MadeUp[2], Form: "none"},
	{version: "2024-11-05", Pinged: true},
	{version: "2025-03-26", Muted: true},
	{version: "2025-06-18", Newer: true, Unknown: true},
	{version: "2025-11-25", Cancelled: true},
	{Client: true, Early: true},
}

// includes reports whether an opening does all that another asks for.
func (o Opening) includes(other Opening) bool {
	is := func(mine, wanted bool) bool { return mine || !wanted }
	return is(o.Muted, other.Muted) && is(o.Pinged, other.Pinged) &&
		is(o.Newer, other.Newer) && is(o.Client, other.Client) &&
		is(o.Early, other.Early) && is(o.Unknown, other.Unknown) && is(o.Cancelled, other.Cancelled) &&
		(other.version == "" || o.version == other.version) && (other.Form == "" || o.Form == other.Form)
}

// Begin opens a session in a certain way and tells what came of it. Unless the check is tried alone, it may be a
// session of openings, which does more than was asked for.
func Begin(t *T, o Opening) Opened {
	if o.version == t.Revision {
		o.version = ""
	}
	bundled := func(c Opening) bool { return !t.Modern() && c.includes(o) }
	if i := slices.IndexFunc(openings, bundled); i >= 0 && !t.Alone() {
		o = openings[i]
		t.Doubt()
	}
	key := Compact([]any{o.Muted, o.Pinged, o.version, o.Newer, o.Client, o.Early, o.Unknown, o.Cancelled, o.Form})
	return Shared(t, "opening "+string(key), func(t *T) Opened { return open(t, o) })
}

func open(t *T, o Opening) (r Opened) {
	s := t.Launch(driver.Options{MuteStderr: o.Muted})
	var ping driver.Pending
	if o.Pinged {
		ping = s.Request("ping", nil)
	}
	s.Refuse = o.Client
	if o.Cancelled {
		s.HostileThroughout()
		s.Greeted = func(p driver.Pending) driver.Pending { return cancelGreeting(s, p, o.hello(t)) }
	}
	if r.Welcome = s.Greet(o.hello(t)); r.Welcome.Result() == nil {
		return r
	}
	if o.Early {
		r.EarlyPong = s.Exchange("ping", nil)
	}
	mark := s.Mark()
	s.ConfirmWith(o.params())
	pong := HarmlessAs(s, 70052)
	s.React(mark)
	if r.Pong = s.AwaitFor(pong, Shortly); o.Pinged { // answers may come in any order
		r.FirstPong = s.AwaitFor(ping, Shortly)
	}
	r.Replies, _ = repliesSince(s, mark)
	method, params := Ordinary(t, s)
	r.List = t.Try(s, method, params)
	if o.Client {
		r.refusals(t, s)
	}
	return r
}

// cancelGreeting cancels initialize. Where that is heeded, and a later request is answered before it, initialize comes
// once more: it returns the one that is to be answered.
func cancelGreeting(s *driver.Session, p driver.Pending, hello M) driver.Pending {
	mark := s.Mark()
	s.Notify("notifications/cancelled", M{"requestId": p.ID, "reason": "mcpcheck"})
	ping := s.Request("ping", nil)
	s.Wait(mark, s.StartPatience(), func(f *driver.Frame) bool {
		return f.IsResponse() && (driver.SameID(f.Answers(), p.ID) || driver.SameID(f.Answers(), ping.ID))
	})
	if s.AwaitFor(p, Shortly).Answered() {
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

// asks reports whether a frame is a request of the server for a feature of the client.
func asks(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.IsRequest() && f.Method != "ping"
}

// refusals is what came of the requests of a server whose client refuses them.
func (r *Opened) refusals(t *T, s *driver.Session) {
	if LetAsk(t, s); r.Pong.Answered() {
		s.Settle(s.Mark())
	}
	r.Asked = slices.DeleteFunc(s.Since(0), func(f *driver.Frame) bool { return !asks(f) })
	r.LastPong = s.Exchange(s.Harmless())
}

// clientFeatures are what a client declares that can be asked for all there is.
var clientFeatures = M{"roots": M{}, "sampling": M{}, "elicitation": M{}}

// Inviting is the greeting of a client that a server may ask for anything.
func Inviting(revision string) M {
	hello := driver.Hello(revision)
	maps.Copy(hello["capabilities"].(M), clientFeatures)
	return hello
}

func (o Opening) hello(t *T) M {
	hello := driver.Hello(t.Revision)
	if o.version != "" {
		hello["protocolVersion"] = o.version
	}
	capabilities := hello["capabilities"].(M)
	if o.Client {
		maps.Copy(capabilities, clientFeatures)
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
	if _, ok := welcome["capabilities"].(M); ok {
		return
	}
	judge := "lifecycle/initialize-result-fields"
	if t.Modern() {
		judge = "discover/required-members"
	}
	t.Because(OtherCheck).Skip("capabilities is not an object: %s", judge)
}

// WelcomeFor is the answer to initialize with a version.
func WelcomeFor(t *T, version string) driver.Reply {
	if version == t.Server.Requested && t.Server.Welcome != nil && !t.Alone() {
		t.Doubt()
		return t.Server.First // discovery has asked already
	}
	return Begin(t, Opening{version: version}).Welcome
}

// AskAll asks for several versions at a time; the answers are had from WelcomeFor.
func AskAll(t *T, versions []string) {
	t.Together(len(versions), func(t *T, i int) { WelcomeFor(t, versions[i]) })
}
