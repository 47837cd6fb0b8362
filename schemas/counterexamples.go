package schemas

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Counterexample is a value that violates the schema by exactly one keyword.
type Counterexample struct {
	// Keyword is the violated keyword, such as "required", "type" or "enum".
	Keyword string
	// Path is the JSON pointer to the changed place in the arguments: "/city".
	Path string
	// Arguments are the invalid arguments.
	Arguments map[string]any
	// Reason describes the violation in one line: `city is missing`, `units is "mcpcheck-not-in-enum", not one of "c",
	// "f"`.
	Reason string
	// IsCoercible reports whether many servers convert the value to a valid one: a string in place of an array, or what
	// the mutators in coercions make.
	IsCoercible bool
}

// Counterexamples makes arguments that a tool's input schema rejects in every dialect, each confirmed by s.Validate:
// valid (from ValidArguments) with one change that violates one keyword. There is at most one for each of required,
// type, enum, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern,
// minItems, maxItems, additionalProperties and CompositionKeywords, in this order. For required there is a second one
// without any arguments if a required property has no default. What cannot be made is left out. Only keywords that
// apply in any case are violated, not those below anyOf and the like. Top-level properties are preferred, required ones
// first.
//
// The values are harmless: short, no paths or commands, strings that begin with "mcpcheck" if they may.
func Counterexamples(s *Schema, valid map[string]any, seed int64) (list []Counterexample) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	m := &valueMaker{schema: s}
	sites := m.sites(valid)
	for _, k := range mutators {
		if c, ok := m.counterexample(k, sites, valid, variantOf(seed)); ok {
			list = append(list, c)
		}
		if k.keyword == "required" {
			list = m.withEmpty(list, sites[0])
		}
	}
	return list
}

// mutator makes a value for a site that violates one keyword.
type mutator struct {
	keyword string
	mutate  func(m *valueMaker, t mutationSite, variant int) (mutation, bool)
}

// mutation is the change that a mutator proposes: a new value for the site or for a member of it.
type mutation struct {
	// member is the changed member; empty is the site itself.
	member string
	// remove says that the member is removed.
	remove bool
	value  any
	// reason is the part of Counterexample.Reason that follows the name of the place.
	reason string
	// isFallback says that another site is better, since this one has further limits that the change may violate
	// unnoticed.
	isFallback bool
	// isCoercible is Counterexample.IsCoercible.
	isCoercible bool
}

var mutators = []mutator{
	{"required", withoutRequired},
	{"type", wrongType},
	{"enum", outsideEnum},
	{"const", otherThanConst},
	{"minimum", belowMinimum},
	{"maximum", aboveMaximum},
	{"exclusiveMinimum", atExclusiveMinimum},
	{"exclusiveMaximum", atExclusiveMaximum},
	{"multipleOf", notMultiple},
	{"minLength", tooShort},
	{"maxLength", tooLong},
	{"pattern", notMatching},
	{"minItems", tooFewItems},
	{"maxItems", tooManyItems},
	{"additionalProperties", undeclaredProperty},
	{"anyOf", breakComposition("anyOf")},
	{"oneOf", breakComposition("oneOf")},
	{"not", breakComposition("not")},
	{"if", breakComposition("if")},
	{"dependentRequired", breakComposition("dependentRequired")},
	{"uniqueItems", breakComposition("uniqueItems")},
}

// mutationSite is a place in the arguments that may be changed.
type mutationSite struct {
	path []string
	// parts are the schemas that apply there in any case.
	parts []*jsonschema.Schema
	value any
	// present reports whether the valid arguments have the place.
	present bool
}

const (
	maxSites     = 300
	maxSiteDepth = 5
	maxItemSites = 2 // of an array
)

// sites lists the root, then the places below it level by level. In each object required properties come first, then
// other present ones, then those that may be added.
func (m *valueMaker) sites(valid map[string]any) []mutationSite {
	root := mutationSite{parts: m.flatten([]*jsonschema.Schema{m.schema.root}, 0, nil), value: valid, present: true}
	list := []mutationSite{root}
	for i := 0; i < len(list) && len(list) < maxSites; i++ {
		if list[i].present && len(list[i].path) < maxSiteDepth {
			list = append(list, m.sitesBelow(list[i])...)
		}
	}
	return list
}

