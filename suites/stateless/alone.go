package stateless

import (
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// alone are the checks that requests are judged by what they say themselves.
var alone = Suite{
	"stateless/no-inherited-meta": Probe(func(t *T) {
		list := kit.WantListMethod(t)
		all := kit.Undressed(t)
		fresh := all[len(all)-1].Reply // of the list
		s := t.Hostile()
		t.Ask(s, list, nil)
		r := kit.TryAmiss(t, s, list, M{"_meta": driver.Omitted})
		if fresh.Result() != nil && Has(fresh.Result(), "resultType") == Has(r.Result(), "resultType") {
			wantDecided(t, fresh)
			t.Yield("it is served as the first request, too")
		}
		t.Expect(r.Result() == nil).To(Hold(
			"an error for a request without _meta, also after requests that had it", "%s", r))
	}),

	"stateless/no-inherited-capabilities": Probe(func(t *T) {
		for _, c := range kit.ValidCalls(t).List {
			params := M{"name": c.Tool.Name, "arguments": c.Arguments}
			if c.Input == nil || len(c.Input.Asked) == 0 || !elicits(c.Input.Asked[0]) {
				continue
			}
			able, unable := kit.Declaring(params, kit.Able), kit.Declaring(params, M{})
			s := t.Session()
			if elicits(kit.AskAmiss(t, s, "tools/call", unable)) { // maybe since another check has declared it
				if s = t.Own(); elicits(t.Ask(s, "tools/call", unable)) {
					t.Yield("it elicits from any client")
				}
			}
			if !elicits(t.Ask(s, "tools/call", able)) {
				continue
			}
			r := t.Ask(s, "tools/call", unable)
			t.Expect(!elicits(r)).To(Hold("no elicitation by "+c.Tool.Name+" from a client that does not declare it",
				"%s", r))
			return
		}
		t.Because(NotOffered).Skip("no tool that was called has elicited anything")
	}),

	"stateless/version-per-request": Probe(func(t *T) {
		kit.Refusal(t)
		if usual := AskHarmless(t, t.Session()); usual.Result() == nil {
			t.Yield("server/discover is not served")
		}
		s := t.Hostile()
		var sent []driver.Pending
		for _, version := range []string{t.Revision, kit.NewerVersion, t.Revision} {
			sent = append(sent, s.Request("server/discover", M{"_meta": M{driver.MetaRevision: version}}))
		}
		for i, where := range map[int]string{0: "before", 2: "after"} {
			t.Expect(s.Await(sent[i])).To(BeResult(), "the request %s the one in %s", where, kit.NewerVersion)
		}
	}),

	"stateless/same-id-other-connection": Probe(func(t *T) {
		list := kit.WantListMethod(t)
		const id = "mcpcheck-same"
		if t.Ask(t.Session(), list, nil).Result() == nil {
			t.Yield("%s is not served under an id of its own either", list)
		}
		discovered := kit.ByHand(t.Session(), kit.Request{ID: id, Method: "server/discover"})
		listed := kit.ByHand(OtherConnection(t), kit.Request{ID: id, Method: list})
		t.Inform(discovered.Reply()).To(haveMember("supportedVersions"), "server/discover beside %s", list)
		t.Inform(listed.Reply()).To(haveMember(kit.ListOf(list)), "%s beside server/discover", list)
	}),

	"stateless/client-info-no-behaviour": Probe(func(t *T) {
		s := t.Session()
		usual := func() []string { return kit.Sorted(kit.ListNames(t, s, M{})) }
		names := usual()
		for _, client := range []any{M{"name": "mcpcheck-a", "version": "0"}, driver.Omitted} {
			other := func() []string {
				return kit.Sorted(kit.ListNames(t, s, M{"_meta": M{driver.MetaClient: client}}))
			}
			got, same := kit.Compare(t, slices.Equal[[]string], names, usual, other)
			t.Expect(same).To(Hold("the same tools for every client", "%s", kit.Difference(names, got)))
		}
	}),
}

// elicits reports whether a result asks for what only a client that declares elicitation has.
func elicits(r driver.Reply) bool {
	requests, _ := r.Result()["inputRequests"].(M)
	for _, v := range requests {
		if request, _ := v.(M); request["method"] == "elicitation/create" {
			return true
		}
	}
	return false
}

// haveMember matches results with a member.
func haveMember(name string) types.GomegaMatcher {
	return That("a result with "+name, func(r driver.Reply) bool { return Has(r.Result(), name) })
}
