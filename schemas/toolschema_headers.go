package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// HeaderKeyword marks a parameter of a tool that clients repeat in an HTTP header (2026-07-28,
// server/tools#x-mcp-header).
const HeaderKeyword = "x-mcp-header"

// ParamHeader is a marked parameter of an inputSchema. Its value in the arguments, unless missing or null, goes into
// the header "Mcp-Param-" followed by its name.
type ParamHeader struct {
	Name string
	// Path are the names of the properties that lead to it.
	Path []string
}

// HeaderRule is a rule for x-mcp-header.
type HeaderRule string

// The rules for x-mcp-header.
const (
	HeaderName   HeaderRule = "name"   // the value is a token of RFC 9110
	HeaderUnique HeaderRule = "unique" // no two values are equal, ignoring case
	HeaderType   HeaderRule = "type"   // the parameter is an integer, string or boolean
	HeaderPlace  HeaderRule = "place"  // the parameter is reached by properties only
	HeaderRange  HeaderRule = "range"  // integers are in the safe range of JavaScript
)

// HeaderViolation is one x-mcp-header that violates a rule.
type HeaderViolation struct {
	Rule HeaderRule
	// Path is the JSON pointer to the keyword: "/properties/a/x-mcp-header".
	Path string
	// Text says in one line what was expected and what the value is.
	Text string

	// Ambiguous reports whether the specification can be read otherwise: the type is a union with null, or is not
	// stated at x-mcp-header but by enum, const or another schema; or a bound admits integers beyond the safe range,
	// which an integer without bounds does as well.
	Ambiguous bool
}

// ParamHeaders lists the x-mcp-header of an inputSchema: those that violate no rule, and all violations, both from the
// outside in and by name. Clients have to ignore a tool with a violation. A member x-mcp-header that is not a keyword
// of a schema marks nothing, such as a property of that name or a part of a default. It returns nothing for a document
// beyond the limits of Compile.
func ParamHeaders(inputSchema any) (headers []ParamHeader, faults []HeaderViolation) {
	if measureSchema(inputSchema) != nil {
		return nil, nil
	}
	named := map[string]string{} // where each name is, in lower case
	for _, m := range headerMarksIn(target{value: inputSchema}, nil, true) {
		found := m.violations()
		name, _ := m.header.(string)
		key := strings.ToLower(name)
		if first, twice := named[key]; twice && key != "" {
			found = append(found, m.violation(HeaderUnique, quote(name)+" is at "+first+" as well"))
		} else {
			named[key] = m.path
		}
		if found == nil {
			headers = append(headers, ParamHeader{name, m.steps})
		}
		faults = append(append(faults, found...), m.rangeViolations()...)
	}
	return headers, faults
}

// headerMark is an x-mcp-header in a schema.
type headerMark struct {
	header any
	// path is the JSON pointer to the keyword.
	path string
	// schema is the schema of the parameter.
	schema map[string]any
	// steps lead to the parameter in the arguments.
	steps []string
	// static reports whether the steps are only names of properties, at least one.
	static bool
}

// headerMarksIn lists the marks in a schema and below. The steps are meaningful only where properties alone lead to the
// mark.
func headerMarksIn(t target, steps []string, static bool) []headerMark {
	object, ok := t.value.(map[string]any)
	if !ok {
		return nil
	}
	var marks []headerMark
	if header, ok := object[HeaderKeyword]; ok {
		static := static && len(steps) > 0
		marks = append(marks, headerMark{header, t.path + "/" + HeaderKeyword, object, steps, static})
	}
	for _, sub := range subschemas(object) {
		static := static && sub.keyword == "properties"
		next := append(slices.Clone(steps), sub.name)
		marks = append(marks, headerMarksIn(target{sub.value, t.path + sub.path}, next, static)...)
	}
	return marks
}

func (m headerMark) violation(rule HeaderRule, text string) HeaderViolation {
	return HeaderViolation{Rule: rule, Path: m.path, Text: text}
}

