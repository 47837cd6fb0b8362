package schemas

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxFurther is how many counterexamples FurtherCounterexamples makes of one schema.
const maxFurther = 120

// FurtherCounterexamples are the counterexamples at all other sites, where Counterexamples has the first one for each
// keyword: each required property, each type, enum and bound, also in nested objects and in the items of an array
// beyond the first. Where valid lacks what a site is in, it is added with valid values. Values that a usual coercion
// accepts (coercions) follow. Those that violate a keyword for the first time come before those that violate it for
// the second time, and so on.
func FurtherCounterexamples(s *Schema, valid map[string]any, seed int64) (list []Counterexample) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	m := &valueMaker{schema: s}
	known := Counterexamples(s, valid, seed)
	rounds := map[string]int{}
	var byRound [][]Counterexample
	add := func(c Counterexample) {
		same := func(other Counterexample) bool {
			return other.Keyword == c.Keyword && other.Path == c.Path && other.IsCoercible == c.IsCoercible &&
				(!c.IsCoercible || other.Reason == c.Reason)
		}
		if slices.ContainsFunc(known, same) {
			return
		}
		known = append(known, c)
		n := rounds[c.Keyword]
		rounds[c.Keyword]++
		if n == len(byRound) {
			byRound = append(byRound, nil)
		}
		byRound[n] = append(byRound[n], c)
	}
	bases := []map[string]any{valid, m.complete(valid, variantOf(seed))}
	for _, kinds := range [][]mutator{mutators, coercions} {
		for _, base := range bases {
			for _, site := range m.sites(base) {
				for _, c := range m.counterexamplesAt(site, base, kinds, variantOf(seed)) {
					add(c)
				}
			}
		}
	}
	list = slices.Concat(byRound...)
	return list[:min(len(list), maxFurther)]
}

// counterexamplesAt are the counterexamples of some kinds that change one site, and violate nothing else.
func (m *valueMaker) counterexamplesAt(
	site mutationSite, base map[string]any, kinds []mutator, variant int,
) (list []Counterexample) {
	for _, k := range kinds {
		changes := m.removals(site)
		if k.keyword != "required" {
			change, ok := k.mutate(m, site, variant)
			if !ok {
				continue
			}
			changes = []mutation{change}
		}
		for _, change := range changes {
			if c, alone := m.changed(k.keyword, site, base, change); alone {
				list = append(list, c)
			}
		}
	}
	return list
}

// complete is a copy of valid arguments with all optional properties, and with two items in each array, as far as the
// schema allows them together.
func (m *valueMaker) complete(valid map[string]any, variant int) map[string]any {
	all, _ := deepCopy(valid).(map[string]any)
	tried := map[string]bool{}
	for range maxSiteDepth { // what is added may have optional properties of its own
		grown := false
		for _, site := range m.sites(all) {
			step := fmt.Sprint(jsonPointer(site.path), site.present) // a new array is given its second item later
			if tried[step] || len(site.path) == 0 {
				continue
			}
			value, ok := m.addition(site, variant)
			if !ok {
				continue
			}
			more := site.withChange(all, mutation{value: value})
			if more != nil && m.schema.validateAll(more) == nil { // else it may need what is added later
				all, grown, tried[step] = more, true, true
			}
		}
		if !grown {
			break
		}
	}
	return all
}

// addition is the value of a site that has none yet, or an array with a second item.
func (m *valueMaker) addition(site mutationSite, variant int) (any, bool) {
	if !site.present {
		v, err := m.value(place{parts: site.parts, depth: len(site.path), variant: variant})
		return v, err == nil && len(site.parts) > 0
	}
	items, isArray := site.value.([]any)
	if !isArray || len(items) > 1 {
		return nil, false
	}
	p := place{parts: site.parts, depth: len(site.path), variant: variant}
	items = slices.Clone(items)
	for len(items) < 2 {
		item, err := m.item(p, itemSchemas(site.parts, len(items)), len(items), items, arrayBoundsOf(site.parts).unique)
		if err != nil {
			return nil, false
		}
		items = append(items, item)
	}
	return items, true
}

// unlessNull adds to the schemas of a site the only schema of an anyOf or oneOf that is for values other than null,
// since it applies to any such value.
func (m *valueMaker) unlessNull(parts []*jsonschema.Schema) []*jsonschema.Schema {
	for _, s := range slices.Clone(parts) {
		for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			others := slices.DeleteFunc(slices.Clone(branches), isNullOnly)
			if len(others) == 1 && len(branches) > 1 {
				parts = appendNewSchemas(parts, m.flatten(others, 0, nil))
			}
		}
	}
	return parts
}

func appendNewSchemas(all, more []*jsonschema.Schema) []*jsonschema.Schema {
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// isNullOnly reports whether a schema accepts nothing but null.
func isNullOnly(s *jsonschema.Schema) bool {
	if s.Types != nil {
		return reflect.DeepEqual(s.Types.ToStrings(), []string{"null"})
	}
	return s.Const != nil && *s.Const == nil
}
