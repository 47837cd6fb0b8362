package http

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// leftovers are the checks of what earlier revisions have that this one has not: sessions, GET, DELETE, resumption.
var leftovers = Suite{
	"http/get-405":    refusedMethod(http.MethodGet),
	"http/delete-405": refusedMethod(http.MethodDelete),

	"http/session-id-ignored": Probe(func(t *T) {
		method, params := kit.Ordinary(t, t.Session())
		forms := []form{{"a session id", kit.Header(kit.SessionIDHeader, "mcpcheck-bogus")}}
		if id := handshakeOf(t).id; id != "" {
			forms = append(forms, form{"the id of a session of " + Newest, kit.Header(kit.SessionIDHeader, id)})
		}
		compareAs(t, kit.Request{Method: method, Params: params}, forms)
	}),

	"http/session-id-not-minted": WatchAfter(oldHeaders, func(t *T, w Wire) {
		kit.JudgeTrips(t, "HTTP answer", kit.Trips(w), isModern, func(t *T, r kit.RoundTrip) {
			t.Expect(r.Answer.Header.Get(kit.SessionIDHeader)).To(That("no Mcp-Session-Id", func(id string) bool {
				return id == ""
			}))
		})
	}),

	"http/last-event-id-ignored": Probe(func(t *T) {
		if shakesHands(t) {
			t.Because(NotOffered).Skip("the server speaks older revisions, too, which have Last-Event-ID")
		}
		method, params := kit.Ordinary(t, t.Session())
		compareAs(t, kit.Request{Method: method, Params: params}, []form{
			{"a Last-Event-ID", kit.Header("Last-Event-ID", "x_1")},
		})
	}),
}

// refusedMethod is the check that a server without older revisions answers an HTTP method of theirs with 405.
func refusedMethod(method string) Check {
	return Probe(func(t *T) {
		if shakesHands(t) {
			t.Because(NotOffered).Skip("the server speaks older revisions, too, which have %s", method)
		}
		if none := handshakeOf(t).none; none != nil {
			t.Because(Silent).Again("it may speak older revisions, which have %s: %v", method, Explain(none))
		}
		a := kit.Own(t, oldMethods(t)[method])
		kit.SkipUnauthorized(t, a)
		t.Expect(a).To(That("HTTP 405", func(a driver.Answer) bool { return a.Status == http.StatusMethodNotAllowed }))
	})
}

// oldMethods are the answers to GET and DELETE as clients of older revisions send them.
func oldMethods(t *T) map[string]driver.Answer {
	return Step(t, "methods of older revisions", func(t *T) map[string]driver.Answer {
		s, answers := t.Hostile(), map[string]driver.Answer{}
		in := http.Header{kit.SessionIDHeader: {"mcpcheck"}, kit.VersionHeader: {Newest}}
		for method, header := range map[string]http.Header{
			http.MethodGet: {"Accept": {kit.StreamType}, kit.VersionHeader: {Newest}}, http.MethodDelete: in,
		} {
			answers[method] = kit.HeadOf(s.HTTP().Do(driver.HTTPRequest{Method: method, Header: header}))
		}
		return answers
	})
}

// oldHeaders makes requests with headers of older revisions, which the answers may repeat.
func oldHeaders(t *T) {
	Step(t, "headers of older revisions", func(t *T) bool {
		s := t.Session()
		method, params := kit.Ordinary(t, s)
		for _, request := range []string{method, "server/discover"} {
			x := kit.ByHand(s, kit.Request{
				Method: request, Params: params, Header: kit.Header(kit.SessionIDHeader, "mcpcheck-bogus"),
			})
			kit.CameOf(x)
		}
		return true
	})
}

// isModern reports whether an HTTP request holds a message that says by itself which revision it is of.
func isModern(r kit.RoundTrip) bool {
	params, _ := r.Sent.JSON()["params"].(M)
	meta, _ := params["_meta"].(M)
	return r.Answer.Status != 0 && slices.Contains(Modern, text(meta[driver.MetaRevision]))
}

func text(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

// handshake is whether a server speaks older revisions as well, and the session that it has begun then.
type handshake struct {
	shaken bool
	id     string // of the session; empty: there is none
	none   error  // why there was no answer; nil: there was one
}

// handshakeOf asks the server for the handshake that older revisions begin with.
func handshakeOf(t *T) handshake {
	return Step(t, "a handshake", func(t *T) (h handshake) {
		s := t.Start()
		s.HostileThroughout()
		params := driver.Hello(Newest)
		params["_meta"] = driver.Omitted
		x := kit.InTurn(s, func() *driver.Exchange {
			return kit.ByHand(s, kit.Request{
				Method: "initialize", Params: params, Header: http.Header{kit.VersionHeader: nil, methodHeader: nil},
			})
		})
		h.none = x.Reply().Err
		granted := text(x.Reply().Result()["protocolVersion"])
		if h.shaken = slices.Contains(Handshake, granted); h.shaken {
			h.id = x.Answer().Header.Get(kit.SessionIDHeader)
		}
		return h
	})
}

// shakesHands reports whether the server speaks older revisions as well.
func shakesHands(t *T) bool {
	older := func(revision string) bool { return slices.Contains(Handshake, revision) }
	return slices.ContainsFunc(t.Server.Speaks, older) || handshakeOf(t).shaken
}
