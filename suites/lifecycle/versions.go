package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

var versionChecks = Suite{
	"lifecycle/version-echo-supported": ProcessProbe(func(t *T) {
		offered := returnedVersions(t)
		Each(t, slices.Sorted(maps.Keys(offered)), NamedSubject, func(t *T, version string) {
			r := handshake.ConnectReplyFor(t, version)
			t.DecidedBy(r).Expect(versionOf(r)).To(BeOneOf[any](version), "it was offered in answer to %s",
				offered[version])
		})
	}),

	"lifecycle/version-fallback": ProcessProbe(func(t *T) {
		handshake.InitializeAll(t, protocol.UnpublishedVersions)
		Each(t, protocol.Sorted(protocol.UnpublishedVersions), NamedSubject, func(t *T, version string) {
			r := handshake.ConnectReplyFor(t, version)
			t.Expect(r).To(BeAnswered())
			if refusesVersion(r) {
				t.ExpectShould(r).To(BeResult())
			}
			t.Expect(r).To(BeResult())
			t.DecidedBy(r).Expect(versionOf(r)).NotTo(BeOneOf[any](version),
				"there is no such version, so it cannot be supported")
		})
	}),

	"lifecycle/version-fallback-latest": ProcessProbe(func(t *T) {
		supported := slices.Sorted(maps.Keys(returnedVersions(t)))
		supported = slices.DeleteFunc(supported, func(v string) bool { return v > NewestLegacy })
		if len(supported) == 0 {
			t.WithReason(NotOffered).Skip("no supported version is known")
		}
		Each(t, protocol.Sorted(protocol.UnpublishedVersions), NamedSubject, func(t *T, version string) {
			r := handshake.ConnectReplyFor(t, version)
			offer, ok := versionOf(r).(string)
			if !ok || offer == version || offer > NewestLegacy {
				t.Yield("the unknown version was echoed or refused")
			}
			t.DecidedBy(r).Expect(offer).To(BeOneOf(supported[len(supported)-1]))
		})
	}),

	"lifecycle/version-known-date": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			version, ok := resultOf(m)["protocolVersion"].(string)
			switch {
			case !ok:
				t.Yield("protocolVersion is not a string")
			case slices.Contains(protocol.UnpublishedVersions, version):
				t.Yield("a made-up version was echoed")
			case slices.Contains(ModernRevisions, version):
				t.WithReason(Limit).Inconclusive("%s has no handshake, and %s does not know it", version, NewestLegacy)
			case isDate(version) && version >= ModernRevisions[0]:
				t.WithReason(Limit).Inconclusive("%s is later than what mcpcheck knows", version)
			}
			if isPreview(version) {
				t.ExpectShould(version).To(BeOneOf(LegacyRevisions...))
			}
			t.Expect(version).To(BeOneOf(LegacyRevisions...))
		})
	}).WhenConnectRefused(),
}

// returnedVersions are the versions that the server returned whatever it was asked for, each with the version that was
// asked for. What is not a version is not an offer: lifecycle/version-known-date and -fallback judge it.
func returnedVersions(t *T) map[string]string {
	all := slices.Concat(LegacyRevisions, protocol.UnpublishedVersions)
	handshake.InitializeAll(t, all)
	offered := map[string]string{}
	for _, version := range all {
		got, _ := versionOf(handshake.ConnectReplyFor(t, version)).(string)
		if slices.Contains(LegacyRevisions, got) || isDate(got) && got >= ModernRevisions[0] {
			offered[got] = version
		}
	}
	return offered
}

func versionOf(r driver.Reply) any { return Member(r.Result(), "protocolVersion") }

// refusesVersion recognises the error that the page shows in contradiction to itself, -32602 with the supported
// versions, and the one that came up later for this.
func refusesVersion(r driver.Reply) bool {
	const later = -32022
	code, _ := r.Code()
	data, _ := r.Error()["data"].(M)
	return (code == -32602 || code == later) && data["supported"] != nil
}

// isPreview reports whether a version was used before a revision was published.
func isPreview(version string) bool {
	return strings.HasPrefix(version, "DRAFT") || isDate(version) && version < LegacyRevisions[0]
}

func isDate(version string) bool {
	_, err := time.Parse(time.DateOnly, version)
	return err == nil
}
