package stateless

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// listChecks are the checks that lists do not depend on the connection or on earlier requests.
var listChecks = check.Suite{
	"stateless/first-request-any": check.Probe(func(t *check.T) {
		c := handshake.CompareConnections(t)
		if usual := t.Send(t.Session(), c.ListMethod, nil); usual.Result() == nil {
			t.Yield("%s is not served later either: %s", c.ListMethod, check.Got(usual))
		}
		t.Expect(c.FirstReply).To(check.BeResult(), "%s as the first request", c.ListMethod)
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
		c := handshake.CompareConnections(t)
		requireServed(t, c)
		expectSameLists(t, c.UsedConnection[0], c.UsedConnection[1], c.NewConnection[0], "on another connection")
	}).InOwnSession(),

	"stateless/list-no-side-effects": check.Probe(func(t *check.T) {
		c := handshake.CompareConnections(t)
		requireServed(t, c)
		if !maps.EqualFunc(c.UsedConnection[1], c.NewConnection[0], slices.Equal[[]string]) {
			t.Yield("lists differ at once")
		}
		expectSameLists(t, c.UsedConnection[1], c.UsedConnection[2], c.NewConnection[1],
			"after other requests on the connection")
	}).InOwnSession(),

	"stateless/cursor-other-connection": cursorCheck("connection"),
	"stateless/cursor-other-process":    cursorCheck("process"),
}

// cursorCheck is the check that a cursor brings the next page on another connection, which over stdio is another
// process.
func cursorCheck(place string) check.Check {
	return check.Probe(func(t *check.T) {
		for _, list := range protocol.ListMethods(t.Server.Capabilities) {
			first := t.Send(t.Session(), list, nil)
			cursor, paged := first.Result()["nextCursor"].(string)
			if !paged {
				continue
			}
			next := func() driver.Reply { return t.Send(check.OtherConnection(t), list, check.M{"cursor": cursor}) }
			page := func(r driver.Reply) string {
				return string(text.CompactJSON(r.Result()[handshake.ListMember(list)]))
			}
			switch usual := t.Send(t.Session(), list, check.M{"cursor": cursor}); {
			case usual.Result() == nil:
				t.Skip(check.NotObserved, "the cursor is not taken where it was issued either: %s",
					check.Got(usual))
			case page(usual) == page(first):
				t.Skip(check.NotObserved, "the cursor brings the first page again where it was issued, too")
			}
			r := next()
			t.Expect(r).To(check.BeResult(), "%s with a cursor of another %s", list, place)
			t.DecidedBy(r).Expect(page(r) != page(first)).To(check.BeTrue("the next page of "+list,
				"the first one again"))
			return
		}
		t.Skip(check.NotOffered, "no list has a second page")
	})
}

// requireServed ends the check if the lists of the other connection were not served.
func requireServed(t *check.T, c handshake.ConnectionLists) {
	if len(c.NewConnection) == 0 {
		t.Yield("%s is not served as the first request", c.ListMethod)
	}
}

// expectSameLists requires lists to be unchanged. Lists that differ before and after do not count, since they change on
// their own.
func expectSameLists(t *check.T, before, after, got handshake.NamesByList, where string) {
	for list, names := range before {
		if !slices.Equal(names, after[list]) {
			t.NoVerdict(check.Undecided, "%s changes meanwhile: %s", list,
				protocol.Difference(names, after[list]))
		}
		t.Expect(slices.Equal(names, got[list])).To(check.BeTrue("the same "+list+" "+where, "%s",
			protocol.Difference(names, got[list])))
	}
}
