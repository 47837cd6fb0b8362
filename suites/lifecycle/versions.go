package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var versionChecks = Suite{
	"lifecycle/version-echo-supported": Fresh(func(t *T) {
		offered := offeredVersions(t)
		Each(t, slices.Sorted(maps.Keys(offered)), Named, func(t *T, version string) {
			r := kit.WelcomeFor(t, version)
			t.By(r).Expect(versionOf(r)).To(BeOneOf[any](version), "it was offered in answer to %s", offered[version])
		})
	}),

	"lifecycle/version-fallback": Fresh(func(t *T) {
		kit.AskAll(t, kit.MadeUp)
		Each(t, kit.Sorted(kit.MadeUp), Named, func(t *T, version string) {
			r := kit.WelcomeFor(t, version)
			t.Expect(r).To(BeAnswered())
			if refusesVersion(r) {
				t.Warn(r).To(BeResult())
			}
			t.Expect(r).To(BeResult())
			t.By(r).Expect(versionOf(r)).NotTo(BeOneOf[any](version),
				"there is no such version, so it cannot be supported")
		})
	}),

	"lifecycle/version-fallback-latest": Fresh(func(t *T) {
		supported := slices.Sorted(maps.Keys(offeredVersions(t)))
		supported = slices.DeleteFunc(supported, func(v string) bool { return v > Newest })
		if len(supported) == 0 {
			t.Because(NotOffered).Skip("no supported version is known")
		}
		Each(t, kit.Sorted(kit.MadeUp), Named, func(t *T, version string) {
			r := kit.WelcomeFor(t, version)
			offer, ok := versionOf(r).(string)
			if !ok || offer == version || offer > Newest {
				t.Yield("the unknown version was echoed or refused")
			}
			t.By(r).Expect(offer).To(BeOneOf(supported[len(supported)-1]))
		})
	}),

	"lifecycle/version-known-date": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			version, ok := resultOf(m)["protocolVersion"].(string)
			switch {
			case !ok:
				t.Yield("protocolVersion is not a string")
			case slices.Contains(kit.MadeUp, version):
				t.Yield("a made-up version was echoed")
			case slices.Contains(Modern, version):
				t.Because(Limit).Inconclusive("%s has no handshake, and %s does not know it", version, Newest)
			case isDate(version) && version >= Modern[0]:
				t.Because(Limit).Inconclusive("%s is later than what mcpcheck knows", version)
			}
			if isPreview(version) {
				t.Warn(version).To(BeOneOf(Handshake...))
			}
			t.Expect(version).To(BeOneOf(Handshake...))
		})
	}).WhenRefused(),
}

// offeredVersions are the versions that the server returned whatever it was asked for, each with the version that was
// asked for. What is not a version is not an offer: lifecycle/version-known-date and -fallback judge it.
func offeredVersions(t *T) map[string]string {
	all := slices.Concat(Handshake, kit.MadeUp)
	kit.AskAll(t, all)
	offered := map[string]string{}
	for _, version := range all {
		got, _ := versionOf(kit.WelcomeFor(t, version)).(string)
		if slices.Contains(Handshake, got) || isDate(got) && got >= Modern[0] {
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
	return strings.HasPrefix(version, "DRAFT") || isDate(version) && version < Handshake[0]
}

func isDate(version string) bool {
	_, err := time.Parse(time.DateOnly, version)
	return err == nil
}
