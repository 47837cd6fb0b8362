package http

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"
	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// paramHeaderChecks are the checks of the headers that mirror arguments of a call.
var paramHeaderChecks = check.Suite{
	"http/param-header-match": check.Probe(func(t *check.T) {
		expectAccepted(t, validCall(t))
		others := slices.DeleteFunc(requireArguments(t, argument.isAny)[1:], argument.hasOwnCheck)
		for _, p := range requests.Affordable(t, others, 1) {
			expectAccepted(t, p.send(t, p.value, nil))
		}
	}),

	"http/param-header-missing": check.Probe(func(t *check.T) {
		eachArgument(t, argument.isAny, func(t *check.T, p argument) {
			findMismatch(t, p.mismatches(t), noParamHeader).expectRefused(t)
		})
	}),

	"http/param-header-mismatch": check.Probe(func(t *check.T) {
		eachArgument(t, argument.isAny, func(t *check.T, p argument) {
			all := p.mismatches(t)
			missing := findMismatch(t, all, noParamHeader)
			findMismatch(t, all, otherParamHeader).expectRefused(t, missing)
			for _, x := range all {
				if x.Subject.Name == paramBeginning || x.Subject.Name == paramInOtherCase {
					x.expectRefused(t, missing)
				}
			}
			usual := headerVariant{otherParamHeader, roundtrip.Header(p.header, fmt.Sprint(p.value))}
			for _, value := range p.otherValues() {
				for _, x := range headerMismatches(t, p.request(value), []headerVariant{usual}) {
					if _, isError := x.validReply.Code(); !isError || x.isRefused() {
						x.expectRefused(t, missing)
					}
				}
			}
		})
	}),

	"http/param-header-base64": check.Probe(func(t *check.T) {
		eachArgument(t, argument.isAny, func(t *check.T, p argument) {
			if p.isFreeText() {
				p.expectAccepted(t, "Hello, 世界", nil) // the session encodes it
			}
			x := p.send(t, p.value, roundtrip.Header(p.header, encodeBase64(fmt.Sprint(p.value))))
			p.expectPlainDecoded(t, x)
		})
	}),

	"http/param-header-base64-invalid": check.Probe(func(t *check.T) {
		p := requireArgument(t, argument.isFreeText)
		others := p.mismatches(t)
		tries := p.headerMismatches(t, "Hello", []headerVariant{
			{"a value that is not Base64", roundtrip.Header(p.header, "=?base64?SGVs!!!bG8=?=")},
			{"a value without its padding", roundtrip.Header(p.header, "=?base64?SGVsbG8?=")},
		})
		tries[0].expectRefused(t, others...)
		eachMismatch(t, tries[1:], func(t *check.T, x mismatchedRequest) {
			t.ExpectShould(x).To(check.Satisfy("HTTP 400, since the padding is missing", mismatchedRequest.isRefused))
		})
	}),

	"http/param-header-literal-lookalike": check.Probe(func(t *check.T) {
		p := requireArgument(t, argument.isFreeText)
		for _, text := range []string{"SGVsbG8=", "=?base64?SGVsbG8=", "=?BASE64?SGVsbG8=?="} {
			p.expectAccepted(t, text, nil)
		}
	}),

	"http/param-header-invalid-characters": check.Probe(func(t *check.T) {
		eachArgument(t, argument.isText, func(t *check.T, p argument) {
			others := p.mismatches(t)
			raw := headerVariant{"bytes beyond ASCII", roundtrip.Header(p.header, "a\x80\xff")}
			p.headerMismatches(t, p.value, []headerVariant{raw})[0].expectRefused(t, others...)
		})
	}),

	"http/param-header-null-or-absent": check.Probe(func(t *check.T) {
		eachArgument(t, argument.isOptional, func(t *check.T, p argument) {
			p.expectAccepted(t, driver.Omitted, nil)
			if p.mayBeNull() {
				p.expectAccepted(t, nil, nil)
			}
		})
	}),

	"http/param-header-unexpected": check.Probe(func(t *check.T) {
		eachArgument(t, argument.isOptional, func(t *check.T, p argument) {
			others := p.mismatches(t)
			surplus := headerVariant{"a header of an argument that is not there", roundtrip.Header(p.header, "x")}
			p.headerMismatches(t, driver.Omitted, []headerVariant{surplus})[0].expectRefused(t, others...)
		})
	}),

	"http/param-header-integer-numeric": check.Probe(func(t *check.T) {
		isInteger := func(p argument) bool { return p.schema["type"] == "integer" }
		eachArgument(t, isInteger, func(t *check.T, p argument) {
			p.expectAccepted(t, p.value, roundtrip.Header(p.header, fmt.Sprintf("%v.0", p.value)))
		})
	}),

	"http/param-header-boolean": check.Probe(func(t *check.T) {
		eachArgument(t, argument.isBoolean, func(t *check.T, p argument) {
			p.expectUsual(t, true)
			all := p.headerMismatches(t, true, []headerVariant{
				{"True in place of true", roundtrip.Header(p.header, "True")},
				{otherParamHeader, roundtrip.Header(p.header, "mcpcheck-other")},
			})
			all[0].expectRefused(t, all[1])
		})
	}),

	"http/param-header-nested-path": check.Probe(func(t *check.T) {
		isNested := func(p argument) bool { return len(p.path) > 1 }
		eachArgument(t, isNested, func(t *check.T, p argument) {
			p.expectUsual(t, p.value)
			findMismatch(t, p.mismatches(t), noParamHeader).expectRefused(t)
		})
	}),

	"http/param-header-unknown-ignored": check.Probe(func(t *check.T) {
		p := requireArgument(t, argument.isAny)
		p.expectAccepted(t, p.value, roundtrip.Header(paramHeaderPrefix+"Mcpcheck", "1"))
	}),
}

