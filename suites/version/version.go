// Package version is the area of the versions and eras of the protocol that a server answers for, request by request.
package version

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Suite{
	"version/unsupported-newer":         Probe(func(t *T) { expectRefused(t, kit.NewerVersion) }),
	"version/unsupported-older-unknown": Probe(func(t *T) { expectRefused(t, kit.OlderVersion) }),

	"version/unsupported-nondate": Probe(func(t *T) {
		expectRefused(t, kit.NoDate)
		empty := kit.Claims(t, "")[0]
		kit.WantRefuser(t, empty.Reply)
		if !slices.ContainsFunc(kit.AllClaims(t, kit.NewerVersion), empty.IsLike) {
			t.Expect(empty.Reply.Result() == nil).To(Hold("no result of server/discover in the empty version",
				"%s", empty.Reply))
		}
	}),

	"version/earlier-revision-claim": Probe(func(t *T) {
		list := kit.WantListMethod(t)
		served := func(c kit.Claim) bool {
			return c.Method == list && c.Reply.Result() != nil && !kit.RefusesNothing(t, c.Reply)
		}
		if slices.ContainsFunc(kit.Claims(t, kit.NewerVersion), served) {
			t.Yield("%s is served in any version", list)
		}
		r := kit.AskAmiss(t, t.Hostile(), list, M{"_meta": M{driver.MetaRevision: Newest}})
		t.Inform(Has(r.Result(), "resultType")).To(BeOneOf(false), "a result of %s that has a resultType", Newest)
	}),

	"version/unsupported-data-supported": Probe(func(t *T) {
		data, _ := kit.Refusal(t)
		supported := Member(data, "supported")
		isFilled := func(all []any) bool { return len(all) > 0 }
		t.Expect(supported).To(That("a list of versions", isFilled), "data.supported")
		for _, version := range supported.([]any) {
			t.Expect(version).To(BeString(), "an item of data.supported")
		}
	}),

	"version/unsupported-data-requested": Probe(func(t *T) {
		data, _ := kit.Refusal(t)
		t.Expect(Member(data, "requested")).To(BeOneOf[any](kit.NewerVersion), "data.requested")
	}),

	"version/unsupported-http-400": Probe(func(t *T) {
		var refused []kit.Claim
		for _, version := range []string{kit.NewerVersion, kit.OlderVersion, kit.NoDate} {
			for _, c := range kit.Claims(t, version) {
				if c.IsRefused() {
					refused = append(refused, c)
				}
			}
		}
		if len(refused) == 0 {
			t.Yield("no unknown version was refused with %d", kit.UnsupportedVersion)
		}
		Each(t, refused, kit.Claim.Subject, func(t *T, c kit.Claim) {
			t.Expect(c.Reply.Frame.HTTP.Answer().Status).To(BeOneOf(http.StatusBadRequest), "status")
		})
	}),

	"version/supported-lists-agree": Probe(func(t *T) {
		data, _ := kit.Refusal(t)
		inError, isList := data["supported"].([]any)
		inResult, areListed := t.Server.Welcome["supportedVersions"].([]any)
		if !isList || len(inError) == 0 || !areListed {
			t.Yield("there are no two lists")
		}
		if !slices.Contains(modernOf(inResult), t.Revision) {
			t.Yield("server/discover does not list %s", t.Revision)
		}
		t.Expect(modernOf(inError)).To(That("the versions of server/discover "+Show(modernOf(inResult)),
			func(all []string) bool { return slices.Equal(all, modernOf(inResult)) }), "data.supported")
	}),

	"version/listed-version-works": Probe(func(t *T) {
		listed, _ := t.Server.Welcome["supportedVersions"].([]any)
		if len(modernOf(listed)) == 0 {
			t.Because(NotOffered).Skip("no version without a handshake is listed: %s", Show(listed))
		}
		s := t.Hostile()
		Each(t, modernOf(listed), Named, func(t *T, version string) {
			r := t.Ask(s, "server/discover", M{"_meta": M{driver.MetaRevision: version}})
			code, _ := r.Code()
			t.Expect(code != kit.UnsupportedVersion).To(Hold("no refusal of a listed version", "%s", r))
		})
		shaken := func(v any) bool { version, _ := v.(string); return slices.Contains(Handshake, version) }
		if at := slices.IndexFunc(listed, shaken); at >= 0 {
			t.Expect(kit.AskedToInitialize(t)).To(BeResult(), "initialize, since %s is listed", Show(listed[at]))
		}
	}),

	"version/initialize-rejected": Probe(func(t *T) {
		r := kit.AskedToInitialize(t)
		version, _ := r.Result()["protocolVersion"].(string)
		if slices.Contains(Handshake, version) {
			t.Skip("the server speaks %s as well", version)
		}
		kit.WantRefuser(t, r)
		t.Expect(r).To(BeError(), "initialize")
	}).WhenRefused(),

	"version/initialize-error-names-versions": Probe(func(t *T) {
		r := kit.AskedToInitialize(t)
		if r.Error() == nil {
			t.Because(NotObserved).Skip("initialize is not refused")
		}
		listed, _ := t.Server.Welcome["supportedVersions"].([]any)
		versions := append(modernOf(listed), t.Revision)
		names := func(version string) bool { return bytes.Contains(saidOf(r), []byte(version)) }
		t.Expect(slices.ContainsFunc(versions, names)).To(Hold("the name of a supported version in the error",
			"%s", driver.Brief(saidOf(r))))
	}),
}

// unsupported are versions that no server has. What is answered alike in two of them has one cause, which the check of
// the first reports.
var unsupported = []string{kit.NewerVersion, kit.OlderVersion, kit.NoDate}

// expectRefused wants requests in a version that no server has to be refused as such.
func expectRefused(t *T, version string) {
	claims := kit.AllClaims(t, version)
	for _, other := range unsupported {
		if other == version {
			break
		}
		known := kit.AllClaims(t, other)
		claims = slices.DeleteFunc(claims, func(c kit.Claim) bool {
			return !c.IsRefused() && !kit.RefusesNothing(t, c.Reply) && slices.ContainsFunc(known, c.IsLike)
		})
		if len(claims) == 0 {
			t.Yield("it is answered as %s is", Show(other))
		}
	}
	Each(t, claims, kit.Claim.Subject, func(t *T, c kit.Claim) {
		kit.WantRefuser(t, c.Reply)
		t.Expect(c.Reply).To(BeError(kit.UnsupportedVersion))
	})
}

// modernOf are the versions without a handshake in a list, in their order. Drafts have names that come after dates.
func modernOf(versions []any) (modern []string) {
	for _, v := range versions {
		if version, _ := v.(string); version > Newest {
			modern = append(modern, version)
		}
	}
	slices.Sort(modern)
	return slices.Compact(modern)
}

// saidOf is what an error says: itself or, of an HTTP answer that is no message, all of the body.
func saidOf(r driver.Reply) []byte {
	if r.Bare() {
		return r.Frame.HTTP.Answer().Body.Bytes()
	}
	return Compact(r.M())
}
