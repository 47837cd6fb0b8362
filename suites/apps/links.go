package apps

import (
	"strings"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var links = Suite{
	"apps/advertised": Probe(func(t *T) {
		uiTools(t)
		extensions := Member(t.Server.Capabilities, "extensions")
		if _, isObject := extensions.(M); !isObject && Has(t.Server.Capabilities, "extensions") {
			t.Yield("capabilities.extensions is not an object")
		}
		t.By(t.Server.First).Expect(t.Server.Extension(extension) != nil).To(Hold(
			extension+" in capabilities.extensions, since tools have pages", "%s", Show(extensions)))
	}),

	"apps/resource-uri-scheme": Probe(func(t *T) {
		eachLink(t, func(t *T, uri any) {
			t.Expect(uri).To(That("a URI that begins with ui://", func(uri string) bool {
				return strings.HasPrefix(uri, scheme)
			}))
		})
	}),

	"apps/visibility-values": Probe(func(t *T) {
		t.Each(uiTools(t), func(t *T, tool Subject) {
			ui := uiOf(tool.Value)
			if !Has(ui, "visibility") {
				t.Because(NotOffered).Skip("no tool says to whom it is visible")
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
			t.Expect(!Has(meta, flatKey)).To(Hold("_meta.ui.resourceUri alone", "%q: %s", flatKey, Show(meta[flatKey])))
		})
	}),
}

// eachLink tries a check on what tools name as their page in the way that is not deprecated.
func eachLink(t *T, run func(t *T, uri any)) {
	t.Each(uiTools(t), func(t *T, tool Subject) {
		ui := uiOf(tool.Value)
		if !Has(ui, "resourceUri") {
			t.Yield("the page is named by the flat key alone")
		}
		run(t, ui["resourceUri"])
	})
}