// Names of mismatches in the header of an argument.
const (
	noParamHeader    = "no header for an argument"
	otherParamHeader = "another value in the header of an argument"
	paramBeginning   = "the beginning of the value in the header of an argument"
	paramInOtherCase = "the value in another case in the header of an argument"
)

// argument is an argument of a tool that a call has to repeat in a header.
type argument struct {
	tool   check.Subject
	header string
	// path is the path to it in the arguments.
	path   []string
	schema check.M
	// required reports whether it is required at the end of its path.
	required bool
	value    any
	// arguments are valid arguments of the tool that include it.
	arguments check.M
}

func (argument) isAny() bool { return true }

func (p argument) isText() bool { return p.schema["type"] == "string" }

func (p argument) isBoolean() bool { return p.schema["type"] == "boolean" }

// hasOwnCheck reports whether another check than http/param-header-match sends the argument as any client does.
func (p argument) hasOwnCheck() bool { return p.isBoolean() || len(p.path) > 1 }

// isFreeText reports whether any string is valid.
func (p argument) isFreeText() bool {
	bound := func(keyword string) bool { return check.HasMember(p.schema, keyword) }
	return p.isText() && !slices.ContainsFunc([]string{"enum", "const", "pattern", "format", "maxLength"}, bound)
}

// otherValues are a few values of an enum besides the usual one.
func (p argument) otherValues() []any {
	enum, _ := p.schema["enum"].([]any)
	isUsual := func(v any) bool { return v == nil || fmt.Sprint(v) == fmt.Sprint(p.value) }
	others := slices.DeleteFunc(slices.Clone(enum), isUsual)
	return others[:min(2, len(others))]
}

func (p argument) isOptional() bool { return !p.required }

func (p argument) mayBeNull() bool {
	kinds, _ := p.schema["type"].([]any)
	return slices.Contains(kinds, any("null"))
}

// requireArgument is the first of requireArguments.
func requireArgument(t *check.T, is func(argument) bool) argument { return requireArguments(t, is)[0] }

// requireArguments are the arguments of a kind whose tools may be called. It ends a check when there is none.
func requireArguments(t *check.T, is func(argument) bool) []argument {
	all, none := findArguments(t, is)
	switch {
	case none == nil:
		return all
	case none.Tool.Name == "":
		t.Skip(check.NotOffered, "%s", none.Detail)
	case none.Forbidden:
		t.NoVerdict(check.CallsOff, "the tool with such an argument may not be called with all values: %v",
			*none)
	}
	t.NoVerdict(check.Undecided, "the tool with such an argument cannot be called: %v", *none)
	return nil
}

// eachArgument runs a check on each of the requireArguments for which the server has time.
func eachArgument(t *check.T, is func(argument) bool, run func(*check.T, argument)) {
	all := requests.Affordable(t, requireArguments(t, is), requestsEach)
	check.Each(t, all, argument.subject, run)
}

func (p argument) subject() check.Subject {
	return check.NamedSubject(p.tool.Name + ": " + strings.Join(p.path, "."))
}

