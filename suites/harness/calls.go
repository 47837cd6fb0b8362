package harness

import (
	"fmt"
	"slices"
)

// CallPolicy is which tools a run may call, and with what.
type CallPolicy string

// The policies. Each but CallsNone also calls tools that do not exist.
const (
	// CallsSafe calls with arguments that the schema forbids only tools that are read-only, say that they are not
	// destructive, or have example arguments; with valid ones those that are read-only or have example arguments.
	CallsSafe CallPolicy = "safe"
	// CallsNone calls nothing.
	CallsNone CallPolicy = "none"
	// CallsInvalid is CallsSafe that also calls with invalid arguments whatever tool is not marked destructive.
	CallsInvalid CallPolicy = "invalid"
	// CallsAll calls everything.
	CallsAll CallPolicy = "all"
)

// CallPolicies are all policies.
var CallPolicies = []CallPolicy{CallsSafe, CallsNone, CallsInvalid, CallsAll}

// ParseCallPolicy reads a policy's name.
func ParseCallPolicy(name string) (CallPolicy, error) {
	if c := CallPolicy(name); slices.Contains(CallPolicies, c) {
		return c, nil
	}
	return "", fmt.Errorf("unknown call policy %q (have safe, none, invalid, all)", name)
}

// Permission is what the policy says of one tool. Whoever calls a tool that exists, by whatever path, asks for it.
type Permission struct {
	Invalid bool   // may be called with arguments that its schema forbids
	Valid   bool   // may be called with arguments that its schema allows
	Reason  string // why not, where one is forbidden
}

// AnyArguments reports whether the tool may be called with any arguments, also with others than those that are known to
// be harmless.
func (p Permission) AnyArguments() bool { return p.Valid && p.Invalid }

// Why a tool may not be called.
const (
	MarkedDestructive = "marked destructive"
	NotMarkedSafe     = "no readOnlyHint and no example arguments"
)

// Permit decides what a tool may be called with. examples reports whether the operator gave arguments for it: with
// these alone a tool is called that is marked destructive.
func (c CallPolicy) Permit(tool M, examples bool) Permission {
	hints, _ := tool["annotations"].(M)
	switch {
	case c == CallsNone:
		return Permission{Reason: "--calls none"}
	case c == CallsAll || IsReadOnly(tool):
		return Permission{Invalid: true, Valid: true}
	case hints["destructiveHint"] == true:
		return Permission{Valid: examples, Reason: MarkedDestructive}
	case examples:
		return Permission{Invalid: true, Valid: true}
	}
	return Permission{Invalid: c == CallsInvalid || hints["destructiveHint"] == false, Reason: NotMarkedSafe}
}

// IsReadOnly reports whether the server says of a tool that it changes nothing.
func IsReadOnly(tool M) bool {
	hints, _ := tool["annotations"].(M)
	return hints["readOnlyHint"] == true
}

// UncalledTool is a tool that a run has not called with arguments that its schema allows, and why.
type UncalledTool struct {
	Name      string `json:"name"`
	Reason    string `json:"why"`
	Forbidden bool   `json:"barred,omitempty"` // it may not be called so, and HowToAllowCalls is what to do about it
}

// HowToAllowCalls is how tools come to be called with valid arguments that may not be.
const HowToAllowCalls = "to test them: add example arguments to mcpcheck.yaml (mcpcheck init writes it), or " +
	"--calls all, " +
	"which runs every tool"

// InvalidCallCounts is how many tools a run has called with arguments that their schemas forbid, and how many it may
// not call so.
type InvalidCallCounts struct {
	Tried       int `json:"tried"`
	Unmarked    int `json:"unmarked,omitempty"`    // without a hint that it is harmless, and without an example
	Destructive int `json:"destructive,omitempty"` // marked so
}

// Tools is how many of them there are.
func (i InvalidCallCounts) Total() int { return i.Tried + i.Unmarked + i.Destructive }

// ReportUncalledTools tells the report which tools were not called with valid arguments, of all.
func ReportUncalledTools(t *T, tools []UncalledTool) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.uncalledTools = tools
}

// ReportInvalidCalls tells the report how many tools were called with invalid arguments.
func ReportInvalidCalls(t *T, calls InvalidCallCounts) {
	t.execution.mu.Lock()
	defer t.execution.mu.Unlock()
	t.execution.invalidCalls = &calls
}

// CallPermission is what the run's policy says of a tool.
func CallPermission(t *T, tool Subject) Permission {
	_, examples := t.execution.options.Examples[tool.Name]
	return t.execution.options.Calls.Permit(tool.Value, examples)
}

// MayCallUnknown reports whether a tool that does not exist may be called.
func MayCallUnknown(t *T) bool { return t.execution.options.Calls != CallsNone }

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
