// Package discover holds the checks of server/discover, the request by which a server of the modern revisions presents
// itself.
//
// The checks read the discovery of the run and requests of their own. discoverOnSecondConnection makes sure that there
// are two results to compare.
package discover

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"discover/implemented": check.Probe(func(t *check.T) {
		t.Expect(discoverReply(t)).To(check.BeResult())
	}).WhenConnectRefused(),

	"discover/required-members": check.Probe(func(t *check.T) {
		result := requireResult(t)
		t.Expect(check.Member(result, "supportedVersions")).To(check.BeArray(), "supportedVersions")
		for _, version := range result["supportedVersions"].([]any) {
			t.Expect(version).To(check.BeString(), "an item of supportedVersions")
		}
		t.Expect(check.Member(result, "capabilities")).To(check.BeObject(), "capabilities")
	}),

	"discover/lists-served-version": check.Probe(func(t *check.T) {
		versions, isList := requireResult(t)["supportedVersions"].([]any)
		if !isList {
			t.Yield("supportedVersions is not a list")
		}
		if slices.Contains(versions, any(t.Revision)) {
			return
		}
		list := protocol.RequireListMethod(t)
		if r := t.Send(t.Session(), list, nil); r.Result() == nil {
			t.Skip(check.NotObserved, "no list was served in %s either: %s", t.Revision, check.Got(r))
		}
		t.Fail(t.Revision+" in supportedVersions, since "+list+" is served in it", "%s", check.Show(versions))
	}),

	"discover/lists-handshake-versions": check.Probe(func(t *check.T) {
		versions, isList := requireResult(t)["supportedVersions"].([]any)
		if !isList {
			t.Yield("supportedVersions is not a list")
		}
		r := handshake.InitializeReply(t)
		served, _ := r.Result()["protocolVersion"].(string)
		if !slices.Contains(catalogue.LegacyRevisions, served) {
			t.Skip(check.NotApplicable, "the server supports no revision with a handshake")
		}
		t.DecidedBy(r).Expect(slices.Contains(versions, any(served))).To(check.BeTrue(
			served+" in supportedVersions, since initialize negotiates it", "%s", check.Show(versions)))
	}).InOwnSession(),

	"discover/server-info-meta": check.Probe(func(t *check.T) {
		meta, _ := requireResult(t)["_meta"].(check.M)
		t.Expect(check.HasMember(meta, driver.MetaServer)).To(check.BeTrue(driver.MetaServer+" in _meta", "%s",
			check.Show(meta)))
	}),

	"discover/no-body-server-info": check.Probe(func(t *check.T) {
		t.Expect(check.Member(requireResult(t), "serverInfo")).To(check.BeOneOf(check.Absent{}))
	}),

	"discover/extensions-shape": check.Probe(func(t *check.T) {
		capabilities, _ := requireResult(t)["capabilities"].(check.M)
		if !check.HasMember(capabilities, "extensions") {
			return
		}
		t.Expect(capabilities["extensions"]).To(check.BeObject(), "capabilities.extensions")
		extensions := capabilities["extensions"].(check.M)
		t.Each(memberSubjects(extensions), func(t *check.T, extension check.Subject) {
			t.Expect(protocol.IsPrefixedMetaKey(extension.Name)).
				To(check.BeTrue("an identifier of the form prefix/name", "%q",
					extension.Name))
			t.Expect(extensions[extension.Name]).To(check.BeObject(), "its settings")
		})
	}),

	"discover/stable": check.WatchWithSetup(discoverOnSecondConnection, func(t *check.T, w check.Wire) {
		results := w.ResultsOf("server/discover").Negotiated(t.Revision).List
		if len(results) < 2 {
			t.Skip(check.NotObserved, "there were no two answers to server/discover")
		}
		first := comparableResult(results[0])
		check.Each(t, results[1:], check.Message.Subject, func(t *check.T, m check.Message) {
			t.Expect(string(text.CompactJSON(comparableResult(m)))).To(check.BeOneOf(string(text.CompactJSON(first))))
		})
	}).InOwnSession(),
}

// discoverOnSecondConnection has server/discover answered on a second connection.
func discoverOnSecondConnection(t *check.T) {
	if t.Site() == nil {
		handshake.FramesWhileIdle(t)
	} else {
		t.Session(check.Exclusive)
	}
}

// discoverReply returns the reply to server/discover. It uses a pooled session or, if the server answers so that no
// session can be opened, a new one.
func discoverReply(t *check.T) driver.Reply {
	if t.Server.Failure != "" {
		return t.Session(check.Process).Connect(driver.ConnectParams(t.Revision))
	}
	return check.Step(t, "server/discover", func(t *check.T) driver.Reply {
		return t.Send(t.Session(), "server/discover", nil, check.AllowSilence)
	})
}

// requireResult returns the result of server/discover; without one, it ends the check.
func requireResult(t *check.T) check.M {
	r := discoverReply(t)
	if r.Result() == nil {
		t.Yield("server/discover was answered with %s", check.Got(r))
	}
	return r.Result()
}

// memberSubjects returns the members of an object, sorted by name.
func memberSubjects(object check.M) (members []check.Subject) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		members = append(members, check.Subject{Name: name, Value: check.M{name: object[name]}})
	}
	return members
}

// comparableResult returns what has to stay the same in results of server/discover: the capabilities and the versions,
// whose order does not matter.
func comparableResult(m check.Message) check.M {
	result, _ := m.JSON()["result"].(check.M)
	var versions []string
	list, _ := result["supportedVersions"].([]any)
	for _, version := range list {
		versions = append(versions, check.Show(version))
	}
	return check.M{"supportedVersions": protocol.Sorted(versions), "capabilities": result["capabilities"]}
}