func (m *valueMaker) sitesBelow(t mutationSite) []mutationSite {
	var list []mutationSite
	add := func(name string, schemas []*jsonschema.Schema, value any, present bool) {
		path := append(slices.Clone(t.path), name)
		list = append(list, mutationSite{path, m.unlessNull(m.flatten(schemas, 0, nil)), value, present})
	}
	switch value := t.value.(type) {
	case map[string]any:
		for _, name := range propertyOrder(t.parts, value) {
			schemas, _ := propertySchemas(t.parts, name)
			member, present := value[name]
			add(name, schemas, member, present)
		}
	case []any:
		for i, item := range value[:min(len(value), maxItemSites)] {
			add(strconv.Itoa(i), itemSchemas(t.parts, i), item, true)
		}
	}
	return list
}

func propertyOrder(parts []*jsonschema.Schema, value map[string]any) []string {
	var names []string
	for _, s := range parts {
		for _, name := range s.Required {
			if _, present := value[name]; present {
				names = appendNew(names, []string{name})
			}
		}
	}
	names = appendNew(names, slices.Sorted(maps.Keys(value)))
	return appendNew(names, declaredNames(parts))
}

func isRequired(parts []*jsonschema.Schema, name string) bool {
	return slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool { return slices.Contains(s.Required, name) })
}

// counterexample violates a keyword at the first site where nothing else is violated or, without one, at the first
// where the keyword is among the violations.
func (m *valueMaker) counterexample(
	k mutator, sites []mutationSite, valid map[string]any, variant int,
) (Counterexample, bool) {
	var second Counterexample
	for _, t := range sites {
		change, ok := k.mutate(m, t, variant)
		if !ok {
			continue
		}
		c, alone := m.changed(k.keyword, t, valid, change)
		if alone && !change.isFallback {
			return c, true
		}
		if c.Keyword != "" && second.Keyword == "" {
			second = c
		}
	}
	return second, second.Keyword != ""
}

// changed is the counterexample with a change at a site, and whether it violates the keyword alone; the zero value if
// it does not violate it.
func (m *valueMaker) changed(
	keyword string, t mutationSite, valid map[string]any, change mutation,
) (c Counterexample, alone bool) {
	arguments := t.withChange(valid, change)
	if arguments == nil {
		return Counterexample{}, false
	}
	path := t.path
	if change.member != "" {
		path = append(slices.Clone(path), change.member)
	}
	breaks, alone := m.breaks(arguments, keyword, path)
	if !breaks {
		return Counterexample{}, false
	}
	return Counterexample{
		Keyword: keyword, Path: jsonPointer(path), Arguments: arguments, IsCoercible: change.isCoercible,
		Reason: cmp.Or(strings.Join(path, "."), "the object") + " " + change.reason,
	}, alone
}

// breaks reports whether arguments violate a keyword at a place, and whether that is their only violation.
func (m *valueMaker) breaks(arguments map[string]any, keyword string, path []string) (breaks, alone bool) {
	invalid, err := m.schema.check(m.schema.root, arguments)
	if err != nil || invalid == nil || m.schema.older != nil && !m.schema.older.rejects(arguments) {
		return false, false
	}
	if slices.Contains(CompositionKeywords, keyword) {
		return true, true // breakComposition has made sure
	}
	found := toolTranslator.keywordErrors(invalid)
	for _, b := range found {
		if keywordOf(b.kind) == keyword && slices.Equal(b.path, path) {
			return true, len(found) == 1
		}
	}
	return false, false
}

