package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var sessions = Suite{
	"http/session-missing-400": Probe(func(t *T) {
		needsSessions(t)
		r, a := withoutID(t)
		t.Expect(a).To(That("HTTP 400, or to be served", func(a driver.Answer) bool {
			return a.Status == http.StatusBadRequest || serves(r, a)
		}))
	}),

	"http/session-missing-get-400": Probe(func(t *T) {
		needsSessions(t)
		s := t.Session()
		x := kit.Get(s, kit.Header(kit.SessionIDHeader))
		a := x.Head()
		x.Abort()
		if usual := kit.Standing(t, s); !kit.StreamOr405(usual) && a.Status == usual.Status {
			t.Yield("GET is answered like that in a session, too")
		}
		t.Expect(a).To(That("HTTP 400, HTTP 405 or an event stream", func(a driver.Answer) bool {
			return a.Status == http.StatusBadRequest || kit.StreamOr405(a)
		}))
	}),

	"http/session-unknown-404": Probe(func(t *T) {
		needsSessions(t)
		s := t.Session()
		id := s.HTTP().SessionID()
		if kit.IsToken(id) {
			t.Skip("the session ids are signed: one that is made up is malformed")
		}
		unknown := kit.Header(kit.SessionIDHeader, kit.Unlike(id))
		x := kit.ByHand(s, kit.Request{Header: unknown})
		r := x.Reply()
		if r.Result() != nil && serves(withoutID(t)) {
			t.Because(NotOffered).Skip("the server needs no session id: it serves requests without one, too")
		}
		t.Expect(x.Answer()).To(That("HTTP 404", kit.IsNotFound))
	}),

	"http/session-terminated-404": Probe(func(t *T) {
		needsSessions(t)
		e := endedSession(t)
		wantEnded(t, e.Delete)
		if e.Reissued {
			t.Yield("the next session has the same id")
		}
		kit.EachAttempt(t, e.Uses, func(t *T, use kit.Attempt) {
			a := kit.Own(t, use.Answer())
			if use.Method != http.MethodGet {
				t.Expect(a).To(That("HTTP 404", kit.IsNotFound), "DELETE was answered with %s", kit.Status(e.Delete))
				return
			}
			if a.Status == e.GetBefore.Status && !kit.StreamOr405(e.GetBefore) {
				t.Yield("GET is not served at all")
			}
			t.Expect(a).To(That("HTTP 404 or HTTP 405", func(a driver.Answer) bool {
				return kit.IsNotFound(a) || a.Status == http.StatusMethodNotAllowed
			}), "DELETE was answered with %s", kit.Status(e.Delete))
		})
	}),

	"http/delete-supported-or-405": Probe(func(t *T) {
		needsSessions(t)
		t.Expect(endedSession(t).Delete).To(That("a status of success, or HTTP 405", func(a driver.Answer) bool {
			return a.OK() || a.Status == http.StatusMethodNotAllowed
		}))
	}),

	"http/reinitialize-after-404": Probe(func(t *T) {
		needsSessions(t)
		e := endedSession(t)
		wantEnded(t, e.Delete)
		t.Expect(e.Again).To(BeResult())
	}),

	"http/initialize-needs-no-session": Probe(func(t *T) {
		s := t.Start()
		plain := kit.HelloByHand(t, s, kit.Header(kit.SessionIDHeader))
		if plain.Reply().Result() != nil {
			return
		}
		a := plain.Answer()
		kit.SkipUnauthorized(t, a)
		if !a.OK() && !kit.DemandsSession(a) {
			t.Because(OtherCheck).Inconclusive("initialize is not served: %s", a)
		}
		const want = "initialize served without further headers, as with them"
		t.By(a).Expect(kit.HelloTakenWith(t, s)).To(BeEmptyList[string](want), "it was answered with %s", a)
		if t.Server.Welcome == nil { // else discovery has seen it served, and there may be one session only
			t.Because(OtherCheck).Inconclusive("initialize is not served in any way: %s", a)
		}
	}).WhenRefused(),

	"http/no-session-issued-no-session-required": Probe(func(t *T) {
		switch {
		case t.Server.Welcome == nil:
			t.Because(HandshakeFailed).Inconclusive("the handshake failed")
		case !t.Server.Sessionless:
			t.Skip("the server issues session ids")
		}
		answers := withoutSession(t)
		served := slices.ContainsFunc(answers, driver.Answer.OK)
		demanded := !served && slices.ContainsFunc(answers, kit.DemandsSession)
		t.Expect(!demanded).To(Hold("requests served without a session id, since initialize brought none",
			"%s (a proxy may have removed the header Mcp-Session-Id)", answers[0]))
		if !served {
			t.Inconclusive("requests are not served after the handshake: %s", answers[0])
		}
	}).WhenRefused(),

	"http/session-header-case-insensitive": Probe(func(t *T) {
		needsSessions(t)
		id := t.Session().HTTP().SessionID()
		var forms []form
		for _, name := range []string{"mcp-session-id", "MCP-SESSION-ID", "MCP-Session-Id"} {
			forms = append(forms, form{name, kit.Header(name, id)})
		}
		compare(t, kit.Header(kit.SessionIDHeader, id), forms)
	}),

	"http/session-isolation": WatchAfter(func(t *T) { askTwo(t) }, func(t *T, w Wire) {
		if strays := append(strayResponses(w), strayProgress(w)...); len(strays) > 0 {
			Each(t, strays, stray.subject, func(t *T, s stray) {
				t.Fail("each message once, and in its own session", "%s", s.what)
			})
		}
		for _, x := range askTwo(t) {
			if r := x.Reply(); r.Err != nil {
				t.Again("%v", Explain(r.Err))
			}
		}
	}),
}

