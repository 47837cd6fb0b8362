package harness

import (
	"fmt"
	"slices"
)

// Calls is which tools a run may call, and with what.
type Calls string

// The policies. The safe one calls unknown tools, tools not marked destructive with invalid arguments, and with valid
// ones those that are read-only or have example arguments.
const (
	CallsSafe Calls = "safe"
	CallsNone Calls = "none" // only what is not a call
	CallsAll  Calls = "all"  // everything
)

// ParseCalls reads a policy's name.
func ParseCalls(name string) (Calls, error) {
	switch c := Calls(name); c {
	case CallsSafe, CallsNone, CallsAll:
		return c, nil
	}
	return "", fmt.Errorf("unknown call policy %q (have safe, none, all)", name)
}

// Permission is what the policy says of one tool.
type Permission struct {
	Invalid bool   // may be called with arguments that its schema forbids
	Valid   bool   // may be called with arguments that its schema allows
	Why     string // why not, where one is forbidden
}

// Permit decides what a tool may be called with. examples reports whether the operator gave arguments for it.
func (c Calls) Permit(tool M, examples bool) Permission {
	hints, _ := tool["annotations"].(M)
	readOnly := hints["readOnlyHint"] == true
	destructive := hints["destructiveHint"] == true && !readOnly
	switch {
	case c == CallsNone:
		return Permission{Why: "--calls none"}
	case c == CallsAll:
		return Permission{Invalid: true, Valid: true}
	case examples:
		return Permission{Invalid: !destructive, Valid: true, Why: "it is marked destructive"}
	case readOnly:
		return Permission{Invalid: true, Valid: true}
	case destructive:
		return Permission{Why: "it is marked destructive"}
	}
	return Permission{Invalid: true, Why: "it is not marked read-only and has no example arguments"}
}

// UncalledTool is a tool that a run has not called with arguments that its schema allows, and why.
type UncalledTool struct {
	Name   string `json:"name"`
	Why    string `json:"why"`
	Barred bool   `json:"barred,omitempty"` // it may not be called so, and CallsRemedy is what to do about it
}

// CallsRemedy is how tools come to be called that may not be.
const CallsRemedy = "to call them with valid arguments: --calls all, or arguments in mcpcheck.yaml (mcpcheck init)"

// NotCalled tells the report which tools were not called with valid arguments, of all.
func (t *T) NotCalled(tools []UncalledTool) {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	t.run.uncalled = tools
}

// MayCall is what the run's policy says of a tool.
func (t *T) MayCall(tool Subject) Permission {
	_, examples := t.run.options.Examples[tool.Name]
	return t.run.options.Calls.Permit(tool.Value, examples)
}

// MayCallUnknown reports whether a tool that does not exist may be called.
func (t *T) MayCallUnknown() bool { return t.run.options.Calls != CallsNone }

// ProtectsState reports whether the operator says that the state of requests for a tool, a prompt or a resource has to
// be protected, so that one that was tampered with must not be taken.
func (t *T) ProtectsState(name string) bool { return slices.Contains(t.run.options.Guarded, name) }

// Example are the operator's arguments for a tool; nil when there are none.
func (t *T) Example(tool string) M { return t.run.options.Examples[tool] }

// Learn has a tool called with arguments from now on that it may answer sooner than others.
func (t *T) Learn(tool string, args M) {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	t.run.learnt[tool] = args
}

// Learnt are the arguments that Learn was told of; nil when there are none.
func (t *T) Learnt(tool string) M {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	return t.run.learnt[tool]
}
