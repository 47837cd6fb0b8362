package explore

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// mayBeSent reports whether the request of a step may be sent: a call of a tool with these arguments has to be
// permitted, and its schema has to allow them.
func (x *explorer) mayBeSent(step Step, params check.M) bool {
	if step.Method != "tools/call" {
		return true
	}
	name, _ := params["name"].(string)
	if name == unknownName {
		return x.o.Calls != report.CallsNone
	}
	tool, ok := x.tools[name]
	if !ok {
		return false
	}
	arguments, _ := params["arguments"].(check.M)
	return tool.accepts(arguments)
}

// callableTool is a tool that may be called.
type callableTool struct {
	name   string
	schema *schemas.Schema
	// output is the outputSchema; nil without one that can be used.
	output *schemas.Schema
	// arguments are valid ones.
	arguments []check.M
	// fixed says that no others may be sent.
	fixed bool
	// runsAsTask says that a call may be a task, and isTaskOnly that it has to be one.
	runsAsTask, isTaskOnly bool
	// readOnly says that a call changes nothing.
	readOnly bool
	// isSlow says that a call took so long that no more are drawn.
	isSlow bool
}

// accepts reports whether the tool may be called with arguments.
func (c *callableTool) accepts(arguments check.M) bool {
	if arguments == nil {
		arguments = check.M{}
	}
	if c.fixed {
		return string(encode(arguments, 0)) == string(encode(c.arguments[0], 0))
	}
	return c.schema.Validate(jsonOf(arguments)) == nil
}

// jsonOf returns a value as it is decoded from JSON.
func jsonOf(arguments check.M) any { return driver.Decode(encode(arguments, 0)) }

// call draws a call of a tool, with arguments that its schema allows.
func (g *generator) call(p *play) (Step, bool) {
	tool := g.x.tools[oneOf(g, g.x.toolNames)]
	if other := g.x.tools[oneOf(g, g.x.toolNames)]; len(other.arguments) > len(tool.arguments) {
		tool = other // what takes arguments is called more often
	}
	if tool.isSlow || g.quiet && !tool.readOnly {
		return Step{}, false
	}
	arguments := oneOf(g, tool.arguments)
	if !tool.fixed && g.IntN(2) == 0 {
		arguments = g.mine(p, tool, arguments)
	}
	params := check.M{"name": tool.name, "arguments": arguments}
	if tool.isTaskOnly || tool.runsAsTask && g.IntN(2) == 0 {
		params["task"] = check.M{"ttl": taskTTL.Milliseconds()}
	}
	return Step{Action: Request, Method: "tools/call", Params: params}, true
}

// mine replaces one argument by a value that an earlier result has, if the schema allows it.
func (g *generator) mine(p *play, tool *callableTool, arguments check.M) check.M {
	found := g.minedValues(p)
	if len(arguments) == 0 || len(found) == 0 {
		return arguments
	}
	name := oneOf(g, slices.Sorted(maps.Keys(arguments)))
	for range 4 {
		v := oneOf(g, found)
		tried := maps.Clone(arguments)
		if tried[name] = v.value; !tool.accepts(tried) {
			continue
		}
		tried[name] = reference(v.step, v.at)
		return tried
	}
	return arguments
}

// minedValue is a value in the result of a step.
type minedValue struct {
	step  int
	at    []any
	value any
}

// maxMined is how many values of one result are used.
const maxMined = 40

// minedValues returns values of earlier results of calls and lists.
func (g *generator) minedValues(p *play) (found []minedValue) {
	for _, step := range p.steps {
		result := p.result(step.Number)
		if result == nil || step.Session != g.session {
			continue
		}
		before := len(found)
		var walk func(value any, at []any)
		walk = func(value any, at []any) {
			if len(found)-before >= maxMined || len(at) > 6 {
				return
			}
			switch v := value.(type) {
			case check.M:
				for _, name := range slices.Sorted(maps.Keys(v)) {
					if name != "_meta" && name != "inputSchema" && name != "outputSchema" {
						walk(v[name], append(slices.Clone(at), name))
					}
				}
			case []any:
				for i, item := range v {
					walk(item, append(slices.Clone(at), i))
				}
			case string:
				if len(v) > 0 && len(v) <= 200 {
					found = append(found, minedValue{step.Number, at, v})
				}
			case json.Number:
				found = append(found, minedValue{step.Number, at, v})
			}
		}
		walk(map[string]any(result), nil)
	}
	return found
}

// newTools returns the tools that may be called with valid arguments.
func (x *explorer) newTools() {
	x.tools = map[string]*callableTool{}
	for _, tool := range x.server.Tools {
		name, _ := tool["name"].(string)
		example, given := x.o.Examples[name]
		may := x.o.Calls.Permit(tool, given)
		execution, _ := tool["execution"].(check.M)
		support, _ := execution["taskSupport"].(string)
		isTaskOnly := x.hasTasks() && support == "required"
		isCallable := isTaskOnly || toolcall.UncallableReason(tool, x.server.Revision) == ""
		if !may.Valid || !isCallable || x.tools[name] != nil {
			continue
		}
		schema, err := schemas.Compile(tool["inputSchema"], x.server.Revision)
		if err != nil {
			continue
		}
		c := &callableTool{name: name, schema: schema, fixed: given, readOnly: isReadOnly(tool), isTaskOnly: isTaskOnly}
		c.runsAsTask = x.hasTasks() && (support == "required" || support == "optional")
		if given {
			c.arguments = []check.M{example}
		} else if c.arguments = x.argumentsFor(schema); len(c.arguments) == 0 {
			continue
		}
		if output, isObject := tool["outputSchema"].(check.M); isObject {
			if compiled, err := schemas.Compile(output, x.server.Revision); err == nil {
				c.output = compiled
			}
		}
		x.tools[name] = c
	}
	x.toolNames = slices.Sorted(maps.Keys(x.tools))
}

// argumentsFor returns valid arguments, among them those at the bounds of the schema.
func (x *explorer) argumentsFor(schema *schemas.Schema) (all []check.M) {
	for seed := range int64(3) {
		if arguments, err := schemas.ValidArguments(schema, x.o.Seed+seed); err == nil {
			all = append(all, arguments)
		}
	}
	if len(all) > 0 {
		all = append(all, schemas.OtherArguments(schema, all[0])...)
	}
	return slices.DeleteFunc(all, func(a check.M) bool { return schema.Validate(jsonOf(a)) != nil })
}
