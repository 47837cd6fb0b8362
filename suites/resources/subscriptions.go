package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

const (
	subscribeMethod   = "resources/subscribe"
	unsubscribeMethod = "resources/unsubscribe"
)

// subscriptionChecks are the checks of the requests for updates, which the handshake era has.
var subscriptionChecks = Suite{
	"resources/subscribe-works": Probe(func(t *T) {
		first, _ := subscribeFirst(t)
		if first.Result() != nil {
			return
		}
		if code, _ := first.Code(); code == -32603 {
			t.FailAt(Should, "a result", "%s", first)
		}
		t.Expect(first).To(BeResult())
	}),

	"resources/unsubscribe-works": Probe(func(t *T) {
		first, uri := subscribeFirst(t)
		if first.Result() == nil {
			t.Yield("no subscription is accepted")
		}
		s := t.Session()
		t.Request(s, subscribeMethod, M{"uri": uri})
		t.Expect(t.TryRequest(s, unsubscribeMethod, M{"uri": uri})).To(BeResult())
	}),

	"resources/subscribe-undeclared": Probe(func(t *T) {
		if declaresFeature(t, "subscribe") {
			t.Skip("the server declares resources.subscribe")
		}
		uri := unknownURI(t)
		if len(t.Server.Resources) > 0 {
			uri, _ = t.Server.Resources[0]["uri"].(string)
		}
		t.Expect(invalid.RequestInvalid(t, t.SessionForInvalidInput(), subscribeMethod, M{"uri": uri})).To(BeError())
	}),

	"resources/subscribe-missing-uri": Probe(func(t *T) {
		if r, _ := subscribeFirst(t); r.Result() == nil {
			t.Yield("no subscription is accepted")
		}
		r := invalid.RequestInvalid(t, t.SessionForInvalidInput(), subscribeMethod, M{})
		t.Expect(r).To(BeError())
		t.ExpectAdvice(r).To(BeError(protocol.InvalidParams))
	}),

	"resources/subscribe-unknown-uri": Probe(func(t *T) {
		skipUnlessSubscribe(t)
		r := invalid.TryInvalid(t, t.Session(), subscribeMethod, M{"uri": unknownURI(t)})
		if !r.Answered() {
			invalid.SkipUnlessServerRejects(t, r)
		}
		t.Expect(r).To(BeAnswered())
	}),
}

// declaresFeature reports whether the server declares a feature of its resources.
func declaresFeature(t *T, feature string) bool {
	capability, _ := t.Server.Capabilities["resources"].(M)
	return capability[feature] == true
}

func skipUnlessSubscribe(t *T) {
	if !declaresFeature(t, "subscribe") {
		t.WithReason(NotDeclared).Skip("the server does not declare resources.subscribe")
	}
}

// subscribeFirst is the answer to the subscription to the first resource of the list that is accepted or, when none of
// the first ones is, to the last of them.
func subscribeFirst(t *T) (r driver.Reply, uri string) {
	skipUnlessSubscribe(t)
	if len(t.Server.Resources) == 0 {
		t.WithReason(NotOffered).Skip("the server lists no resource")
	}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), toolcall.MaxSubscribedResources)] {
		uri, _ = resource["uri"].(string)
		if r = t.TryRequest(t.Session(), subscribeMethod, M{"uri": uri}); r.Result() != nil {
			break
		}
	}
	return r, uri
}
