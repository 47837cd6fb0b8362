// Package discover is the area of the request server/discover, by which a server says what it is.
package discover

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Suite{
	"discover/implemented": Probe(func(t *T) {
		t.Expect(ask(t)).To(BeResult())
	}).WhenRefused(),

	"discover/required-members": Probe(func(t *T) {
		result := resultOf(t)
		t.Expect(Member(result, "supportedVersions")).To(BeArray(), "supportedVersions")
		for _, version := range result["supportedVersions"].([]any) {
			t.Expect(version).To(BeString(), "an item of supportedVersions")
		}
		t.Expect(Member(result, "capabilities")).To(BeObject(), "capabilities")
	}),

	"discover/lists-served-version": Probe(func(t *T) {
		versions, isList := resultOf(t)["supportedVersions"].([]any)
		if !isList {
			t.Yield("supportedVersions is not a list")
		}
		if slices.Contains(versions, any(t.Revision)) {
			return
		}
		list := kit.WantListMethod(t)
		if r := t.Ask(t.Session(), list, nil); r.Result() == nil {
			t.Because(NotObserved).Skip("no list was served in %s either: %s", t.Revision, Got(r))
		}
		t.Fail(t.Revision+" in supportedVersions, since "+list+" is served in it", "%s", Show(versions))
	}),

	"discover/server-info-meta": Probe(func(t *T) {
		meta, _ := resultOf(t)["_meta"].(M)
		t.Expect(Has(meta, driver.MetaServer)).To(Hold(driver.MetaServer+" in _meta", "%s", Show(meta)))
	}),

	"discover/no-body-server-info": Probe(func(t *T) {
		t.Expect(Member(resultOf(t), "serverInfo")).To(BeOneOf(Absent{}))
	}),

	"discover/extensions-shape": Probe(func(t *T) {
		capabilities, _ := resultOf(t)["capabilities"].(M)
		if !Has(capabilities, "extensions") {
			return
		}
		t.Expect(capabilities["extensions"]).To(BeObject(), "capabilities.extensions")
		extensions := capabilities["extensions"].(M)
		t.Each(named(extensions), func(t *T, extension Subject) {
			t.Expect(kit.IsPrefixedKey(extension.Name)).To(Hold("an identifier of the form prefix/name", "%q",
				extension.Name))
			t.Expect(extensions[extension.Name]).To(BeObject(), "its settings")
		})
	}),

	"discover/stable": WatchAfter(askElsewhere, func(t *T, w Wire) {
		results := w.ResultsOf("server/discover").Established(t.Revision).List
		if len(results) < 2 {
			t.Because(NotObserved).Skip("there were no two answers to server/discover")
		}
		first := said(results[0])
		Each(t, results[1:], Message.Subject, func(t *T, m Message) {
			t.Expect(string(Compact(said(m)))).To(BeOneOf(string(Compact(first))))
		})
	}),
}

// askElsewhere has server/discover answered on one more connection than the first.
func askElsewhere(t *T) {
	if t.Site() == nil {
		kit.Idle(t)
	} else {
		t.Own()
	}
}

// ask is the answer to server/discover: in a session that others have used or, of a server that answers it so that none
// can be had, in a new one.
func ask(t *T) driver.Reply {
	if t.Server.Failure != "" {
		return t.Start().Greet(driver.Hello(t.Revision))
	}
	return Step(t, "server/discover", func(t *T) driver.Reply {
		return t.Try(t.Session(), "server/discover", nil)
	})
}

// resultOf is the result of server/discover, for a check that cannot do without.
func resultOf(t *T) M {
	r := ask(t)
	if r.Result() == nil {
		t.Yield("server/discover was answered with %s", Got(r))
	}
	return r.Result()
}

// named are the members of an object, in the order of their names.
func named(object M) (members []Subject) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		members = append(members, Subject{Name: name, Value: M{name: object[name]}})
	}
	return members
}

// said is what a result of server/discover says that stays the same: the versions, whose order says nothing, and the
// capabilities.
func said(m Message) M {
	result, _ := m.JSON()["result"].(M)
	var versions []string
	list, _ := result["supportedVersions"].([]any)
	for _, version := range list {
		versions = append(versions, Show(version))
	}
	return M{"supportedVersions": kit.Sorted(versions), "capabilities": result["capabilities"]}
}
