package lifecycle

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var versionChecks = Suite{
	"lifecycle/version-echo-supported": Fresh(func(t *T) {
		offered := offeredVersions(t)
		t.Each(versions(offered), func(t *T, version Subject) {
			t.Expect(versionOf(kit.WelcomeFor(t, version.Name))).To(BeOneOf[any](version.Name), "it was offered in answer to %s", offered[version.Name])
		})
	}),

	"lifecycle/version-fallback": Fresh(func(t *T) {
		kit.AskAll(t, kit.MadeUp)
		t.Each(versions(setOf(kit.MadeUp)), func(t *T, version Subject) {
			r := kit.WelcomeFor(t, version.Name)
			t.Expect(r).To(BeAnswered())
			if refusesVersion(r) {
				t.Warn(r).To(BeResult())
			}
			t.Expect(r).To(BeResult())
			t.Expect(versionOf(r)).NotTo(BeOneOf[any](version.Name), "there is no such version, so it cannot be supported")
		})
	}),

	"lifecycle/version-fallback-latest": Fresh(func(t *T) {
		supported := slices.Sorted(maps.Keys(offeredVersions(t)))
		supported = slices.DeleteFunc(supported, func(v string) bool { return v > Newest })
		if len(supported) == 0 {
			t.Skip("no supported version is known")
		}
		t.Each(versions(setOf(kit.MadeUp)), func(t *T, version Subject) {
			offer, ok := versionOf(kit.WelcomeFor(t, version.Name)).(string)
			if !ok || offer == version.Name || offer > Newest {
				t.Skip("the unknown version was echoed or refused: lifecycle/version-fallback")
			}
			t.Expect(offer).To(BeOneOf(supported[len(supported)-1]))
		})
	}),

	"lifecycle/version-known-date": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			version, ok := resultOf(m)["protocolVersion"].(string)
			switch {
			case !ok:
				t.Skip("protocolVersion is no string: lifecycle/initialize-result-fields")
			case slices.Contains(kit.MadeUp, version):
				t.Skip("a made-up version was echoed: lifecycle/version-fallback")
			case isDate(version) && version >= Modern:
				t.Inconclusive("%s is later than what mcpcheck knows", version)
			}
			if strings.HasPrefix(version, "DRAFT") {
				t.Warn(version).To(BeOneOf(Handshake...))
			}
			t.Expect(version).To(BeOneOf(Handshake...))
		})
	}),
}

// offeredVersions are the versions that the server returned whatever it was asked
// for, each with the version that was asked for. A made-up version that comes back
// is no offer.
func offeredVersions(t *T) map[string]string {
	all := slices.Concat(Handshake, kit.MadeUp)
	kit.AskAll(t, all)
	offered := map[string]string{}
	for _, version := range all {
		if got, ok := versionOf(kit.WelcomeFor(t, version)).(string); ok && !slices.Contains(kit.MadeUp, got) {
			offered[got] = version
		}
	}
	return offered
}

func versionOf(r driver.Reply) any { return Member(r.Result(), "protocolVersion") }

// refusesVersion recognises the error that the page shows in contradiction to
// itself: -32602 with the supported versions.
func refusesVersion(r driver.Reply) bool {
	code, _ := r.Code()
	data, _ := r.Error()["data"].(M)
	return code == -32602 && data["supported"] != nil
}

func setOf(versions []string) map[string]string {
	set := map[string]string{}
	for _, v := range versions {
		set[v] = v
	}
	return set
}

func versions(set map[string]string) (subjects []Subject) {
	for _, v := range slices.Sorted(maps.Keys(set)) {
		subjects = append(subjects, Subject{Name: v})
	}
	return subjects
}

func isDate(version string) bool {
	return len(version) == len(Modern) && strings.Trim(version, "0123456789-") == ""
}
