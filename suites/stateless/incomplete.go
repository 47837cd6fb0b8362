package stateless

import (
	"maps"
	"net/http"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// incomplete are the checks of requests that do not say all that a request has to say.
var incomplete = Suite{
	"stateless/missing-params": Fresh(func(t *T) { expectMalformed(t, undressed(t)[:1]) }).ThenHostile(),

	"stateless/missing-meta": Probe(func(t *T) { expectMalformed(t, undressed(t)[2:]) }),

	"stateless/missing-protocol-version": Probe(func(t *T) { expectMalformed(t, undressed(t)[1:2]) }),

	"stateless/missing-client-capabilities": Probe(func(t *T) {
		Each(t, incapable(t), request.subject, func(t *T, r request) {
			t.Expect(r.Reply).To(BeError(kit.InvalidParams))
		})
	}),

	"stateless/meta-rejection-http-400": Probe(func(t *T) {
		var refused []request
		for _, r := range append(undressed(t), incapable(t)...) {
			if code, _ := r.Reply.Code(); code == kit.InvalidParams {
				refused = append(refused, r)
			}
		}
		if len(refused) == 0 {
			t.Because(OtherCheck).Skip("nothing was refused with %d: stateless/missing-meta", kit.InvalidParams)
		}
		Each(t, refused, request.subject, func(t *T, r request) {
			t.Expect(r.Reply.Frame.HTTP.Answer().Status).To(BeOneOf(http.StatusBadRequest), "status")
		})
	}),

	"stateless/client-info-optional": Probe(func(t *T) {
		s := t.Session()
		if r := t.Harmless(s); r.Result() == nil {
			t.Because(OtherCheck).Skip("server/discover is not served with it either: discover/implemented")
		}
		r := t.Try(s, "server/discover", M{"_meta": M{driver.MetaClient: driver.Omitted}})
		t.Expect(r).To(BeResult(), "server/discover without clientInfo")
	}),

	"stateless/meta-wrong-types": Probe(func(t *T) {
		s := t.Hostile()
		for _, capabilities := range []any{"x", nil} {
			r := t.Try(s, "server/discover", M{"_meta": M{driver.MetaCapabilities: capabilities}})
			t.Expect(r).To(BeError(kit.InvalidParams), "clientCapabilities %s", Show(capabilities))
		}
		r := t.Try(s, "server/discover", M{"_meta": M{driver.MetaRevision: 20260728}})
		wantDecided(t, r)
		t.Expect(r).To(BeError(inNoVersion...), "protocolVersion 20260728")
	}),

	"stateless/meta-on-every-method": Probe(func(t *T) {
		for _, r := range incapable(t) {
			if r.Reply.Result() != nil {
				t.Because(OtherCheck).Skip("%s is served without: stateless/missing-client-capabilities", r.Method)
			}
		}
		s := t.Hostile()
		Each(t, methodsOf(t), request.subject, func(t *T, r request) {
			mark := s.Mark()
			p := s.Request(r.Method, r.Params)
			e := kit.Await(s, mark, p, kit.Shortly)
			opened := openedSince(s, mark)
			s.Cancel(p, "it was not to be served")
			t.Accept(e.Reply)
			t.Expect(e.Reply.Result() == nil && !opened).To(Hold("no "+r.Method+" without clientCapabilities",
				"%s", served(e.Reply, opened)))
		})
	}),
}

// request is one that does not say all that it has to say, and the answer to it.
type request struct {
	What, Method string
	Params       M
	Reply        driver.Reply
}

func (r request) subject() Subject { return Named(r.Method + " " + r.What) }

// withoutCapabilities is what a request says that leaves out what its client can do.
var withoutCapabilities = M{"_meta": M{driver.MetaCapabilities: driver.Omitted}}

// undressed are requests that do not name their version: the first has no params, the second no protocolVersion, the
// others no _meta. Over stdio they have a process of their own, in which nothing was said before. Others have it
// afterwards as a hostile session, unless the server has come to treat such requests otherwise than at first.
func undressed(t *T) []request {
	return Shared(t, "requests without _meta", func(t *T) []request {
		const discover = "server/discover"
		s := t.Start()
		s.HostileThroughout()
		id := s.NextID()
		p := s.Expecting(id, discover)
		s.SendJSON(M{"jsonrpc": "2.0", "id": id, "method": discover})
		all := []request{{What: "without params", Method: discover, Reply: s.AwaitFirst(p)}}
		ask := func(what, method string, meta any) {
			r := s.Exchange(method, M{"_meta": meta})
			all = append(all, request{What: what, Method: method, Reply: r})
		}
		ask("without protocolVersion", discover, M{driver.MetaRevision: driver.Omitted})
		ask("without _meta", discover, driver.Omitted)
		if list, _ := kit.ListMethod(t); list != "" {
			ask("without _meta", list, driver.Omitted)
		}
		if kit.SameKind(all[0].Reply, all[2].Reply) {
			kit.Regain(t, s)
		}
		return all
	})
}

// incapable are server/discover and a list without what the client can do.
func incapable(t *T) []request {
	return Shared(t, "requests without capabilities", func(t *T) (all []request) {
		s := t.Hostile()
		methods := []string{"server/discover"}
		if list, _ := kit.ListMethod(t); list != "" {
			methods = append(methods, list)
		}
		for _, method := range methods {
			r := t.Try(s, method, withoutCapabilities)
			all = append(all, request{What: "without clientCapabilities", Method: method, Reply: r})
		}
		return all
	})
}

// inNoVersion are the codes for a request that names no version: it is malformed or, over HTTP, not what its header
// says.
var inNoVersion = []int{kit.InvalidParams, kit.HeaderMismatch}

// expectMalformed wants requests that name no version to be refused.
func expectMalformed(t *T, all []request) {
	Each(t, all, request.subject, func(t *T, r request) {
		wantDecided(t, r.Reply)
		t.Expect(r.Reply).To(BeError(inNoVersion...))
	})
}

// wantDecided ends a check of what a server over stdio makes of a request that names no version, when it speaks both
// eras and does not answer as in this one: it may take the request for one of the other.
func wantDecided(t *T, r driver.Reply) {
	code, _ := r.Code()
	modern := code == kit.InvalidParams || Has(r.Result(), "resultType")
	if !modern && t.Server.Transport == "stdio" && kit.IsDual(t) {
		t.Because(Undecided).Inconclusive("the server shakes hands as well, and may take it for one of that era: %s",
			Got(r))
	}
}

// methodsOf are requests of all kinds that the server declares to serve, but for those of incapable.
func methodsOf(t *T) (all []request) {
	add := func(method string, params M) {
		full := maps.Clone(withoutCapabilities)
		maps.Copy(full, params)
		all = append(all, request{What: "without clientCapabilities", Method: method, Params: full})
	}
	lists := kit.ListsOf(t.Server.Capabilities)
	for _, list := range lists[min(1, len(lists)):] {
		add(list, nil)
	}
	if t.Server.Declares("tools") && t.MayCallUnknown() {
		add("tools/call", M{"name": kit.UnknownName(t), "arguments": M{}})
	}
	if t.Server.Declares("resources") {
		add("resources/templates/list", nil)
		add("resources/read", M{"uri": kit.UnknownURI})
	}
	if t.Server.Declares("prompts") {
		add("prompts/get", M{"name": kit.UnknownName(t)})
	}
	add("subscriptions/listen", M{"notifications": M{}})
	return all
}

// openedSince reports whether the server has opened a stream since the mark.
func openedSince(s *driver.Session, mark int) bool {
	for _, f := range s.Since(mark) {
		if f.Method == "notifications/subscriptions/acknowledged" {
			return true
		}
	}
	return false
}

// served says how a request was served.
func served(r driver.Reply, opened bool) string {
	if opened {
		return "the stream was opened"
	}
	return Got(r)
}
