package toolcall

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ValidArguments are valid arguments for a tool that may be called with such; not says why there are none.
func ValidArguments(t *check.T, tool check.Subject) (args check.M, not *Uncalled) {
	if why := UncallableReason(tool.Value, t.Revision); why != "" {
		return nil, &Uncalled{Tool: tool, Detail: why, TaskOnly: why == reasonTaskOnly}
	}
	return TaskArguments(t, tool)
}

// withShortTimes adds to the arguments of a tool one second, or the minimum where that is more, for each optional
// property whose name says that it is a time, so that no check has to wait for the default.
func withShortTimes(tool check.Subject, schema *schemas.Schema, args check.M) check.M {
	input, _ := tool.Value["inputSchema"].(check.M)
	properties, _ := input["properties"].(check.M)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(check.M)
		if _, given := args[name]; given || !isTimeInSeconds(name, property) {
			continue
		}
		for _, seconds := range []any{property["minimum"], json.Number("1")} {
			shorter := maps.Clone(args)
			if shorter[name] = seconds; schema.Validate(shorter) == nil {
				args = shorter
			}
		}
	}
	return args
}

// isTimeInSeconds reports whether a number is a time by its name, and neither name nor description has another unit.
func isTimeInSeconds(name string, property check.M) bool {
	if kind := property["type"]; kind != "number" && kind != "integer" {
		return false
	}
	name = strings.ToLower(name)
	description, _ := property["description"].(string)
	return timeName.MatchString(name) && !strings.HasSuffix(name, "ms") &&
		!otherTimeUnit.MatchString(name+" "+strings.ToLower(description))
}

var (
	timeName      = regexp.MustCompile("duration|delay|sleep|wait|seconds")
	otherTimeUnit = regexp.MustCompile("milli|minute|hour|day")
)

// TaskArguments are ValidArguments for a call that is to run as a task.
func TaskArguments(t *check.T, tool check.Subject) (args check.M, not *Uncalled) {
	if p := check.CallPermission(t, tool); !p.Valid {
		return nil, &Uncalled{Tool: tool, Detail: p.Reason, Forbidden: true}
	}
	if example := check.ExampleArguments(t, tool.Name); example != nil {
		return example, nil
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err == nil {
		args, err = schemas.ValidArguments(schema, t.Seed)
	}
	if err != nil {
		return nil, &Uncalled{Tool: tool, Detail: err.Error()}
	}
	return withShortTimes(tool, schema, args), nil
}

// ArgumentsToVary are ValidArguments of a tool that a check may change; not says why there are none.
func ArgumentsToVary(t *check.T, tool check.Subject) (arguments check.M, not *Uncalled) {
	if arguments, not = ValidArguments(t, tool); not == nil {
		not = CheckMayVary(t, tool)
	}
	return arguments, not
}

// CheckMayVary says why a tool may not be called with arbitrary arguments; nil when it may. Changed example arguments
// may do harm that the example does not.
func CheckMayVary(t *check.T, tool check.Subject) *Uncalled {
	if p := check.CallPermission(t, tool); !p.AnyArguments() {
		return &Uncalled{Tool: tool, Detail: p.Reason, Forbidden: true}
	}
	return nil
}

// CheckMayCallInvalid says why a tool may not be called with invalid arguments; nil when it may.
func CheckMayCallInvalid(t *check.T, tool check.Subject) *Uncalled {
	if why := UncallableReason(tool.Value, t.Revision); why != "" {
		return &Uncalled{Tool: tool, Detail: why, TaskOnly: why == reasonTaskOnly}
	}
	if p := check.CallPermission(t, tool); !p.Invalid {
		return &Uncalled{Tool: tool, Detail: p.Reason, Forbidden: true}
	}
	return nil
}

// counterexamples are invalid arguments for a tool that may be called with such; not says which may not be used, and
// why.
func counterexamples(t *check.T, tool check.Subject) (broken []schemas.Counterexample, not []Uncalled) {
	if not := CheckMayCallInvalid(t, tool); not != nil {
		return nil, []Uncalled{*not}
	}
	all, err := allCounterexamples(t, tool)
	if err != nil {
		return nil, []Uncalled{{Tool: tool, Detail: err.Error()}}
	}
	p := check.CallPermission(t, tool)
	for _, b := range all {
		if !p.Valid && isOftenIgnored(b.Keyword) {
			not = append(not, Uncalled{Tool: tool, Keyword: b.Keyword, Detail: p.Reason, Forbidden: true})
			continue
		}
		broken = append(broken, b)
	}
	return broken, not
}

// furtherCounterexamples are the counterexamples at all other places of a tool's schema, where counterexamples has
// one for each keyword. Only tools that may be called with any arguments have some: one that looks at the first
// property only executes these calls.
func furtherCounterexamples(t *check.T, tool check.Subject) []schemas.Counterexample {
	if CheckMayCallInvalid(t, tool) != nil || !check.CallPermission(t, tool).AnyArguments() {
		return nil
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil
	}
	valid, not := TaskArguments(t, tool)
	if not != nil || schema.Validate(valid) != nil {
		return nil
	}
	return schemas.FurtherCounterexamples(schema, valid, t.Seed)
}

// isOftenIgnored reports whether many servers accept arguments that violate the keyword, and execute the call.
func isOftenIgnored(keyword string) bool {
	return keyword == "additionalProperties" || slices.Contains(BoundKeywords, keyword) ||
		slices.Contains(schemas.CompositionKeywords, keyword)
}

func allCounterexamples(t *check.T, tool check.Subject) ([]schemas.Counterexample, error) {
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil, err
	}
	valid := check.ExampleArguments(t, tool.Name)
	if valid == nil {
		if valid, err = schemas.ValidArguments(schema, t.Seed); err != nil {
			return nil, err
		}
	}
	if limit := (*schemas.LimitError)(nil); errors.As(schema.Validate(valid), &limit) {
		return nil, limit // all variations of the arguments exceed it, too
	}
	return schemas.Counterexamples(schema, valid, t.Seed), nil
}

// UncallableReason says why a tool cannot be called without a task; empty when it can. Modern definitions do not say
// that; the server says it in the reply.
func UncallableReason(tool check.M, revision string) string {
	execution, _ := tool["execution"].(check.M)
	switch _, named := tool["name"].(string); {
	case !named:
		return "it has no name"
	case execution["taskSupport"] == "required" && !catalogue.IsModern(revision):
		return reasonTaskOnly
	}
	return ""
}

const reasonTaskOnly = "it only runs as a task"

// ListedTools are the tools that discovery found.
func ListedTools(t *check.T) []check.Subject { return protocol.NamedSubjects(t.Server.Tools) }

// ToolsInCallOrder are the listed tools in the order in which they are called: read-only ones first, and otherwise by
// the seed. The order of the list does not matter.
func ToolsInCallOrder(t *check.T) []check.Subject { return SortForCalls(t, ListedTools(t)) }

// SortForCalls sorts any tools as ToolsInCallOrder does.
func SortForCalls(t *check.T, tools []check.Subject) []check.Subject {
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b check.Subject) int { return strings.Compare(a.Name, b.Name) })
	random := rand.New(rand.NewPCG(uint64(t.Seed), 2))
	random.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
	rank := func(tool check.Subject) int {
		if report.IsReadOnly(tool.Value) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(tools, func(a, b check.Subject) int { return rank(a) - rank(b) })
	return tools
}

// BoundKeywords are the JSON Schema keywords that bound a value of the right type.
var BoundKeywords = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "minItems", "maxItems",
}
