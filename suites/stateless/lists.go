package stateless

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// listChecks are the checks that lists do not depend on the connection or on earlier requests.
var listChecks = check.Suite{
	"stateless/first-request-any": check.Probe(func(t *check.T) {
		list := protocol.RequireListMethod(t)
		first := handshake.FirstListReply(t, list)
		if usual := t.Send(t.Session(), list, nil); usual.Result() == nil {
			t.Yield("%s is not served later either: %s", list, check.Got(usual))
		}
		t.Expect(first).To(check.BeResult(), "%s as the first request", list)
		refused := handshake.UnlistedRequests(t)
		if len(refused) == 0 {
			return
		}
		check.Each(t, refused, handshake.UnlistedRequest.Subject,
			func(t *check.T, r handshake.UnlistedRequest) {
				if r.LaterReply.Result() != nil && !r.LaterReply.IsFailure() {
					t.Expect(r.Reply.Result() != nil && !r.Reply.IsFailure()).To(check.BeTrue(
						"the same result before any list was requested", "%s", check.Got(r.Reply)))
				}
			})
	}).InOwnSession(),

	"stateless/list-same-across-connections": check.Probe(func(t *check.T) {
		c := compareConnections(t)
		expectSameLists(t, c.used[0], c.used[1], c.other[0], "on another connection")
	}).InOwnSession(),

	"stateless/list-no-side-effects": check.Probe(func(t *check.T) {
		c := compareConnections(t)
		expectSameLists(t, c.alone[0], c.alone[1], c.kept, "after other requests on the connection")
		if !maps.EqualFunc(c.used[1], c.other[0], slices.Equal[[]string]) {
			if check.SharesProcess(t) { // which other checks may have used
				t.Retry(check.Undecided, "lists differ at once")
			}
			t.Yield("lists differ at once")
		}
		expectSameLists(t, c.used[1], c.used[2], c.other[1], "after other requests on the connection")
	}).InOwnSession(),

	"stateless/cursor-other-connection": cursorCheck("connection"),
	"stateless/cursor-other-process":    cursorCheck("process"),
}

// cursorCheck is the check that a cursor brings the next page on another connection, which over stdio is another
// process.
func cursorCheck(place string) check.Check {
	return check.Probe(func(t *check.T) {
		paged, refused := []pagedList{}, ""
		for _, list := range protocol.DeclaredLists(t) {
			x, usual := secondPage(t, list)
			switch {
			case x.first.Result()["nextCursor"] == nil:
			case usual.Result() == nil:
				refused = "the cursor is not taken where it was issued either: " + check.Got(usual)
			case x.page(usual) == x.page(x.first):
				refused = "the cursor brings the first page again where it was issued, too"
			default:
				paged = append(paged, x)
			}
		}
		switch {
		case len(paged) == 0 && refused != "":
			t.Skip(check.NotObserved, "%s", refused)
		case len(paged) == 0:
			t.Skip(check.NotOffered, "no list has a second page")
		}
		check.Each(t, paged, pagedList.Subject, func(t *check.T, x pagedList) {
			r := x.nextElsewhere(t)
			t.Expect(r).To(check.BeResult(), "%s with a cursor of another %s", x.Method, place)
			t.DecidedBy(r).Expect(x.page(r) != x.page(x.first)).To(check.BeTrue("the next page of "+x.Method,
				"the first one again"))
		})
	})
}

// pagedList is a list with its first page, which has a cursor.
type pagedList struct {
	protocol.PagedList
	first driver.Reply
}

// secondPage requests the first page of a list and, if that has a cursor, the second one in the same session. Over HTTP
// their connections may differ by chance, so that a refusal is tried again.
func secondPage(t *check.T, list protocol.PagedList) (x pagedList, usual driver.Reply) {
	const tries = 3
	for range tries {
		x = pagedList{list, t.Send(t.Session(), list.Method, nil)}
		if _, isPaged := x.first.Result()["nextCursor"].(string); !isPaged {
			return pagedList{PagedList: list}, usual
		}
		if usual = x.next(t, t.Session()); usual.Result() != nil {
			break
		}
	}
	return x, usual
}

// next requests the second page in a session.
func (x pagedList) next(t *check.T, s *driver.Session) driver.Reply {
	return t.Send(s, x.Method, check.M{"cursor": x.first.Result()["nextCursor"]})
}

// nextElsewhere requests the second page on another connection.
func (x pagedList) nextElsewhere(t *check.T) driver.Reply {
	s := check.OtherConnection(t)
	if t.Site() == nil {
		return x.next(t, s)
	}
	request := roundtrip.ManualRequest{Method: x.Method, Params: check.M{"cursor": x.first.Result()["nextCursor"]},
		OnNewConnection: true}
	return check.RequireServerReply(t, roundtrip.PostRequest(s, request).AwaitReply())
}

// page is the page in a reply, as text.
func (x pagedList) page(r driver.Reply) string {
	return string(text.CompactJSON(r.Result()[x.Member]))
}

