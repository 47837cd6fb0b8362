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

// noDate is a version as no specification names one.
const noDate = "mcpcheck-bogus"

// Checks are those of the area.
var Checks = Suite{
	"version/unsupported-newer":         Probe(func(t *T) { expectRefused(t, kit.Claims(t, kit.NewerVersion)) }),
	"version/unsupported-older-unknown": Probe(func(t *T) { expectRefused(t, kit.Claims(t, kit.OlderVersion)) }),

	"version/unsupported-nondate": Probe(func(t *T) {
		expectRefused(t, kit.Claims(t, noDate)[:1])
		empty := kit.Claims(t, "")[0].Reply
		t.Expect(empty.Result() == nil).To(Hold("no result of server/discover in the empty version", "%s", Got(empty)))
	}),

	"version/earlier-revision-claim": Probe(func(t *T) {
		list := kit.WantListMethod(t)
		r := t.Ask(t.Hostile(), list, M{"_meta": M{driver.MetaRevision: Newest}})
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
		for _, version := range []string{kit.NewerVersion, kit.OlderVersion, noDate} {
			for _, c := range kit.Claims(t, version) {
				if code, _ := c.Reply.Code(); code == kit.UnsupportedVersion {
					refused = append(refused, c)
				}
			}
		}
		if len(refused) == 0 {
			t.Because(OtherCheck).Skip("no unknown version was refused with %d: version/unsupported-newer, "+
				"version/unsupported-older-unknown", kit.UnsupportedVersion)
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
			t.Because(OtherCheck).Skip("there are no two lists: version/unsupported-data-supported, " +
				"discover/required-members")
		}
		if !slices.Contains(modernOf(inResult), t.Revision) {
			t.Because(OtherCheck).Skip("server/discover does not list %s: discover/lists-served-version", t.Revision)
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
			t.Expect(code != kit.UnsupportedVersion).To(Hold("no refusal of a listed version", "%s", Got(r)))
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

// expectRefused wants requests in versions that no server has to be refused as such.
func expectRefused(t *T, claims []kit.Claim) {
	Each(t, claims, kit.Claim.Subject, func(t *T, c kit.Claim) {
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
		return r.Frame.HTTP.Answer().Body
	}
	return Compact(r.M)
}
