package schemas

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// object makes an object with the required properties, and those that dependencies and minProperties add.
func (m *valueMaker) object(p place, parts []*jsonschema.Schema, c *choices) (any, error) {
	names, parts := m.requiredNames(p, parts, c)
	if c.fallback(2) == 1 { // a second try: not, oneOf and the like may need an optional property
		names = appendNew(names, declaredNames(parts))
	}
	p.variant += c.code
	least := largestKeyword(parts, func(s *jsonschema.Schema) *int { return s.MinProperties })
	for _, name := range declaredNames(parts) {
		if len(names) < least && m.isPossible(parts, name) {
			names = appendNew(names, []string{name})
		}
	}
	object := map[string]any{}
	for _, name := range names {
		if err := m.addProperty(object, p, parts, name); err != nil {
			return nil, err
		}
	}
	for i := 0; len(object) < least && i < maxItems; i++ {
		name, err := m.newName(p, parts, i)
		if err != nil {
			return nil, err
		}
		if _, known := object[name]; !known {
			if err := m.addProperty(object, p, parts, name); err != nil {
				return nil, err
			}
		}
	}
	return object, nil
}

// requiredNames are the required properties in the order of the schema, and those that they depend on. It also returns
// the schemas, with those that apply because of these properties.
func (m *valueMaker) requiredNames(p place, parts []*jsonschema.Schema, c *choices) ([]string, []*jsonschema.Schema) {
	var names []string
	for {
		before := len(names) + len(parts)
		for _, s := range parts {
			names = appendNew(names, s.Required)
		}
		for _, name := range names {
			for _, s := range parts {
				names = appendNew(names, s.DependentRequired[name])
				switch dependency := s.Dependencies[name].(type) {
				case []string:
					names = appendNew(names, dependency)
				case *jsonschema.Schema:
					parts = m.withPart(parts, dependency, p, c)
				}
				parts = m.withPart(parts, s.DependentSchemas[name], p, c)
			}
		}
		if len(names)+len(parts) == before {
			return names, parts
		}
	}
}

func (m *valueMaker) withPart(
	parts []*jsonschema.Schema, one *jsonschema.Schema, p place, c *choices,
) []*jsonschema.Schema {
	if one == nil || slices.Contains(parts, one) {
		return parts
	}
	for _, s := range m.flatten([]*jsonschema.Schema{one}, p.depth, c) {
		if !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	return parts
}

// declaredNames are the names in properties, sorted for each schema.
func declaredNames(parts []*jsonschema.Schema) []string {
	var names []string
	for _, s := range parts {
		names = appendNew(names, slices.Sorted(maps.Keys(s.Properties)))
	}
	return names
}

// isPossible reports whether a property may have a finite value.
func (m *valueMaker) isPossible(parts []*jsonschema.Schema, name string) bool {
	schemas, allowed := propertySchemas(parts, name)
	return allowed && !slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool {
		return isFalse(s) || m.height(s) >= infiniteHeight
	})
}

func (m *valueMaker) addProperty(object map[string]any, p place, parts []*jsonschema.Schema, name string) error {
	schemas, allowed := propertySchemas(parts, name)
	if !allowed {
		return p.newError(fmt.Sprintf("the property %s is required but not allowed", brief(name)))
	}
	if len(schemas) == 0 {
		object[name] = exampleText(p.variant)
		return nil
	}
	v, err := m.value(place{parts: schemas, depth: p.depth + 1, variant: p.variant})
	if err != nil {
		return err
	}
	object[name] = v
	return nil
}

// propertySchemas are the schemas that apply to a property by properties, patternProperties and additionalProperties.
func propertySchemas(parts []*jsonschema.Schema, name string) (schemas []*jsonschema.Schema, allowed bool) {
	for _, s := range parts {
		found := false
		if one := s.Properties[name]; one != nil {
			schemas, found = append(schemas, one), true
		}
		for _, p := range sortedPatterns(s) {
			if matched, _ := p.match(name); matched {
				schemas, found = append(schemas, s.PatternProperties[p]), true
			}
		}
		if found {
			continue
		}
		switch additional := s.AdditionalProperties.(type) {
		case bool:
			if !additional {
				return nil, false
			}
		case *jsonschema.Schema:
			schemas = append(schemas, additional)
		}
	}
	return schemas, true
}

func sortedPatterns(s *jsonschema.Schema) []*pattern {
	var list []*pattern
	for re := range s.PatternProperties {
		list = append(list, re.(*pattern))
	}
	slices.SortFunc(list, func(a, b *pattern) int { return cmp.Compare(a.source, b.source) })
	return list
}

// newName makes the name of a property: by propertyNames, by a pattern of patternProperties if other names are not
// allowed, or any name.
func (m *valueMaker) newName(p place, parts []*jsonschema.Schema, variant int) (string, error) {
	var names []*jsonschema.Schema
	var patterns []*pattern
	for _, s := range parts {
		names = appendSchema(names, s.PropertyNames)
		patterns = append(patterns, sortedPatterns(s)...)
	}
	if len(names) > 0 {
		name, err := m.value(place{parts: names, depth: p.depth + 1, variant: variant})
		if text, ok := name.(string); ok || err != nil {
			return text, err
		}
	}
	plain := exampleText(variant)
	if _, allowed := propertySchemas(parts, plain); allowed {
		return plain, nil
	}
	for _, re := range patterns {
		if name, ok := matchingString(re, 0, maxExampleLength, variant); ok {
			return name, nil
		}
	}
	return "", p.newError("no name found for a further property")
}
