// Package caching is the area of hints for caches.
package caching

import (
	"encoding/json"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Suite{
	"caching/hints-discover": hinted("server/discover", func(t *T) {
		t.Try(t.Session(), "server/discover", nil)
	}),
	"caching/hints-tools-list":     hintedList("tools/list"),
	"caching/hints-prompts-list":   hintedList("prompts/list"),
	"caching/hints-resources-list": hintedList("resources/list"),
	"caching/hints-templates-list": hintedList("resources/templates/list"),
	"caching/hints-resources-read": hinted("resources/read", readResources),

	"caching/ttl-non-negative-integer": WatchAfter(askAll, func(t *T, w Wire) {
		t.Judge(having(t, w, "ttlMs"), func(t *T, m Message) {
			ttl := kit.ResultOf(m)["ttlMs"]
			t.Expect(ttl).To(BeInteger())
			milliseconds, _ := ttl.(json.Number).Float64() // of too large a number: infinity
			t.Expect(milliseconds >= 0).To(Hold("a number from 0 on", "%s", Show(ttl)))
		})
	}),

	"caching/scope-enum": WatchAfter(askAll, func(t *T, w Wire) {
		t.Judge(having(t, w, "cacheScope"), func(t *T, m Message) {
			t.Expect(kit.ResultOf(m)["cacheScope"]).To(BeOneOf[any]("public", "private"))
		})
	}),

	"caching/pages-same-scope": Probe(func(t *T) {
		eachLongList(t, func(t *T, pages []M) {
			first := Member(pages[0], "cacheScope")
			if first == (Absent{}) {
				t.Yield("the first page has no cacheScope")
			}
			for _, page := range pages[1:] {
				t.Expect(Member(page, "cacheScope")).To(BeOneOf(first), "on a later page")
			}
		})
	}),

	"caching/pages-own-ttl": Probe(func(t *T) {
		eachLongList(t, func(t *T, pages []M) {
			for _, page := range pages[1:] {
				t.Expect(Has(page, "ttlMs")).To(Hold("ttlMs on each page", "none on a later one"))
			}
		})
	}),

	"caching/input-required-no-hints": WatchAfter(askForInput, func(t *T, w Wire) {
		asking := kit.Results(t, w).Filter("result that asks for input", func(m Message) bool {
			return kit.ResultOf(m)["resultType"] == "input_required" && !kit.IsOfTask(m)
		})
		t.Judge(asking, func(t *T, m Message) {
			if !kit.MayAsk(m) {
				t.Yield("it may not ask")
			}
			for _, hint := range []string{"ttlMs", "cacheScope"} {
				t.Expect(Member(kit.ResultOf(m), hint)).To(BeOneOf[any](Absent{}), hint)
			}
		})
	}),

	"caching/public-scope-honest": Probe(publicScopeHonest),
}

// list is a list that comes in pages, and what the server had in it.
type list struct {
	method, member string
	items          []M
}

// lists are all lists that clients may keep.
func lists(server *Server) []list {
	return []list{
		{"tools/list", "tools", server.Tools},
		{"prompts/list", "prompts", server.Prompts},
		{"resources/list", "resources", server.Resources},
		{"resources/templates/list", "resourceTemplates", server.Templates},
	}
}

// hinted is the check that the results of a method say how long and by whom they may be kept. Of a list the first page
// does; what later ones lack, the checks of pages report.
func hinted(method string, stimulate func(*T)) Check {
	return WatchAfter(stimulate, func(t *T, w Wire) {
		first := complete(t, w).Filter("complete result of "+method, func(m Message) bool {
			return m.Request.Method == method && !Has(kit.RequestParams(m), "cursor")
		})
		t.Judge(first, func(t *T, m Message) {
			for _, hint := range []string{"ttlMs", "cacheScope"} {
				t.Expect(Has(kit.ResultOf(m), hint)).To(Hold("ttlMs and cacheScope", "no %s", hint))
			}
		})
	})
}

// hintedList is hinted for a list.
func hintedList(method string) Check { return hinted(method, func(t *T) { ask(t, method) }) }

// ask asks for a list, so that there is something to judge.
func ask(t *T, method string) {
	if KnownUnanswered(t, method) == nil {
		t.Try(t.Session(), method, nil)
	}
}

// askAll asks for all that clients may keep.
func askAll(t *T) {
	TryHarmless(t, t.Session())
	kit.AskLists(t)
	if t.Server.Declares("resources") {
		ask(t, "resources/templates/list")
		readResources(t)
	}
}

// mostReads is how many of the listed resources are read.
const mostReads = 3

// readResources reads the first resources of the list, until one of them is read without a question.
func readResources(t *T) {
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), mostReads)] {
		r := t.Try(t.Session(), "resources/read", M{"uri": resource["uri"]})
		if r.Err != nil || r.Result()["resultType"] == "complete" {
			return
		}
	}
}

// askForInput reads the first resources as a client that can be asked for anything, so that they ask.
func askForInput(t *T) {
	able := M{driver.MetaCapabilities: kit.Inviting(t.Revision)["capabilities"]}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), mostReads)] {
		r := t.Try(t.Session(), "resources/read", M{"uri": resource["uri"], "_meta": able})
		if r.Err != nil || r.Result()["resultType"] == "input_required" {
			return
		}
	}
}

// complete are the results that clients may keep.
func complete(t *T, w Wire) Messages {
	methods := []string{"server/discover", "resources/read"}
	for _, l := range lists(t.Server) {
		methods = append(methods, l.method)
	}
	return kit.Results(t, w).Filter("complete result", func(m Message) bool {
		return slices.Contains(methods, m.Request.Method) && kit.ResultOf(m)["resultType"] == "complete"
	})
}

// having are those of them that have a hint.
func having(t *T, w Wire, hint string) Messages {
	return complete(t, w).Filter("result with "+hint, func(m Message) bool { return Has(kit.ResultOf(m), hint) })
}

// eachLongList tries a check on the pages of each list that has more than one.
func eachLongList(t *T, run func(t *T, pages []M)) {
	full := slices.DeleteFunc(lists(t.Server), func(l list) bool { return len(l.items) == 0 })
	Each(t, full, list.subject, func(t *T, l list) {
		pages := Step(t, "cache hints of the pages of "+l.method, l.hints)
		if len(pages) < 2 {
			t.Because(NotOffered).Skip("each list has one page")
		}
		run(t, pages)
	})
}

func (l list) subject() Subject { return Named(l.method) }

// hints are those of the pages of the list, one after the other.
func (l list) hints(t *T) (pages []M) {
	FollowPages(t, t.Session(), l.method, l.member, func(page M) {
		hints := M{}
		for _, hint := range []string{"ttlMs", "cacheScope"} {
			if Has(page, hint) {
				hints[hint] = page[hint]
			}
		}
		pages = append(pages, hints)
	})
	return pages
}
