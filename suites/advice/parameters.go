package advice

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// parameterChecks are the checks of the parameters of tools.
var parameterChecks = check.Suite{
	"advice/tool-additional-properties-false": eachShownTool(func(t *check.T, tool check.M) {
		schema := requireInputSchema(t, tool)
		switch properties, _ := schema["properties"].(check.M); {
		case len(properties) == 0:
			t.Skip(check.NotApplicable, "the tool has no parameters")
		case isCombined(schema):
			t.Skip(check.NotApplicable, "the schema is put together of others")
		}
		rest := check.Member(schema, "additionalProperties")
		if rest == (check.Absent{}) {
			rest = check.Member(schema, "unevaluatedProperties")
		}
		_, described := rest.(check.M)
		t.Expect(described || rest == false).To(check.BeTrue("additionalProperties false", "%s", check.Show(rest)))
	}),

	"advice/tool-flat-parameters": eachParameter(func(t *check.T, p parameter) {
		t.Expect(!p.isNested()).To(check.BeTrue("a value, or a list", "an object"))
	}),

	"advice/tool-parameter-descriptions": eachParameter(func(t *check.T, p parameter) {
		t.Expect(p.hasText("description")).To(check.BeTrue("a description", "none"))
	}),

	"advice/tool-parameter-types": eachParameter(func(t *check.T, p parameter) {
		t.Expect(p.isConstrained()).To(check.BeTrue("a type, or what is allowed instead", "%s", check.Show(p.schema)))
	}),

	"advice/tool-enums-for-finite-sets": eachParameter(func(t *check.T, p parameter) {
		description := textIn(p.object(), "description")
		if p.hasKeyword("enum", "const", "pattern", "anyOf", "oneOf", "allOf", "$ref", "format", "items") {
			return
		}
		t.Expect(!enumerationPattern.MatchString(description)).To(check.BeTrue("an enum", "prose alone: %s"+byPattern,
			check.Show(description)))
	}),

	"advice/tool-defaults-documented": eachParameter(func(t *check.T, p parameter) {
		if p.required {
			t.Skip(check.NotOffered, "no parameter is optional")
		}
		description := textIn(p.resolved(), "description")
		t.Expect(p.hasKeyword("default", "const") || omissionPattern.MatchString(description)).To(check.BeTrue(
			"a default, or what holds without the parameter", "neither"+byPattern))
	}),

	"advice/tool-required-exist": eachShownTool(func(t *check.T, tool check.M) {
		schema := requireInputSchema(t, tool)
		required, _ := schema["required"].([]any)
		if len(required) == 0 || isCombined(schema) || check.HasMember(schema, "patternProperties") {
			t.Skip(check.NotOffered, "no tool requires parameters by name alone")
		}
		properties, _ := schema["properties"].(check.M)
		for _, name := range required {
			text, isString := name.(string)
			t.Expect(!isString || check.HasMember(properties, text)).To(check.BeTrue("parameters that are declared",
				"%s",
				check.Show(name)))
		}
	}),

	"advice/schema-no-root-combinators": eachShownTool(func(t *check.T, tool check.M) {
		schema := requireInputSchema(t, tool)
		for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
			t.Expect(!check.HasMember(schema, keyword)).To(check.BeTrue("no anyOf, oneOf or allOf at the root", "%s",
				keyword))
		}
	}),

	"advice/sibling-parameters-consistent": check.Probe(func(t *check.T) {
		pairs := parameterPairs(t)
		if len(pairs) == 0 {
			t.Skip(check.NotOffered, "no two tools have a parameter of the same name")
		}
		check.Each(t, pairs, parameterPair.subject, func(t *check.T, p parameterPair) {
			t.Expect(p.second.sharesTypeWith(p.first)).
				To(check.BeTrue("type "+p.first.typeText()+", as in "+p.first.tool,
					"%s in %s",
					p.second.typeText(), p.second.tool))
			if textIn(p.first.resolved(), "description") != textIn(p.second.resolved(), "description") {
				return // the values are of another kind
			}
			for _, member := range []string{"enum", "default"} {
				a := check.Show(check.Member(p.first.resolved(), member))
				b := check.Show(check.Member(p.second.resolved(), member))
				t.Expect(b == a).To(check.BeTrue("the "+member+" of "+p.first.tool+": "+a, "%s in %s", b,
					p.second.tool))
			}
		})
	}),
}

// enumerationPattern matches a description that lists all allowed values in quotes.
var enumerationPattern = regexp.MustCompile(
	"(?i)\\b(?:one of|either|must be|allowed values(?: are)?|possible values(?: are)?|" +
		"valid values(?: are)?|options(?: are)?)\\b:?\\s*" + quotedPattern + "(?:\\s*(?:,|/|\\||or|and)\\s*)+" +
		quotedPattern)

// quotedPattern is the expression for one value in quotes, in brackets or not.
const quotedPattern = "[(\\[]?(?:\"[^\"]{1,40}\"|'[^']{1,40}'|`[^`]{1,40}`)"

// omissionPattern matches a description that says what holds when a parameter is omitted.
var omissionPattern = regexp.MustCompile(
	`(?i)default|omit|\bif not\b|when not|unless|without|left out|leave|unset|absent|` +
		`not (?:given|provided|set|specified)|\bnull\b|\bnone\b|\bempty\b|\botherwise\b|` +
		`\bonly (?:if|when|for)\b|\bif (?:provided|given|set|specified|present)\b`)

// isCombined reports whether a schema refers to others or combines them, so that these may declare parameters as well.
func isCombined(schema check.M) bool {
	for _, keyword := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"} {
		if check.HasMember(schema, keyword) {
			return true
		}
	}
	return false
}

