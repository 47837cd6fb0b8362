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
		c := twoConnections(t)
		if usual := t.Ask(t.Session(), c.list, nil); usual.Result() == nil {
			t.Because(OtherCheck).Skip("%s is not served later either: %s", c.list, Got(usual))
		}
		t.Expect(c.first).To(BeResult(), "%s as the first request", c.list)
	}),

	"stateless/list-same-across-connections": Probe(func(t *T) {
		c := twoConnections(t)
		c.wantServed(t)
		expectSame(t, c.here[0], c.here[1], c.there[0], "on another connection")
	}),

	"stateless/list-no-side-effects": Probe(func(t *T) {
		c := twoConnections(t)
		c.wantServed(t)
		if !maps.EqualFunc(c.here[1], c.there[0], slices.Equal[[]string]) {
			t.Because(OtherCheck).Skip("lists differ at once: stateless/list-same-across-connections")
		}
		expectSame(t, c.here[1], c.here[2], c.there[1], "after other requests on the connection")
	}),

	"stateless/cursor-other-connection": Probe(func(t *T) {
		for _, list := range kit.ListsOf(t.Server.Capabilities) {
			first := t.Ask(t.Session(), list, nil)
			cursor, paged := first.Result()["nextCursor"].(string)
			if !paged {
				continue
			}
			next := func() driver.Reply { return t.Ask(t.Own(), list, M{"cursor": cursor}) }
			page := func(r driver.Reply) string { return string(Compact(r.Result()[memberOf(list)])) }
			switch usual := t.Ask(t.Session(), list, M{"cursor": cursor}); {
			case usual.Result() == nil:
				t.Because(NotObserved).Skip("the cursor is not taken on its own connection either: %s", Got(usual))
			case page(usual) == page(first):
				t.Because(NotObserved).Skip("the cursor brings the first page again on its own connection, too")
			}
			r := next()
			t.Expect(r).To(BeResult(), "%s with a cursor of another connection", list)
			t.Expect(page(r) != page(first)).To(Hold("the next page of "+list, "the first one again"))
			return
		}
		t.Because(NotOffered).Skip("no list has a second page")
	}),
}

// connections are a session that others have used, and another one in which a list was the first request.
type connections struct {
	list  string
	first driver.Reply // to that request
	here  []listing    // of the one session: twice, and after the other requests
	there []listing    // of the other one: before and after other requests in it
}

// listing are the names, or URIs, of all that a server lists, by list, in ascending order.
type listing map[string][]string

// wantServed ends a check of lists when there are none of the other session.
func (c connections) wantServed(t *T) {
	if len(c.there) == 0 {
		t.Because(OtherCheck).Skip("%s is not served as the first request: stateless/first-request-any", c.list)
	}
}

// twoConnections asks for lists on two connections by turns, and in between on one of them for what changes nothing.
func twoConnections(t *T) connections {
	list := kit.WantListMethod(t)
	return Shared(t, "two connections", func(t *T) connections {
		here, there := t.Session(), t.Start()
		c := connections{list: list, first: there.AwaitFirst(there.Request(list, nil))}
		if c.first.Result() == nil {
			return c
		}
		c.here = append(c.here, listed(t, here))
		c.there = append(c.there, listed(t, there))
		c.here = append(c.here, listed(t, here))
		for _, r := range harmlessOf(t) {
			t.Try(there, r.Method, r.Params)
		}
		c.there = append(c.there, listed(t, there))
		c.here = append(c.here, listed(t, here))
		return c
	})
}

// listed is what the server lists in a session.
func listed(t *T, s *driver.Session) listing {
	all := listing{}
	for _, list := range kit.ListsOf(t.Server.Capabilities) {
		key := map[bool]string{true: "uri", false: "name"}[list == "resources/list"]
		names := []string{}
		t.Pages(s, list, memberOf(list), func(page M) {
			for _, item := range kit.ObjectsIn(page[memberOf(list)]) {
				name, _ := item[key].(string)
				names = append(names, name)
			}
		})
		all[list] = kit.Sorted(names)
	}
	return all
}

// expectSame wants lists to be as they were, unless they change by themselves: before and after say so.
func expectSame(t *T, before, after, got listing, where string) {
	for list, names := range before {
		if !slices.Equal(names, after[list]) {
			t.Because(Undecided).Inconclusive("%s changes meanwhile: %s", list, kit.Difference(names, after[list]))
		}
		t.Expect(slices.Equal(names, got[list])).To(Hold("the same "+list+" "+where, "%s",
			kit.Difference(names, got[list])))
	}
}

// harmlessOf are requests that change nothing: those for what does not exist, and readings.
func harmlessOf(t *T) (all []request) {
	add := func(method string, params M) { all = append(all, request{Method: method, Params: params}) }
	add("server/discover", nil)
	if t.Server.Declares("tools") && t.MayCallUnknown() {
		add("tools/call", M{"name": kit.UnknownName(t), "arguments": M{}})
	}
	if len(t.Server.Resources) > 0 {
		add("resources/read", M{"uri": t.Server.Resources[0]["uri"]})
	}
	if len(t.Server.Prompts) > 0 {
		add("prompts/get", M{"name": t.Server.Prompts[0]["name"]})
	}
	return all
}
