package check

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ReportUncalledTools sets the list of all tools that were not called with valid arguments, for the report.
func ReportUncalledTools(t *T, tools []report.UncalledTool) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.uncalledTools = tools
}

// ReportInvalidCalls sets how many tools were called with invalid arguments, for the report.
func ReportInvalidCalls(t *T, calls report.InvalidCallCounts) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.invalidCalls = &calls
}

// CallPermission returns which calls of a tool the run's policy permits.
func CallPermission(t *T, tool Subject) report.Permission {
	_, examples := t.execution.options.Examples[tool.Name]
	return t.execution.options.Calls.Permit(tool.Value, examples)
}

// MayCallUnknown reports whether the run's policy permits a call of a tool that does not exist.
func MayCallUnknown(t *T) bool { return t.execution.options.Calls != report.CallsNone }

// HasProtectedState reports whether the operator says that the requestState for a tool, a prompt or a resource is
// protected, so that the server must reject one that was altered.
func HasProtectedState(t *T, name string) bool {
	return slices.Contains(t.execution.options.ProtectedState, name)
}

// ExampleArguments returns the operator's arguments for a tool; nil when there are none.
func ExampleArguments(t *T, tool string) M { return t.execution.options.Examples[tool] }

// RememberArguments makes later checks call a tool with these arguments, because it answers them faster than others.
func RememberArguments(t *T, tool string, args M) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.knownArguments[tool] = args
}

// RememberedArguments returns the arguments set by RememberArguments; nil when there are none.
func RememberedArguments(t *T, tool string) M {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	return t.execution.knownArguments[tool]
}