// withChange is a copy of the valid arguments with a change at the site; nil when they would be no object.
func (t mutationSite) withChange(valid map[string]any, change mutation) map[string]any {
	arguments, _ := deepCopy(valid).(map[string]any)
	path := t.path
	if change.member != "" {
		path = append(slices.Clone(path), change.member)
	}
	if len(path) == 0 {
		arguments, _ = change.value.(map[string]any)
		return arguments
	}
	var at any = arguments
	for _, token := range path[:len(path)-1] {
		switch value := at.(type) {
		case map[string]any:
			at = value[token]
		case []any:
			i, _ := strconv.Atoi(token)
			at = value[i]
		}
	}
	last := path[len(path)-1]
	switch value := at.(type) {
	case map[string]any:
		if change.remove {
			delete(value, last)
		} else {
			value[last] = change.value
		}
	case []any:
		i, _ := strconv.Atoi(last)
		value[i] = change.value
	}
	return arguments
}

// withEmpty adds the counterexample without arguments, unless the list has it already.
func (m *valueMaker) withEmpty(list []Counterexample, root mutationSite) []Counterexample {
	if slices.ContainsFunc(list, func(c Counterexample) bool { return len(c.Arguments) == 0 }) {
		return list
	}
	var names []string
	for _, name := range propertyOrder(root.parts, root.value.(map[string]any)) {
		if isRequired(root.parts, name) && !m.hasDefault(root.parts, name) {
			names = append(names, name)
		}
	}
	none := map[string]any{}
	if len(names) == 0 || !m.schema.rejects(none) {
		return list
	}
	why := "there are no arguments: " + names[0] + " is missing"
	if len(names) > 1 {
		why = "there are no arguments: " + strings.Join(names, ", ") + " are missing"
	}
	return append(list, Counterexample{Keyword: "required", Path: "/" + escapeToken(names[0]), Arguments: none,
		Reason: truncate(why, 200)})
}

// hasDefault reports whether a property has a default. Some generators list such properties as required.
func (m *valueMaker) hasDefault(parts []*jsonschema.Schema, name string) bool {
	schemas, _ := propertySchemas(parts, name)
	return slices.ContainsFunc(m.flatten(schemas, 0, nil), func(s *jsonschema.Schema) bool { return s.Default != nil })
}

func withoutRequired(m *valueMaker, t mutationSite, _ int) (mutation, bool) {
	all := m.removals(t)
	if len(all) == 0 {
		return mutation{}, false
	}
	return all[0], true
}

// removals remove each of the required members of an object that have no default.
func (m *valueMaker) removals(t mutationSite) (all []mutation) {
	object, _ := t.value.(map[string]any)
	for _, name := range propertyOrder(t.parts, object) {
		_, present := object[name]
		if present && isRequired(t.parts, name) && !m.hasDefault(t.parts, name) {
			all = append(all, mutation{member: name, remove: true, reason: "is missing"})
		}
	}
	return all
}

// wrongType replaces a scalar by an object, and an array or object by a string, which no reasonable coercion accepts.
// It changes only places of a single type, besides null.
func wrongType(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	typ, limited := "", false
	for _, s := range t.parts {
		limited = limited || s.Enum != nil || s.Const != nil
		if s.Types == nil {
			continue
		}
		types := slices.DeleteFunc(s.Types.ToStrings(), func(name string) bool { return name == "null" })
		if len(types) != 1 || typ != "" && typ != types[0] {
			return mutation{}, false
		}
		typ = types[0]
	}
	switch typ {
	case "":
		return mutation{}, false
	case "array", "object":
		return mutation{value: plainText, reason: "is a string, not an " + typ, isFallback: limited,
			isCoercible: typ == "array"}, true
	case "integer":
		typ = "whole number"
	}
	return mutation{value: map[string]any{plainText: true}, reason: "is an object, not a " + typ,
		isFallback: limited}, true
}

func outsideEnum(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	for _, s := range t.parts {
		if s.Enum != nil {
			v, ok := otherValue(t.parts, "mcpcheck-not-in-enum", s.Enum.Values)
			return mutation{value: v,
				reason: fmt.Sprintf("is %s, not %s", brief(v), toolTranslator.oneOf(s.Enum.Values))}, ok
		}
	}
	return mutation{}, false
}

