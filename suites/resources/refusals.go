package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// refusalChecks are the checks of readings that are to be refused.
var refusalChecks = Suite{
	"resources/not-found-is-error": Probe(func(t *T) {
		r := unknownResourceReply(t)
		switch {
		case r.Result() != nil && matchesTemplate(t, unknownURI(t)):
			t.Inconclusive("a template of the server matches any URI, and it made contents for this one: %s", Got(r))
		case toolcall.IsInputRequired(t, r):
			t.Inconclusive("it asks for input first: %s", Got(r))
		}
		t.Expect(r).To(BeError())
	}),

	"resources/not-found-code": Probe(func(t *T) {
		r := requireUnknownError(t)
		if code, _ := r.Code(); t.IsModern() && protocol.IsRetiredCode(code) {
			t.Yield("%d is of earlier revisions", code)
		}
		if t.IsModern() {
			t.Expect(r).To(BeError(protocol.InvalidParams))
			return
		}
		t.Expect(r).To(BeError(-32002, protocol.InvalidParams))
		t.ExpectAdvice(r).To(BeError(-32002))
	}),

	"resources/not-found-data-uri": Probe(func(t *T) {
		data, _ := requireUnknownError(t).Error()["data"].(M)
		t.Expect(Member(data, "uri")).To(BeOneOf[any](unknownURI(t)), "data.uri")
	}),

	"resources/read-uri-required": Probe(func(t *T) {
		all := []M{{}}
		if t.IsModern() {
			all = append(all, M{"uri": 5})
		}
		codes := append(protocol.HeaderErrorCodes(t), protocol.InvalidParams)
		for _, params := range all {
			r := invalid.TryInvalid(t, t.SessionForInvalidInput(), readMethod, params)
			requireRefusals(t, r)
			t.Expect(r).To(BeError())
			t.ExpectShould(r).To(BeError(codes...))
		}
	}),

	"resources/invalid-uri-rejected": Probe(func(t *T) {
		var all []Subject
		for _, uri := range []string{"not a uri", "", "http://[bad"} {
			all = append(all, Subject{Name: Show(uri), Value: M{"uri": uri}, FromClient: true})
		}
		t.Each(all, func(t *T, s Subject) {
			r := invalid.TryInvalid(t, t.SessionForInvalidInput(), readMethod, s.Value)
			requireRefusals(t, r)
			if r.Result() == nil {
				t.Expect(r).To(BeError())
				return
			}
			if unknownResourceReply(t).Result() != nil {
				t.Yield("no URI is refused")
			}
			if matchesTemplate(t, s.Value["uri"].(string)) {
				t.Inconclusive("a template of the server matches it: %s", Got(r))
			}
			t.Fail("an error, since it is not a URI", "%s", r)
		})
	}),
}

// requireRefusals ends a check of a reading to be refused when the server refuses nothing, or answers no reading.
func requireRefusals(t *T, r driver.Reply) {
	invalid.SkipUnlessServerRejects(t, r)
	invalid.SkipUnlessServed(t, r, M{"uri": unknownURI(t)})
}

// unknownResourceReply is what comes of reading a resource that no server has.
func unknownResourceReply(t *T) driver.Reply {
	return Step(t, "unknown resource", func(t *T) driver.Reply {
		return invalid.RequestInvalid(t, t.Session(), readMethod, M{"uri": unknownURI(t)})
	})
}

// requireUnknownError is the error for that.
func requireUnknownError(t *T) driver.Reply {
	r := unknownResourceReply(t)
	if r.Message()["error"] == nil {
		t.Yield("the unknown resource was not answered with an error")
	}
	return r
}
