package apps

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// linkChecks are the checks of how tools name their pages.
var linkChecks = check.Suite{
	"apps/advertised": check.Probe(func(t *check.T) {
		uiTools(t)
		extensions := check.Member(t.Server.Capabilities, "extensions")
		if _, isObject := extensions.(check.M); !isObject && check.HasMember(t.Server.Capabilities, "extensions") {
			t.Yield("capabilities.extensions is not an object")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(t.Server.Extension(extension) != nil).To(check.BeTrue(
			extension+" in capabilities.extensions, since tools have pages", "%s", check.Show(extensions)))
	}),

	"apps/resource-uri-scheme": check.Probe(func(t *check.T) {
		eachLink(t, func(t *check.T, uri any) {
			t.Expect(uri).To(check.Satisfy("a URI that begins with ui://", func(uri string) bool {
				return strings.HasPrefix(uri, uiScheme)
			}))
		})
	}),

	"apps/visibility-values": check.Probe(func(t *check.T) {
		t.Each(uiTools(t), func(t *check.T, tool check.Subject) {
			ui := uiOf(tool.Value)
			if !check.HasMember(ui, "visibility") {
				t.Skip(check.NotOffered, "no tool says to whom it is visible")
			}
			t.Expect(ui["visibility"]).To(check.BeArray())
			for _, who := range ui["visibility"].([]any) {
				t.Expect(who).To(check.BeOneOf("model", "app"))
			}
		})
	}),

	"apps/deprecated-flat-key": check.Probe(func(t *check.T) {
		t.Each(uiTools(t), func(t *check.T, tool check.Subject) {
			meta, _ := tool.Value["_meta"].(check.M)
			t.Expect(!check.HasMember(meta, flatKey)).To(check.BeTrue("_meta.ui.resourceUri alone", "%q: %s", flatKey,
				check.Show(meta[flatKey])))
		})
	}),
}

// eachLink runs a check on every page that tools name in the way that is not deprecated.
func eachLink(t *check.T, run func(t *check.T, uri any)) {
	t.Each(uiTools(t), func(t *check.T, tool check.Subject) {
		ui := uiOf(tool.Value)
		if !check.HasMember(ui, "resourceUri") {
			t.Yield("the page is named by the flat key alone")
		}
		run(t, ui["resourceUri"])
	})
}
