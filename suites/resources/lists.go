package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

var listChecks = Suite{
	"resources/capability-declared": Probe(func(t *T) {
		if HasMember(t.Server.Capabilities, "resources") { // as what, schema/capability-shapes judges
			return
		}
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		for _, l := range []protocol.PagedList{resourceList, templateList} {
			r := invalid.RequestInvalid(t, t.SessionForInvalidInput(), l.Method, M{})
			t.Expect(l.Keys(r.Result())).To(BeEmptyList[string](
				"nothing in the answer to " + l.Method + ", since the capability is not declared"))
			t.ExpectShould(r).To(BeError(), l.Method)
		}
	}),

	"resources/list-works": Probe(func(t *T) { toolcall.ExpectList(t, "resources") }),

	"resources/templates-list-works": Probe(func(t *T) {
		r := t.TryRequest(t.Session(), templatesMethod, M{})
		t.Expect(r).To(BeResult())
		t.Expect(Member(r.Result(), "resourceTemplates")).To(BeArray())
	}),

	"resources/list-params-optional": Probe(func(t *T) { protocol.ExpectParamsOptional(t, resourceList) }),

	"resources/list-result-schema": Probe(func(t *T) {
		expectValidPages(t, resourceList, "resources/list-result-schema", "ListResourcesResult")
	}),

	"resources/templates-result-schema": Probe(func(t *T) {
		expectValidPages(t, templateList, "resources/templates-result-schema", "ListResourceTemplatesResult")
	}),

	"resources/uri-unique": Probe(func(t *T) {
		s := t.Session()
		uris := listedURIs(t, s)
		if len(uris) == 0 {
			t.WithReason(NotOffered).Skip("the server lists no resource")
		}
		if len(toolcall.Duplicates(uris)) > 0 { // where the list changes meanwhile, one may come twice
			uris = listedURIs(t, s)
		}
		t.Expect(toolcall.Duplicates(uris)).To(BeEmptyList[string]("each URI once"))
	}),
}

// listPage is a page of a list, and the rules of its schema that it breaks.
type listPage struct {
	number     int
	result     M
	violations []string
}

func (p listPage) subject() Subject { return Subject{Name: "page " + Show(p.number), Value: p.result} }

// expectValidPages wants the pages of a list to be as the schema has them, as far as no other entry says so.
func expectValidPages(t *T, l protocol.PagedList, id, definition string) {
	pages := Step(t, "pages of "+l.Method, func(t *T) (pages []listPage) {
		FollowPages(t, t.Session(), l.Method, l.Member, func(result M) {
			p := listPage{number: len(pages) + 1, violations: protocol.Violations(t, id, definition, result)}
			if p.violations != nil {
				p.result = result // a long list is not kept for nothing
			}
			pages = append(pages, p)
		})
		return pages
	})
	Each(t, pages, listPage.subject, func(t *T, p listPage) {
		t.Expect(p.violations).To(BeEmptyList[string]("a valid " + definition))
	})
}

// listedURIs are the URIs of the resources as they are listed now.
func listedURIs(t *T, s *driver.Session) (uris []string) {
	FollowPages(t, s, listMethod, "resources", func(result M) {
		for _, resource := range protocol.ObjectsIn(result["resources"]) {
			if uri, isString := resource["uri"].(string); isString {
				uris = append(uris, uri)
			}
		}
	})
	return uris
}
