// Package caching is the area of hints for caches.
package caching

import (
	"encoding/json"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks are those of the area.
var Checks = check.Suite{
	"caching/hints-discover": hintsCheck("server/discover", func(t *check.T) {
		t.TryRequest(t.Session(), "server/discover", nil)
	}),
	"caching/hints-tools-list":     listHintsCheck("tools/list"),
	"caching/hints-prompts-list":   listHintsCheck("prompts/list"),
	"caching/hints-resources-list": listHintsCheck("resources/list"),
	"caching/hints-templates-list": listHintsCheck("resources/templates/list"),
	"caching/hints-resources-read": hintsCheck("resources/read", readResources),

	"caching/ttl-non-negative-integer": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		t.Judge(resultsWith(t, w, "ttlMs"), func(t *check.T, m check.Message) {
			ttl := protocol.ResultOf(m)["ttlMs"]
			t.Expect(ttl).To(check.BeInteger())
			milliseconds, _ := ttl.(json.Number).Float64() // of too large a number: infinity
			t.Expect(milliseconds >= 0).To(check.BeTrue("a number from 0 on", "%s", check.Show(ttl)))
		})
	}),

	"caching/scope-enum": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		t.Judge(resultsWith(t, w, "cacheScope"), func(t *check.T, m check.Message) {
			t.Expect(protocol.ResultOf(m)["cacheScope"]).To(check.BeOneOf[any]("public", "private"))
		})
	}),

	"caching/pages-same-scope": check.Probe(func(t *check.T) {
		eachLongList(t, func(t *check.T, pages []check.M) {
			first := check.Member(pages[0], "cacheScope")
			if first == (check.Absent{}) {
				t.Yield("the first page has no cacheScope")
			}
			for _, page := range pages[1:] {
				t.Expect(check.Member(page, "cacheScope")).To(check.BeOneOf(first), "on a later page")
			}
		})
	}),

	"caching/pages-own-ttl": check.Probe(func(t *check.T) {
		eachLongList(t, func(t *check.T, pages []check.M) {
			for _, page := range pages[1:] {
				t.Expect(check.HasMember(page, "ttlMs")).To(check.BeTrue("ttlMs on each page", "none on a later one"))
			}
		})
	}),

	"caching/input-required-no-hints": check.WatchWithSetup(triggerInputRequests, func(t *check.T, w check.Wire) {
		asking := protocol.ModernResults(t, w).Filter("result that asks for input", func(m check.Message) bool {
			return protocol.ResultOf(m)["resultType"] == "input_required" && !protocol.IsTaskResponse(m)
		})
		t.Judge(asking, func(t *check.T, m check.Message) {
			if !protocol.MayRequireInput(m) {
				t.Yield("it may not ask")
			}
			for _, hint := range []string{"ttlMs", "cacheScope"} {
				t.Expect(check.Member(protocol.ResultOf(m), hint)).To(check.BeOneOf[any](check.Absent{}), hint)
			}
		})
	}),

	"caching/public-scope-honest": check.Probe(checkPublicScope),
}

// list is a list that comes in pages, and what the server had in it.
type list struct {
	method, member string
	items          []check.M
}

// lists are all lists that clients may keep.
func lists(server *check.Server) []list {
	return []list{
		{"tools/list", "tools", server.Tools},
		{"prompts/list", "prompts", server.Prompts},
		{"resources/list", "resources", server.Resources},
		{"resources/templates/list", "resourceTemplates", server.Templates},
	}
}

// hintsCheck is the check that the results of a method say how long and by whom they may be kept. Of a list the first
// page does; what later ones lack, the checks of pages report.
func hintsCheck(method string, stimulate func(*check.T)) check.Check {
	return check.WatchWithSetup(stimulate, func(t *check.T, w check.Wire) {
		first := completeResults(t, w).Filter("complete result of "+method, func(m check.Message) bool {
			return m.Request.Method == method && !check.HasMember(protocol.RequestParams(m), "cursor")
		})
		t.Judge(first, func(t *check.T, m check.Message) {
			for _, hint := range []string{"ttlMs", "cacheScope"} {
				t.Expect(check.HasMember(protocol.ResultOf(m), hint)).To(check.BeTrue("ttlMs and cacheScope", "no %s",
					hint))
			}
		})
	})
}

// listHintsCheck is hinted for a list.
func listHintsCheck(method string) check.Check {
	return hintsCheck(method, func(t *check.T) { requestList(t, method) })
}

// requestList asks for a list, so that there is something to judge.
func requestList(t *check.T, method string) {
	if check.KnownUnanswered(t, method) == nil {
		t.TryRequest(t.Session(), method, nil)
	}
}

// requestAll asks for all that clients may keep.
func requestAll(t *check.T) {
	check.TryNoOp(t, t.Session())
	protocol.AskLists(t)
	if t.Server.Declares("resources") {
		requestList(t, "resources/templates/list")
		readResources(t)
	}
}

// maxReads is how many of the listed resources are read.
const maxReads = 3

// readResources reads the first resources of the list, until one of them is read without a question.
func readResources(t *check.T) {
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), maxReads)] {
		r := t.TryRequest(t.Session(), "resources/read", check.M{"uri": resource["uri"]})
		if r.Err != nil || r.Result()["resultType"] == "complete" {
			return
		}
	}
}

// triggerInputRequests reads the first resources as a client that can be asked for anything, so that they ask.
func triggerInputRequests(t *check.T) {
	able := check.M{driver.MetaCapabilities: handshake.CapableConnectParams(t.Revision)["capabilities"]}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), maxReads)] {
		r := t.TryRequest(t.Session(), "resources/read", check.M{"uri": resource["uri"], "_meta": able})
		if r.Err != nil || r.Result()["resultType"] == "input_required" {
			return
		}
	}
}

// completeResults are the results that clients may keep.
func completeResults(t *check.T, w check.Wire) check.Messages {
	methods := []string{"server/discover", "resources/read"}
	for _, l := range lists(t.Server) {
		methods = append(methods, l.method)
	}
	return protocol.ModernResults(t, w).Filter("complete result", func(m check.Message) bool {
		return slices.Contains(methods, m.Request.Method) && protocol.ResultOf(m)["resultType"] == "complete"
	})
}

// resultsWith are those of them that have a hint.
func resultsWith(t *check.T, w check.Wire, hint string) check.Messages {
	return completeResults(t, w).Filter("result with "+hint,
		func(m check.Message) bool { return check.HasMember(protocol.ResultOf(m), hint) })
}

// eachLongList tries a check on the pages of each list that has more than one.
func eachLongList(t *check.T, run func(t *check.T, pages []check.M)) {
	full := slices.DeleteFunc(lists(t.Server), func(l list) bool { return len(l.items) == 0 })
	check.Each(t, full, list.subject, func(t *check.T, l list) {
		pages := check.Step(t, "cache hints of the pages of "+l.method, l.hints)
		if len(pages) < 2 {
			t.WithReason(check.NotOffered).Skip("each list has one page")
		}
		run(t, pages)
	})
}

func (l list) subject() check.Subject { return check.NamedSubject(l.method) }

// hints are those of the pages of the list, one after the other.
func (l list) hints(t *check.T) (pages []check.M) {
	check.FollowPages(t, t.Session(), l.method, l.member, func(page check.M) {
		hints := check.M{}
		for _, hint := range []string{"ttlMs", "cacheScope"} {
			if check.HasMember(page, hint) {
				hints[hint] = page[hint]
			}
		}
		pages = append(pages, hints)
	})
	return pages
}
