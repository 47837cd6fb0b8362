package schemas

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

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

// jsonEqual tells whether two values read the same as JSON.
func jsonEqual(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