// parameter is a parameter of a tool: a property at the top level of its inputSchema.
type parameter struct {
	tool, name string
	schema     any
	root       check.M // the whole inputSchema
	required   bool
}

// eachParameter makes a check that judges every parameter of the tools that are shown to models.
func eachParameter(look func(t *check.T, p parameter)) check.Check {
	return eachShownTool(func(t *check.T, tool check.M) {
		var of []parameter
		if of = parametersOf(tool); len(of) == 0 {
			t.Skip(check.NotOffered, "no tool has parameters")
		}
		check.Each(t, of, parameter.subject, look)
	})
}

func (p parameter) subject() check.Subject {
	return check.Subject{Name: p.name, Value: check.M{p.name: p.schema}}
}

func parametersOf(tool check.M) (all []parameter) {
	schema, _ := tool["inputSchema"].(check.M)
	properties, _ := schema["properties"].(check.M)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		all = append(all, parameter{
			tool: check.Show(tool["name"]), name: name, schema: properties[name], root: schema,
			required: slices.Contains(required, any(name)),
		})
	}
	return all
}

func (p parameter) object() check.M {
	object, _ := p.schema.(check.M)
	return object
}

// resolved returns the schema of the parameter, with the keywords of the schemas that it refers to within inputSchema.
func (p parameter) resolved() check.M {
	const deepest = 8
	all, next := check.M{}, p.object()
	for range deepest {
		for member, v := range next {
			if !check.HasMember(all, member) {
				all[member] = v
			}
		}
		ref, _ := next["$ref"].(string)
		if next = p.refTarget(ref); next == nil {
			break
		}
	}
	return all
}

// refTarget returns the schema that a reference such as #/$defs/city leads to; nil if there is none.
func (p parameter) refTarget(ref string) check.M {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	object := p.root
	for _, name := range strings.Split(path, "/") {
		object, _ = object[name].(check.M)
	}
	return object
}

// subschemas returns the schema of the parameter, and the schemas in its anyOf, oneOf and allOf.
func (p parameter) subschemas() []check.M {
	schema := p.resolved()
	forms := []check.M{schema}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := schema[keyword].([]any)
		for _, form := range check.Objects(list) {
			inner := p
			inner.schema = form
			forms = append(forms, inner.resolved())
		}
	}
	return forms
}

// hasKeyword reports whether the schema of the parameter has one of some keywords.
func (p parameter) hasKeyword(keywords ...string) bool {
	return slices.ContainsFunc(p.subschemas(), func(form check.M) bool {
		return slices.ContainsFunc(keywords, func(k string) bool { return check.HasMember(form, k) })
	})
}

// hasText reports whether the schema of the parameter has a string member that is not blank.
func (p parameter) hasText(member string) bool {
	return slices.ContainsFunc(p.subschemas(), func(form check.M) bool { return textIn(form, member) != "" })
}

// types returns the types that the parameter may have, except null.
func (p parameter) types() (types []string) {
	for _, form := range p.subschemas() {
		names, isList := form["type"].([]any)
		if !isList {
			names = []any{form["type"]}
		}
		for _, name := range names {
			if text, isString := name.(string); isString && text != "null" && !slices.Contains(types, text) {
				types = append(types, text)
			}
		}
	}
	slices.Sort(types)
	return types
}

// isNested reports whether the parameter can only be an object that has members of its own. Objects with members that
// are mirrored into headers do not count, since the header extension needs them.
func (p parameter) isNested() bool {
	types := p.types()
	if len(types) != 1 || types[0] != "object" {
		return false
	}
	return slices.ContainsFunc(p.subschemas(), func(form check.M) bool {
		properties, _ := form["properties"].(check.M)
		mirrored := func(member any) bool {
			object,
				_ := member.(check.M)
			return check.HasMember(object, "x-mcp-header")
		}
		return len(properties) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(properties)), mirrored)
	})
}

// isConstrained reports whether the schema of the parameter restricts its values.
func (p parameter) isConstrained() bool {
	schema := p.object()
	for keyword := range schema {
		switch keyword {
		case "description", "title", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment":
		default:
			return true
		}
	}
	return false
}

// typeText returns the types of the parameter, for a message.
func (p parameter) typeText() string {
	if types := p.types(); len(types) > 0 {
		return strings.Join(types, " or ")
	}
	return "of any type"
}

// sharesTypeWith reports whether two parameters may have a type in common; an integer is a number.
func (p parameter) sharesTypeWith(with parameter) bool {
	types := func(p parameter) (types []string) {
		for _, name := range p.types() {
			types = append(types, strings.Replace(name, "integer", "number", 1))
		}
		return types
	}
	mine, others := types(p), types(with)
	return len(mine) == 0 || len(others) == 0 ||
		slices.ContainsFunc(mine, func(name string) bool { return slices.Contains(others, name) })
}

// parameterPair holds two parameters of the same name.
type parameterPair struct{ first, second parameter }

func (p parameterPair) subject() check.Subject {
	return check.Subject{Name: p.first.name,
		Value: check.M{p.first.tool: p.first.schema, p.second.tool: p.second.schema}}
}

// parameterPairs pairs each parameter with the first parameter of the same name in an earlier tool.
func parameterPairs(t *check.T) (pairs []parameterPair) {
	first := map[string]parameter{}
	for _, tool := range skipIfNoTools(t, shownTools(t)) {
		for _, p := range parametersOf(tool.Value) {
			if before, known := first[p.name]; known {
				pairs = append(pairs, parameterPair{before, p})
			} else {
				first[p.name] = p
			}
		}
	}
	return pairs
}
