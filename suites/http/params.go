package http

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// mirroredArguments are the checks of the headers that say again what the arguments of a call are.
var mirroredArguments = Suite{
	"http/param-header-match": Probe(func(t *T) { expectTaken(t, plainCall(t)) }),

	"http/param-header-missing": Probe(func(t *T) {
		pick(t, argumentMisfits(t), noArgument).expectRefused(t)
	}),

	"http/param-header-mismatch": Probe(func(t *T) {
		pick(t, argumentMisfits(t), otherArgument).expectRefused(t)
	}),

	"http/param-header-base64": Probe(func(t *T) {
		p := wantArgument(t, argument.isFree)
		p.expectTaken(t, "Hello, 世界", nil) // which the session encodes
	}),

	"http/param-header-base64-invalid": Probe(func(t *T) {
		p := wantArgument(t, argument.isFree)
		tries := p.misfits(t, "Hello", []form{
			{"a value that is not Base64", kit.Header(p.header, "=?base64?SGVs!!!bG8=?=")},
			{"a value without its padding", kit.Header(p.header, "=?base64?SGVsbG8?=")},
		})
		tries[0].expectRefused(t)
		eachMisfit(t, tries[1:], func(t *T, x misfitted) {
			t.Warn(x).To(That("HTTP 400, since the padding is missing", misfitted.isRefused))
		})
	}),

	"http/param-header-literal-lookalike": Probe(func(t *T) {
		p := wantArgument(t, argument.isFree)
		for _, text := range []string{"SGVsbG8=", "=?base64?SGVsbG8=", "=?BASE64?SGVsbG8=?="} {
			p.expectTaken(t, text, nil)
		}
	}),

	"http/param-header-invalid-characters": Probe(func(t *T) {
		p := wantArgument(t, argument.isText)
		p.misfits(t, p.value, []form{{"bytes beyond ASCII", kit.Header(p.header, "a\x80\xff")}})[0].expectRefused(t)
	}),

	"http/param-header-null-or-absent": Probe(func(t *T) {
		p := wantArgument(t, argument.isOptional)
		p.expectTaken(t, driver.Omitted, nil)
		if p.mayBeNull() {
			p.expectTaken(t, nil, nil)
		}
	}),

	"http/param-header-unexpected": Probe(func(t *T) {
		p := wantArgument(t, argument.isOptional)
		surplus := form{"a header of an argument that is not there", kit.Header(p.header, "x")}
		p.misfits(t, driver.Omitted, []form{surplus})[0].expectRefused(t)
	}),

	"http/param-header-integer-numeric": Probe(func(t *T) {
		p := wantArgument(t, func(p argument) bool { return p.schema["type"] == "integer" })
		p.expectTaken(t, p.value, kit.Header(p.header, fmt.Sprintf("%v.0", p.value)))
	}),

	"http/param-header-boolean": Probe(func(t *T) {
		p := wantArgument(t, func(p argument) bool { return p.schema["type"] == "boolean" })
		p.expectTaken(t, true, nil)
		p.misfits(t, true, []form{{"True in place of true", kit.Header(p.header, "True")}})[0].expectRefused(t)
	}),

	"http/param-header-nested-path": Probe(func(t *T) {
		p := wantArgument(t, func(p argument) bool { return len(p.path) > 1 })
		p.expectTaken(t, p.value, nil)
		p.misfits(t, p.value, []form{{noArgument, kit.Header(p.header)}})[0].expectRefused(t)
	}),

	"http/param-header-unknown-ignored": Probe(func(t *T) {
		p := wantArgument(t, argument.isAny)
		p.expectTaken(t, p.value, kit.Header(paramHeader+"Mcpcheck", "1"))
	}),
}

// What is wrong with the header of an argument.
const (
	noArgument    = "no header for an argument"
	otherArgument = "another value in the header of an argument"
)

// argument is one of a tool that the call has to say again in a header.
type argument struct {
	tool      Subject
	header    string
	path      []string // to it, in the arguments
	schema    M
	required  bool // on its path, something is
	value     any
	arguments M // valid ones that have it
}

func (argument) isAny() bool { return true }

// isUnnamed reports whether no header can have the name.
func (p argument) isUnnamed() bool {
	return !httpguts.ValidHeaderFieldName(p.header) || p.header == paramHeader
}

func (p argument) isText() bool { return p.schema["type"] == "string" }

// isFree reports whether any text will do.
func (p argument) isFree() bool {
	bound := func(keyword string) bool { return Has(p.schema, keyword) }
	return p.isText() && !slices.ContainsFunc([]string{"enum", "const", "pattern", "format", "maxLength"}, bound)
}

func (p argument) isOptional() bool { return !p.required }

func (p argument) mayBeNull() bool {
	types, _ := p.schema["type"].([]any)
	return slices.Contains(types, any("null"))
}

// wantArgument is the first argument of a kind whose tool may be called; it ends a check that has none.
func wantArgument(t *T, is func(argument) bool) argument {
	p, none := findArgument(t, is)
	switch {
	case none == nil:
		return p
	case none.Tool.Name == "":
		t.Because(NotOffered).Skip("%s", none.Why)
	case none.Barred:
		t.Because(CallsOff).Inconclusive("the tool with such an argument may not be called with all values: %v", *none)
	}
	t.Inconclusive("the tool with such an argument cannot be called: %v", *none)
	return p
}

