package stateless

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// listChecks are the checks that lists are the same for everybody.
var listChecks = Suite{
	"stateless/first-request-any": Probe(func(t *T) {
		c := handshake.CompareConnections(t)
		if usual := t.Request(t.Session(), c.ListMethod, nil); usual.Result() == nil {
			t.Yield("%s is not served later either: %s", c.ListMethod, Got(usual))
		}
		t.Expect(c.FirstReply).To(BeResult(), "%s as the first request", c.ListMethod)
	}),

	"stateless/list-same-across-connections": Probe(func(t *T) {
		c := handshake.CompareConnections(t)
		requireServed(t, c)
		expectSameLists(t, c.UsedConnection[0], c.UsedConnection[1], c.NewConnection[0], "on another connection")
	}),

	"stateless/list-no-side-effects": Probe(func(t *T) {
		c := handshake.CompareConnections(t)
		requireServed(t, c)
		if !maps.EqualFunc(c.UsedConnection[1], c.NewConnection[0], slices.Equal[[]string]) {
			t.Yield("lists differ at once")
		}
		expectSameLists(t, c.UsedConnection[1], c.UsedConnection[2], c.NewConnection[1],
			"after other requests on the connection")
	}),

	"stateless/cursor-other-connection": Probe(func(t *T) {
		for _, list := range protocol.ListMethods(t.Server.Capabilities) {
			first := t.Request(t.Session(), list, nil)
			cursor, paged := first.Result()["nextCursor"].(string)
			if !paged {
				continue
			}
			next := func() driver.Reply { return t.Request(OtherConnection(t), list, M{"cursor": cursor}) }
			page := func(r driver.Reply) string { return string(CompactJSON(r.Result()[handshake.ListMember(list)])) }
			switch usual := t.Request(t.Session(), list, M{"cursor": cursor}); {
			case usual.Result() == nil:
				t.WithReason(NotObserved).Skip("the cursor is not taken on its own connection either: %s", Got(usual))
			case page(usual) == page(first):
				t.WithReason(NotObserved).Skip("the cursor brings the first page again on its own connection, too")
			}
			r := next()
			t.Expect(r).To(BeResult(), "%s with a cursor of another connection", list)
			t.DecidedBy(r).Expect(page(r) != page(first)).To(BeTrue("the next page of "+list, "the first one again"))
			return
		}
		t.WithReason(NotOffered).Skip("no list has a second page")
	}),
}

// requireServed ends a check of lists when there are none of the other session.
func requireServed(t *T, c handshake.ConnectionLists) {
	if len(c.NewConnection) == 0 {
		t.Yield("%s is not served as the first request", c.ListMethod)
	}
}

// expectSameLists wants lists to be as they were, unless they change by themselves: before and after say so.
func expectSameLists(t *T, before, after, got handshake.NamesByList, where string) {
	for list, names := range before {
		if !slices.Equal(names, after[list]) {
			t.WithReason(Undecided).Inconclusive("%s changes meanwhile: %s", list, protocol.Difference(names, after[list]))
		}
		t.Expect(slices.Equal(names, got[list])).To(BeTrue("the same "+list+" "+where, "%s",
			protocol.Difference(names, got[list])))
	}
}
