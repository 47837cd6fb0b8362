package schemas

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// keywordError is one violation of a schema: a leaf of the validator's tree of errors, or a summary of all branches of
// an anyOf.
type keywordError struct {
	// path leads to the place in the value.
	path []string
	kind jsonschema.ErrorKind
	text string
	// nullOptional reports whether the value is null at an optional member.
	nullOptional bool
}

// translator turns the validator's tree of errors into a flat list. Its fields are the differences between messages,
// which have mcpcheck's own schemas, and values for the schemas of tools.
type translator struct {
	// member names a missing or undeclared member by a path and what is wrong with it.
	member func(object []string, name, wrong string) (path []string, text string)

	// choose selects the errors for a value that matches no branch of an anyOf or oneOf.
	choose func(e *jsonschema.ValidationError, branches [][]keywordError) []keywordError

	// value shows a value in a few characters.
	value func(v any) string
	// maxEnumValues is how many values of an enum are shown.
	maxEnumValues int
	// optional are the locations of the schemas of optional members.
	optional map[string]bool
}

// keywordErrors are the violations in an error of the validator, ordered by path and without duplicates. There is at
// least one.
func (t *translator) keywordErrors(e *jsonschema.ValidationError) []keywordError {
	found := t.collect(e, -1, "")
	slices.SortStableFunc(found, compareKeywordErrors)
	return mergeEqual(found)
}

// collect lists the leaves of an error. Depth is the length of the path of the error above, and entry the location of
// the schema by which the validator came to that path.
func (t *translator) collect(e *jsonschema.ValidationError, depth int, entry string) []keywordError {
	at := e.InstanceLocation
	if len(at) > depth {
		entry = e.SchemaURL
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return slices.Concat(t.collectEach(e, entry)...)
	case *kind.AnyOf:
		return t.choose(e, t.collectEach(e, entry))
	case *kind.OneOf:
		if k.Subschemas == nil {
			return t.choose(e, t.collectEach(e, entry))
		}
	case *kind.Required:
		return t.members(at, k, k.Missing, "missing")
	case *kind.AdditionalProperties:
		return t.members(at, k, k.Properties, "not allowed")
	case *kind.DependentRequired:
		return t.members(at, k, k.Missing, "missing beside "+k.Prop)
	case *kind.Dependency:
		return t.members(at, k, k.Missing, "missing beside "+k.Prop)
	case *kind.Type:
		return []keywordError{{at, k, t.text(k), k.Got == "null" && t.optional[entry]}}
	}
	return []keywordError{{path: at, kind: e.ErrorKind, text: t.text(e.ErrorKind)}}
}

// collectEach lists the leaves of each cause of an error.
func (t *translator) collectEach(e *jsonschema.ValidationError, entry string) [][]keywordError {
	var found [][]keywordError
	for _, cause := range e.Causes {
		found = append(found, t.collect(cause, len(e.InstanceLocation), entry))
	}
	return found
}

func (t *translator) members(at []string, k jsonschema.ErrorKind, names []string, wrong string) []keywordError {
	var found []keywordError
	for _, name := range names {
		path, text := t.member(at, name, wrong)
		found = append(found, keywordError{path: path, kind: k, text: text})
	}
	return found
}

// compareKeywordErrors orders by path, with list entries by their index, and then by text.
func compareKeywordErrors(a, b keywordError) int {
	return cmp.Or(slices.CompareFunc(a.path, b.path, compareSteps), cmp.Compare(a.text, b.text))
}

func compareSteps(a, b string) int {
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil && i != j {
		return cmp.Compare(i, j)
	}
	return cmp.Compare(a, b)
}

// mergeEqual removes duplicates from an ordered list, since composed schemas may judge a member twice. A null counts as
// optional only if it does for both.
func mergeEqual(ordered []keywordError) []keywordError {
	var merged []keywordError
	for _, b := range ordered {
		if n := len(merged); n > 0 && compareKeywordErrors(merged[n-1], b) == 0 {
			merged[n-1].nullOptional = merged[n-1].nullOptional && b.nullOptional
			continue
		}
		merged = append(merged, b)
	}
	return merged
}

// keywordOf names the keyword of JSON Schema that an error is about; "" when there is none.
func keywordOf(k jsonschema.ErrorKind) string {
	if k == nil || len(k.KeywordPath()) == 0 {
		return ""
	}
	return k.KeywordPath()[0]
}