func needsSessions(t *T) {
	if t.Server.Sessionless {
		t.Because(NotOffered).Skip("the server issues no session id")
	}
}

// wantEnded ends a check of what comes after DELETE when that has not ended the session.
func wantEnded(t *T, a driver.Answer) {
	switch {
	case a.Status == http.StatusMethodNotAllowed:
		t.Because(NotOffered).Skip("DELETE is answered with 405: the server lets no client end a session")
	case !a.OK():
		t.Yield("DELETE did not end the session")
	}
}

// serves reports whether a request was carried out, be it with an error of the method itself.
func serves(r driver.Reply, a driver.Answer) bool {
	code, _ := r.Code()
	return a.OK() && (r.Result() != nil || code == -32601)
}

// withoutID is a request in a session that lacks the session id.
func withoutID(t *T) (driver.Reply, driver.Answer) {
	x := Step(t, "without session id", func(t *T) *driver.Exchange {
		x := kit.ByHand(t.Session(), kit.Request{Header: kit.Header(kit.SessionIDHeader)})
		x.Reply()
		return x
	})
	return x.Reply(), x.Answer()
}

// A session that ends.

// ended is what came of a session that the client has ended.
type ended struct {
	GetBefore driver.Answer
	Delete    driver.Answer
	Uses      []kit.Attempt // afterwards, with the id of the session
	Again     driver.Reply  // to initialize without it
	Reissued  bool          // the session that it began has the same id
}

// endedSession ends a session with DELETE and tries to use it.
func endedSession(t *T) ended {
	return Step(t, "ended session", func(t *T) (e ended) {
		s := t.Start()
		in := kit.ByHandSession(t, s)
		e.GetBefore = kit.HeadOf(kit.Get(s, in))
		if e.Delete = s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete, Header: in}).End(); !e.Delete.OK() {
			return e
		}
		again := kit.ByHand(s, kit.Request{
			ID: kit.TextID(t, "mcpcheck-start-over"), Method: "initialize", Params: driver.Hello(t.Revision),
			Header: kit.Header(kit.SessionIDHeader),
		})
		deadline := time.Now().Add(graceOf(e.Delete, s))
		for pause := firstPause; ; pause *= 2 {
			e.Uses = useAll(t, s, in)
			if !slices.ContainsFunc(e.Uses, serving) || time.Now().Add(pause).After(deadline) {
				break
			}
			time.Sleep(pause)
		}
		e.Again = again.Reply()
		id := in.Get(kit.SessionIDHeader)
		e.Reissued = id != "" && id == again.Answer().Header.Get(kit.SessionIDHeader)
		return e
	})
}

// useAll makes requests of every kind with the headers of a session, and waits for the answers.
func useAll(t *T, s *driver.Session, in http.Header) (uses []kit.Attempt) {
	harmless, _ := s.Harmless()
	lists := slices.DeleteFunc(kit.ListsOf(t.Server.Capabilities), func(list string) bool { return list == harmless })
	use := func(name string, make func() *driver.Exchange) {
		x := kit.InTurn(s, make)
		kit.HeadOf(x)
		uses = append(uses, kit.AttemptOf(s, name, x))
	}
	for _, method := range append([]string{harmless}, lists...) {
		use(method, func() *driver.Exchange { return kit.ByHand(s, kit.Request{Method: method, Header: in}) })
	}
	use("a notification", func() *driver.Exchange { return kit.InitializedByHand(s, in) })
	use("GET", func() *driver.Exchange { return kit.Get(s, in) })
	return uses
}

