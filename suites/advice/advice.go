// Package advice judges good practice that no sentence of the specification asks for: what a server says to models. It
// looks at what discovery has read, and at the answers that other checks were given.
package advice

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(serverChecks, serverFileChecks, textChecks, toolChecks, parameterChecks, errorChecks,
	resultChecks)

// byPattern ends what a check says that has judged a text by how it looks.
const byPattern = " (judged by pattern)"

// eachTool is a look at the definition of every tool.
func eachTool(look func(t *check.T, tool check.M)) check.Check {
	return probeTools(toolcall.ListedTools, look)
}

// eachShownTool is a look at the definition of every tool that models are shown.
func eachShownTool(look func(t *check.T, tool check.M)) check.Check {
	return probeTools(shownTools, look)
}

func probeTools(list func(*check.T) []check.Subject, look func(t *check.T, tool check.M)) check.Check {
	return check.Probe(func(t *check.T) {
		t.Each(skipIfNoTools(t, list(t)), func(t *check.T, tool check.Subject) { look(t, tool.Value) })
	})
}

// skipIfNoTools ends a check that has no tool to look at.
func skipIfNoTools(t *check.T, list []check.Subject) []check.Subject {
	if len(list) == 0 {
		t.WithReason(check.NotOffered).Skip("the server lists no tool")
	}
	return list
}

// shownTools are the tools that models are shown: by the extension apps, some are for pages alone.
func shownTools(t *check.T) (shown []check.Subject) {
	for _, tool := range toolcall.ListedTools(t) {
		if !isAppOnly(tool.Value) {
			shown = append(shown, tool)
		}
	}
	return shown
}

func isAppOnly(tool check.M) bool {
	meta, _ := tool["_meta"].(check.M)
	ui, _ := meta["ui"].(check.M)
	visible, isList := ui["visibility"].([]any)
	return isList && len(visible) == 1 && visible[0] == "app"
}

// textIn is a member that is a text, without the space around it; empty when it is none.
func textIn(object check.M, member string) string {
	text, _ := object[member].(string)
	return strings.TrimSpace(text)
}

// requireInputSchema is the inputSchema of a tool; without one that is an object, the look at that tool ends.
func requireInputSchema(t *check.T, tool check.M) check.M {
	schema, ok := tool["inputSchema"].(check.M)
	if !ok {
		t.Yield("inputSchema is not an object")
	}
	return schema
}
