package schemas

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Counterexample is a value that breaks the schema by exactly one keyword.
type Counterexample struct {
	Keyword   string         // "required", "type", "enum", …
	Path      string         // JSON pointer to the spoiled place in the arguments: "/city"
	Arguments map[string]any // what to send
	Why       string         // one line: `city is missing`, `units is "mcpcheck-not-in-enum", not one of "c", "f"`
}

// Counterexamples makes arguments that a tool's input schema refuses whatever its dialect, each proved by s.Validate:
// valid (from Valid), with one change that breaks one keyword. There is at most one for each of required, type, enum,
// const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, minItems,
// maxItems and additionalProperties, in this order, and a second one for required that has no arguments at all, if a
// required property has no default. What cannot be made is left out. Only keywords that apply in any case are broken,
// not those below anyOf and the like. Top-level properties are preferred, required ones first.
//
// The values are harmless: short, no paths or commands, strings that begin with "mcpcheck" if they may.
func Counterexamples(s *Schema, valid map[string]any, seed int64) (list []Counterexample) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	m := &maker{schema: s}
	sites := m.sites(valid)
	for _, k := range spoilers {
		if c, ok := m.counterexample(k, sites, valid, variantOf(seed)); ok {
			list = append(list, c)
		}
		if k.keyword == "required" {
			list = m.withEmpty(list, sites[0])
		}
	}
	return list
}

// spoiler makes a value for a site that breaks one keyword.
type spoiler struct {
	keyword string
	spoil   func(m *maker, t site, variant int) (spoiled, bool)
}

// spoiled is the change that a spoiler proposes: a new value for the site or, with a member, for a member of it.
type spoiled struct {
	member string // "": the site itself
	remove bool   // the member
	value  any
	why    string // what comes after the name of the place
	poor   bool   // another site would do better: this one has further limits, which the change breaks unseen
}

var spoilers = []spoiler{
	{"required", withoutRequired},
	{"type", ofWrongType},
	{"enum", outsideEnum},
	{"const", notTheConst},
	{"minimum", belowMinimum},
	{"maximum", aboveMaximum},
	{"exclusiveMinimum", atExclusiveMinimum},
	{"exclusiveMaximum", atExclusiveMaximum},
	{"multipleOf", noMultiple},
	{"minLength", tooShort},
	{"maxLength", tooLong},
	{"pattern", notMatching},
	{"minItems", tooFewItems},
	{"maxItems", tooManyItems},
	{"additionalProperties", withUndeclared},
}

// site is a place in the arguments that could be spoiled.
type site struct {
	path    []string
	parts   []*jsonschema.Schema // what applies there in any case
	value   any
	present bool // in the valid arguments
}

const (
	maxSites     = 300
	maxSiteDepth = 5
)

// sites lists the root, then the places below it level by level; in each object required properties first, then those
// that are there, then those that may be added.
func (m *maker) sites(valid map[string]any) []site {
	root := site{parts: m.flatten([]*jsonschema.Schema{m.schema.root}, 0, nil), value: valid, present: true}
	list := []site{root}
	for i := 0; i < len(list) && len(list) < maxSites; i++ {
		if list[i].present && len(list[i].path) < maxSiteDepth {
			list = append(list, m.sitesBelow(list[i])...)
		}
	}
	return list
}

func (m *maker) sitesBelow(t site) []site {
	var list []site
	add := func(name string, schemas []*jsonschema.Schema, value any, present bool) {
		path := append(slices.Clone(t.path), name)
		list = append(list, site{path, m.flatten(schemas, 0, nil), value, present})
	}
	switch value := t.value.(type) {
	case map[string]any:
		for _, name := range propertyOrder(t.parts, value) {
			schemas, _ := propertySchemas(t.parts, name)
			member, present := value[name]
			add(name, schemas, member, present)
		}
	case []any:
		if len(value) > 0 {
			add("0", itemSchemas(t.parts, 0), value[0], true)
		}
	}
	return list
}

