package suites

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// opening is how a session is begun. The zero value is the ordinary way.
type opening struct {
	idle    bool   // nothing is said to the process while others shake hands
	muted   bool   // nobody reads its stderr
	pinged  bool   // ping comes before initialize
	version string // that is asked for; empty: the revision that is judged
	newer   bool   // the client sends fields of later revisions
	client  bool   // it declares roots, sampling and elicitation, and refuses what comes
	early   bool   // ping comes between initialize and initialized
	unknown bool   // it declares capabilities that no revision knows
	form    string // params of initialized: "none", "{}" or "_meta"; empty is none, too
}

// opened is what came of it.
type opened struct {
	first     []*driver.Frame // what the server said before it was told anything
	firstPong driver.Reply
	welcome   driver.Reply
	earlyPong driver.Reply
	between   []*driver.Frame // what it said before initialized
	replies   []*driver.Frame // what looks like a reply to initialized
	pong      driver.Reply    // to the ping after initialized
	list      driver.Reply    // to the list request after that
	asked     []*driver.Frame // its requests
	lastPong  driver.Reply    // to a ping after the client has refused them
}

// openings are the ways in which the sessions of a run are begun. A process is
// dear, so each tries several things that do not meddle with each other; whatever
// does not pass here is tried once more alone, in a session that is ordinary in
// everything else.
var openings = []opening{
	{idle: true, version: madeUp[0], form: "{}"},
	{version: madeUp[1], form: "_meta"},
	{version: madeUp[2], form: "none"},
	{version: "2024-11-05", pinged: true},
	{version: "2025-03-26", muted: true},
	{version: "2025-06-18", newer: true, unknown: true},
	{version: "2025-11-25"},
	{client: true, early: true},
}

// includes reports whether an opening does all that another asks for.
func (o opening) includes(other opening) bool {
	is := func(mine, wanted bool) bool { return mine || !wanted }
	return is(o.idle, other.idle) && is(o.muted, other.muted) && is(o.pinged, other.pinged) &&
		is(o.newer, other.newer) && is(o.client, other.client) && is(o.early, other.early) && is(o.unknown, other.unknown) &&
		(other.version == "" || o.version == other.version) && (other.form == "" || o.form == other.form)
}

// begin opens a session in a certain way and tells what came of it.
func begin(t *T, o opening) opened {
	if o.version == t.Revision {
		o.version = ""
	}
	if i := slices.IndexFunc(openings, func(c opening) bool { return c.includes(o) }); i >= 0 && !t.Alone() {
		o = openings[i]
		t.Doubt()
	}
	return Shared(t, "opening "+string(Compact([]any{o.idle, o.muted, o.pinged, o.version, o.newer, o.client, o.early, o.unknown, o.form})),
		func(t *T) opened { return open(t, o) })
}

func open(t *T, o opening) (r opened) {
	s := t.Launch(driver.Options{MuteStderr: o.muted})
	if o.idle {
		r.first = idle(t, s)
	}
	var ping driver.Pending
	if o.pinged {
		ping = s.Request("ping", nil)
	}
	s.Refuse = o.client
	if r.welcome = s.Initialize(o.hello(t)); r.welcome.Result() == nil {
		return r
	}
	r.interval(s, o)
	mark := s.Mark()
	s.ConfirmWith(o.params())
	pong := s.RequestID("mcpcheck-initialized", "ping", nil)
	came, _ := s.React(mark)
	r.pong, r.firstPong = s.AwaitFor(pong, 0), s.AwaitFor(ping, 0)
	for _, f := range came {
		if f.IsResponse() && f != r.pong.Frame && (f.HTTP == nil || !driver.SameID(f.HTTP.Asked(), pong.ID)) {
			r.replies = append(r.replies, f)
		}
	}
	method, _ := listMethod(t)
	r.list = t.Try(s, method, nil)
	if o.client {
		r.refusals(s)
	}
	return r
}

// idle is what a process says that is told nothing until another one of the same
// server, started after it, serves.
func idle(t *T, s *driver.Session) []*driver.Frame {
	if t.Alone() {
		t.Own()
	} else {
		ask(t, madeUp[1:])
	}
	return s.Idle()
}

// interval is what happens between the result of initialize and initialized.
func (r *opened) interval(s *driver.Session, o opening) {
	if o.early {
		r.earlyPong = s.Exchange("ping", nil)
	}
	if o.client {
		s.Settle(s.Mark())
		r.between = s.Idle()
	}
}

// refusals is what came of the requests of a server whose client refuses them.
func (r *opened) refusals(s *driver.Session) {
	s.Settle(s.Mark())
	for _, f := range s.Since(0) {
		if f.IsRequest() && f.Method != "ping" {
			r.asked = append(r.asked, f)
		}
	}
	r.lastPong = s.Exchange("ping", nil)
}

func (o opening) hello(t *T) M {
	hello := driver.Hello(t.Revision)
	if o.version != "" {
		hello["protocolVersion"] = o.version
	}
	capabilities := hello["capabilities"].(M)
	if o.client {
		maps.Copy(capabilities, M{"roots": M{}, "sampling": M{}, "elicitation": M{}})
	}
	if o.unknown {
		maps.Copy(capabilities, M{"experimental": M{"com.example/mcpcheck": M{}}, "mcpcheckFuture": M{"a": 1}})
	}
	if o.newer {
		maps.Copy(capabilities, M{
			"elicitation": M{"form": M{}, "url": M{}}, "tasks": M{"requests": M{}}, "sampling": M{"tools": M{}, "context": M{}},
		})
		hello["clientInfo"] = M{
			"name": "mcpcheck", "version": "1", "title": "mcpcheck", "description": "A client of a later revision",
			"icons": []any{M{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": []any{"48x48"}}}, "websiteUrl": "https://example.com",
		}
	}
	return hello
}

// params of the notification initialized.
func (o opening) params() M {
	switch o.form {
	case "{}":
		return M{}
	case "_meta":
		return M{"_meta": M{"com.example/mcpcheck": true}}
	}
	return nil
}

// wantWelcome ends a check that has nothing to go on with.
func (r opened) wantWelcome(t *T) {
	if r.welcome.Result() == nil {
		t.Inconclusive("initialize brought %s", Got(r.welcome))
	}
}

// asked is the answer to initialize with a version.
func asked(t *T, version string) driver.Reply {
	if version == t.Server.Requested && t.Server.Welcome != nil && !t.Alone() {
		t.Doubt()
		return t.Server.First // discovery has asked already
	}
	return begin(t, opening{version: version}).welcome
}

// ask asks for several versions at a time; the answers are had from asked.
func ask(t *T, versions []string) {
	t.Together(len(versions), func(t *T, i int) { asked(t, versions[i]) })
}
