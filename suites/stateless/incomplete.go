package stateless

import (
	"maps"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// incomplete are the checks of requests that do not say all that a request has to say.
var incomplete = Suite{
	"stateless/missing-params": Fresh(func(t *T) { expectMalformed(t, kit.Undressed(t)[:1]) }).ThenHostile(),

	"stateless/missing-meta": Probe(func(t *T) { expectMalformed(t, kit.Undressed(t)[2:]) }),

	"stateless/missing-protocol-version": Probe(func(t *T) { expectMalformed(t, kit.Undressed(t)[1:2]) }),

	"stateless/missing-client-capabilities": Probe(func(t *T) {
		Each(t, incapable(t), kit.Incomplete.Subject, func(t *T, r kit.Incomplete) {
			kit.WantRefuser(t, r.Reply)
			t.Expect(r.Reply).To(BeError(kit.InvalidParams))
		})
	}),

	"stateless/meta-rejection-http-400": Probe(func(t *T) {
		var refused []kit.Incomplete
		for _, r := range append(kit.Undressed(t), incapable(t)...) {
			if code, _ := r.Reply.Code(); code == kit.InvalidParams {
				refused = append(refused, r)
			}
		}
		if len(refused) == 0 {
			t.Yield("nothing was refused with %d", kit.InvalidParams)
		}
		Each(t, refused, kit.Incomplete.Subject, func(t *T, r kit.Incomplete) {
			t.Expect(r.Reply.Frame.HTTP.Answer().Status).To(BeOneOf(http.StatusBadRequest), "status")
		})
	}),

	"stateless/client-info-optional": Probe(func(t *T) {
		s := t.Session()
		if r := AskHarmless(t, s); r.Result() == nil {
			t.Yield("server/discover is not served with it either")
		}
		r := t.Try(s, "server/discover", M{"_meta": M{driver.MetaClient: driver.Omitted}})
		t.Expect(r).To(BeResult(), "server/discover without clientInfo")
	}),

	"stateless/meta-wrong-types": Probe(func(t *T) {
		s := t.Hostile()
		for _, capabilities := range []any{"x", nil} {
			r := kit.TryAmiss(t, s, "server/discover", M{"_meta": M{driver.MetaCapabilities: capabilities}})
			kit.WantRefuser(t, r)
			t.Expect(r).To(BeError(kit.InvalidParams), "clientCapabilities %s", Show(capabilities))
		}
		r := kit.TryAmiss(t, s, "server/discover", M{"_meta": M{driver.MetaRevision: 20260728}})
		kit.WantRefuser(t, r)
		wantDecided(t, r)
		t.Expect(r).To(BeError(inNoVersion...), "protocolVersion 20260728")
	}),

	"stateless/meta-on-every-method": Probe(func(t *T) {
		for _, r := range incapable(t) {
			if r.Reply.Result() != nil {
				t.Yield("%s is served without", r.Method)
			}
		}
		s := t.Hostile()
		Each(t, methodsOf(t), kit.Incomplete.Subject, func(t *T, r kit.Incomplete) {
			mark := s.Mark()
			p := s.Request(r.Method, r.Params)
			wait := func() driver.Reply { return kit.Await(s, mark, p, kit.Shortly).Reply }
			reply := kit.AwaitAmiss(t, s, p, wait)
			opened := openedSince(s, mark)
			s.Cancel(p, "it was not to be served")
			Accept(t, reply)
			t.By(reply).Expect(reply.Result() == nil && !opened).To(Hold("no "+r.Method+" without clientCapabilities",
				"%s", served(reply, opened)))
		})
	}),
}

// incapable are server/discover and a list without what the client can do.
func incapable(t *T) []kit.Incomplete {
	return Step(t, "requests without capabilities", func(t *T) (all []kit.Incomplete) {
		s := t.Hostile()
		methods := []string{"server/discover"}
		if list, _ := kit.ListMethod(t); list != "" {
			methods = append(methods, list)
		}
		for _, method := range methods {
			r := kit.TryAmiss(t, s, method, kit.WithoutCapabilities)
			all = append(all, kit.Incomplete{What: "without clientCapabilities", Method: method, Reply: r})
		}
		return all
	})
}

// inNoVersion are the codes for a request that names no version: it is malformed or, over HTTP, not what its header
// says.
var inNoVersion = []int{kit.InvalidParams, kit.HeaderMismatch}

// expectMalformed wants requests that name no version to be refused. What is answered as server/discover without _meta
// has the same cause.
func expectMalformed(t *T, all []kit.Incomplete) {
	bare := kit.Undressed(t)[2]
	Each(t, all, kit.Incomplete.Subject, func(t *T, r kit.Incomplete) {
		kit.WantRefuser(t, r.Reply)
		wantDecided(t, r.Reply)
		if code, _ := r.Reply.Code(); r.What != bare.What && !slices.Contains(inNoVersion, code) &&
			kit.SameKind(r.Reply, bare.Reply) {
			t.Yield("so is server/discover without _meta answered")
		}
		t.Expect(r.Reply).To(BeError(inNoVersion...))
	})
}

// wantDecided ends a check of what a server over stdio makes of a request that names no version, when it speaks both
// eras and does not answer as in this one: it may take the request for one of the other.
func wantDecided(t *T, r driver.Reply) {
	code, _ := r.Code()
	modern := code == kit.InvalidParams || Has(r.Result(), "resultType")
	if !modern && t.Server.Transport == "stdio" && kit.IsDual(t) {
		t.Because(Undecided).Inconclusive("the server also supports handshake revisions "+
			"and may have treated the request as one of those: %s",
			Got(r))
	}
}

// methodsOf are requests of all kinds that the server declares to serve, but for those of incapable.
func methodsOf(t *T) (all []kit.Incomplete) {
	add := func(method string, params M) {
		full := maps.Clone(kit.WithoutCapabilities)
		maps.Copy(full, params)
		all = append(all, kit.Incomplete{What: "without clientCapabilities", Method: method, Params: full})
	}
	lists := kit.ListsOf(t.Server.Capabilities)
	for _, list := range lists[min(1, len(lists)):] {
		add(list, nil)
	}
	if t.Server.Declares("tools") && MayCallUnknown(t) {
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
func served(r driver.Reply, opened bool) any {
	if opened {
		return "the stream was opened"
	}
	return r
}