func otherThanConst(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	for _, s := range t.parts {
		if s.Const != nil {
			v, ok := otherValue(t.parts, "mcpcheck-not-the-const", []any{*s.Const})
			return mutation{value: v, reason: fmt.Sprintf("is %s, not %s", brief(v), brief(*s.Const))}, ok
		}
	}
	return mutation{}, false
}

// otherValue makes a value of an allowed type that is none of these: the text, a number above all of them, or the other
// boolean.
func otherValue(parts []*jsonschema.Schema, text string, values []any) (any, bool) {
	types := possibleTypes(parts, place{})
	switch {
	case slices.Contains(types, "string") && !slices.Contains(values, any(text)):
		return text, true
	case slices.Contains(types, "number") || slices.Contains(types, "integer"):
		above := big.NewRat(0, 1)
		for _, v := range values {
			if n, ok := new(big.Rat).SetString(fmt.Sprint(v)); ok && n.Cmp(above) > 0 {
				above = n
			}
		}
		return jsonNumber(multiple(above, big.NewRat(1, 1), 1)), above.Cmp(maxSafeInteger) < 0
	case slices.Contains(types, "boolean") && len(values) == 1:
		return values[0] == false, true
	}
	return nil, false
}

// maxSafeInteger bounds the numbers that all JSON libraries represent exactly.
var maxSafeInteger = big.NewRat(1<<50, 1)

// beyondBound makes a counterexample to a bound: the nearest number beyond it that satisfies the other keywords.
func beyondBound(
	t mutationSite, get func(*jsonschema.Schema) *big.Rat, open, up bool, relation string,
) (mutation, bool) {
	for _, s := range t.parts {
		bound := get(s)
		if bound == nil || new(big.Rat).Abs(bound).Cmp(maxSafeInteger) > 0 {
			continue
		}
		step := numberRangeOf(t.parts, isInteger(t.parts)).step
		if step == nil {
			step = big.NewRat(1, 1)
		}
		n := multiple(bound, step, 0) // the first multiple that is not below the bound
		switch equal := n.Cmp(bound) == 0; {
		case equal && open:
		case up && equal:
			n = multiple(bound, step, 1)
		case !up:
			n = multiple(bound, step, -1)
		}
		v := jsonNumber(n)
		return mutation{value: v, reason: fmt.Sprintf("is %v, %s %s", v, relation, decimal(bound))}, true
	}
	return mutation{}, false
}

func isInteger(parts []*jsonschema.Schema) bool {
	types := possibleTypes(parts, place{})
	return slices.Contains(types, "integer") && !slices.Contains(types, "number")
}

func belowMinimum(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	return beyondBound(t, func(s *jsonschema.Schema) *big.Rat { return s.Minimum }, false, false, "below the minimum")
}

func aboveMaximum(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	return beyondBound(t, func(s *jsonschema.Schema) *big.Rat { return s.Maximum }, false, true, "above the maximum")
}

func atExclusiveMinimum(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	return beyondBound(t, func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMinimum }, true, false, "not above")
}

func atExclusiveMaximum(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	return beyondBound(t, func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMaximum }, true, true, "not below")
}

func notMultiple(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	for _, s := range t.parts {
		if s.MultipleOf == nil {
			continue
		}
		span, integer := numberRangeOf(t.parts, isInteger(t.parts)), isInteger(t.parts)
		half := new(big.Rat).Quo(s.MultipleOf, big.NewRat(2, 1))
		for _, start := range []*big.Rat{span.low, big.NewRat(0, 1), span.high} {
			for _, add := range []*big.Rat{big.NewRat(1, 1), half, big.NewRat(-1, 1), new(big.Rat).Neg(half)} {
				n := multiple(start, s.MultipleOf, 0)
				if n == nil {
					continue
				}
				n.Add(n, add)
				if span.contains(n) && (n.IsInt() || !integer) && !new(big.Rat).Quo(n, s.MultipleOf).IsInt() {
					v := jsonNumber(n)
					why := fmt.Sprintf("is %v, no multiple of %s", v, decimal(s.MultipleOf))
					return mutation{value: v, reason: why}, true
				}
			}
		}
	}
	return mutation{}, false
}

