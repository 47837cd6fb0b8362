package schemas

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// array makes an array with as many items as needed, and with one even if none is needed, since an empty list seldom
// makes sense.
func (m *valueMaker) array(p place, parts []*jsonschema.Schema, c *choices) (any, error) {
	shape := arrayBoundsOf(parts)
	n := shape.minLength
	if c.fallback(2) == 0 && p.depth < maxExtraItemDepth {
		n = max(n, m.defaultLength(parts, shape))
	}
	from := 0 // contains is satisfied by the items from here on
	if shape.contains > 0 {
		from = []int{shape.prefix, 0}[c.fallback(2)]
		n = max(n, from+shape.contains)
	}
	if n > maxItems {
		return nil, p.newError(fmt.Sprintf("an array of %d items is too long", n))
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

// maxUniqueTries is how many values are made to find one that is not in the array yet.
const maxUniqueTries = 40

func (m *valueMaker) item(p place, schemas []*jsonschema.Schema, i int, others []any, unique bool) (any, error) {
	if !unique && !isUnusedChoice(schemas, others) {
		i = 0
	}
	var item any
	for try := range maxUniqueTries {
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

// arrayBounds is what schemas require of the length of an array.
type arrayBounds struct {
	minLength, prefix, contains int
	// maxLength is the greatest length allowed; -1 when there is no bound.
	maxLength int
	unique    bool
}

func arrayBoundsOf(parts []*jsonschema.Schema) arrayBounds {
	z := arrayBounds{maxLength: -1,
		minLength: largestKeyword(parts, func(s *jsonschema.Schema) *int { return s.MinItems })}
	for _, s := range parts {
		z.unique = z.unique || s.UniqueItems
		z.prefix = max(z.prefix, len(tupleSchemas(s)))
		if s.MaxItems != nil && (z.maxLength < 0 || *s.MaxItems < z.maxLength) {
			z.maxLength = *s.MaxItems
		}
		if s.Contains != nil && s.MinContains != nil {
			z.contains = max(z.contains, *s.MinContains)
		} else if s.Contains != nil {
			z.contains = max(z.contains, 1)
		}
	}
	return z
}

// maxTupleItems is how many optional items of a tuple are filled in.
const maxTupleItems = 16

// defaultLength is the length of a natural array: the whole tuple, or one item.
func (m *valueMaker) defaultLength(parts []*jsonschema.Schema, z arrayBounds) int {
	n := 0
	for _, s := range itemSchemas(parts, z.prefix) {
		if isFalse(s) || m.isCircular(s) {
			return min(z.prefix, maxTupleItems)
		}
	}
	if z.prefix > 0 {
		n = min(z.prefix, maxTupleItems)
	} else if len(itemSchemas(parts, 0)) > 0 {
		n = 1
	}
	if z.maxLength >= 0 {
		n = min(n, z.maxLength)
	}
	return n
}

// tupleSchemas are the schemas of the first items: prefixItems, or before 2020-12 an array in items.
func tupleSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		return list
	}
	return s.PrefixItems
}

// itemSchemas are the schemas that apply to the item at an index.
func itemSchemas(parts []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, s := range parts {
		if first := tupleSchemas(s); i < len(first) {
			list = append(list, first[i])
			continue
		}
		list = appendSchema(list, s.Items)
		list = appendSchema(list, s.Items2020)
		if tupleSchemas(s) != nil {
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

// jsonEqual reports whether two values have the same JSON.
func jsonEqual(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// isUnusedChoice reports whether an item is one of an enum, of which there is a value that other items do not have: who
// selects several things selects each once.
func isUnusedChoice(schemas []*jsonschema.Schema, others []any) bool {
	return slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool {
		return s.Enum != nil && len(s.Enum.Values) > len(others)
	})
}
