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

// Limits for schemas and values, which come from servers and may be malicious. They are far above what ordinary servers
// send, and bound every call to about a second and some tens of megabytes.
const (
	maxSchemaNodes = 20_000    // JSON values in a schema
	maxSchemaDepth = 256       // nesting of JSON values in a schema
	maxLookups     = 5_000_000 // nodes × names ($ref, $id, …): the library copies and scans for each name
	maxChain       = 64        // schemas that apply to one place, each by the one before ($ref, allOf, …)
	maxValueNodes  = 200_000
	maxValueDepth  = 512
	maxComparisons = 50_000_000 // nodes of a value × length of the longest enum
	maxSteps       = 400_000    // schemas applied in one validation; deep places cost more
	maxNumber      = 400        // characters in a number, and its decimal exponent
)

// measurement is the size of a JSON value.
type measurement struct {
	nodes, depth int
	// names are the texts of $ref, $id and the like; nil does not collect them.
	names map[string]bool
	// ids is how many $id there are, and dynamic how many $dynamicRef and $recursiveRef.
	ids, dynamic int
}

// measure traverses v, and stops with a LimitError at the given limits.
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

// countReference counts keywords by which schemas refer to each other.
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

// measureNumber returns an error for numbers whose exact value would exhaust the memory.
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
	if z.dynamic > 0 && z.ids > 1 { // it leads to schemas that allParts does not see
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

// workBudget bounds the work of one validation, which may be exponential in the size of schema and value.
type workBudget struct{ remaining int }

// charge panics when the budget is exhausted; (*Schema).check recovers.
func (m *workBudget) charge(steps int) {
	m.remaining -= steps
	if m.remaining < 0 {
		panic(fmt.Sprintf("more than %d steps to validate", maxSteps))
	}
}

// schemaNote is attached to each compiled schema: the cost of applying it, and what prepare removed from it. It is an
// extension for the library, which calls it whenever the schema was applied.
type schemaNote struct {
	budget *workBudget
	cost   int
	// format is the format of the schema, an annotation.
	format string
}

func (n *schemaNote) Validate(ctx *jsonschema.ValidatorContext, _ any) {
	n.budget.charge(n.cost * (1 + len(ctx.ValueLocation())/8)) // every error copies the location
}

// schemaNoteOf is the note of a compiled schema; it is never nil. Boolean schemas share an empty one.
func schemaNoteOf(s *jsonschema.Schema) *schemaNote {
	if len(s.Extensions) == 1 {
		if n, ok := s.Extensions[0].(*schemaNote); ok {
			return n
		}
	}
	return &schemaNote{}
}

// prepare adds the budget to a compiled schema, removes assertions of format, and corrects numbers too large for an
// int. It fails if schemas apply to one place in a cycle or in too long a chain.
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
		if bound != nil && *bound < 0 { // overflow, as of 18446744073709551615: the metaschema forbids negative ones
			*bound = int(^uint(0) >> 1)
		}
	}
	if part.Bool == nil {
		part.Extensions = []jsonschema.SchemaExt{n}
	}
}

// enumCost is about how many string comparisons a lookup in the schema's enum takes.
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

// allParts lists a compiled schema and everything that it uses, each once and in no particular order.
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

// inPlaceSubschemas are the schemas that s applies to the same value.
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

// childSubschemas are the schemas that s applies to parts of the value.
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

// chainLength is how many schemas apply to one place, each by the one before, beginning with s. For a cycle it is more
// than maxChain.
func chainLength(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = maxChain + 1 // the result if the search leads back here
	longest := 0
	for _, next := range inPlaceSubschemas(s) {
		longest = max(longest, chainLength(next, known))
	}
	known[s] = longest + 1
	return longest + 1
}
