package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

const (
	subscribeMethod   = "resources/subscribe"
	unsubscribeMethod = "resources/unsubscribe"
)

// subscriptionChecks are the checks of resources/subscribe and resources/unsubscribe, which the legacy revisions have.
var subscriptionChecks = check.Suite{
	"resources/subscribe-works": check.Probe(func(t *check.T) {
		first, _ := subscribeFirst(t)
		if first.Result() != nil {
			return
		}
		if code, _ := first.Code(); code == errcode.InternalError {
			t.FailAt(catalogue.Should, "a result", "%s", first)
		}
		t.Expect(first).To(check.BeResult())
	}),

	"resources/unsubscribe-works": check.Probe(func(t *check.T) {
		first, uri := subscribeFirst(t)
		if first.Result() == nil {
			t.Yield("no subscription is accepted")
		}
		s := t.Session()
		t.Send(s, subscribeMethod, check.M{"uri": uri})
		t.Expect(t.Send(s, unsubscribeMethod, check.M{"uri": uri}, check.AllowSilence)).To(check.BeResult())
	}),

	"resources/subscribe-undeclared": check.Probe(func(t *check.T) {
		if declaresFeature(t, "subscribe") {
			t.Skip(check.NotApplicable, "the server declares resources.subscribe")
		}
		uri := unknownURI(t)
		if len(t.Server.Resources) > 0 {
			uri, _ = t.Server.Resources[0]["uri"].(string)
		}
		t.Expect(invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), subscribeMethod, check.M{"uri": uri})).
			To(check.BeError())
	}),

	"resources/subscribe-missing-uri": check.Probe(func(t *check.T) {
		if r, _ := subscribeFirst(t); r.Result() == nil {
			t.Yield("no subscription is accepted")
		}
		r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), subscribeMethod, check.M{})
		t.Expect(r).To(check.BeError())
		t.ExpectAdvice(r).To(check.BeError(errcode.InvalidParams))
	}),

	"resources/subscribe-unknown-uri": check.Probe(func(t *check.T) {
		skipUnlessSubscribe(t)
		r := invalid.TryInvalid(t, t.Session(), subscribeMethod, check.M{"uri": unknownURI(t)})
		if !r.Answered() {
			invalid.SkipUnlessServerRejects(t, r)
		}
		t.Expect(r).To(check.BeAnswered())
	}),
}

// declaresFeature reports whether the server declares a feature of its resources.
func declaresFeature(t *check.T, feature string) bool {
	capability, _ := t.Server.Capabilities["resources"].(check.M)
	return capability[feature] == true
}

// skipUnlessSubscribe ends the check as skip if the server does not declare subscriptions.
func skipUnlessSubscribe(t *check.T) {
	if !declaresFeature(t, "subscribe") {
		t.Skip(check.NotDeclared, "the server does not declare resources.subscribe")
	}
}

// subscribeFirst subscribes to the first listed resources until the server accepts one, and returns the last reply.
func subscribeFirst(t *check.T) (r driver.Reply, uri string) {
	skipUnlessSubscribe(t)
	if len(t.Server.Resources) == 0 {
		t.Skip(check.NotOffered, "the server lists no resource")
	}
	for _, resource := range toolcall.SubscribableResources(t) {
		uri, _ = resource["uri"].(string)
		if r = t.Send(t.Session(), subscribeMethod, check.M{"uri": uri}, check.AllowSilence); r.Result() != nil {
			break
		}
	}
	return r, uri
}
