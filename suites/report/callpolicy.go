package report

import (
	"fmt"
	"slices"
)

// CallPolicy says which tools a run may call, and with which arguments. Every policy except CallsNone also permits
// calls of tools that do not exist.
type CallPolicy string

// Permit returns which calls of a tool the policy permits. examples says that the operator has provided arguments for
// it: only these are used for a tool marked as destructive.
func (c CallPolicy) Permit(tool map[string]any, examples bool) Permission {
	hints, _ := tool["annotations"].(map[string]any)
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

const (
	// CallsSafe permits invalid arguments for tools that are marked as read-only or not destructive or have example
	// arguments, and valid ones for tools that are marked as read-only or have example arguments.
	CallsSafe CallPolicy = "safe"
	// CallsNone permits no calls.
	CallsNone CallPolicy = "none"
	// CallsInvalid is CallsSafe with invalid arguments for every tool that is not marked as destructive.
	CallsInvalid CallPolicy = "invalid"
	// CallsAll permits all calls.
	CallsAll CallPolicy = "all"
)

// CallPolicies are all policies.
var CallPolicies = []CallPolicy{CallsSafe, CallsNone, CallsInvalid, CallsAll}

// ParseCallPolicy returns the policy with the given name.
func ParseCallPolicy(name string) (CallPolicy, error) {
	if c := CallPolicy(name); slices.Contains(CallPolicies, c) {
		return c, nil
	}
	return "", fmt.Errorf("unknown call policy %q (have safe, none, invalid, all)", name)
}

// Permission says which calls of one tool a policy permits. Every call of an existing tool requires it.
type Permission struct {
	// Invalid permits arguments that the tool's schema forbids.
	Invalid bool
	// Valid permits arguments that the tool's schema allows.
	Valid bool
	// Reason says why one of these is not permitted.
	Reason string
}

// AnyArguments reports whether the tool may be called with any arguments, not only with those known to be harmless.
func (p Permission) AnyArguments() bool { return p.Valid && p.Invalid }

// IsReadOnly reports whether a tool has the annotation readOnlyHint.
func IsReadOnly(tool map[string]any) bool {
	hints, _ := tool["annotations"].(map[string]any)
	return hints["readOnlyHint"] == true
}

// UncalledTool is a tool that a run has not called with valid arguments, with the reason.
type UncalledTool struct {
	Name   string `json:"name"`
	Reason string `json:"why"`
	// Forbidden says that the policy does not permit such a call; HowToAllowCalls says how to permit it.
	Forbidden bool `json:"barred,omitempty"`
}

// InvalidCallCounts is how many tools a run has called with invalid arguments, and how many it was not permitted to
// call so.
type InvalidCallCounts struct {
	Tried int `json:"tried"`
	// Unmarked counts the tools without a hint that they are harmless and without example arguments.
	Unmarked int `json:"unmarked,omitempty"`
	// Destructive counts the tools that are marked as destructive.
	Destructive int `json:"destructive,omitempty"`
}

// Total returns the number of all tools.
func (i InvalidCallCounts) Total() int { return i.Tried + i.Unmarked + i.Destructive }

// HowToAllowCalls tells users how to permit calls with valid arguments.
const HowToAllowCalls = "to test them: add example arguments to mcpcheck.yaml (mcpcheck init writes it), or " +
	"--calls all, " +
	"which runs every tool"

const (
	// MarkedDestructive is a Permission.Reason.
	MarkedDestructive = "marked destructive"
	// NotMarkedSafe is a Permission.Reason.
	NotMarkedSafe = "no readOnlyHint and no example arguments"
)
