package toolcall

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// ToolsTaking returns the tools for which is reports true, that have a property of type string for which takes does,
// that may be called with any arguments, and whose valid call was answered soon; not are those that lack one of the
// last two.
func ToolsTaking(
	t *check.T, is func(tool check.M) bool, takes func(name string, property check.M) bool,
) (tools []check.Subject, not []Uncalled) {
	for _, tool := range ToolsInCallOrder(t) {
		if !is(tool.Value) || len(propertiesTaking(tool, takes)) == 0 {
			continue
		}
		if _, why := ArgumentsToVary(t, tool); why != nil {
			not = append(not, *why)
		} else {
			tools = append(tools, tool)
		}
	}
	if len(tools) == 0 {
		return nil, not
	}
	answered := AnsweredCalls(ValidCalls(t).List)
	tools = slices.DeleteFunc(tools, func(tool check.Subject) bool {
		isSoon := func(c ToolCall) bool { return c.Tool.Name == tool.Name && c.Duration < timing.SlowCall }
		if slices.ContainsFunc(answered, isSoon) {
			return false
		}
		detail := fmt.Sprintf("it has not answered a call within %v", timing.SlowCall)
		not = append(not, Uncalled{Tool: tool, Detail: detail, Unanswered: len(answered) == 0})
		return true
	})
	return tools, not
}

// ArgumentsWith returns valid arguments of a tool of ToolsTaking with this value for one of the properties; nil if its
// schema allows none.
func ArgumentsWith(
	t *check.T, tool check.Subject, takes func(name string, property check.M) bool, value string,
) check.M {
	valid, _ := ArgumentsToVary(t, tool)
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil
	}
	for _, name := range propertiesTaking(tool, takes) {
		arguments := maps.Clone(valid)
		if arguments == nil {
			arguments = check.M{}
		}
		if arguments[name] = value; schema.Validate(arguments) == nil {
			return arguments
		}
	}
	return nil
}

// propertiesTaking returns the properties of type string of a tool's arguments for which takes reports true: first
// those that are required.
func propertiesTaking(tool check.Subject, takes func(name string, property check.M) bool) (names []string) {
	input, _ := tool.Value["inputSchema"].(check.M)
	properties, _ := input["properties"].(check.M)
	required, _ := input["required"].([]any)
	for name, property := range properties {
		if described, _ := property.(check.M); described["type"] == "string" && takes(name, described) {
			names = append(names, name)
		}
	}
	rank := func(name string) int {
		if slices.Contains(required, any(name)) {
			return 0
		}
		return 1
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	return names
}
