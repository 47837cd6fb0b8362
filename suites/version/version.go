// Package version is the area of the versions and eras of the protocol that a server answers for, request by request.
package version

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks are those of the area.
var Checks = Suite{
	"version/unsupported-newer":         Probe(func(t *T) { expectRefused(t, handshake.NewerVersion) }),
	"version/unsupported-older-unknown": Probe(func(t *T) { expectRefused(t, handshake.OlderVersion) }),

	"version/unsupported-nondate": Probe(func(t *T) {
		expectRefused(t, handshake.NonDateVersion)
		empty := handshake.VersionProbes(t, "")[0]
		invalid.SkipUnlessServerRejects(t, empty.Reply)
		if !slices.ContainsFunc(handshake.AllVersionProbes(t, handshake.NewerVersion), empty.IsEquivalent) {
			t.Expect(empty.Reply.Result() == nil).To(BeTrue("no result of server/discover in the empty version",
				"%s", empty.Reply))
		}
	}),

	"version/earlier-revision-claim": Probe(func(t *T) {
		list := protocol.RequireListMethod(t)
		served := func(c handshake.VersionProbe) bool {
			return c.Method == list && c.Reply.Result() != nil && !invalid.AcceptsAnything(t, c.Reply)
		}
		if slices.ContainsFunc(handshake.VersionProbes(t, handshake.NewerVersion), served) {
			t.Yield("%s is served in any version", list)
		}
		r := invalid.RequestInvalid(t, t.SessionForInvalidInput(), list, M{"_meta": M{driver.MetaRevision: NewestLegacy}})
		t.ExpectAdvice(HasMember(r.Result(), "resultType")).To(BeOneOf(false), "a result of %s that has a resultType",
			NewestLegacy)
	}),

	"version/unsupported-data-supported": Probe(func(t *T) {
		data, _ := handshake.RequireVersionError(t)
		supported := Member(data, "supported")
		isFilled := func(all []any) bool { return len(all) > 0 }
		t.Expect(supported).To(Satisfy("a list of versions", isFilled), "data.supported")
		for _, version := range supported.([]any) {
			t.Expect(version).To(BeString(), "an item of data.supported")
		}
	}),

	"version/unsupported-data-requested": Probe(func(t *T) {
		data, _ := handshake.RequireVersionError(t)
		t.Expect(Member(data, "requested")).To(BeOneOf[any](handshake.NewerVersion), "data.requested")
	}),

	"version/unsupported-http-400": Probe(func(t *T) {
		var refused []handshake.VersionProbe
		for _, version := range []string{handshake.NewerVersion, handshake.OlderVersion, handshake.NonDateVersion} {
			for _, c := range handshake.VersionProbes(t, version) {
				if c.IsRefused() {
					refused = append(refused, c)
				}
			}
		}
		if len(refused) == 0 {
			t.Yield("no unknown version was refused with %d", protocol.UnsupportedVersion)
		}
		Each(t, refused, handshake.VersionProbe.Subject, func(t *T, c handshake.VersionProbe) {
			t.Expect(c.Reply.Frame.RoundTrip.Response().StatusCode).To(BeOneOf(http.StatusBadRequest), "status")
		})
	}),

	"version/supported-lists-agree": Probe(func(t *T) {
		data, _ := handshake.RequireVersionError(t)
		inError, isList := data["supported"].([]any)
		inResult, areListed := t.Server.ConnectResult["supportedVersions"].([]any)
		if !isList || len(inError) == 0 || !areListed {
			t.Yield("there are no two lists")
		}
		if !slices.Contains(modernVersions(inResult), t.Revision) {
			t.Yield("server/discover does not list %s", t.Revision)
		}
		t.Expect(modernVersions(inError)).To(Satisfy("the versions of server/discover "+Show(modernVersions(inResult)),
			func(all []string) bool { return slices.Equal(all, modernVersions(inResult)) }), "data.supported")
	}),

	"version/listed-version-works": Probe(func(t *T) {
		listed, _ := t.Server.ConnectResult["supportedVersions"].([]any)
		if len(modernVersions(listed)) == 0 {
			t.WithReason(NotOffered).Skip("no version without a handshake is listed: %s", Show(listed))
		}
		s := t.SessionForInvalidInput()
		Each(t, modernVersions(listed), NamedSubject, func(t *T, version string) {
			r := t.Request(s, "server/discover", M{"_meta": M{driver.MetaRevision: version}})
			code, _ := r.Code()
			t.Expect(code != protocol.UnsupportedVersion).To(BeTrue("no refusal of a listed version", "%s", r))
		})
		shaken := func(v any) bool { version, _ := v.(string); return slices.Contains(LegacyRevisions, version) }
		if at := slices.IndexFunc(listed, shaken); at >= 0 {
			t.Expect(handshake.InitializeReply(t)).To(BeResult(), "initialize, since %s is listed", Show(listed[at]))
		}
	}),

	"version/initialize-rejected": Probe(func(t *T) {
		r := handshake.InitializeReply(t)
		version, _ := r.Result()["protocolVersion"].(string)
		if slices.Contains(LegacyRevisions, version) {
			t.Skip("the server speaks %s as well", version)
		}
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(BeError(), "initialize")
	}).WhenConnectRefused(),

	"version/initialize-error-names-versions": Probe(func(t *T) {
		r := handshake.InitializeReply(t)
		if r.Error() == nil {
			t.WithReason(NotObserved).Skip("initialize is not refused")
		}
		listed, _ := t.Server.ConnectResult["supportedVersions"].([]any)
		versions := append(modernVersions(listed), t.Revision)
		names := func(version string) bool { return bytes.Contains(errorBytes(r), []byte(version)) }
		t.Expect(slices.ContainsFunc(versions, names)).To(BeTrue("the name of a supported version in the error",
			"%s", driver.Brief(errorBytes(r))))
	}),
}

// unsupportedVersions are versions that no server has. What is answered alike in two of them has one cause, which the
// check of the first reports.
var unsupportedVersions = []string{handshake.NewerVersion, handshake.OlderVersion, handshake.NonDateVersion}

// expectRefused wants requests in a version that no server has to be refused as such.
func expectRefused(t *T, version string) {
	claims := handshake.AllVersionProbes(t, version)
	for _, other := range unsupportedVersions {
		if other == version {
			break
		}
		known := handshake.AllVersionProbes(t, other)
		claims = slices.DeleteFunc(claims, func(c handshake.VersionProbe) bool {
			return !c.IsRefused() && !invalid.AcceptsAnything(t, c.Reply) && slices.ContainsFunc(known, c.IsEquivalent)
		})
		if len(claims) == 0 {
			t.Yield("it is answered as %s is", Show(other))
		}
	}
	Each(t, claims, handshake.VersionProbe.Subject, func(t *T, c handshake.VersionProbe) {
		invalid.SkipUnlessServerRejects(t, c.Reply)
		t.Expect(c.Reply).To(BeError(protocol.UnsupportedVersion))
	})
}

// modernVersions are the versions without a handshake in a list, in their order. Drafts have names that come after
// dates.
func modernVersions(versions []any) (modern []string) {
	for _, v := range versions {
		if version, _ := v.(string); version > NewestLegacy {
			modern = append(modern, version)
		}
	}
	slices.Sort(modern)
	return slices.Compact(modern)
}

// errorBytes is what an error says: itself or, of an HTTP answer that is no message, all of the body.
func errorBytes(r driver.Reply) []byte {
	if r.IsStatusOnly() {
		return r.Frame.RoundTrip.Response().Body.Bytes()
	}
	return CompactJSON(r.Message())
}
