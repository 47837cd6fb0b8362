package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// HeaderKeyword marks a parameter of a tool whose value clients repeat in a header over HTTP (2026-07-28,
// server/tools#x-mcp-header).
const HeaderKeyword = "x-mcp-header"

// ParamHeader is a parameter that an inputSchema marks: the value at the path in the arguments, if there is one other
// than null, goes into the header "Mcp-Param-" and its name.
type ParamHeader struct {
	Name string
	Path []string // names of properties
}

// HeaderRule is a rule for what an inputSchema marks.
type HeaderRule string

// The rules for x-mcp-header.
const (
	HeaderName   HeaderRule = "name"   // its value is a token of RFC 9110
	HeaderUnique HeaderRule = "unique" // no two values are the same but for letter case
	HeaderType   HeaderRule = "type"   // the parameter is an integer, a string or a boolean
	HeaderPlace  HeaderRule = "place"  // the parameter is reached through properties alone
)

// HeaderViolation is one x-mcp-header that breaks a rule.
type HeaderViolation struct {
	Rule HeaderRule
	Path string // JSON pointer to the keyword: "/properties/a/x-mcp-header"
	Text string // what was wanted and what came, one line

	// Ambiguous says that the specification can be read otherwise: the type is a union with null, or is not stated
	// where x-mcp-header is, but by enum, const or another schema.
	Ambiguous bool
}

// ParamHeaders lists what an inputSchema marks with x-mcp-header: what breaks no rule, and every rule that is broken,
// both from the outside in and by name. Where something is broken, clients have to leave the tool out. A member named
// x-mcp-header that is not a keyword of a schema marks nothing: a property of that name, or a part of a default. It
// returns nothing for a document beyond the limits of Compile.
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
		faults = append(faults, found...)
	}
	return headers, faults
}

// headerMark is an x-mcp-header in a schema.
type headerMark struct {
	header any
	path   string
	schema map[string]any // of the parameter
	steps  []string       // that lead to it
	static bool           // the steps are the names of properties, at least one
}

// headerMarksIn lists what is marked in a schema and below. The steps count only where nothing but properties leads
// there.
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

// violations lists the rules that the mark breaks whatever else is marked.
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

// typeViolation says what the parameter is instead of one of the types that may be marked, "" if it is one of them, and
// whether that is arguable.
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

// listed returns the values that the parameter can have, if they are listed.
func (m headerMark) enumValues() (values []any, ok bool) {
	if value, ok := m.schema["const"]; ok {
		return []any{value}, true
	}
	values, ok = m.schema["enum"].([]any)
	return values, ok
}

// hasUnmarkableType reports whether a value is of no type that may be marked, and not null.
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
