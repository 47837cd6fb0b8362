package schemas

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// keywordError is one way in which a value breaks a schema: a leaf of the validator's tree of errors, or what stands
// for all the branches of an anyOf.
type keywordError struct {
	path         []string // to the place in the value
	kind         jsonschema.ErrorKind
	text         string
	nullOptional bool // the value is null at an optional member
}

// translator turns the validator's tree of errors into a flat list of breaches. Its fields are the differences between
// messages, which are judged by our own schemas, and what is judged by the schemas that tools bring along.
type translator struct {
	// member names a member that is missing, or should not be there: by the path and by what is wrong with it.
	member func(object []string, name, wrong string) (path []string, text string)

	// choose says what is wrong with a value that fits no branch of an anyOf or oneOf.
	choose func(e *jsonschema.ValidationError, branches [][]keywordError) []keywordError

	value         func(v any) string // shows a value in a few characters
	maxEnumValues int                // how many values of an enum are shown
	optional      map[string]bool    // addresses of the schemas of optional members
}

// keywordErrors lists what an error of the validator's is about, in the order of their places, each once. There is at
// least one.
func (t *translator) keywordErrors(e *jsonschema.ValidationError) []keywordError {
	found := t.collect(e, -1, "")
	slices.SortStableFunc(found, compareKeywordErrors)
	return mergeEqual(found)
}

// collect lists the leaves of an error. Depth is how long the path to the error above is, and entry the address of the
// schema by which the validator came to its place.
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

// collectEach lists the leaves of each error below an error.
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

// compareKeywordErrors orders by place, list entries by their index, and then by what is wrong.
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

// mergeEqual leaves each breach of an ordered list once: composed schemas may judge one member twice. A member is
// optional only if it is so for both.
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

// keywordOf names the keyword of JSON Schema that an error is about, "" if there is none.
func keywordOf(k jsonschema.ErrorKind) string {
	if k == nil || len(k.KeywordPath()) == 0 {
		return ""
	}
	return k.KeywordPath()[0]
}