func propertyOrder(parts []*jsonschema.Schema, value map[string]any) []string {
	var names []string
	for _, s := range parts {
		for _, name := range s.Required {
			if _, present := value[name]; present {
				names = union(names, []string{name})
			}
		}
	}
	names = union(names, slices.Sorted(maps.Keys(value)))
	return union(names, declared(parts))
}

func isRequired(parts []*jsonschema.Schema, name string) bool {
	return slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool { return slices.Contains(s.Required, name) })
}

// counterexample breaks a keyword at the first site where it is the only one to break, else where it is among those
// that break.
func (m *maker) counterexample(k spoiler, sites []site, valid map[string]any, variant int) (Counterexample, bool) {
	var second Counterexample
	for _, t := range sites {
		change, ok := k.spoil(m, t, variant)
		if !ok {
			continue
		}
		c := Counterexample{Keyword: k.keyword, Arguments: t.changed(valid, change)}
		path := t.path
		if change.member != "" {
			path = append(slices.Clone(path), change.member)
		}
		if c.Arguments == nil {
			continue
		}
		c.Path, c.Why = pointer(path), strings.Join(path, ".")+" "+change.why
		breaks, alone := m.breaks(c.Arguments, k.keyword, path)
		if alone && !change.poor {
			return c, true
		}
		if breaks && second.Keyword == "" {
			second = c
		}
	}
	return second, second.Keyword != ""
}

// breaks tells whether arguments break a keyword at a place, and whether that is all they break.
func (m *maker) breaks(arguments map[string]any, keyword string, path []string) (breaks, alone bool) {
	invalid, err := m.schema.check(m.schema.root, arguments)
	if err != nil || invalid == nil || m.schema.older != nil && !m.schema.older.refuses(arguments) {
		return false, false
	}
	found := toolErrors.breaches(invalid)
	for _, b := range found {
		if keywordOf(b.kind) == keyword && slices.Equal(b.path, path) {
			return true, len(found) == 1
		}
	}
	return false, false
}

