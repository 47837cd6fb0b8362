package schemas

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of the search for values.
const (
	maxValues   = 4000 // values made in all, rejected ones included
	maxDepth    = 24   // values inside each other
	maxTries    = 64   // for one value
	minTries    = 8    // for each combination of choices: numbers and strings still vary
	maxItems    = 1000 // items or properties of one value
	plentyDepth = 6    // down to here arrays have an item even if they need none
)

// Valid makes arguments that a tool's input schema accepts, proved by s.Validate. They are small: optional properties
// stay out unless the schema makes them necessary, and recursion ends as soon as it may. default and examples are
// used where they are valid; strings keep their format if it is a known one, and otherwise read "mcpcheck" if they
// may. The same seed always gives the same arguments; seed 0 takes the first of all choices.
//
// The error says in one line what could not be made, and where in the schema: "/properties/q/pattern: no string found
// for (?=x)y".
func Valid(s *Schema, seed int64) (arguments map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			arguments, err = nil, &LimitError{fmt.Sprint(r)}
		}
	}()
	m := &maker{schema: s}
	v, err := m.value(place{parts: []*jsonschema.Schema{s.root}, variant: variantOf(seed), object: true})
	if err != nil {
		return nil, err
	}
	arguments, _ = v.(map[string]any)
	if err := s.Validate(arguments); err != nil {
		return nil, err
	}
	return arguments, nil
}

// variantOf folds a seed into a small number: it shows in strings, and is added to numbers.
func variantOf(seed int64) int { return int(uint64(seed) % 10_000) }

// maker makes values for places in one schema.
type maker struct {
	schema  *Schema
	made    int
	heights map[*jsonschema.Schema]int  // see height
	circles map[*jsonschema.Schema]bool // see circular
}

// place is where a value is wanted.
type place struct {
	parts   []*jsonschema.Schema // what must all accept it
	depth   int
	variant int  // 0: the first choice everywhere
	object  bool // it must be an object, whatever parts say
}

// value makes a value that all parts of the place accept, trying one choice after the other.
func (m *maker) value(p place) (any, error) {
	if p.depth > maxDepth {
		return nil, p.fail("values would be nested without end")
	}
	var first error
	for try := range maxTries {
		c := &choices{code: try, offset: p.variant}
		v, err := m.attempt(p, c)
		if err == nil {
			err = m.accepted(p, v)
		}
		if err == nil {
			return v, nil
		}
		if first == nil {
			first = err
		}
		if m.made > maxValues || c.code >= minTries {
			break
		}
	}
	return nil, first
}

func (m *maker) accepted(p place, v any) error {
	for _, part := range p.parts {
		invalid, err := m.schema.check(part, v)
		if err != nil {
			return err
		}
		if invalid != nil {
			return p.fail("no value found, the best try was refused: " + describe(invalid).Error())
		}
	}
	return nil
}

// fail says that no value can be made at a place.
func (p place) fail(why string) error {
	return fmt.Errorf("%s: %s", orRoot(locationPath(p.parts[0].Location)), why)
}

// choices counts through all combinations of the choices that one value needs, like the digits of a number.
type choices struct {
	code   int // what is left of the number: how often all combinations have been tried
	offset int // where counting begins
}

// pick chooses one of n.
func (c *choices) pick(n int) int { return (c.fallback(n) + c.offset) % max(n, 1) }

// fallback chooses one of n, beginning with the first whatever the seed.
func (c *choices) fallback(n int) int {
	n = max(n, 1)
	digit := c.code % n
	c.code /= n
	return digit
}

// attempt makes a value with the given choices. It may turn out not to be accepted.
func (m *maker) attempt(p place, c *choices) (any, error) {
	if m.made++; m.made > maxValues {
		return nil, p.fail("too much work to find a value")
	}
	parts := m.flatten(p.parts, p.depth, c)
	if v, ok := given(parts, p, c); ok {
		return v, nil
	}
	types := possibleTypes(parts, p)
	if len(types) == 0 {
		return nil, p.fail("no type fits")
	}
	typ := types[c.pick(len(types))]
	switch typ {
	case "object":
		return m.object(p, parts, c)
	case "array":
		return m.array(p, parts, c)
	}
	return exampleScalar(typ, parts, p.variant+c.code)
}

