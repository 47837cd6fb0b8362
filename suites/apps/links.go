package apps

import (
	"strings"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var linkChecks = Suite{
	"apps/advertised": Probe(func(t *T) {
		uiTools(t)
		extensions := Member(t.Server.Capabilities, "extensions")
		if _, isObject := extensions.(M); !isObject && HasMember(t.Server.Capabilities, "extensions") {
			t.Yield("capabilities.extensions is not an object")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(t.Server.Extension(extension) != nil).To(BeTrue(
			extension+" in capabilities.extensions, since tools have pages", "%s", Show(extensions)))
	}),

	"apps/resource-uri-scheme": Probe(func(t *T) {
		eachLink(t, func(t *T, uri any) {
			t.Expect(uri).To(Satisfy("a URI that begins with ui://", func(uri string) bool {
				return strings.HasPrefix(uri, uiScheme)
			}))
		})
	}),

	"apps/visibility-values": Probe(func(t *T) {
		t.Each(uiTools(t), func(t *T, tool Subject) {
			ui := uiOf(tool.Value)
			if !HasMember(ui, "visibility") {
				t.WithReason(NotOffered).Skip("no tool says to whom it is visible")
			}
			t.Expect(ui["visibility"]).To(BeArray())
			for _, who := range ui["visibility"].([]any) {
				t.Expect(who).To(BeOneOf("model", "app"))
			}
		})
	}),

	"apps/deprecated-flat-key": Probe(func(t *T) {
		t.Each(uiTools(t), func(t *T, tool Subject) {
			meta, _ := tool.Value["_meta"].(M)
			t.Expect(!HasMember(meta, flatKey)).To(BeTrue("_meta.ui.resourceUri alone", "%q: %s", flatKey,
				Show(meta[flatKey])))
		})
	}),
}

// eachLink tries a check on what tools name as their page in the way that is not deprecated.
func eachLink(t *T, run func(t *T, uri any)) {
	t.Each(uiTools(t), func(t *T, tool Subject) {
		ui := uiOf(tool.Value)
		if !HasMember(ui, "resourceUri") {
			t.Yield("the page is named by the flat key alone")
		}
		run(t, ui["resourceUri"])
	})
}