// violations lists the rules that the mark violates by itself.
func (m headerMark) violations() []HeaderViolation {
	var found []HeaderViolation
	if name, ok := m.header.(string); !ok || !httpguts.ValidHeaderFieldName(name) {
		found = append(found, m.violation(HeaderName, "expected a token of RFC 9110, got "+quote(m.header)))
	}
	if !m.static {
		return append(found, m.violation(HeaderPlace, "expected a property that is reached through properties alone"))
	}
	if got, arguable := m.typeViolation(); got != "" {
		f := m.violation(HeaderType, "expected integer, string or boolean, got "+got)
		f.Ambiguous = arguable
		found = append(found, f)
	}
	return found
}

// typeViolation is the type of the parameter if it may not be marked, "" if it may, and whether that is debatable.
func (m headerMark) typeViolation() (got string, arguable bool) {
	switch t := m.schema["type"].(type) {
	case string:
		if isMarkableType(t) {
			return "", false
		}
		return t, false
	case []any:
		refused := slices.ContainsFunc(t, func(v any) bool {
			name, _ := v.(string)
			return !isMarkableType(name) && name != "null"
		})
		return "the types " + truncate(fmt.Sprint(t), 60), !refused
	}
	if values, ok := m.enumValues(); ok {
		return "values without type", !slices.ContainsFunc(values, hasUnmarkableType)
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "not"} {
		if m.schema[keyword] != nil {
			return "no type beside " + keyword, true
		}
	}
	return "no type", false
}

// maxSafe is the greatest integer of the safe range of JavaScript.
const maxSafe = 1<<53 - 1

// rangeViolations lists what the schema of the parameter says of integers beyond the safe range.
func (m headerMark) rangeViolations() (found []HeaderViolation) {
	report := func(keyword string, value any, ambiguous bool) {
		f := m.violation(HeaderRange, fmt.Sprintf("expected -(2^53-1) to 2^53-1, got %s %v", keyword, value))
		f.Ambiguous = ambiguous
		found = append(found, f)
	}
	for _, keyword := range []string{"const", "default", "enum", "examples"} {
		values, isList := m.schema[keyword].([]any)
		if !isList {
			values = []any{m.schema[keyword]}
		}
		for _, value := range values {
			if n, ok := numberOf(value); ok && math.Abs(n) > maxSafe {
				report(keyword, value, false)
			}
		}
	}
	for _, b := range []struct {
		keyword string
		most    float64 // the greatest bound that admits no unsafe integer
		sign    float64
	}{
		{"minimum", maxSafe, -1}, {"exclusiveMinimum", maxSafe + 1, -1}, {"maximum", maxSafe, 1},
		{"exclusiveMaximum", maxSafe + 1, 1},
	} {
		if n, ok := numberOf(m.schema[b.keyword]); ok && math.Abs(n) > b.most {
			report(b.keyword, m.schema[b.keyword], n*b.sign > 0)
		}
	}
	return found
}

// numberOf is the value of a JSON number, as near as a float64 comes; beyond its range, infinity.
func numberOf(value any) (n float64, ok bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := number.Float64()
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// enumValues are the values of the parameter, if they are listed.
func (m headerMark) enumValues() (values []any, ok bool) {
	if value, ok := m.schema["const"]; ok {
		return []any{value}, true
	}
	values, ok = m.schema["enum"].([]any)
	return values, ok
}

// hasUnmarkableType reports whether a value is neither null nor of a type that may be marked.
func hasUnmarkableType(value any) bool {
	switch value := value.(type) {
	case map[string]any, []any:
		return true
	case float64, json.Number:
		number, ok := new(big.Rat).SetString(fmt.Sprint(value))
		return !ok || !number.IsInt()
	}
	return false
}

// isMarkableType reports whether parameters of a type may be marked.
func isMarkableType(typeName string) bool {
	return typeName == "integer" || typeName == "string" || typeName == "boolean"
}
