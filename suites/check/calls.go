package check

import (
	"github.com/mcpcheck/mcpcheck/suites/report"
	"slices"
)

// ReportUncalledTools tells the report which tools were not called with valid arguments, of all.
func ReportUncalledTools(t *T, tools []report.UncalledTool) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.uncalledTools = tools
}

// ReportInvalidCalls tells the report how many tools were called with invalid arguments.
func ReportInvalidCalls(t *T, calls report.InvalidCallCounts) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.invalidCalls = &calls
}

// CallPermission is what the run's policy says of a tool.
func CallPermission(t *T, tool Subject) report.Permission {
	_, examples := t.execution.options.Examples[tool.Name]
	return t.execution.options.Calls.Permit(tool.Value, examples)
}

// MayCallUnknown reports whether a tool that does not exist may be called.
func MayCallUnknown(t *T) bool { return t.execution.options.Calls != report.CallsNone }

// HasProtectedState reports whether the operator says that the state of requests for a tool, a prompt or a resource has
// to be protected, so that one that was tampered with must not be taken.
func HasProtectedState(t *T, name string) bool {
	return slices.Contains(t.execution.options.ProtectedState, name)
}

// ExampleArguments are the operator's arguments for a tool; nil when there are none.
func ExampleArguments(t *T, tool string) M { return t.execution.options.Examples[tool] }

// RememberArguments has a tool called with arguments from now on that it may answer sooner than others.
func RememberArguments(t *T, tool string, args M) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.knownArguments[tool] = args
}

// RememberedArguments are the arguments that RememberArguments was told of; nil if it was not called.
func RememberedArguments(t *T, tool string) M {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	return t.execution.knownArguments[tool]
}
