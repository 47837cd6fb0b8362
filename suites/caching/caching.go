// Package caching holds the checks of the caching hints in results, ttlMs and cacheScope, of the modern revisions.
//
// Most checks watch the results that any check has received. readResources and triggerInputRequests are set-up steps,
// which make sure that there are some. With a second token, the results of two users are compared.
package caching

import (
	"encoding/json"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"caching/hints-discover": hintsCheck("server/discover", func(t *check.T) {
		t.Send(t.Session(), "server/discover", nil, check.AllowSilence)
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
			// A number that is too large becomes infinity.
			milliseconds, _ := ttl.(json.Number).Float64()
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
			if !check.HasMember(pages[0], "ttlMs") {
				t.Yield("the first page has none either")
			}
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

// list is a list method with the objects that discovery has obtained.
type list struct {
	// method is the list request, and member the member of its results that has the items.
	method, member string
	items          []check.M
}

// lists returns the lists whose results clients may cache.
func lists(server *check.Server) []list {
	return []list{
		{"tools/list", "tools", server.Tools},
		{"prompts/list", "prompts", server.Prompts},
		{"resources/list", "resources", server.Resources},
		{"resources/templates/list", "resourceTemplates", server.Templates},
	}
}

// hintsCheck makes a check that the results of a method have caching hints. Only the first page of a list counts; the
// checks of later pages report what these lack.
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

// listHintsCheck is hintsCheck for a list method.
func listHintsCheck(method string) check.Check {
	return hintsCheck(method, func(t *check.T) { requestList(t, method) })
}

// requestList sends the list request, so that there is a result to judge.
func requestList(t *check.T, method string) {
	if check.KnownUnanswered(t, method) == nil {
		t.Send(t.Session(), method, nil, check.AllowSilence)
	}
}

// requestAll sends every request whose result clients may cache.
func requestAll(t *check.T) {
	check.TryNoOp(t, t.Session())
	protocol.AskLists(t)
	if t.Server.Declares("resources") {
		requestList(t, "resources/templates/list")
		readResources(t)
	}
}

// maxReads is the number of listed resources that are read at most.
const maxReads = 3

// readResources reads the first listed resources, until one of them is read without a request for input.
func readResources(t *check.T) {
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), maxReads)] {
		r := t.Send(t.Session(), "resources/read", check.M{"uri": resource["uri"]}, check.AllowSilence)
		if r.Err != nil || r.Result()["resultType"] == "complete" {
			return
		}
	}
}

// triggerInputRequests reads the first resources as a client with all capabilities, so that the server may ask for
// input.
func triggerInputRequests(t *check.T) {
	able := check.M{driver.MetaCapabilities: handshake.CapableConnectParams(t.Revision)["capabilities"]}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), maxReads)] {
		r := t.Send(t.Session(), "resources/read", check.M{"uri": resource["uri"], "_meta": able}, check.AllowSilence)
		if r.Err != nil || r.Result()["resultType"] == "input_required" {
			return
		}
	}
}

// completeResults returns the results that clients may cache.
func completeResults(t *check.T, w check.Wire) check.Messages {
	methods := []string{"server/discover", "resources/read"}
	for _, l := range lists(t.Server) {
		methods = append(methods, l.method)
	}
	return check.MemoOf(t, w, "complete results", func() check.Messages {
		return protocol.ModernResults(t, w).Filter("complete result", func(m check.Message) bool {
			return slices.Contains(methods, m.Request.Method) && protocol.ResultOf(m)["resultType"] == "complete"
		})
	})
}

// resultsWith returns the complete results that have a hint.
func resultsWith(t *check.T, w check.Wire, hint string) check.Messages {
	return completeResults(t, w).Filter("result with "+hint,
		func(m check.Message) bool { return check.HasMember(protocol.ResultOf(m), hint) })
}

// eachLongList runs a check on the pages of each list that has more than one.
func eachLongList(t *check.T, run func(t *check.T, pages []check.M)) {
	full := slices.DeleteFunc(lists(t.Server), func(l list) bool { return len(l.items) == 0 })
	check.Each(t, full, list.subject, func(t *check.T, l list) {
		pages := check.Step(t, "cache hints of the pages of "+l.method, l.hints)
		if len(pages) < 2 {
			t.Skip(check.NotOffered, "each list has one page")
		}
		run(t, pages)
	})
}

func (l list) subject() check.Subject { return check.NamedSubject(l.method) }

// hints returns the hints of all pages of the list, in order.
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