// findArguments is requireArguments for a caller that can continue without one; none says why there is none.
func findArguments(t *check.T, is func(argument) bool) (all []argument, none *toolcall.Uncalled) {
	none = &toolcall.Uncalled{Detail: "no tool has such an argument with x-mcp-header"}
	for _, tool := range toolcall.ToolsInCallOrder(t) {
		schema, _ := tool.Value["inputSchema"].(check.M)
		arguments := argumentsIn(schema)
		if entry := rejectedFor(arguments); entry != "" {
			none = &toolcall.Uncalled{Tool: tool, Detail: "clients do not call it: " + entry}
			continue
		}
		for _, p := range arguments {
			if p.tool = tool; !is(p) {
				continue
			}
			if not := p.fillIn(t); not != nil {
				none = not
				continue
			}
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		none = nil
	}
	return all, none
}

// rejectedFor returns the check that reports names of headers for which clients reject a tool, or an empty
// string if they accept it.
func rejectedFor(arguments []argument) (entry string) {
	var names []string
	for _, p := range arguments {
		if !httpguts.ValidHeaderFieldName(p.header) || p.header == paramHeaderPrefix {
			return "tools/x-mcp-header-name"
		}
		names = append(names, strings.ToLower(p.header))
	}
	if toolcall.Duplicates(names) != nil {
		return "tools/x-mcp-header-unique"
	}
	return ""
}

// argumentsIn are the arguments of a schema that have a header and can be reached by properties only, in the order of
// their names.
func argumentsIn(schema check.M) (all []argument) {
	properties, _ := schema["properties"].(check.M)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(check.M)
		if header, marked := property["x-mcp-header"].(string); marked {
			all = append(all, argument{
				header: paramHeaderPrefix + header, path: []string{name}, schema: property,
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

// fillIn finds valid arguments for the tool that include this one; not says why there are none.
func (p *argument) fillIn(t *check.T) (not *toolcall.Uncalled) {
	tool := p.tool
	tool.Value = maps.Clone(tool.Value)
	schema, _ := tool.Value["inputSchema"].(check.M)
	tool.Value["inputSchema"] = schemaRequiring(schema, p.path)
	if p.arguments, not = toolcall.ArgumentsToVary(t, tool); not != nil {
		return not
	}
	object := p.arguments
	for _, name := range p.path[:len(p.path)-1] {
		object, _ = object[name].(check.M)
	}
	p.value = object[p.path[len(p.path)-1]]
	if p.value == nil {
		return &toolcall.Uncalled{Tool: p.tool, Detail: "its arguments have no " + strings.Join(p.path, ".")}
	}
	return nil
}

// schemaRequiring is a schema that requires what is at a path.
func schemaRequiring(schema check.M, path []string) check.M {
	if len(path) == 0 {
		return schema
	}
	schema = maps.Clone(schema)
	required, _ := schema["required"].([]any)
	if !slices.Contains(required, any(path[0])) {
		schema["required"] = append(slices.Clone(required), path[0])
	}
	properties, _ := schema["properties"].(check.M)
	properties = maps.Clone(properties)
	inner, _ := properties[path[0]].(check.M)
	properties[path[0]] = schemaRequiring(inner, path[1:])
	schema["properties"] = properties
	return schema
}

// request is the call of the tool with another value of the argument; driver.Omitted leaves it out.
func (p argument) request(value any) roundtrip.ManualRequest {
	params := check.M{"name": p.tool.Name, "arguments": withValue(p.arguments, p.path, value)}
	return roundtrip.ManualRequest{Method: "tools/call",
		Params: protocol.WithCapabilities(params, protocol.AllModernCapabilities)}
}

// withValue is a copy of an object with another value at a path.
func withValue(object check.M, path []string, value any) check.M {
	object = maps.Clone(object)
	if object == nil {
		object = check.M{}
	}
	switch inner, _ := object[path[0]].(check.M); {
	case len(path) > 1:
		object[path[0]] = withValue(inner, path[1:], value)
	case value == driver.Omitted:
		delete(object, path[0])
	default:
		object[path[0]] = value
	}
	return object
}

// headerMismatches are calls with a value of the argument and mismatched headers.
func (p argument) headerMismatches(t *check.T, value any, forms []headerVariant) []mismatchedRequest {
	all := headerMismatches(t, p.request(value), forms)
	for _, x := range all {
		if code, isError := x.validReply.Code(); isError && !x.isRefused() {
			t.NoVerdict(check.Undecided, "%s is answered with error %d whatever its headers say", p.tool.Name, code)
		}
	}
	return all
}

// send calls the tool with a value of the argument and these headers in place of the right ones.
func (p argument) send(t *check.T, value any, header http.Header) roundtrip.NamedRoundTrip {
	request := p.request(value)
	request.Header = header
	s := t.Session()
	x := roundtrip.PostRequest(s, request)
	x.AwaitReply()
	return roundtrip.NewNamedRoundTrip(s, p.tool.Name, x)
}

// validCall is a call of a tool with an argument in a header, as any client sends it.
func validCall(t *check.T) roundtrip.NamedRoundTrip {
	p := requireArgument(t, argument.isAny)
	return check.Step(t, "a call with its headers",
		func(t *check.T) roundtrip.NamedRoundTrip { return p.send(t, p.value, nil) })
}

// expectAccepted expects that a call is not refused for its headers. It ends the check when one is that any client
// sends.
func (p argument) expectAccepted(t *check.T, value any, header http.Header) {
	x := p.send(t, value, header)
	p.yieldIfUsualRefused(t, x)
	expectAccepted(t, x)
}

// expectUsual is expectAccepted for a call as any client sends it, where http/param-header-match does not send it. It
// ends the check when any call with such a header is refused.
func (p argument) expectUsual(t *check.T, value any) {
	x := p.send(t, value, nil)
	if isHeaderMismatch(x.AwaitReply()) && isHeaderMismatch(validCall(t).AwaitReply()) {
		t.Yield("any call with such a header is refused")
	}
	expectAccepted(t, x)
}

// yieldIfUsualRefused ends a check if a call was refused for its headers, and so is one that any client sends.
func (p argument) yieldIfUsualRefused(t *check.T, x roundtrip.NamedRoundTrip) {
	if isHeaderMismatch(x.AwaitReply()) &&
		(isHeaderMismatch(p.send(t, p.value, nil).AwaitReply()) || isHeaderMismatch(validCall(t).AwaitReply())) {
		t.Yield("the usual call with such a header is refused, too")
	}
}

// expectAccepted expects that a call is not refused for its headers. The tool may refuse the arguments.
func expectAccepted(t *check.T, x roundtrip.NamedRoundTrip) {
	eachNamedRoundTrip(t, []roundtrip.NamedRoundTrip{x}, func(t *check.T, x roundtrip.NamedRoundTrip) {
		r, a := check.RequireServerReply(t, x.AwaitReply()), roundtrip.RequireHTTPResponse(t, x.Response())
		t.Expect(r).To(beTakenWithHeaders(a))
	})
}

// expectPlainDecoded is expectAccepted for a value in Base64 that a header can have as it is, so that clients need not
// encode it. Of numbers and booleans they have no reason to.
func (p argument) expectPlainDecoded(t *check.T, x roundtrip.NamedRoundTrip) {
	eachNamedRoundTrip(t, []roundtrip.NamedRoundTrip{x}, func(t *check.T, x roundtrip.NamedRoundTrip) {
		r, a := check.RequireServerReply(t, x.AwaitReply()), roundtrip.RequireHTTPResponse(t, x.Response())
		p.yieldIfUsualRefused(t, x)
		expect := t.ExpectShould
		if p.isText() {
			expect = t.Expect
		}
		expect(r).To(beTakenWithHeaders(a), "a plain value in Base64")
	})
}

// beTakenWithHeaders matches the reply to a call that was not refused for its headers.
func beTakenWithHeaders(a driver.HTTPResponse) types.GomegaMatcher {
	return check.Satisfy("the call taken with its headers", func(r driver.Reply) bool {
		return !isHeaderMismatch(r) && (!r.IsStatusOnly() || a.StatusCode != http.StatusBadRequest)
	})
}

// mismatches are mismatches of a call of the tool with the argument in a header.
func (p argument) mismatches(t *check.T) []mismatchedRequest {
	name := "headers of arguments that do not fit: " + p.subject().Name
	return check.Step(t, name, func(t *check.T) []mismatchedRequest {
		forms := []headerVariant{
			{noParamHeader, roundtrip.Header(p.header)},
			{otherParamHeader, roundtrip.Header(p.header, "mcpcheck-other")},
		}
		if begun := p.beginning(); begun != "" {
			forms = append(forms, headerVariant{paramBeginning, roundtrip.Header(p.header, begun)})
			if value := p.value.(string); inOtherCase(value) != value {
				forms = append(forms, headerVariant{paramInOtherCase, roundtrip.Header(p.header, inOtherCase(value))})
			}
		}
		return p.headerMismatches(t, p.value, forms)
	})
}

// beginning is a text without its last character; empty for a value of another kind, one that is too short, and one
// that a header cannot have as it is.
func (p argument) beginning() string {
	text, _ := p.value.(string)
	if len(text) < 2 || encodedName.MatchString(text) {
		return ""
	}
	return text[:len(text)-1]
}
