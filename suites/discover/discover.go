// Package discover is the area of the request server/discover, by which a server says what it is.
package discover

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks are those of the area.
var Checks = Suite{
	"discover/implemented": Probe(func(t *T) {
		t.Expect(discoverReply(t)).To(BeResult())
	}).WhenConnectRefused(),

	"discover/required-members": Probe(func(t *T) {
		result := requireResult(t)
		t.Expect(Member(result, "supportedVersions")).To(BeArray(), "supportedVersions")
		for _, version := range result["supportedVersions"].([]any) {
			t.Expect(version).To(BeString(), "an item of supportedVersions")
		}
		t.Expect(Member(result, "capabilities")).To(BeObject(), "capabilities")
	}),

	"discover/lists-served-version": Probe(func(t *T) {
		versions, isList := requireResult(t)["supportedVersions"].([]any)
		if !isList {
			t.Yield("supportedVersions is not a list")
		}
		if slices.Contains(versions, any(t.Revision)) {
			return
		}
		list := protocol.RequireListMethod(t)
		if r := t.Request(t.Session(), list, nil); r.Result() == nil {
			t.WithReason(NotObserved).Skip("no list was served in %s either: %s", t.Revision, Got(r))
		}
		t.Fail(t.Revision+" in supportedVersions, since "+list+" is served in it", "%s", Show(versions))
	}),

	"discover/server-info-meta": Probe(func(t *T) {
		meta, _ := requireResult(t)["_meta"].(M)
		t.Expect(HasMember(meta, driver.MetaServer)).To(BeTrue(driver.MetaServer+" in _meta", "%s", Show(meta)))
	}),

	"discover/no-body-server-info": Probe(func(t *T) {
		t.Expect(Member(requireResult(t), "serverInfo")).To(BeOneOf(Absent{}))
	}),

	"discover/extensions-shape": Probe(func(t *T) {
		capabilities, _ := requireResult(t)["capabilities"].(M)
		if !HasMember(capabilities, "extensions") {
			return
		}
		t.Expect(capabilities["extensions"]).To(BeObject(), "capabilities.extensions")
		extensions := capabilities["extensions"].(M)
		t.Each(memberSubjects(extensions), func(t *T, extension Subject) {
			t.Expect(protocol.IsPrefixedMetaKey(extension.Name)).To(BeTrue("an identifier of the form prefix/name", "%q",
				extension.Name))
			t.Expect(extensions[extension.Name]).To(BeObject(), "its settings")
		})
	}),

	"discover/stable": WatchWithSetup(discoverOnSecondConnection, func(t *T, w Wire) {
		results := w.ResultsOf("server/discover").Negotiated(t.Revision).List
		if len(results) < 2 {
			t.WithReason(NotObserved).Skip("there were no two answers to server/discover")
		}
		first := comparableResult(results[0])
		Each(t, results[1:], Message.Subject, func(t *T, m Message) {
			t.Expect(string(CompactJSON(comparableResult(m)))).To(BeOneOf(string(CompactJSON(first))))
		})
	}),
}

// discoverOnSecondConnection has server/discover answered on one more connection than the first.
func discoverOnSecondConnection(t *T) {
	if t.Site() == nil {
		handshake.FramesWhileIdle(t)
	} else {
		t.ExclusiveSession()
	}
}

// discoverReply is the answer to server/discover: in a session that others have used or, of a server that answers it so
// that none can be had, in a new one.
func discoverReply(t *T) driver.Reply {
	if t.Server.Failure != "" {
		return t.NewProcess().Connect(driver.ConnectParams(t.Revision))
	}
	return Step(t, "server/discover", func(t *T) driver.Reply {
		return t.TryRequest(t.Session(), "server/discover", nil)
	})
}

// requireResult is the result of server/discover, for a check that cannot do without.
func requireResult(t *T) M {
	r := discoverReply(t)
	if r.Result() == nil {
		t.Yield("server/discover was answered with %s", Got(r))
	}
	return r.Result()
}

// memberSubjects are the members of an object, in the order of their names.
func memberSubjects(object M) (members []Subject) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		members = append(members, Subject{Name: name, Value: M{name: object[name]}})
	}
	return members
}

// comparableResult is what a result of server/discover says that stays the same: the versions, whose order says
// nothing, and the capabilities.
func comparableResult(m Message) M {
	result, _ := m.JSON()["result"].(M)
	var versions []string
	list, _ := result["supportedVersions"].([]any)
	for _, version := range list {
		versions = append(versions, Show(version))
	}
	return M{"supportedVersions": protocol.Sorted(versions), "capabilities": result["capabilities"]}
}
