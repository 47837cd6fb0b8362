package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schemas and values come from servers, which may be hostile. These bounds are far above what honest servers send, and
// keep every call within about a second and some tens of megabytes.
const (
	maxSchemaNodes = 20_000    // JSON values in a schema
	maxSchemaDepth = 256       // JSON values inside each other in a schema
	maxLookups     = 5_000_000 // nodes × names ($ref, $id, …): the library copies and scans for each name
	maxChain       = 64        // schemas that apply to one place, each through the one before ($ref, allOf, …)
	maxValueNodes  = 200_000
	maxValueDepth  = 512
	maxComparisons = 50_000_000 // nodes of a value × length of the longest enum
	maxSteps       = 400_000    // schemas applied in one validation; deep places count more
	maxNumber      = 400        // characters in a number, and its decimal exponent
)

// measurement is what measure finds out about a JSON value.
type measurement struct {
	nodes, depth int
	names        map[string]bool // texts of $ref, $id and the like; nil: not wanted
	ids, dynamic int             // how many $id, and how many $dynamicRef or $recursiveRef
}

// measure walks through v, and stops with a LimitError at the given bounds.
func (z *measurement) measure(v any, depth, maxNodes, maxDepth int) error {
	z.nodes++
	z.depth = max(z.depth, depth)
	if z.nodes > maxNodes {
		return &LimitError{fmt.Sprintf("more than %d JSON values", maxNodes)}
	}
	if depth > maxDepth {
		return &LimitError{fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			z.countReference(key, value)
			if err := z.measure(value, depth+1, maxNodes, maxDepth); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range v {
			if err := z.measure(value, depth+1, maxNodes, maxDepth); err != nil {
				return err
			}
		}
	case json.Number:
		return measureNumber(v.String())
	}
	return nil
}

// countReference counts the keywords that make schemas refer to each other.
func (z *measurement) countReference(key string, value any) {
	text, ok := value.(string)
	if z.names == nil || !ok {
		return
	}
	switch key {
	case "$ref", "id", "$anchor", "$dynamicAnchor":
	case "$id":
		z.ids++
	case "$dynamicRef", "$recursiveRef":
		z.dynamic++
	default:
		return
	}
	z.names[text] = true
}

// measureNumber refuses numbers whose exact value would fill the memory.
func measureNumber(n string) error {
	_, exponent, ok := strings.Cut(strings.ToLower(n), "e")
	power, err := strconv.Atoi(exponent)
	if len(n) > maxNumber || ok && (err != nil || power > maxNumber || power < -maxNumber) {
		return &LimitError{"the number " + brief(json.Number(n))}
	}
	return nil
}

func measureSchema(doc any) error {
	z := measurement{names: map[string]bool{}}
	if err := z.measure(doc, 0, maxSchemaNodes, maxSchemaDepth); err != nil {
		return err
	}
	if z.nodes*len(z.names) > maxLookups {
		return &LimitError{fmt.Sprintf("%d references and identifiers in %d JSON values", len(z.names), z.nodes)}
	}
	if z.dynamic > 0 && z.ids > 1 { // leads to schemas that allParts does not see
		return &LimitError{"dynamic references between embedded schemas"}
	}
	return nil
}

func measureValue(v any, enumCost int) error {
	z := measurement{}
	if err := z.measure(v, 0, maxValueNodes, maxValueDepth); err != nil {
		return err
	}
	if z.nodes*enumCost > maxComparisons {
		return &LimitError{fmt.Sprintf("%d JSON values to compare with a long enum", z.nodes)}
	}
	return nil
}

// meter bounds the work of one validation: schemas can make it exponential in the size of schema and value.
type workBudget struct{ remaining int }

// charge panics when the work is used up; (*Schema).check recovers.
func (m *workBudget) charge(steps int) {
	m.remaining -= steps
	if m.remaining < 0 {
		panic(fmt.Sprintf("more than %d steps to validate", maxSteps))
	}
}

// schemaNote is what we keep with each compiled schema: what it costs to apply, and what prepare has taken out of it.
// It is an extension of the library's, which is called whenever the schema has been applied.
type schemaNote struct {
	budget *workBudget
	cost   int
	format string // format, an annotation
}

func (n *schemaNote) Validate(ctx *jsonschema.ValidatorContext, _ any) {
	n.budget.charge(n.cost * (1 + len(ctx.ValueLocation())/8)) // every error copies the location
}

// schemaNoteOf returns the note of a compiled schema: never nil. Boolean schemas share an empty one.
func schemaNoteOf(s *jsonschema.Schema) *schemaNote {
	if len(s.Extensions) == 1 {
		if n, ok := s.Extensions[0].(*schemaNote); ok {
			return n
		}
	}
	return &schemaNote{}
}

// prepare makes a compiled schema fit for our use: adds the meter, takes out assertions of format, and mends numbers
// too large for an int. It fails if schemas apply to one place in a circle, or in too long a chain.
func (s *Schema) prepare() error {
	chains := map[*jsonschema.Schema]int{}
	for _, part := range allParts(s.root) {
		if n := chainLength(part, chains); n > maxChain {
			return &LimitError{"schemas that refer to each other in a circle, or very long chain, at " +
				orRoot(locationPath(part.Location))}
		}
		s.enumCost = max(s.enumCost, enumCost(part))
		s.preparePart(part)
	}
	return nil
}

func (s *Schema) preparePart(part *jsonschema.Schema) {
	n := &schemaNote{budget: s.budget, cost: 1 + len(inPlaceSubschemas(part)) + len(part.Required) +
		len(part.PatternProperties)}
	if part.Format != nil {
		n.format = part.Format.Name
		part.Format = nil
	}
	for _, bound := range []*int{part.MaxLength, part.MaxItems, part.MaxProperties, part.MaxContains,
		part.MinLength, part.MinItems, part.MinProperties, part.MinContains} {
		if bound != nil && *bound < 0 { // 18446744073709551615 and the like; the metaschema forbids negative ones
			*bound = int(^uint(0) >> 1)
		}
	}
	if part.Bool == nil {
		part.Extensions = []jsonschema.SchemaExt{n}
	}
}

// enumCost is about how many string comparisons it takes to look a value up in the schema's enum.
func enumCost(part *jsonschema.Schema) int {
	if part.Enum == nil {
		return 0
	}
	cost := 0
	for _, v := range part.Enum.Values {
		switch v.(type) {
		case string, bool, nil:
			cost++
		default:
			cost += 20
		}
	}
	return cost
}

// allParts lists a compiled schema and all that it uses, each once, in no particular order.
func allParts(root *jsonschema.Schema) []*jsonschema.Schema {
	parts := []*jsonschema.Schema{root}
	seen := map[*jsonschema.Schema]bool{root: true}
	for i := 0; i < len(parts); i++ {
		for _, next := range append(inPlaceSubschemas(parts[i]), childSubschemas(parts[i])...) {
			if !seen[next] {
				seen[next] = true
				parts = append(parts, next)
			}
		}
	}
	return parts
}

// inPlaceSubschemas lists the schemas that s applies to the same value.
func inPlaceSubschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	for _, one := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		list = appendSchema(list, one)
	}
	if s.DynamicRef != nil {
		list = appendSchema(list, s.DynamicRef.Ref)
	}
	for _, dependency := range s.Dependencies {
		list = appendSchema(list, dependency)
	}
	return slices.AppendSeq(list, maps.Values(s.DependentSchemas))
}

// childSubschemas lists the schemas that s applies to parts of the value.
func childSubschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Clone(s.PrefixItems)
	for _, one := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items, s.Items2020, s.Contains,
		s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems} {
		list = appendSchema(list, one)
	}
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		list = append(list, items...)
	}
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	return slices.AppendSeq(list, maps.Values(s.PatternProperties))
}

// appendSchema appends one if it is a schema.
func appendSchema(list []*jsonschema.Schema, one any) []*jsonschema.Schema {
	if s, ok := one.(*jsonschema.Schema); ok && s != nil {
		return append(list, s)
	}
	return list
}

// chainLength returns how many schemas apply to one place, each through the one before, beginning with s. A circle is
// longer than maxChain.
func chainLength(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = maxChain + 1 // what a circle finds
	longest := 0
	for _, next := range inPlaceSubschemas(s) {
		longest = max(longest, chainLength(next, known))
	}
	known[s] = longest + 1
	return longest + 1
}