// changed returns a copy of the valid arguments with a change at the site, or nil if nothing can be changed there.
func (t site) changed(valid map[string]any, change spoiled) map[string]any {
	arguments, _ := deepCopy(valid).(map[string]any)
	path := t.path
	if change.member != "" {
		path = append(slices.Clone(path), change.member)
	}
	if len(path) == 0 {
		return nil
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

// withEmpty adds the counterexample without arguments, unless it is there already.
func (m *maker) withEmpty(list []Counterexample, root site) []Counterexample {
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
	if len(names) == 0 || !m.schema.refuses(none) {
		return list
	}
	why := "there are no arguments: " + names[0] + " is missing"
	if len(names) > 1 {
		why = "there are no arguments: " + strings.Join(names, ", ") + " are missing"
	}
	return append(list, Counterexample{"required", "/" + escapeToken(names[0]), none, cut(why, 200)})
}

// hasDefault tells whether a property has a default: some generators list such properties as required.
func (m *maker) hasDefault(parts []*jsonschema.Schema, name string) bool {
	schemas, _ := propertySchemas(parts, name)
	return slices.ContainsFunc(m.flatten(schemas, 0, nil), func(s *jsonschema.Schema) bool { return s.Default != nil })
}

func withoutRequired(m *maker, t site, _ int) (spoiled, bool) {
	object, _ := t.value.(map[string]any)
	for _, name := range propertyOrder(t.parts, object) {
		_, present := object[name]
		if present && isRequired(t.parts, name) && !m.hasDefault(t.parts, name) {
			return spoiled{member: name, remove: true, why: "is missing"}, true
		}
	}
	return spoiled{}, false
}

// ofWrongType gives an object for a scalar, and a string for an array or object: clashes that survive no sane coercion.
// It takes only places of a single type.
func ofWrongType(_ *maker, t site, _ int) (spoiled, bool) {
	typ, limited := "", false
	for _, s := range t.parts {
		limited = limited || s.Enum != nil || s.Const != nil
		if s.Types == nil {
			continue
		}
		types := s.Types.ToStrings()
		if len(types) != 1 || typ != "" && typ != types[0] {
			return spoiled{}, false
		}
		typ = types[0]
	}
	switch typ {
	case "":
		return spoiled{}, false
	case "array", "object":
		return spoiled{value: plainText, why: "is a string, not an " + typ, poor: limited}, true
	case "integer":
		typ = "whole number"
	}
	return spoiled{value: map[string]any{plainText: true}, why: "is an object, not a " + typ, poor: limited}, true
}

func outsideEnum(_ *maker, t site, _ int) (spoiled, bool) {
	for _, s := range t.parts {
		if s.Enum != nil {
			v, ok := another(t.parts, "mcpcheck-not-in-enum", s.Enum.Values)
			return spoiled{value: v, why: fmt.Sprintf("is %s, not %s", brief(v), toolErrors.oneOf(s.Enum.Values))}, ok
		}
	}
	return spoiled{}, false
}

func notTheConst(_ *maker, t site, _ int) (spoiled, bool) {
	for _, s := range t.parts {
		if s.Const != nil {
			v, ok := another(t.parts, "mcpcheck-not-the-const", []any{*s.Const})
			return spoiled{value: v, why: fmt.Sprintf("is %s, not %s", brief(v), brief(*s.Const))}, ok
		}
	}
	return spoiled{}, false
}

// another makes a value of an allowed type that is not among some: the text, a number above all of them, the other
// boolean.
func another(parts []*jsonschema.Schema, text string, values []any) (any, bool) {
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
		return jsonNumber(multiple(above, big.NewRat(1, 1), 1)), above.Cmp(safeInteger) < 0
	case slices.Contains(types, "boolean") && len(values) == 1:
		return values[0] == false, true
	}
	return nil, false
}

// safeInteger bounds the numbers that all JSON libraries keep exactly.
var safeInteger = big.NewRat(1<<50, 1)

// beyond makes a counterexample to a bound: a number that is as far from it as need be, in the steps of the other
// keywords.
func beyond(t site, get func(*jsonschema.Schema) *big.Rat, open, up bool, relation string) (spoiled, bool) {
	for _, s := range t.parts {
		bound := get(s)
		if bound == nil || new(big.Rat).Abs(bound).Cmp(safeInteger) > 0 {
			continue
		}
		step := spanOf(t.parts, isInteger(t.parts)).step
		if step == nil {
			step = big.NewRat(1, 1)
		}
		n := multiple(bound, step, 0) // not below the bound
		switch equal := n.Cmp(bound) == 0; {
		case equal && open:
		case up && equal:
			n = multiple(bound, step, 1)
		case !up:
			n = multiple(bound, step, -1)
		}
		v := jsonNumber(n)
		return spoiled{value: v, why: fmt.Sprintf("is %v, %s %s", v, relation, decimal(bound))}, true
	}
	return spoiled{}, false
}

func isInteger(parts []*jsonschema.Schema) bool {
	types := possibleTypes(parts, place{})
	return slices.Contains(types, "integer") && !slices.Contains(types, "number")
}

func belowMinimum(_ *maker, t site, _ int) (spoiled, bool) {
	return beyond(t, func(s *jsonschema.Schema) *big.Rat { return s.Minimum }, false, false, "below the minimum")
}

func aboveMaximum(_ *maker, t site, _ int) (spoiled, bool) {
	return beyond(t, func(s *jsonschema.Schema) *big.Rat { return s.Maximum }, false, true, "above the maximum")
}

func atExclusiveMinimum(_ *maker, t site, _ int) (spoiled, bool) {
	return beyond(t, func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMinimum }, true, false, "not above")
}

func atExclusiveMaximum(_ *maker, t site, _ int) (spoiled, bool) {
	return beyond(t, func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMaximum }, true, true, "not below")
}

