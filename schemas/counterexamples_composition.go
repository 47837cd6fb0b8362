package schemas

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CompositionKeywords are the keywords that relate a value to other schemas, or its parts to each other. if stands for
// then and else, too.
var CompositionKeywords = []string{"anyOf", "oneOf", "not", "if", "dependentRequired", "uniqueItems"}

// composition says how a composition keyword is violated: the schema without it, the values that may violate it, and
// the reason.
type composition struct {
	remove func(s *jsonschema.Schema)
	values func(m *valueMaker, t mutationSite, s *jsonschema.Schema) []any
	reason string
}

var compositions = map[string]composition{
	"anyOf": {
		func(s *jsonschema.Schema) { s.AnyOf = nil },
		func(m *valueMaker, t mutationSite, s *jsonschema.Schema) []any { return m.unionBreakers(t, s.AnyOf) },
		"matches none of anyOf",
	},
	"oneOf": {
		func(s *jsonschema.Schema) { s.OneOf = nil },
		func(m *valueMaker, t mutationSite, s *jsonschema.Schema) []any {
			return append(m.unionBreakers(t, s.OneOf), m.grown(t)...)
		},
		"matches none, or several, of oneOf",
	},
	"not": {
		func(s *jsonschema.Schema) { s.Not = nil },
		(*valueMaker).forbiddenValues,
		"matches what not forbids",
	},
	"if": {
		func(s *jsonschema.Schema) { s.If, s.Then, s.Else = nil, nil, nil },
		(*valueMaker).conditionBreakers,
		"breaks what then, or else, demands",
	},
	"dependentRequired": {
		func(s *jsonschema.Schema) { s.DependentRequired = nil },
		(*valueMaker).withoutDependents,
		"lacks what dependentRequired demands",
	},
	"uniqueItems": {
		func(s *jsonschema.Schema) { s.UniqueItems = false },
		func(_ *valueMaker, t mutationSite, _ *jsonschema.Schema) []any { return repeated(t) },
		"has an item twice",
	},
}

// breakComposition returns a mutator for a composition keyword: it takes the first value that the schema refuses, and
// would accept without the keyword.
func breakComposition(keyword string) func(*valueMaker, mutationSite, int) (mutation, bool) {
	c := compositions[keyword]
	return func(m *valueMaker, t mutationSite, _ int) (mutation, bool) {
		if !t.present {
			return mutation{}, false
		}
		for _, s := range t.parts {
			without := *s
			if c.remove(&without); isSameSchema(s, &without) {
				continue
			}
			for _, v := range c.values(m, t, s) {
				if !m.accepts(s, v) && m.accepts(&without, v) && m.acceptOthers(t.parts, s, v) {
					return mutation{value: v, reason: c.reason}, true
				}
			}
		}
		return mutation{}, false
	}
}

// isSameSchema reports whether two copies of a schema have the same composition keywords.
func isSameSchema(a, b *jsonschema.Schema) bool {
	return len(a.AnyOf) == len(b.AnyOf) && len(a.OneOf) == len(b.OneOf) && a.Not == b.Not && a.If == b.If &&
		len(a.DependentRequired) == len(b.DependentRequired) && a.UniqueItems == b.UniqueItems
}

func (m *valueMaker) accepts(s *jsonschema.Schema, v any) bool {
	invalid, err := m.schema.check(s, v)
	return err == nil && invalid == nil
}

// acceptOthers reports whether the other schemas of a site accept a value. What they refer to is among them, so that it
// does not count twice.
func (m *valueMaker) acceptOthers(parts []*jsonschema.Schema, one *jsonschema.Schema, v any) bool {
	return !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool {
		own := *s
		own.AllOf, own.Ref, own.RecursiveRef, own.DynamicRef = nil, nil, nil, nil
		return s != one && !m.accepts(&own, v)
	})
}

