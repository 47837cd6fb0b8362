package schemas

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// infiniteHeight is the height of a schema that only infinite values satisfy.
const infiniteHeight = 1 << 20

// height is about the depth of the flattest value that a schema accepts. Values of recursive schemas are made by way of
// the branches with the lowest heights.
func (m *valueMaker) height(s *jsonschema.Schema) int {
	if m.heights == nil {
		m.measureHeights()
	}
	if h, ok := m.heights[s]; ok {
		return h
	}
	return infiniteHeight
}

// measureHeights lowers the heights from infiniteHeight until nothing changes, but at most as often as values may be
// deep.
func (m *valueMaker) measureHeights() {
	m.heights = map[*jsonschema.Schema]int{}
	parts := allParts(m.schema.root)
	for range maxDepth {
		changed := false
		for _, s := range parts {
			if h := m.computeHeight(s); h < m.height(s) {
				m.heights[s], changed = h, true
			}
		}
		if !changed {
			return
		}
	}
}

// computeHeight is the height of a schema by those of its parts.
func (m *valueMaker) computeHeight(s *jsonschema.Schema) int {
	if s.Bool != nil || s.Const != nil || s.Enum != nil || s.Default != nil {
		return 0
	}
	own := []*jsonschema.Schema{s}
	h := m.maxHeight(m.flatten(own, 0, nil)[1:])
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(branches) > 0 {
			h = max(h, m.minHeight(branches))
		}
	}
	if allowsScalar(s) {
		return h
	}
	for _, name := range s.Required {
		schemas, _ := propertySchemas(own, name)
		h = max(h, m.maxHeight(schemas)+1)
	}
	if s.MinItems != nil {
		for i := range min(*s.MinItems, len(tupleSchemas(s))+1) {
			h = max(h, m.maxHeight(itemSchemas(own, i))+1)
		}
	}
	return min(h, infiniteHeight)
}

func (m *valueMaker) maxHeight(schemas []*jsonschema.Schema) int {
	h := 0
	for _, s := range schemas {
		h = max(h, m.height(s))
	}
	return h
}

func (m *valueMaker) minHeight(schemas []*jsonschema.Schema) int {
	h := infiniteHeight
	for _, s := range schemas {
		h = min(h, m.height(s))
	}
	return h
}

// allowsScalar reports whether a type keyword allows a value that is neither object nor array.
func allowsScalar(s *jsonschema.Schema) bool {
	return s.Types != nil && slices.ContainsFunc(s.Types.ToStrings(), func(t string) bool {
		return t != "object" && t != "array"
	})
}

// isCircular reports whether a schema leads back to itself, or to another one that does.
func (m *valueMaker) isCircular(s *jsonschema.Schema) bool {
	if known, ok := m.circularSchemas[s]; ok {
		return known
	}
	if m.circularSchemas == nil {
		m.circularSchemas = map[*jsonschema.Schema]bool{}
	}
	m.circularSchemas[s] = true // the result if the search leads back here
	found := false
	for _, next := range append(inPlaceSubschemas(s), childSubschemas(s)...) {
		found = m.isCircular(next) || found
	}
	m.circularSchemas[s] = found
	return found
}