// serving reports whether a request shows that its session goes on.
func serving(use kit.Attempt) bool {
	a := use.Answer()
	return a.OK() || use.Method != http.MethodGet && !kit.IsNotFound(a)
}

// A session that ends is asked for with growing pauses: firstPause is the first.
const firstPause = 50 * time.Millisecond

// graceOf is how long a server may take to end a session after it has said so; with 202, that it will.
func graceOf(deleted driver.Answer, s *driver.Session) time.Duration {
	if kit.IsAccepted(deleted) {
		return s.Patience()
	}
	return 500 * time.Millisecond
}

// Servers without sessions, and with several.

// withoutSession are the answers to what every server takes, in a session that has no id: the notification that ends
// the handshake, and a request.
func withoutSession(t *T) (answers []driver.Answer) {
	s := t.Start()
	in := kit.Header(kit.VersionHeader, t.Revision)
	if hello := kit.HelloByHand(t, s, nil); hello.Reply().Result() == nil {
		t.Again("no session: initialize was answered with %s", hello.Answer())
	}
	sent := []*driver.Exchange{kit.InitializedByHand(s, in)}
	for _, method := range append([]string{""}, kit.ListsOf(t.Server.Capabilities)...) {
		sent = append(sent, kit.ByHand(s, kit.Request{Method: method, Header: in}))
	}
	for _, x := range sent {
		answers = append(answers, x.End())
	}
	return answers
}

// askTwo sends requests in two sessions at once, some of them under the same ids in both, and waits for the ends of the
// answers. Tools are called while both sessions are open. A server that takes its time is asked less: it may take one
// request after the other.
func askTwo(t *T) []*driver.Exchange {
	return Step(t, "two sessions at once", func(t *T) (sent []*driver.Exchange) {
		const most, same = 4, 70041
		a, b := t.Own(), t.Own()
		both := []*driver.Session{a, b}
		for _, s := range both {
			kit.Standing(t, s) // on which the answers of the other session may come
		}
		begin := time.Now()
		AskHarmless(t, a)
		rounds := int(a.Patience() / max(most*time.Since(begin), 1))
		for i := range max(1, min(rounds, most)) {
			one := kit.TextID(t, fmt.Sprint("mcpcheck-in-one-", i))
			other := kit.TextID(t, fmt.Sprint("mcpcheck-in-other-", i))
			sent = append(sent,
				kit.ByHand(a, kit.Request{ID: same + i}), kit.ByHand(a, kit.Request{ID: one}),
				kit.ByHand(b, kit.Request{ID: same + i}), kit.ByHand(b, kit.Request{ID: other}))
		}
		for _, x := range sent {
			x.End()
		}
		for _, s := range both {
			KeepIdle(t, s)
		}
		kit.CallTools(t)
		return sent
	})
}

// stray is a message that came in another session than its own.
type stray struct {
	*driver.Frame
	what string
}

func (s stray) subject() Subject { return Subject{Frames: []*driver.Frame{s.Frame}} }

// strayResponses are those that came in a session which has not asked under their id, while another one has. A second
// answer to what the session did ask is its own matter, and what a server takes for the id of a malformed message too.
func strayResponses(w Wire) (strays []stray) {
	for _, s := range w.Whole() {
		asked := map[string]bool{}
		for _, f := range s.Record(0) {
			if f.Hostile {
				break
			}
			for _, m := range f.Members() {
				switch id := ownID(m); {
				case f.Side == driver.FromClient && m.IsRequest():
					asked[driver.IDKey(id)] = true
				case f.Side == driver.FromServer && m.IsResponse():
					if !asked[driver.IDKey(id)] && s.AskedBeside(id) {
						strays = append(strays, stray{m, "a response with id " + Show(ID(m))})
					}
				}
			}
		}
	}
	return strays
}

// ownID is the id of a message, as it was before it became a text.
func ownID(m *driver.Frame) json.RawMessage {
	if driver.AlikeID(m.ID, m.Answers()) {
		return m.Answers()
	}
	return m.ID
}

// strayProgress is the progress that came in a session of what another one has asked for.
func strayProgress(w Wire) (strays []stray) {
	isStray := kit.StrayProgress(w)
	for _, s := range w.Whole() {
		for _, f := range s.Since(0) {
			for _, m := range f.Members() {
				if isStray(s, m) {
					strays = append(strays, stray{m, "the progress of " + string(kit.TokenOf(m))})
				}
			}
		}
	}
	return strays
}