// unionBreakers are values that may match none of several schemas. No sane coercion makes one of the strings and the
// nested values match. Of a schema besides null, the other keywords are violated.
func (m *valueMaker) unionBreakers(t mutationSite, branches []*jsonschema.Schema) (values []any) {
	if len(slices.DeleteFunc(slices.Clone(branches), isNullOnly)) < 2 {
		return nil
	}
	if _, isObject := t.value.(map[string]any); isObject {
		values = reduced(t)
	}
	if len(t.path) == 0 {
		return values
	}
	var constants []any
	for _, branch := range branches {
		if branch.Const != nil {
			constants = append(constants, *branch.Const)
		}
	}
	if other, ok := otherValue(t.parts, "mcpcheck-not-in-union", constants); ok && len(constants) > 0 {
		values = append(values, other)
	}
	return append(values, "mcpcheck-not-in-union", map[string]any{plainText: true}, []any{[]any{}})
}

// reduced are copies of an object that lack one of its members each, and one that lacks all.
func reduced(t mutationSite) (values []any) {
	object, _ := t.value.(map[string]any)
	for _, name := range propertyOrder(t.parts, object) {
		if _, present := object[name]; present {
			less := maps.Clone(object)
			delete(less, name)
			values = append(values, less)
		}
	}
	if len(object) > 0 {
		values = append(values, map[string]any{})
	}
	return values
}

// grown are copies of an object with one more of its properties each.
func (m *valueMaker) grown(t mutationSite) (values []any) {
	object, _ := t.value.(map[string]any)
	for _, below := range m.sitesBelow(t) {
		if v, ok := m.addition(below, 0); ok && object != nil && !below.present {
			values = append(values, withMember(object, below.path[len(below.path)-1], v))
		}
	}
	return values
}

func withMember(object map[string]any, name string, v any) map[string]any {
	more := maps.Clone(object)
	more[name] = v
	return more
}

// forbiddenValues are a value that not describes, in an object with what is valid besides.
func (m *valueMaker) forbiddenValues(t mutationSite, s *jsonschema.Schema) []any {
	v, err := m.value(place{parts: []*jsonschema.Schema{s.Not}, depth: len(t.path), mustBeObject: len(t.path) == 0})
	if err != nil {
		return nil
	}
	object, isObject := t.value.(map[string]any)
	forbidden, ok := v.(map[string]any)
	if !isObject || !ok {
		return []any{v}
	}
	all := maps.Clone(object)
	maps.Copy(all, forbidden)
	return []any{all}
}

// conditionBreakers are values for which if has the same outcome as for the valid one: without one of the members, and
// with another value for one.
func (m *valueMaker) conditionBreakers(t mutationSite, s *jsonschema.Schema) (values []any) {
	object, isObject := t.value.(map[string]any)
	if !isObject {
		return nil
	}
	values = reduced(t)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		values = append(values, withMember(object, name, "mcpcheck-not-in-then"))
	}
	holds := m.accepts(s.If, t.value)
	return slices.DeleteFunc(values, func(v any) bool { return m.accepts(s.If, v) != holds })
}

// withoutDependents are objects that have a member without one that has to come with it.
func (m *valueMaker) withoutDependents(t mutationSite, s *jsonschema.Schema) (values []any) {
	object, isObject := t.value.(map[string]any)
	if !isObject {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentRequired)) {
		trigger, present := object[name]
		if !present {
			added := map[string]any{}
			if m.addProperty(added, place{depth: len(t.path)}, t.parts, name) != nil {
				continue
			}
			trigger = added[name]
		}
		for _, dependent := range s.DependentRequired[name] {
			less := withMember(object, name, trigger)
			delete(less, dependent)
			values = append(values, less)
		}
	}
	return values
}

// repeated are arrays with their first item twice.
func repeated(t mutationSite) []any {
	items, _ := t.value.([]any)
	if len(items) == 0 {
		return nil
	}
	longer := append(slices.Clone(items), items[0])
	replaced := slices.Clone(items)
	replaced[len(replaced)-1] = items[0]
	return []any{longer, replaced}
}
