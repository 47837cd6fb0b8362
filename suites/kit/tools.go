package kit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// UnknownTool is the name of a tool that no server has, and the answer to a call of it.
func UnknownTool(t *T) (name string, r driver.Reply) {
	name = UnknownName(t)
	if !t.MayCallUnknown() {
		t.Inconclusive("tools are not called (--calls none)")
	}
	return name, Shared(t, "unknown tool", func(t *T) driver.Reply {
		return t.Try(t.Session(), "tools/call", M{"name": name, "arguments": M{}})
	})
}

// UnknownName is a name that no tool has, the same one for the same seed.
func UnknownName(t *T) string {
	return fmt.Sprintf("mcpcheck_no_such_tool_%06x", rand.New(rand.NewPCG(uint64(t.Seed), 1)).IntN(1<<24))
}

// validArguments are arguments for a tool that may be called with valid ones; why says why there are none.
func validArguments(t *T, tool Subject) (args M, why string) {
	if why := Uncallable(tool.Value); why != "" {
		return nil, why
	}
	if p := t.MayCall(tool); !p.Valid {
		return nil, p.Why
	}
	if example := t.Example(tool.Name); example != nil {
		return example, ""
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil, err.Error()
	}
	args, err = schemas.Valid(schema, t.Seed)
	if err != nil {
		return nil, err.Error()
	}
	return args, ""
}

// counterexamples are arguments for a tool that may be called with invalid ones; why says why there are none.
func counterexamples(t *T, tool Subject) (broken []schemas.Counterexample, why string) {
	if why := Uncallable(tool.Value); why != "" {
		return nil, why
	}
	p := t.MayCall(tool)
	if !p.Invalid {
		return nil, p.Why
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil, err.Error()
	}
	valid := t.Example(tool.Name)
	if valid == nil {
		if valid, err = schemas.Valid(schema, t.Seed); err != nil {
			return nil, err.Error()
		}
	}
	if limit := (*schemas.LimitError)(nil); errors.As(schema.Validate(valid), &limit) {
		return nil, limit.Error() // and so are all variations of it
	}
	broken = schemas.Counterexamples(schema, valid, t.Seed)
	if !p.Valid { // many servers take these for good, and do what the arguments say
		broken = slices.DeleteFunc(broken, func(b schemas.Counterexample) bool {
			return b.Keyword == "additionalProperties" || slices.Contains(Bounds, b.Keyword)
		})
	}
	return broken, ""
}

// Uncallable says why a tool cannot be called plainly; empty when it can.
func Uncallable(tool M) string {
	execution, _ := tool["execution"].(M)
	switch _, named := tool["name"].(string); {
	case !named:
		return "it has no name"
	case execution["taskSupport"] == "required":
		return "it only runs as a task"
	}
	return ""
}

// ListedTools are the tools that discovery found.
func ListedTools(t *T) []Subject { return toolSubjects(t.Server.Tools) }

// toolSubjects names tools; one without a name is known by its place.
func toolSubjects(tools []M) (subjects []Subject) {
	for i, tool := range tools {
		name, ok := tool["name"].(string)
		if !ok {
			name = fmt.Sprintf("#%d", i+1)
		}
		subjects = append(subjects, Subject{Name: name, Value: tool})
	}
	return subjects
}

// ReadOnlyFirst are tools in another order: those that say that they change nothing come first.
func ReadOnlyFirst(tools []Subject) []Subject {
	sorted := slices.Clone(tools)
	rank := func(tool Subject) int {
		if hints, _ := tool.Value["annotations"].(M); hints["readOnlyHint"] == true {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(sorted, func(a, b Subject) int { return rank(a) - rank(b) })
	return sorted
}

// Bounds are the keywords that bound a value of the right type.
var Bounds = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "minItems", "maxItems",
}
