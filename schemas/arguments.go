package schemas

import (
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of the search for values.
const (
	maxValues         = 4000 // values made in all, with those that were rejected
	maxDepth          = 24   // values nested in each other
	maxTries          = 64   // for one value
	minTries          = 8    // for each combination of choices, since numbers and strings still vary
	maxItems          = 1000 // items or properties of one value
	maxExtraItemDepth = 6    // up to this depth arrays have an item even if they need none
)

// ValidArguments makes arguments that a tool's input schema accepts, in both of its dialects if there are two. They are
// small: optional properties stay out unless the schema makes them necessary, and recursion ends as soon as it may.
// default and examples are used where they are valid; strings keep their format if it is a known one, and otherwise
// read "mcpcheck" if they may. The same seed always gives the same arguments; seed 0 takes the first of all choices.
//
// The error says in one line what could not be made, and where in the schema: "/properties/q/pattern: no string found
// for (?=x)y".
func ValidArguments(s *Schema, seed int64) (map[string]any, error) {
	arguments, err := validInDialect(s, seed)
	if err == nil {
		err = s.validateAll(arguments)
	}
	if err != nil && s.older != nil {
		older, bad := validInDialect(s.older, seed)
		if bad == nil && s.validateAll(older) == nil {
			return older, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return arguments, nil
}

// validInDialect makes arguments that the schema accepts in its first dialect.
func validInDialect(s *Schema, seed int64) (arguments map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			arguments, err = nil, &LimitError{fmt.Sprint(r)}
		}
	}()
	m := &valueMaker{schema: s}
	v, err := m.value(place{parts: []*jsonschema.Schema{s.root}, variant: variantOf(seed), mustBeObject: true})
	if err != nil {
		return nil, err
	}
	arguments, _ = v.(map[string]any)
	return arguments, nil
}

// variantOf folds a seed into a small number: it shows in strings, and is added to numbers.
func variantOf(seed int64) int { return int(uint64(seed) % 10_000) }

// valueMaker makes values for places in one schema.
type valueMaker struct {
	schema     *Schema
	valueCount int
	// heights are the results of measureHeights.
	heights map[*jsonschema.Schema]int
	// circularSchemas are the results of isCircular.
	circularSchemas map[*jsonschema.Schema]bool
}

// place is a place in the schema that needs a value.
type place struct {
	// parts are the schemas that must all accept the value.
	parts []*jsonschema.Schema
	depth int
	// variant selects among choices; 0 is the first choice everywhere.
	variant int
	// mustBeObject requires an object whatever parts say.
	mustBeObject bool
}

// value makes a value that all parts of the place accept, trying one combination of choices after the other.
func (m *valueMaker) value(p place) (any, error) {
	if p.depth > maxDepth {
		return nil, p.newError("values would be nested without end")
	}
	var first error
	for try := range maxTries {
		c := &choices{code: try, offset: p.variant}
		v, err := m.tryValue(p, c)
		if err == nil {
			err = m.checkAccepted(p, v)
		}
		if err == nil {
			return v, nil
		}
		if first == nil {
			first = err
		}
		if m.valueCount > maxValues || c.code >= minTries {
			break
		}
	}
	return nil, first
}

func (m *valueMaker) checkAccepted(p place, v any) error {
	for _, part := range p.parts {
		invalid, err := m.schema.check(part, v)
		if err != nil {
			return err
		}
		if invalid != nil {
			return p.newError("no value found, the best try was refused: " + describeError(invalid).Error())
		}
	}
	return nil
}

// newError is the error that no value can be made at the place.
func (p place) newError(why string) error {
	return fmt.Errorf("%s: %s", orRoot(locationPath(p.parts[0].Location)), why)
}

// choices enumerates all combinations of the choices that one value needs, like the digits of a number.
type choices struct {
	// code is what is left of the number of the combination.
	code int
	// offset is where counting begins.
	offset int
}

// choose selects one of n.
func (c *choices) choose(n int) int { return (c.fallback(n) + c.offset) % max(n, 1) }

// fallback selects one of n, beginning with the first whatever the seed.
func (c *choices) fallback(n int) int {
	n = max(n, 1)
	digit := c.code % n
	c.code /= n
	return digit
}

// tryValue makes a value with these choices. The value may turn out to be invalid.
func (m *valueMaker) tryValue(p place, c *choices) (any, error) {
	if m.valueCount++; m.valueCount > maxValues {
		return nil, p.newError("too much work to find a value")
	}
	parts := m.flatten(p.parts, p.depth, c)
	if v, ok := declaredValue(parts, p, c); ok {
		return v, nil
	}
	types := possibleTypes(parts, p)
	if len(types) == 0 {
		return nil, p.newError("no type fits")
	}
	typ := types[c.choose(len(types))]
	switch typ {
	case "object":
		return m.object(p, parts, c)
	case "array":
		return m.array(p, parts, c)
	}
	return exampleScalar(typ, parts, p.variant+c.code)
}

// flatten lists the schemas and everything that they apply to the same value: references, allOf, and one choice of each
// anyOf, oneOf and if. When c is nil, it lists only what applies in any case.
func (m *valueMaker) flatten(parts []*jsonschema.Schema, depth int, c *choices) []*jsonschema.Schema {
	list := slices.Clone(parts)
	for i := 0; i < len(list); i++ {
		s := list[i]
		add := slices.Clone(s.AllOf)
		add = append(add, s.Ref, s.RecursiveRef)
		if s.DynamicRef != nil {
			add = append(add, s.DynamicRef.Ref)
		}
		if c != nil {
			add = append(add, m.chooseBranch(s.AnyOf, depth, c), m.chooseBranch(s.OneOf, depth, c))
			add = append(add, chooseCondition(s, c)...)
		}
		for _, next := range add {
			if next != nil && !slices.Contains(list, next) {
				list = append(list, next)
			}
		}
	}
	return list
}

// chooseBranch selects a schema of an anyOf or oneOf that can be satisfied, preferring those that do not recurse. At
// great depth it selects only among those that end soonest.
func (m *valueMaker) chooseBranch(schemas []*jsonschema.Schema, depth int, c *choices) *jsonschema.Schema {
	if len(schemas) == 0 {
		return nil
	}
	lowest := m.minHeight(schemas)
	var open, circular []*jsonschema.Schema
	for _, s := range schemas {
		switch h := m.height(s); {
		case h == infiniteHeight || isFalse(s) || depth > maxExtraItemDepth && h > lowest:
		case m.isCircular(s):
			circular = append(circular, s)
		default:
			open = append(open, s)
		}
	}
	open = append(open, circular...)
	if len(open) == 0 {
		return schemas[0]
	}
	return open[c.choose(len(open))]
}

// chooseCondition selects what to add for if, then and else: the schemas where the condition fails, or where it holds.
func chooseCondition(s *jsonschema.Schema, c *choices) []*jsonschema.Schema {
	if s.If == nil {
		return nil
	}
	if c.fallback(2) == 0 {
		return []*jsonschema.Schema{s.Else}
	}
	return []*jsonschema.Schema{s.If, s.Then}
}

func isFalse(s *jsonschema.Schema) bool { return s.Bool != nil && !*s.Bool }

// declaredValue selects among the values that the schemas name: const, enum, default, examples. For the latter two
// there is always the further choice of making a value.
func declaredValue(parts []*jsonschema.Schema, p place, c *choices) (any, bool) {
	var proposed []any
	for _, s := range parts {
		if s.Const != nil {
			return *s.Const, true
		}
		if s.Enum != nil {
			return s.Enum.Values[c.choose(len(s.Enum.Values))], true
		}
		if s.Default != nil && hasAllowedType(*s.Default, p) {
			proposed = append(proposed, *s.Default)
		}
		for _, example := range s.Examples {
			if hasAllowedType(example, p) {
				proposed = append(proposed, example)
			}
		}
	}
	if len(proposed) == 0 {
		return nil, false
	}
	i := c.choose(len(proposed) + 1)
	if i == len(proposed) {
		return nil, false
	}
	return deepCopy(proposed[i]), true
}

// hasAllowedType reports whether the type of a value is allowed at a place.
func hasAllowedType(v any, p place) bool {
	_, isObject := v.(map[string]any)
	return isObject || !p.mustBeObject
}

var allTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// possibleTypes lists the types that all schemas allow. Where no schema has a type keyword, the type that the other
// keywords suggest comes first.
func possibleTypes(parts []*jsonschema.Schema, p place) []string {
	if p.mustBeObject {
		return []string{"object"}
	}
	types := allTypes
	typed := false
	for _, s := range parts {
		if isFalse(s) {
			return nil
		}
		if s.Types == nil {
			continue
		}
		typed = true
		allowed := s.Types.ToStrings()
		types = slices.DeleteFunc(slices.Clone(types), func(t string) bool {
			return !slices.Contains(allowed, t) && (t != "integer" || !slices.Contains(allowed, "number"))
		})
	}
	if slices.Contains(types, "number") { // it includes integers
		types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "integer" })
	}
	if !typed {
		return appendNew([]string{guessedType(parts)}, types)
	}
	return types
}

// guessedType is the type that the keywords of schemas without a type keyword suggest.
func guessedType(parts []*jsonschema.Schema) string {
	for _, s := range parts {
		switch {
		case s.Properties != nil || s.Required != nil || s.PatternProperties != nil || s.AdditionalProperties != nil ||
			s.MinProperties != nil || s.PropertyNames != nil || s.DependentRequired != nil:
			return "object"
		case s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil || s.MinItems != nil || s.Contains != nil:
			return "array"
		case s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
			s.MultipleOf != nil:
			return "number"
		}
	}
	return "string"
}

// largestKeyword is the largest value of a keyword, or 0.
func largestKeyword(parts []*jsonschema.Schema, keyword func(*jsonschema.Schema) *int) int {
	largest := 0
	for _, s := range parts {
		if n := keyword(s); n != nil {
			largest = max(largest, *n)
		}
	}
	return largest
}

// appendNew appends the elements that are not in the list yet.
func appendNew(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// deepCopy copies a JSON value.
func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = deepCopy(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = deepCopy(value)
		}
		return out
	}
	return v
}
