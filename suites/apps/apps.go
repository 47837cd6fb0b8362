// Package apps holds the checks of the MCP Apps extension: tools that name a UI resource ("page"), which a client may
// show with their results.
//
// The checks act as a client that declares the extension. They read three shared steps: uiTools, uiCalls and
// readUIResources. Servers need not declare the extension, so that tools with a ui:// resource are enough for the
// checks to apply.
package apps

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(linkChecks, uiResourceChecks, callChecks)

const (
	extension    = "io.modelcontextprotocol/ui"
	appMediaType = "text/html;profile=mcp-app"
	uiScheme     = "ui://" // scheme of the URIs of pages
)

// uiCapabilities are the capabilities of a client that shows pages.
var uiCapabilities = check.M{"extensions": check.M{extension: check.M{"mimeTypes": []any{appMediaType}}}}

// uiTools returns the tools with a page that the server lists to a client that shows pages. The tools are listed once
// for all checks. Without such tools, the check does not apply.
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
		t.Skip(check.NotOffered, "no tool has a page")
	}
	return all
}

// flatKey is the member of _meta that named the page of a tool before _meta.ui did.
const flatKey = "ui/resourceUri"

// hasUIResource reports whether a tool names a page, in the current or in the deprecated way. Servers need not declare
// the extension. If a server does not, only a ui:// URI counts.
func hasUIResource(t *check.T, tool check.M) bool {
	ui, meta := uiOf(tool), protocol.MetaOf(tool)
	isPage := func(v any) bool { uri, _ := v.(string); return strings.HasPrefix(uri, uiScheme) }
	declared := t.Server.Extension(extension) != nil && (check.HasMember(ui, "resourceUri") ||
		check.HasMember(meta, flatKey))
	return declared || isPage(ui["resourceUri"]) || isPage(meta[flatKey])
}

// uiOf returns the _meta.ui of an object; nil if it has none.
func uiOf(object check.M) check.M {
	ui, _ := protocol.MetaOf(object)["ui"].(check.M)
	return ui
}
