// Package apps is the area of the extension of apps: tools that name a page, which a client may show beside their
// results.
package apps

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks are those of the area.
var Checks = check.MergeSuites(linkChecks, uiResourceChecks, callChecks)

const (
	extension    = "io.modelcontextprotocol/ui"
	appMediaType = "text/html;profile=mcp-app"
	uiScheme     = "ui://" // of the URIs of pages
)

// uiCapabilities is what a client declares that shows pages.
var uiCapabilities = check.M{"extensions": check.M{extension: check.M{"mimeTypes": []any{appMediaType}}}}

// uiTools are the tools with a page that the server lists to a client that shows pages, once for all checks. Without
// any, a check does not apply.
func uiTools(t *check.T) []check.Subject {
	all := check.Step(t, "tools with pages", func(t *check.T) (tools []check.Subject) {
		check.FollowPagesWith(t, t.Session(), "tools/list", "tools", protocol.WithCapabilities(nil, uiCapabilities),
			func(page check.M) {
				for _, tool := range protocol.ObjectsIn(page["tools"]) {
					if name, named := tool["name"].(string); named && hasUIResource(t, tool) {
						tools = append(tools, check.Subject{Name: name, Value: tool})
					}
				}
			})
		return tools
	})
	if len(all) == 0 {
		t.WithReason(check.NotOffered).Skip("no tool has a page")
	}
	return all
}

// flatKey is what has named the page of a tool before uiOf did.
const flatKey = "ui/resourceUri"

// hasUIResource reports whether a tool names a page, in either way. Servers need not declare the extension: from one
// that does not, only a URI of the kind that is kept for pages is taken for one.
func hasUIResource(t *check.T, tool check.M) bool {
	ui, meta := uiOf(tool), protocol.MetaOf(tool)
	isPage := func(v any) bool { uri, _ := v.(string); return strings.HasPrefix(uri, uiScheme) }
	declared := t.Server.Extension(extension) != nil && (check.HasMember(ui, "resourceUri") ||
		check.HasMember(meta, flatKey))
	return declared || isPage(ui["resourceUri"]) || isPage(meta[flatKey])
}

// uiOf is what an object says of its page; nil when it does not.
func uiOf(object check.M) check.M {
	ui, _ := protocol.MetaOf(object)["ui"].(check.M)
	return ui
}
