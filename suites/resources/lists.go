package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// listChecks are the checks of resources/list and resources/templates/list.
var listChecks = check.Suite{
	"resources/capability-declared": check.Probe(func(t *check.T) {
		if check.HasMember(t.Server.Capabilities, "resources") { // schema/capability-shapes judges the value
			return
		}
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		for _, l := range []protocol.PagedList{resourceList, templateList} {
			r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), l.Method, check.M{})
			t.Expect(l.Keys(r.Result())).To(check.BeEmptyList[string](
				"nothing in the answer to " + l.Method + ", since the capability is not declared"))
			t.ExpectShould(r).To(check.BeError(), l.Method)
		}
	}),

	"resources/list-works": check.Probe(func(t *check.T) { toolcall.ExpectList(t, "resources") }),

	"resources/templates-list-works": check.Probe(func(t *check.T) {
		r := t.Send(t.Session(), templatesMethod, check.M{}, check.AllowSilence)
		t.Expect(r).To(toolcall.BeListed(r))
		t.Expect(check.Member(r.Result(), "resourceTemplates")).To(check.BeArray())
	}),

	"resources/list-params-optional": check.Probe(func(t *check.T) { protocol.ExpectParamsOptional(t, resourceList) }),

	"resources/list-result-schema": check.Probe(func(t *check.T) {
		expectValidPages(t, resourceList, "resources/list-result-schema", "ListResourcesResult")
	}),

	"resources/templates-result-schema": check.Probe(func(t *check.T) {
		expectValidPages(t, templateList, "resources/templates-result-schema", "ListResourceTemplatesResult")
	}),

	"resources/uri-unique": check.Probe(func(t *check.T) {
		s := t.Session()
		uris := listedURIs(t, s)
		if len(uris) == 0 {
			t.Skip(check.NotOffered, "the server lists no resource")
		}
		if len(toolcall.Duplicates(uris)) > 0 { // a list that changes between pages may have an item twice
			uris = listedURIs(t, s)
		}
		t.Expect(toolcall.Duplicates(uris)).To(check.BeEmptyList[string]("each URI once"))
	}),
}

// listPage is a page of a list with the rules of the schema that it violates.
type listPage struct {
	number     int
	result     check.M
	violations []string
}

func (p listPage) subject() check.Subject {
	return check.Subject{Name: "page " + check.Show(p.number), Value: p.result}
}

// expectValidPages requires the pages of a list to conform to the schema. Violations that another entry reports do not
// count.
func expectValidPages(t *check.T, l protocol.PagedList, id, definition string) {
	pages := check.Step(t, "pages of "+l.Method, func(t *check.T) (pages []listPage) {
		check.FollowPages(t, t.Session(), l.Method, l.Member, func(result check.M) {
			p := listPage{number: len(pages) + 1, violations: protocol.Violations(t, id, definition, result)}
			if p.violations != nil {
				// Valid pages are not kept, since lists may be long.
				p.result = result
			}
			pages = append(pages, p)
		})
		return pages
	})
	check.Each(t, pages, listPage.subject, func(t *check.T, p listPage) {
		t.Expect(p.violations).To(check.BeEmptyList[string]("a valid " + definition))
	})
}

// listedURIs lists the resources and returns their URIs.
func listedURIs(t *check.T, s *driver.Session) (uris []string) {
	check.FollowPages(t, s, listMethod, "resources", func(result check.M) {
		for _, resource := range protocol.ObjectsIn(result["resources"]) {
			if uri, isString := resource["uri"].(string); isString {
				uris = append(uris, uri)
			}
		}
	})
	return uris
}