func noMultiple(_ *maker, t site, _ int) (spoiled, bool) {
	for _, s := range t.parts {
		if s.MultipleOf == nil {
			continue
		}
		span, integer := spanOf(t.parts, isInteger(t.parts)), isInteger(t.parts)
		half := new(big.Rat).Quo(s.MultipleOf, big.NewRat(2, 1))
		for _, start := range []*big.Rat{span.low, big.NewRat(0, 1), span.high} {
			for _, add := range []*big.Rat{big.NewRat(1, 1), half, big.NewRat(-1, 1), new(big.Rat).Neg(half)} {
				n := multiple(start, s.MultipleOf, 0)
				if n == nil {
					continue
				}
				n.Add(n, add)
				if span.holds(n) && (n.IsInt() || !integer) && !new(big.Rat).Quo(n, s.MultipleOf).IsInt() {
					v := jsonNumber(n)
					why := fmt.Sprintf("is %v, no multiple of %s", v, decimal(s.MultipleOf))
					return spoiled{value: v, why: why}, true
				}
			}
		}
	}
	return spoiled{}, false
}

func tooShort(_ *maker, t site, variant int) (spoiled, bool) {
	w := wordingOf(t.parts)
	if w.least == 0 || w.least > maxExample {
		return spoiled{}, false
	}
	text := w.text(w.least-1, variant)
	return spoiled{value: text, why: fmt.Sprintf("has %d characters, fewer than %d", w.least-1, w.least)}, true
}

func tooLong(_ *maker, t site, variant int) (spoiled, bool) {
	for _, s := range t.parts {
		if s.MaxLength != nil && *s.MaxLength <= maxExample {
			text := wordingOf(t.parts).text(*s.MaxLength+1, variant)
			n := utf8.RuneCountInString(text)
			return spoiled{value: text, why: fmt.Sprintf("has %d characters, more than %d", n, *s.MaxLength)}, true
		}
	}
	return spoiled{}, false
}

// text makes a string of a length, if possible one that all patterns match.
func (w wording) text(length, variant int) string {
	w.least, w.most = length, length
	for _, p := range w.patterns {
		if text, ok := matching(p, length, length, variant); ok && w.allows(text) {
			return text
		}
	}
	return fill(exampleText(variant), length, length)
}

func notMatching(_ *maker, t site, _ int) (spoiled, bool) {
	w := wordingOf(t.parts)
	if len(w.patterns) == 0 {
		return spoiled{}, false
	}
	bad := w.patterns[0]
	for _, text := range []string{plainText, "mcpcheck does not match!", "MCPCHECK", "mcpcheck-1", "0", "!", ""} {
		text = fill(text, w.least, w.most)
		if matched, err := bad.match(text); err == nil && !matched {
			why := fmt.Sprintf("is %s, no match of %s", brief(text), cut(bad.source, 80))
			return spoiled{value: text, why: why}, true
		}
	}
	return spoiled{}, false
}

func tooFewItems(m *maker, t site, variant int) (spoiled, bool) {
	least := shapeOf(t.parts).least
	items, ok := m.siteValue(t, variant).([]any)
	if least == 0 || !ok || len(items) < least {
		return spoiled{}, false
	}
	return spoiled{value: items[:least-1], why: fmt.Sprintf("has %d items, fewer than %d", least-1, least)}, true
}

// maxTooMany bounds the arrays that are made too long.
const maxTooMany = 64

func tooManyItems(m *maker, t site, variant int) (spoiled, bool) {
	shape := shapeOf(t.parts)
	items, ok := m.siteValue(t, variant).([]any)
	if shape.most < 0 || shape.most > maxTooMany || !ok {
		return spoiled{}, false
	}
	items = slices.Clone(items)
	p := place{parts: t.parts, depth: len(t.path), variant: variant}
	for len(items) <= shape.most {
		item, err := m.item(p, itemSchemas(t.parts, len(items)), len(items), items, shape.unique)
		if err != nil {
			return spoiled{}, false
		}
		items = append(items, item)
	}
	return spoiled{value: items, why: fmt.Sprintf("has %d items, more than %d", len(items), shape.most)}, true
}

// siteValue returns the valid value at a site, or makes one; nil if there is none.
func (m *maker) siteValue(t site, variant int) any {
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

func withUndeclared(_ *maker, t site, _ int) (spoiled, bool) {
	closed := slices.ContainsFunc(t.parts, func(s *jsonschema.Schema) bool { return s.AdditionalProperties == false })
	if !closed || len(t.path) > 0 {
		return spoiled{}, false
	}
	return spoiled{member: "mcpcheck_extra", value: true, why: "is not declared"}, true
}