// findArgument is wantArgument for who can do without; none says why there is none, and of which tool.
func findArgument(t *T, is func(argument) bool) (p argument, none *kit.Uncalled) {
	none = &kit.Uncalled{Why: "no tool has such an argument with x-mcp-header"}
	for _, tool := range kit.Choice(t) {
		schema, _ := tool.Value["inputSchema"].(M)
		arguments := argumentsIn(schema)
		if slices.ContainsFunc(arguments, argument.isUnnamed) {
			none = &kit.Uncalled{Tool: tool, Why: "clients do not call it: tools/x-mcp-header-name"}
			continue
		}
		for _, p := range arguments {
			if p.tool = tool; !is(p) {
				continue
			}
			if not := p.fill(t); not != nil {
				none = not
				continue
			}
			return p, nil
		}
	}
	return p, none
}

// argumentsIn are the arguments of a schema that have a header, reached by properties alone, in the order of their
// names.
func argumentsIn(schema M) (all []argument) {
	properties, _ := schema["properties"].(M)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(M)
		if header, marked := property["x-mcp-header"].(string); marked {
			all = append(all, argument{
				header: paramHeader + header, path: []string{name}, schema: property,
				required: slices.Contains(required, any(name)),
			})
		}
		for _, inner := range argumentsIn(property) {
			inner.path = append([]string{name}, inner.path...)
			all = append(all, inner)
		}
	}
	return all
}

// fill finds arguments for the tool that have this one; not says why there are none.
func (p *argument) fill(t *T) (not *kit.Uncalled) {
	tool := p.tool
	tool.Value = maps.Clone(tool.Value)
	schema, _ := tool.Value["inputSchema"].(M)
	tool.Value["inputSchema"] = requiring(schema, p.path)
	if p.arguments, not = kit.ValidArguments(t, tool); not == nil {
		not = kit.MayVary(t, tool)
	}
	if not != nil {
		return not
	}
	object := p.arguments
	for _, name := range p.path[:len(p.path)-1] {
		object, _ = object[name].(M)
	}
	p.value = object[p.path[len(p.path)-1]]
	if p.value == nil {
		return &kit.Uncalled{Tool: p.tool, Why: "its arguments have no " + strings.Join(p.path, ".")}
	}
	return nil
}

// requiring is a schema whose values have what is at a path.
func requiring(schema M, path []string) M {
	if len(path) == 0 {
		return schema
	}
	schema = maps.Clone(schema)
	required, _ := schema["required"].([]any)
	if !slices.Contains(required, any(path[0])) {
		schema["required"] = append(slices.Clone(required), path[0])
	}
	properties, _ := schema["properties"].(M)
	properties = maps.Clone(properties)
	inner, _ := properties[path[0]].(M)
	properties[path[0]] = requiring(inner, path[1:])
	schema["properties"] = properties
	return schema
}

// call is the call of the tool with another value of the argument; driver.Omitted leaves it out.
func (p argument) call(value any) kit.Request {
	params := M{"name": p.tool.Name, "arguments": with(p.arguments, p.path, value)}
	return kit.Request{Method: "tools/call", Params: kit.Declaring(params, kit.Able)}
}

// with is an object with another value at a path.
func with(object M, path []string, value any) M {
	object = maps.Clone(object)
	if object == nil {
		object = M{}
	}
	switch inner, _ := object[path[0]].(M); {
	case len(path) > 1:
		object[path[0]] = with(inner, path[1:], value)
	case value == driver.Omitted:
		delete(object, path[0])
	default:
		object[path[0]] = value
	}
	return object
}

// misfits are the call with a value, and headers that do not fit.
func (p argument) misfits(t *T, value any, forms []form) []misfitted {
	all := misfits(t, p.call(value), forms)
	for _, x := range all {
		if code, isError := x.usual.Code(); isError && !x.isRefused() {
			t.Inconclusive("%s is answered with error %d whatever its headers say", p.tool.Name, code)
		}
	}
	return all
}

// try makes the call with a value of the argument, and with other headers than it should have.
func (p argument) try(t *T, value any, header http.Header) kit.Attempt {
	request := p.call(value)
	request.Header = header
	s := t.Session()
	x := kit.ByHand(s, request)
	x.Reply()
	return kit.AttemptOf(s, p.tool.Name, x)
}

// plainCall is a call of a tool with an argument that stands in a header, as any client makes it.
func plainCall(t *T) kit.Attempt {
	p := wantArgument(t, argument.isAny)
	return Step(t, "a call with its headers", func(t *T) kit.Attempt { return p.try(t, p.value, nil) })
}

// expectTaken wants the call not refused for its headers, unless any call is.
func (p argument) expectTaken(t *T, value any, header http.Header) {
	x := p.try(t, value, header)
	if isMismatch(x.Reply()) && isMismatch(plainCall(t).Reply()) {
		t.Yield("any call with such a header is refused")
	}
	expectTaken(t, x)
}

// expectTaken wants a call not refused for its headers. Whether the tool likes the arguments is its own business.
func expectTaken(t *T, x kit.Attempt) {
	kit.EachAttempt(t, []kit.Attempt{x}, func(t *T, x kit.Attempt) {
		r, a := Accept(t, x.Reply()), kit.Own(t, x.Answer())
		t.Expect(r).To(That("the call taken with its headers", func(r driver.Reply) bool {
			return !isMismatch(r) && (!r.Bare() || a.Status != http.StatusBadRequest)
		}))
	})
}

// argumentMisfits are those of a call of a tool whose argument stands in a header.
func argumentMisfits(t *T) []misfitted {
	p := wantArgument(t, argument.isAny)
	return Step(t, "headers of arguments that do not fit", func(t *T) []misfitted {
		return p.misfits(t, p.value, []form{
			{noArgument, kit.Header(p.header)}, {otherArgument, kit.Header(p.header, "mcpcheck-other")},
		})
	})
}