// connectionLists are the lists on two connections.
type connectionLists struct {
	// used are the lists of a session that other checks have used: before the other one, twice while it is used, and at
	// the end.
	used []namesByList
	// other are the lists of the other connection, before and after other requests on it.
	other []namesByList
	// kept are the first pages on an HTTP connection that has carried requests, and alone those on a connection of
	// their own, before and after; empty over stdio.
	kept  namesByList
	alone [2]namesByList
}

// namesByList are the sorted names, or URIs, of all items, by list method.
type namesByList map[string][]string

// compareConnections requests lists on two connections alternately, and in between sends requests on one of them.
func compareConnections(t *check.T) connectionLists {
	protocol.RequireListMethod(t)
	harmless := slices.Concat(requests.Valid(t), requests.Refused(t))
	calls := callsOnOneConnection(t)
	return check.Step(t, "two connections", func(t *check.T) (c connectionLists) {
		here := sessionWithoutEffects(t)
		there := check.OtherConnection(t)
		c.used = append(c.used, readLists(t, here))
		c.other = append(c.other, readLists(t, there))
		c.used = append(c.used, readLists(t, here))
		for _, r := range harmless {
			invalid.TryInvalid(t, there, r.Method, r.Params)
		}
		c.other = append(c.other, readLists(t, there))
		c.used = append(c.used, readLists(t, here))
		if t.Site() != nil {
			for _, r := range harmless { // the lists above may have come on several connections
				invalid.TryInvalid(t, there, r.Method, r.Params)
			}
			for _, call := range calls {
				there.Call("tools/call", call.Params(there))
			}
			c.alone[0] = fewPages(t, there, true) // now, since a call may change a list for all
			c.kept, c.alone[1] = fewPages(t, there, false), fewPages(t, there, true)
			maps.DeleteFunc(c.alone[0], func(list string, _ []string) bool {
				_, isServed := c.kept[list]
				return !isServed
			})
		}
		return c
	})
}

// callsOnOneConnection are a few calls to make on one HTTP connection, of tools that change something at first. A
// server over stdio has a list for each process, which such calls may change.
func callsOnOneConnection(t *check.T) (all []toolcall.ToolCall) {
	if t.Site() == nil || len(t.Server.Tools) == 0 || check.SavesRequests(t) {
		return nil
	}
	const few, tooLong = 8, time.Second
	for _, c := range toolcall.ValidCalls(t).List {
		if c.IsDirectSuccess() && c.Duration <= tooLong && !report.IsReadOnly(c.Tool.Value) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, toolcall.CompareBySpeed)
	return all[:min(len(all), few)]
}

// fewPages are the names on the first pages of each list, each page on a connection of its own or all on one that is
// kept.
func fewPages(t *check.T, s *driver.Session, onNewConnection bool) namesByList {
	const most = 10
	all := namesByList{}
	for _, list := range protocol.DeclaredLists(t) {
		var params check.M
		names, isServed := []string{}, false
		for range most {
			x := roundtrip.PostRequest(s,
				roundtrip.ManualRequest{Method: list.Method, Params: params, OnNewConnection: onNewConnection})
			result := x.AwaitReply().Result()
			if isServed = result != nil; !isServed {
				break // a cursor may be known to one connection only, which another check reports
			}
			names = append(names, list.Keys(result)...)
			cursor, isPaged := result["nextCursor"].(string)
			if !isPaged {
				break
			}
			params = check.M{"cursor": cursor}
		}
		if isServed {
			all[list.Method] = protocol.Sorted(names)
		}
	}
	return all
}

// sessionWithoutEffects is a session that others may have used, but in which no tool was called and nothing completed
// with a result, since that may have changed the lists.
func sessionWithoutEffects(t *check.T) *driver.Session {
	s := t.Session()
	for _, method := range []string{"tools/call", "completion/complete"} {
		if results := (check.Wire{Sessions: []*driver.Session{s}}).ResultsOf(method); len(results.List) > 0 {
			return t.Session(check.Exclusive)
		}
	}
	return s
}

// listMember is the member of the result of a list method that holds the items.
func listMember(method string) (member string) {
	member, _, _ = strings.Cut(method, "/")
	return member
}

// readLists are the lists of the server in a session.
func readLists(t *check.T, s *driver.Session) namesByList {
	all := namesByList{}
	for _, list := range protocol.DeclaredLists(t) {
		if list.Method == "resources/templates/list" { // which fewer servers have than declare resources
			continue
		}
		keys := []string{}
		check.FollowPages(t, s, list.Method, list.Member,
			func(page check.M) { keys = append(keys, list.Keys(page)...) })
		all[list.Method] = protocol.Sorted(keys)
	}
	return all
}

// expectSameLists requires lists to be unchanged. Lists that differ before and after do not count, since they change on
// their own.
func expectSameLists(t *check.T, before, after, got namesByList, where string) {
	for list, names := range before {
		if !slices.Equal(names, after[list]) {
			t.NoVerdict(check.Undecided, "%s changes meanwhile: %s", list,
				protocol.Difference(names, after[list]))
		}
		t.Expect(slices.Equal(names, got[list])).To(check.BeTrue("the same "+list+" "+where, "%s",
			protocol.Difference(names, got[list])))
	}
}
