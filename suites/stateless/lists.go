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
	"stateless/list-same-across-connections": Probe(func(t *T) {
		kit.WantListMethod(t)
		here, there := t.Own(), t.Own()
		first, other, again := listed(t, here), listed(t, there), listed(t, here)
		expectSame(t, first, again, other, "on another connection")
	}),

	"stateless/list-no-side-effects": Probe(func(t *T) {
		kit.WantListMethod(t)
		busy, idle := t.Own(), t.Own()
		begin, before := listed(t, busy), listed(t, idle)
		for _, r := range harmlessOf(t) {
			t.Try(busy, r.Method, r.Params)
		}
		got, after := listed(t, busy), listed(t, idle)
		if !maps.EqualFunc(begin, before, slices.Equal[[]string]) {
			t.Because(OtherCheck).Skip("lists differ at once: stateless/list-same-across-connections")
		}
		expectSame(t, before, after, got, "after other requests on the connection")
	}),

	"stateless/cursor-other-connection": Probe(func(t *T) {
		for _, list := range kit.ListsOf(t.Server.Capabilities) {
			first := t.Ask(t.Session(), list, nil)
			cursor, paged := first.Result()["nextCursor"].(string)
			if !paged {
				continue
			}
			next := func() driver.Reply { return t.Ask(t.Own(), list, M{"cursor": cursor}) }
			if usual := t.Ask(t.Session(), list, M{"cursor": cursor}); usual.Result() == nil {
				t.Because(NotObserved).Skip("the cursor is not taken on its own connection either: %s", Got(usual))
			}
			r := next()
			t.Expect(r).To(BeResult(), "%s with a cursor of another connection", list)
			page, begin := Compact(r.Result()[memberOf(list)]), Compact(first.Result()[memberOf(list)])
			t.Expect(string(page) != string(begin)).To(Hold("the next page of "+list, "the first one again"))
			return
		}
		t.Because(NotOffered).Skip("no list has a second page")
	}),
}

// listed are the names, or URIs, of all that the server lists, by list, in ascending order.
func listed(t *T, s *driver.Session) map[string][]string {
	all := map[string][]string{}
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
func expectSame(t *T, before, after, got map[string][]string, where string) {
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
