package report

import (
	"fmt"
	"slices"
)

// CallPolicy is which tools a run may call, and with what.
type CallPolicy string

// Permit decides what a tool may be called with. examples reports whether the operator gave arguments for it: with
// these alone a tool is called that is marked destructive.
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
	// CallsSafe calls with arguments that the schema forbids only tools that are read-only, say that they are not
	// destructive, or have example arguments; with valid ones those that are read-only or have example arguments.
	CallsSafe CallPolicy = "safe"
)

const (
	// CallsNone calls nothing.
	CallsNone CallPolicy = "none"
)

const (
	// CallsInvalid is CallsSafe that also calls with invalid arguments whatever tool is not marked destructive.
	CallsInvalid CallPolicy = "invalid"
)

// The policies. Each but CallsNone also calls tools that do not exist.
const (

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

// IsReadOnly reports whether the server says of a tool that it changes nothing.
func IsReadOnly(tool map[string]any) bool {
	hints, _ := tool["annotations"].(map[string]any)
	return hints["readOnlyHint"] == true
}

// UncalledTool is a tool that a run has not called with arguments that its schema allows, and why.
type UncalledTool struct {
	Name      string `json:"name"`
	Reason    string `json:"why"`
	Forbidden bool   `json:"barred,omitempty"` // it may not be called so, and HowToAllowCalls is what to do about it
}

// InvalidCallCounts is how many tools a run has called with arguments that their schemas forbid, and how many it may
// not call so.
type InvalidCallCounts struct {
	Tried       int `json:"tried"`
	Unmarked    int `json:"unmarked,omitempty"`    // without a hint that it is harmless, and without an example
	Destructive int `json:"destructive,omitempty"` // marked so
}

// Tools is how many of them there are.
func (i InvalidCallCounts) Total() int { return i.Tried + i.Unmarked + i.Destructive }

// HowToAllowCalls is how tools come to be called with valid arguments that may not be.
const HowToAllowCalls = "to test them: add example arguments to mcpcheck.yaml (mcpcheck init writes it), or " +
	"--calls all, " +
	"which runs every tool"

const (
	MarkedDestructive = "marked destructive"
)

// Why a tool may not be called.
const (
	NotMarkedSafe = "no readOnlyHint and no example arguments"
)
