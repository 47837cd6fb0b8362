package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// breach is one way in which a value breaks a schema: a leaf of the library's tree of errors, or what stands for all
// the branches of an anyOf.
type breach struct {
	path []string // to the place in the value; for a missing property, to where it should be
	kind jsonschema.ErrorKind
	text string
}

// breachesOf lists what an error of the library's is about, sorted by place. There is at least one.
func breachesOf(e *jsonschema.ValidationError) []breach {
	found := collectBreaches(e)
	slices.SortStableFunc(found, func(a, b breach) int {
		if c := slices.Compare(a.path, b.path); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	return slices.CompactFunc(found, func(a, b breach) bool { return a.text == b.text && slices.Equal(a.path, b.path) })
}

func collectBreaches(e *jsonschema.ValidationError) []breach {
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var found []breach
		for _, cause := range e.Causes {
			found = append(found, collectBreaches(cause)...)
		}
		return found
	case *kind.AnyOf:
		return alternatives(e, "anyOf")
	case *kind.OneOf:
		if k.Subschemas == nil {
			return alternatives(e, "oneOf")
		}
	case *kind.Required:
		return eachProperty(at, k, k.Missing, "missing")
	case *kind.AdditionalProperties:
		return eachProperty(at, k, k.Properties, "not allowed")
	case *kind.DependentRequired:
		return eachProperty(at, k, k.Missing, "missing beside "+k.Prop)
	case *kind.Dependency:
		return eachProperty(at, k, k.Missing, "missing beside "+k.Prop)
	}
	return []breach{{at, e.ErrorKind, textOf(e.ErrorKind)}}
}

func eachProperty(at []string, k jsonschema.ErrorKind, names []string, text string) []breach {
	var found []breach
	for _, name := range names {
		found = append(found, breach{append(slices.Clone(at), name), k, text})
	}
	return found
}

// alternatives tells what is wrong with a value that fits no branch of an anyOf or oneOf: the findings of the only
// branch for values of its type, if there is one; else the types wanted, if that is all; else just that none fits.
func alternatives(e *jsonschema.ValidationError, keyword string) []breach {
	var want []string
	var rest [][]breach
	got := ""
	for _, cause := range e.Causes {
		found := collectBreaches(cause)
		if k, ok := found[0].kind.(*kind.Type); ok && len(found) == 1 && len(found[0].path) == len(e.InstanceLocation) {
			want, got = append(want, k.Want...), k.Got
		} else {
			rest = append(rest, found)
		}
	}
	switch len(rest) {
	case 0:
		k := &kind.Type{Want: uniq(want), Got: got}
		return []breach{{e.InstanceLocation, k, textOf(k)}}
	case 1:
		return rest[0]
	}
	text := fmt.Sprintf("fits none of the %d schemas in %s", len(e.Causes), keyword)
	return []breach{{e.InstanceLocation, e.ErrorKind, text}}
}

func uniq(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// textOf puts an error into a few words: what was wanted, what came.
func textOf(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case nil:
		return "not accepted"
	case *kind.Type:
		return fmt.Sprintf("want %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return fmt.Sprintf("want %s, got %s", oneOf(k.Want), brief(k.Got))
	case *kind.Const:
		return fmt.Sprintf("want %s, got %s", brief(k.Want), brief(k.Got))
	case *kind.FalseSchema:
		return "not allowed"
	case *kind.Not:
		return "forbidden by not"
	case *kind.OneOf:
		return fmt.Sprintf("fits more than one schema in oneOf (%d and %d)", k.Subschemas[0], k.Subschemas[1])
	case *kind.Format:
		return fmt.Sprintf("want a valid %s, got %s", k.Want, brief(k.Got))
	case *kind.Pattern:
		return fmt.Sprintf("want a match of %s, got %s", cut(k.Want, 80), brief(k.Got))
	case *kind.PropertyNames:
		return fmt.Sprintf("the name %s is not allowed", brief(k.Property))
	case *kind.InvalidJsonValue:
		return fmt.Sprintf("not a JSON value (%T)", k.Value)
	case *kind.MinLength:
		return fmt.Sprintf("want at least %d characters, got %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("want at most %d characters, got %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("want at least %d items, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("want at most %d items, got %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("want at least %d properties, got %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("want at most %d properties, got %d", k.Want, k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.Contains:
		return "no item fits contains"
	case *kind.MinContains:
		return fmt.Sprintf("want at least %d items that fit contains, got %d", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("want at most %d items that fit contains, got %d", k.Want, len(k.Got))
	case *kind.RefCycle:
		return "the schema refers to itself without end"
	case *kind.UniqueItems:
		return fmt.Sprintf("want unique items, but %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Minimum:
		return fmt.Sprintf("want at least %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("want at most %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("want more than %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("want less than %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("want a multiple of %s, got %s", decimal(k.Want), decimal(k.Got))
	}
	return "breaks " + strings.Join(k.KeywordPath(), " ")
}

// shownValues is how many values of an enum an error shows.
const shownValues = 4

func oneOf(values []any) string {
	if len(values) == 1 {
		return brief(values[0])
	}
	var texts []string
	for _, v := range values[:min(len(values), shownValues)] {
		texts = append(texts, brief(v))
	}
	if len(values) > shownValues {
		texts = append(texts, "…")
	}
	return "one of " + strings.Join(texts, ", ")
}

// brief shows a JSON value in a few characters.
func brief(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(cut(v, 40))
	case json.Number:
		return cut(v.String(), 40)
	case map[string]any:
		return fmt.Sprintf("an object with %d properties", len(v))
	case []any:
		return fmt.Sprintf("an array of %d items", len(v))
	case nil:
		return "null"
	}
	return cut(fmt.Sprint(v), 40)
}

// cut shortens a text to n bytes and an ellipsis, between characters.
func cut(s string, n int) string { return text.Shorten(s, text.Bytes, n, 0, "…") }

// decimal shows an exact number as JSON would, as far as that is possible.
func decimal(r *big.Rat) string {
	if r == nil {
		return "a number"
	}
	if r.IsInt() && r.Num().BitLen() < 128 {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// pointerOf writes a JSON pointer (RFC 6901).
func pointerOf(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(escapeToken(token))
	}
	return b.String()
}

var tokenEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func escapeToken(token string) string { return tokenEscapes.Replace(token) }
