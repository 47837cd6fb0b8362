// Package advice holds checks of good practice that the specification does not require: what a server tells models in
// names, descriptions, schemas, instructions, results and errors. Its entries, in advice.yaml, are never blocking by
// themselves.
//
// The checks read the lists that discovery has obtained and the responses that the steps of package toolcall
// (CallTools, InvalidCalls) have brought. Some judge a text by patterns; their messages say so.
package advice

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(serverChecks, serverFileChecks, textChecks, toolChecks, parameterChecks, errorChecks,
	resultChecks, fileChecks)

// byPattern is the end of the message of a check that has judged a text by its form only.
const byPattern = " (judged by pattern)"

// eachTool makes a check that judges the definition of every tool.
func eachTool(look func(t *check.T, tool check.M)) check.Check {
	return probeTools(toolcall.ListedTools, look)
}

// eachShownTool makes a check that judges the definition of every tool that is shown to models.
func eachShownTool(look func(t *check.T, tool check.M)) check.Check {
	return probeTools(shownTools, look)
}

// probeTools makes a check that judges every tool that list returns.
func probeTools(list func(*check.T) []check.Subject, look func(t *check.T, tool check.M)) check.Check {
	return check.Probe(func(t *check.T) {
		t.Each(skipIfNoTools(t, list(t)), func(t *check.T, tool check.Subject) { look(t, tool.Value) })
	})
}

// skipIfNoTools returns list; if it is empty, it ends the check as skip.
func skipIfNoTools(t *check.T, list []check.Subject) []check.Subject {
	if len(list) == 0 {
		t.Skip(check.NotOffered, "the server lists no tool")
	}
	return list
}

// shownTools returns the tools that are shown to models. With the apps extension, some tools are for pages only.
func shownTools(t *check.T) (shown []check.Subject) {
	for _, tool := range toolcall.ListedTools(t) {
		if !isAppOnly(tool.Value) {
			shown = append(shown, tool)
		}
	}
	return shown
}

// isAppOnly reports whether a tool is for pages only, by the visibility that the apps extension defines.
func isAppOnly(tool check.M) bool {
	meta, _ := tool["_meta"].(check.M)
	ui, _ := meta["ui"].(check.M)
	visible, isList := ui["visibility"].([]any)
	return isList && len(visible) == 1 && visible[0] == "app"
}

// textIn returns a string member of an object without the space around it; empty if there is none.
func textIn(object check.M, member string) string {
	text, _ := object[member].(string)
	return strings.TrimSpace(text)
}

// requireInputSchema returns the inputSchema of a tool. If that is not an object, it ends the check for this tool.
func requireInputSchema(t *check.T, tool check.M) check.M {
	schema, ok := tool["inputSchema"].(check.M)
	if !ok {
		t.Yield("inputSchema is not an object")
	}
	return schema
}
