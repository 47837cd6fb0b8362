package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// refusals are the checks of readings that are to be refused.
var refusals = Suite{
	"resources/not-found-is-error": Probe(func(t *T) {
		r := aboutUnknown(t)
		switch {
		case r.Result() != nil && matched(t, unknownURI(t)):
			t.Inconclusive("a template of the server matches any URI, and it made contents for this one: %s", Got(r))
		case kit.AsksForInput(t, r):
			t.Inconclusive("it asks for input first: %s", Got(r))
		}
		t.Expect(r).To(BeError())
	}),

	"resources/not-found-code": Probe(func(t *T) {
		r := wantUnknown(t)
		if code, _ := r.Code(); t.Modern() && kit.IsRetired(code) {
			t.Yield("%d is of earlier revisions", code)
		}
		if t.Modern() {
			t.Expect(r).To(BeError(kit.InvalidParams))
			return
		}
		t.Expect(r).To(BeError(-32002, kit.InvalidParams))
		t.Inform(r).To(BeError(-32002))
	}),

	"resources/not-found-data-uri": Probe(func(t *T) {
		data, _ := wantUnknown(t).Error()["data"].(M)
		t.Expect(Member(data, "uri")).To(BeOneOf[any](unknownURI(t)), "data.uri")
	}),

	"resources/read-uri-required": Probe(func(t *T) {
		all := []M{{}}
		if t.Modern() {
			all = append(all, M{"uri": 5})
		}
		codes := append(kit.CodesOfHeaders(t), kit.InvalidParams)
		for _, params := range all {
			r := kit.TryAmiss(t, t.Hostile(), readMethod, params)
			wantServed(t, r)
			t.Expect(r).To(BeError())
			t.Warn(r).To(BeError(codes...))
		}
	}),

	"resources/invalid-uri-rejected": Probe(func(t *T) {
		var all []Subject
		for _, uri := range []string{"not a uri", "", "http://[bad"} {
			all = append(all, Subject{Name: Show(uri), Value: M{"uri": uri}, Sent: true})
		}
		t.Each(all, func(t *T, s Subject) {
			r := kit.TryAmiss(t, t.Hostile(), readMethod, s.Value)
			wantServed(t, r)
			if r.Result() == nil {
				t.Expect(r).To(BeError())
				return
			}
			if aboutUnknown(t).Result() != nil {
				t.Yield("no URI is refused")
			}
			if matched(t, s.Value["uri"].(string)) {
				t.Inconclusive("a template of the server matches it: %s", Got(r))
			}
			t.Fail("an error, since it is not a URI", "%s", r)
		})
	}),
}

// wantServed ends a check of a reading to be refused when the server refuses nothing, or answers no reading.
func wantServed(t *T, r driver.Reply) {
	kit.WantRefuser(t, r)
	kit.WantServed(t, r, M{"uri": unknownURI(t)})
}

// aboutUnknown is what comes of reading a resource that no server has.
func aboutUnknown(t *T) driver.Reply {
	return Step(t, "unknown resource", func(t *T) driver.Reply {
		return kit.AskAmiss(t, t.Session(), readMethod, M{"uri": unknownURI(t)})
	})
}

// wantUnknown is the error for that.
func wantUnknown(t *T) driver.Reply {
	r := aboutUnknown(t)
	if r.M()["error"] == nil {
		t.Yield("the unknown resource was not answered with an error")
	}
	return r
}
