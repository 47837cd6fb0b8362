package resources

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var lists = Suite{
	"resources/capability-declared": Probe(func(t *T) {
		if Has(t.Server.Capabilities, "resources") { // as what, schema/capability-shapes judges
			return
		}
		kit.WantCapabilities(t, t.Server.Welcome)
		for _, l := range []kit.List{resourceList, templateList} {
			r := kit.AskAmiss(t, t.Hostile(), l.Method, M{})
			t.Expect(l.Keys(r.Result())).To(BeEmptyList[string](
				"nothing in the answer to " + l.Method + ", since the capability is not declared"))
			t.Warn(r).To(BeError(), l.Method)
		}
	}),

	"resources/list-works": Probe(func(t *T) { kit.ExpectList(t, "resources") }),

	"resources/templates-list-works": Probe(func(t *T) {
		r := t.Try(t.Session(), templatesMethod, M{})
		t.Expect(r).To(BeResult())
		t.Expect(Member(r.Result(), "resourceTemplates")).To(BeArray())
	}),

	"resources/list-params-optional": Probe(func(t *T) { kit.WantParamsOptional(t, resourceList) }),

	"resources/list-result-schema": Probe(func(t *T) {
		judgePages(t, resourceList, "resources/list-result-schema", "ListResourcesResult")
	}),

	"resources/templates-result-schema": Probe(func(t *T) {
		judgePages(t, templateList, "resources/templates-result-schema", "ListResourceTemplatesResult")
	}),

	"resources/uri-unique": Probe(func(t *T) {
		s := t.Session()
		uris := urisNow(t, s)
		if len(uris) == 0 {
			t.Because(NotOffered).Skip("the server lists no resource")
		}
		if len(kit.Repeated(uris)) > 0 { // where the list changes meanwhile, one may come twice
			uris = urisNow(t, s)
		}
		t.Expect(kit.Repeated(uris)).To(BeEmptyList[string]("each URI once"))
	}),
}

// page is a page of a list, and the rules of its schema that it breaks.
type page struct {
	number int
	result M
	broken []string
}

func (p page) subject() Subject { return Subject{Name: "page " + Show(p.number), Value: p.result} }

// judgePages wants the pages of a list to be as the schema has them, as far as no other entry says so.
func judgePages(t *T, l kit.List, id, definition string) {
	pages := Step(t, "pages of "+l.Method, func(t *T) (pages []page) {
		FollowPages(t, t.Session(), l.Method, l.Member, func(result M) {
			p := page{number: len(pages) + 1, broken: kit.Broken(t, id, definition, result)}
			if p.broken != nil {
				p.result = result // a long list is not kept for nothing
			}
			pages = append(pages, p)
		})
		return pages
	})
	Each(t, pages, page.subject, func(t *T, p page) {
		t.Expect(p.broken).To(BeEmptyList[string]("a valid " + definition))
	})
}

// urisNow are the URIs of the resources as they are listed now.
func urisNow(t *T, s *driver.Session) (uris []string) {
	FollowPages(t, s, listMethod, "resources", func(result M) {
		for _, resource := range kit.ObjectsIn(result["resources"]) {
			if uri, isString := resource["uri"].(string); isString {
				uris = append(uris, uri)
			}
		}
	})
	return uris
}
