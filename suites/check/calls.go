package check

import (
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ReportUncalledTools sets the list of all tools that were not called with valid arguments, for the report.
func ReportUncalledTools(t *T, tools []report.UncalledTool) {
	t.attempt.Run.UncalledTools.Store(&tools)
}

// ReportInvalidCalls sets how many tools were called with invalid arguments, for the report.
func ReportInvalidCalls(t *T, calls report.InvalidCallCounts) {
	t.attempt.Run.InvalidCalls.Store(&calls)
}

// CallPermission returns which calls of a tool the run's policy permits.
func CallPermission(t *T, tool Subject) report.Permission {
	_, examples := t.attempt.Run.Examples[tool.Name]
	return t.attempt.Run.Calls.Permit(tool.Value, examples)
}

// MayCallUnknown reports whether the run's policy permits a call of a tool that does not exist.
func MayCallUnknown(t *T) bool { return t.attempt.Run.Calls != report.CallsNone }

// Declarations are what the operator says of the server, since nothing that it sends tells.
type Declarations = attempt.Declarations

// DeclarationsOf returns what the operator says of the server.
func DeclarationsOf(t *T) Declarations { return t.attempt.Run.Declarations }

// ExampleArguments returns the operator's arguments for a tool; nil when there are none.
func ExampleArguments(t *T, tool string) M { return t.attempt.Run.Examples[tool] }
