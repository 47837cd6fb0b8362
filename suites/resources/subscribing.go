package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

const (
	subscribe   = "resources/subscribe"
	unsubscribe = "resources/unsubscribe"
)

// subscribing are the checks of the requests for updates, which the handshake era has.
var subscribing = Suite{
	"resources/subscribe-works": Probe(func(t *T) {
		first, _ := subscribed(t)
		if first.Result() != nil {
			return
		}
		if code, _ := first.Code(); code == -32603 {
			t.FailAt(Should, "a result", "%s", first)
		}
		t.Expect(first).To(BeResult())
	}),

	"resources/unsubscribe-works": Probe(func(t *T) {
		first, uri := subscribed(t)
		if first.Result() == nil {
			t.Yield("no subscription is accepted")
		}
		s := t.Session()
		t.Ask(s, subscribe, M{"uri": uri})
		t.Expect(t.Try(s, unsubscribe, M{"uri": uri})).To(BeResult())
	}),

	"resources/subscribe-undeclared": Probe(func(t *T) {
		if declares(t, "subscribe") {
			t.Skip("the server declares resources.subscribe")
		}
		uri := unknownURI(t)
		if len(t.Server.Resources) > 0 {
			uri, _ = t.Server.Resources[0]["uri"].(string)
		}
		t.Expect(kit.AskAmiss(t, t.Hostile(), subscribe, M{"uri": uri})).To(BeError())
	}),

	"resources/subscribe-missing-uri": Probe(func(t *T) {
		if r, _ := subscribed(t); r.Result() == nil {
			t.Yield("no subscription is accepted")
		}
		r := kit.AskAmiss(t, t.Hostile(), subscribe, M{})
		t.Expect(r).To(BeError())
		t.Inform(r).To(BeError(kit.InvalidParams))
	}),

	"resources/subscribe-unknown-uri": Probe(func(t *T) {
		wantSubscribe(t)
		r := kit.TryAmiss(t, t.Session(), subscribe, M{"uri": unknownURI(t)})
		if !r.Answered() {
			kit.WantRefuser(t, r)
		}
		t.Expect(r).To(BeAnswered())
	}),
}

// declares reports whether the server declares a feature of its resources.
func declares(t *T, feature string) bool {
	capability, _ := t.Server.Capabilities["resources"].(M)
	return capability[feature] == true
}

func wantSubscribe(t *T) {
	if !declares(t, "subscribe") {
		t.Because(NotDeclared).Skip("the server does not declare resources.subscribe")
	}
}

// subscribed is the answer to the subscription to the first resource of the list that is accepted or, when none of the
// first ones is, to the last of them.
func subscribed(t *T) (r driver.Reply, uri string) {
	wantSubscribe(t)
	if len(t.Server.Resources) == 0 {
		t.Because(NotOffered).Skip("the server lists no resource")
	}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), kit.MostWatched)] {
		uri, _ = resource["uri"].(string)
		if r = t.Try(t.Session(), subscribe, M{"uri": uri}); r.Result() != nil {
			break
		}
	}
	return r, uri
}