// flatten lists the schemas and all that they apply to the same value: references and allOf, and one choice out of each
// anyOf, oneOf and if. Without choices (c nil) it keeps to what applies in any case.
func (m *maker) flatten(parts []*jsonschema.Schema, depth int, c *choices) []*jsonschema.Schema {
	list := slices.Clone(parts)
	for i := 0; i < len(list); i++ {
		s := list[i]
		add := slices.Clone(s.AllOf)
		add = append(add, s.Ref, s.RecursiveRef)
		if s.DynamicRef != nil {
			add = append(add, s.DynamicRef.Ref)
		}
		if c != nil {
			add = append(add, m.branch(s.AnyOf, depth, c), m.branch(s.OneOf, depth, c))
			add = append(add, condition(s, c)...)
		}
		for _, next := range add {
			if next != nil && !slices.Contains(list, next) {
				list = append(list, next)
			}
		}
	}
	return list
}

// branch chooses a schema of an anyOf or oneOf that can be satisfied, rather one that does not lead into recursion;
// deep down only one of those that end soonest.
func (m *maker) branch(schemas []*jsonschema.Schema, depth int, c *choices) *jsonschema.Schema {
	if len(schemas) == 0 {
		return nil
	}
	lowest := m.lowest(schemas)
	var open, circular []*jsonschema.Schema
	for _, s := range schemas {
		switch h := m.height(s); {
		case h == endless || isFalse(s) || depth > plentyDepth && h > lowest:
		case m.circular(s):
			circular = append(circular, s)
		default:
			open = append(open, s)
		}
	}
	open = append(open, circular...)
	if len(open) == 0 {
		return schemas[0]
	}
	return open[c.pick(len(open))]
}

// condition chooses what to add for if, then and else: that the condition does not hold, or that it holds.
func condition(s *jsonschema.Schema, c *choices) []*jsonschema.Schema {
	if s.If == nil {
		return nil
	}
	if c.fallback(2) == 0 {
		return []*jsonschema.Schema{s.Else}
	}
	return []*jsonschema.Schema{s.If, s.Then}
}

func isFalse(s *jsonschema.Schema) bool { return s.Bool != nil && !*s.Bool }

// given chooses among the values that the schemas themselves name: const, enum, default, examples. The latter two are
// first choices only: there is always one more choice, to make a value.
func given(parts []*jsonschema.Schema, p place, c *choices) (any, bool) {
	var proposed []any
	for _, s := range parts {
		if s.Const != nil {
			return *s.Const, true
		}
		if s.Enum != nil {
			return s.Enum.Values[c.pick(len(s.Enum.Values))], true
		}
		if s.Default != nil && fits(*s.Default, p) {
			proposed = append(proposed, *s.Default)
		}
		for _, example := range s.Examples {
			if fits(example, p) {
				proposed = append(proposed, example)
			}
		}
	}
	if len(proposed) == 0 {
		return nil, false
	}
	i := c.pick(len(proposed) + 1)
	if i == len(proposed) {
		return nil, false
	}
	return deepCopy(proposed[i]), true
}

// fits tells whether a value may stand at a place, as far as its type goes.
func fits(v any, p place) bool {
	_, isObject := v.(map[string]any)
	return isObject || !p.object
}

var allTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// possibleTypes lists the types that all schemas allow. Where no schema has a type keyword, it begins with the type
// that the other keywords are about.
func possibleTypes(parts []*jsonschema.Schema, p place) []string {
	if p.object {
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
	if slices.Contains(types, "number") { // it does for integers, too
		types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "integer" })
	}
	if !typed {
		hint := hintedType(parts)
		return append([]string{hint}, slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == hint })...)
	}
	return types
}

