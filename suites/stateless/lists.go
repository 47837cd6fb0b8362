package stateless

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// lists are the checks that lists are the same for everybody.
var lists = Suite{
	"stateless/first-request-any": Probe(func(t *T) {
		c := kit.TwoConnections(t)
		if usual := t.Ask(t.Session(), c.List, nil); usual.Result() == nil {
			t.Yield("%s is not served later either: %s", c.List, Got(usual))
		}
		t.Expect(c.First).To(BeResult(), "%s as the first request", c.List)
	}),

	"stateless/list-same-across-connections": Probe(func(t *T) {
		c := kit.TwoConnections(t)
		wantServed(t, c)
		expectSame(t, c.Here[0], c.Here[1], c.There[0], "on another connection")
	}),

	"stateless/list-no-side-effects": Probe(func(t *T) {
		c := kit.TwoConnections(t)
		wantServed(t, c)
		if !maps.EqualFunc(c.Here[1], c.There[0], slices.Equal[[]string]) {
			t.Yield("lists differ at once")
		}
		expectSame(t, c.Here[1], c.Here[2], c.There[1], "after other requests on the connection")
	}),

	"stateless/cursor-other-connection": Probe(func(t *T) {
		for _, list := range kit.ListsOf(t.Server.Capabilities) {
			first := t.Ask(t.Session(), list, nil)
			cursor, paged := first.Result()["nextCursor"].(string)
			if !paged {
				continue
			}
			next := func() driver.Reply { return t.Ask(OtherConnection(t), list, M{"cursor": cursor}) }
			page := func(r driver.Reply) string { return string(Compact(r.Result()[kit.ListOf(list)])) }
			switch usual := t.Ask(t.Session(), list, M{"cursor": cursor}); {
			case usual.Result() == nil:
				t.Because(NotObserved).Skip("the cursor is not taken on its own connection either: %s", Got(usual))
			case page(usual) == page(first):
				t.Because(NotObserved).Skip("the cursor brings the first page again on its own connection, too")
			}
			r := next()
			t.Expect(r).To(BeResult(), "%s with a cursor of another connection", list)
			t.By(r).Expect(page(r) != page(first)).To(Hold("the next page of "+list, "the first one again"))
			return
		}
		t.Because(NotOffered).Skip("no list has a second page")
	}),
}

// wantServed ends a check of lists when there are none of the other session.
func wantServed(t *T, c kit.Connections) {
	if len(c.There) == 0 {
		t.Yield("%s is not served as the first request", c.List)
	}
}

// expectSame wants lists to be as they were, unless they change by themselves: before and after say so.
func expectSame(t *T, before, after, got kit.Listing, where string) {
	for list, names := range before {
		if !slices.Equal(names, after[list]) {
			t.Because(Undecided).Inconclusive("%s changes meanwhile: %s", list, kit.Difference(names, after[list]))
		}
		t.Expect(slices.Equal(names, got[list])).To(Hold("the same "+list+" "+where, "%s",
			kit.Difference(names, got[list])))
	}
}