func tooShort(_ *valueMaker, t mutationSite, variant int) (mutation, bool) {
	w := stringRulesOf(t.parts)
	if w.minLength == 0 || w.minLength > maxExampleLength {
		return mutation{}, false
	}
	text := w.text(w.minLength-1, variant)
	return mutation{value: text, reason: fmt.Sprintf("has %d characters, fewer than %d", w.minLength-1,
		w.minLength)}, true
}

func tooLong(_ *valueMaker, t mutationSite, variant int) (mutation, bool) {
	for _, s := range t.parts {
		if s.MaxLength != nil && *s.MaxLength <= maxExampleLength {
			text := stringRulesOf(t.parts).text(*s.MaxLength+1, variant)
			n := utf8.RuneCountInString(text)
			return mutation{value: text, reason: fmt.Sprintf("has %d characters, more than %d", n, *s.MaxLength)}, true
		}
	}
	return mutation{}, false
}

// text makes a string of a length, if possible one that all patterns match.
func (w stringRules) text(length, variant int) string {
	w.minLength, w.maxLength = length, length
	for _, p := range w.patterns {
		if text, ok := matchingString(p, length, length, variant); ok && w.allows(text) {
			return text
		}
	}
	return fitLength(exampleText(variant), length, length)
}

func notMatching(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	w := stringRulesOf(t.parts)
	if len(w.patterns) == 0 {
		return mutation{}, false
	}
	bad := w.patterns[0]
	for _, text := range []string{plainText, "mcpcheck does not match!", "MCPCHECK", "mcpcheck-1", "0", "!", ""} {
		text = fitLength(text, w.minLength, w.maxLength)
		if matched, err := bad.match(text); err == nil && !matched {
			why := fmt.Sprintf("is %s, no match of %s", brief(text), truncate(bad.source, 80))
			return mutation{value: text, reason: why}, true
		}
	}
	return mutation{}, false
}

func tooFewItems(m *valueMaker, t mutationSite, variant int) (mutation, bool) {
	least := arrayBoundsOf(t.parts).minLength
	items, ok := m.siteValue(t, variant).([]any)
	if least == 0 || !ok || len(items) < least {
		return mutation{}, false
	}
	return mutation{value: items[:least-1], reason: fmt.Sprintf("has %d items, fewer than %d", least-1, least)}, true
}

// maxOverlongItems is the largest maxItems for which a longer array is made.
const maxOverlongItems = 64

func tooManyItems(m *valueMaker, t mutationSite, variant int) (mutation, bool) {
	shape := arrayBoundsOf(t.parts)
	items, ok := m.siteValue(t, variant).([]any)
	if shape.maxLength < 0 || shape.maxLength > maxOverlongItems || !ok {
		return mutation{}, false
	}
	items = slices.Clone(items)
	p := place{parts: t.parts, depth: len(t.path), variant: variant}
	for len(items) <= shape.maxLength {
		item, err := m.item(p, itemSchemas(t.parts, len(items)), len(items), items, shape.unique)
		if err != nil {
			return mutation{}, false
		}
		items = append(items, item)
	}
	return mutation{value: items, reason: fmt.Sprintf("has %d items, more than %d", len(items), shape.maxLength)}, true
}

// siteValue is the valid value at a site, or a new array; nil when there is neither.
func (m *valueMaker) siteValue(t mutationSite, variant int) any {
	if t.present {
		return t.value
	}
	if len(t.parts) == 0 || !slices.Contains(possibleTypes(t.parts, place{}), "array") {
		return nil
	}
	v, err := m.value(place{parts: t.parts, depth: len(t.path), variant: variant})
	if err != nil {
		return nil
	}
	return v
}

func undeclaredProperty(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	closed := slices.ContainsFunc(t.parts, func(s *jsonschema.Schema) bool { return s.AdditionalProperties == false })
	if !closed {
		return mutation{}, false
	}
	return mutation{member: "mcpcheck_extra", value: true, reason: "is not declared"}, true
}