// hintedType guesses the type that schemas without type keyword are about.
func hintedType(parts []*jsonschema.Schema) string {
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

// object makes an object: the required properties, and what dependencies and minProperties add to them.
func (m *maker) object(p place, parts []*jsonschema.Schema, c *choices) (any, error) {
	names, parts := m.requiredNames(p, parts, c)
	if c.fallback(2) == 1 { // the plain way has failed: not, oneOf and the like may need an optional property
		names = union(names, declared(parts))
	}
	p.variant += c.code
	least := bound(parts, func(s *jsonschema.Schema) *int { return s.MinProperties })
	for _, name := range declared(parts) {
		if len(names) < least && m.possible(parts, name) {
			names = union(names, []string{name})
		}
	}
	object := map[string]any{}
	for _, name := range names {
		if err := m.property(object, p, parts, name); err != nil {
			return nil, err
		}
	}
	for i := 0; len(object) < least && i < maxItems; i++ {
		name, err := m.newName(p, parts, i)
		if err != nil {
			return nil, err
		}
		if _, known := object[name]; !known {
			if err := m.property(object, p, parts, name); err != nil {
				return nil, err
			}
		}
	}
	return object, nil
}

// requiredNames lists the required properties in the order of the schema, and those that they depend on. It returns
// the schemas with those added that apply because of these properties.
func (m *maker) requiredNames(p place, parts []*jsonschema.Schema, c *choices) ([]string, []*jsonschema.Schema) {
	var names []string
	for {
		before := len(names) + len(parts)
		for _, s := range parts {
			names = union(names, s.Required)
		}
		for _, name := range names {
			for _, s := range parts {
				names = union(names, s.DependentRequired[name])
				switch dependency := s.Dependencies[name].(type) {
				case []string:
					names = union(names, dependency)
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

func (m *maker) withPart(parts []*jsonschema.Schema, one *jsonschema.Schema, p place, c *choices) []*jsonschema.Schema {
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

// declared lists the names in properties, sorted.
func declared(parts []*jsonschema.Schema) []string {
	var names []string
	for _, s := range parts {
		names = union(names, slices.Sorted(maps.Keys(s.Properties)))
	}
	return names
}

// possible tells whether a property may have a finite value.
func (m *maker) possible(parts []*jsonschema.Schema, name string) bool {
	schemas, allowed := propertySchemas(parts, name)
	return allowed && !slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool {
		return isFalse(s) || m.height(s) >= endless
	})
}

func (m *maker) property(object map[string]any, p place, parts []*jsonschema.Schema, name string) error {
	schemas, allowed := propertySchemas(parts, name)
	if !allowed {
		return p.fail(fmt.Sprintf("the property %s is required but not allowed", brief(name)))
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

// propertySchemas lists the schemas that apply to a property: properties, patternProperties, additionalProperties.
func propertySchemas(parts []*jsonschema.Schema, name string) (schemas []*jsonschema.Schema, allowed bool) {
	for _, s := range parts {
		found := false
		if one := s.Properties[name]; one != nil {
			schemas, found = append(schemas, one), true
		}
		for _, p := range sortedPatterns(s) {
			if p.re.MatchString(name) {
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

// newName invents the name of a property: by propertyNames, by a pattern of patternProperties where other names are
// not allowed, or any.
func (m *maker) newName(p place, parts []*jsonschema.Schema, variant int) (string, error) {
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
		if name, ok := matching(re, 0, maxExample, variant); ok {
			return name, nil
		}
	}
	return "", p.fail("no name found for a further property")
}

// array makes an array: as many items as needed, and one even if none is needed, for an empty list seldom makes sense.
func (m *maker) array(p place, parts []*jsonschema.Schema, c *choices) (any, error) {
	shape := shapeOf(parts)
	n := shape.least
	if c.fallback(2) == 0 && p.depth < plentyDepth {
		n = max(n, m.pleasantLength(parts, shape))
	}
	from := 0 // contains is met by the items from here on
	if shape.contains > 0 {
		from = []int{shape.prefix, 0}[c.fallback(2)]
		n = max(n, from+shape.contains)
	}
	if n > maxItems {
		return nil, p.fail(fmt.Sprintf("an array of %d items is too long", n))
	}
	p.variant += c.code
	items := []any{}
	for i := range n {
		schemas := itemSchemas(parts, i)
		if i >= from && i < from+shape.contains {
			schemas = append(schemas, containsSchemas(parts)...)
		}
		item, err := m.item(p, schemas, i, items, shape.unique)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// uniqueTries is how many values are made to find one that is not yet in the array.
const uniqueTries = 40

func (m *maker) item(p place, schemas []*jsonschema.Schema, i int, others []any, unique bool) (any, error) {
	if !unique {
		i = 0
	}
	var item any
	for try := range uniqueTries {
		if len(schemas) == 0 {
			item = exampleText(p.variant + i + try)
		} else {
			v, err := m.value(place{parts: schemas, depth: p.depth + 1, variant: p.variant + i + try})
			if err != nil {
				return nil, err
			}
			item = v
		}
		if !unique || !slices.ContainsFunc(others, func(other any) bool { return jsonEqual(item, other) }) {
			break
		}
	}
	return item, nil
}

// shape is what schemas say about the length of an array.
type shape struct {
	least, prefix, contains int
	most                    int // -1: no bound
	unique                  bool
}

func shapeOf(parts []*jsonschema.Schema) shape {
	z := shape{most: -1, least: bound(parts, func(s *jsonschema.Schema) *int { return s.MinItems })}
	for _, s := range parts {
		z.unique = z.unique || s.UniqueItems
		z.prefix = max(z.prefix, len(tuple(s)))
		if s.MaxItems != nil && (z.most < 0 || *s.MaxItems < z.most) {
			z.most = *s.MaxItems
		}
		if s.Contains != nil && s.MinContains != nil {
			z.contains = max(z.contains, *s.MinContains)
		} else if s.Contains != nil {
			z.contains = max(z.contains, 1)
		}
	}
	return z
}

// maxTuple is how many items of a tuple are filled without need.
const maxTuple = 16

// pleasantLength is the length of an array that looks natural: the whole tuple, or one item.
func (m *maker) pleasantLength(parts []*jsonschema.Schema, z shape) int {
	n := 0
	for _, s := range itemSchemas(parts, z.prefix) {
		if isFalse(s) || m.circular(s) {
			return min(z.prefix, maxTuple)
		}
	}
	if z.prefix > 0 {
		n = min(z.prefix, maxTuple)
	} else if len(itemSchemas(parts, 0)) > 0 {
		n = 1
	}
	if z.most >= 0 {
		n = min(n, z.most)
	}
	return n
}

// tuple returns the schemas of the first items: prefixItems, before 2020-12 an array in items.
func tuple(s *jsonschema.Schema) []*jsonschema.Schema {
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		return list
	}
	return s.PrefixItems
}

// itemSchemas lists the schemas that apply to the item at an index.
func itemSchemas(parts []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, s := range parts {
		if first := tuple(s); i < len(first) {
			list = append(list, first[i])
			continue
		}
		list = appendSchema(list, s.Items)
		list = appendSchema(list, s.Items2020)
		if tuple(s) != nil {
			list = appendSchema(list, s.AdditionalItems)
		}
	}
	return list
}

func containsSchemas(parts []*jsonschema.Schema) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, s := range parts {
		list = appendSchema(list, s.Contains)
	}
	return list
}

// bound returns the largest of a keyword's values, or 0.
func bound(parts []*jsonschema.Schema, keyword func(*jsonschema.Schema) *int) int {
	largest := 0
	for _, s := range parts {
		if n := keyword(s); n != nil {
			largest = max(largest, *n)
		}
	}
	return largest
}

// endless is the height of a schema that only infinite values satisfy.
const endless = 1 << 20

// height is about how deep the flattest value is that a schema accepts. It finds the way out of recursive schemas.
func (m *maker) height(s *jsonschema.Schema) int {
	if m.heights == nil {
		m.measureHeights()
	}
	if h, ok := m.heights[s]; ok {
		return h
	}
	return endless
}

// measureHeights lowers the heights from endless until nothing changes: at most as often as values are deep.
func (m *maker) measureHeights() {
	m.heights = map[*jsonschema.Schema]int{}
	parts := everyPart(m.schema.root)
	for range maxDepth {
		changed := false
		for _, s := range parts {
			if h := m.heightNow(s); h < m.height(s) {
				m.heights[s], changed = h, true
			}
		}
		if !changed {
			return
		}
	}
}

// heightNow computes the height of a schema from those of its parts.
func (m *maker) heightNow(s *jsonschema.Schema) int {
	if s.Bool != nil || s.Const != nil || s.Enum != nil || s.Default != nil {
		return 0
	}
	own := []*jsonschema.Schema{s}
	h := m.highest(m.flatten(own, 0, nil)[1:])
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(branches) > 0 {
			h = max(h, m.lowest(branches))
		}
	}
	if allowsScalar(s) {
		return h
	}
	for _, name := range s.Required {
		schemas, _ := propertySchemas(own, name)
		h = max(h, m.highest(schemas)+1)
	}
	if s.MinItems != nil {
		for i := range min(*s.MinItems, len(tuple(s))+1) {
			h = max(h, m.highest(itemSchemas(own, i))+1)
		}
	}
	return min(h, endless)
}

func (m *maker) highest(schemas []*jsonschema.Schema) int {
	h := 0
	for _, s := range schemas {
		h = max(h, m.height(s))
	}
	return h
}

func (m *maker) lowest(schemas []*jsonschema.Schema) int {
	h := endless
	for _, s := range schemas {
		h = min(h, m.height(s))
	}
	return h
}

// allowsScalar tells whether a type keyword allows a value without parts.
func allowsScalar(s *jsonschema.Schema) bool {
	return s.Types != nil && slices.ContainsFunc(s.Types.ToStrings(), func(t string) bool {
		return t != "object" && t != "array"
	})
}

// circular tells whether a schema leads back to itself, or to another that does.
func (m *maker) circular(s *jsonschema.Schema) bool {
	if known, ok := m.circles[s]; ok {
		return known
	}
	if m.circles == nil {
		m.circles = map[*jsonschema.Schema]bool{}
	}
	m.circles[s] = true // what is found on the way back here
	found := false
	for _, next := range append(inPlace(s), below(s)...) {
		found = m.circular(next) || found
	}
	m.circles[s] = found
	return found
}

// union appends what is not yet in the list.
func union(list, more []string) []string {
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

// jsonEqual tells whether two values read the same as JSON.
func jsonEqual(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// exampleText is a string that tells where it comes from.
func exampleText(variant int) string {
	if variant == 0 {
		return plainText
	}
	return plainText + strconv.Itoa(variant)
}
