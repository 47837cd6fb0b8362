package schemas

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// text describes an error in a few words: what was expected, and what the value is.
func (t *translator) text(k jsonschema.ErrorKind) string {
	if k == nil {
		return "not accepted"
	}
	other := "breaks " + strings.Join(k.KeywordPath(), " ")
	return cmp.Or(t.textOfValue(k), textOfSize(k), textOfNumber(k), textOfShape(k), other)
}

// textOfValue describes errors that show the value.
func (t *translator) textOfValue(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Enum:
		return fmt.Sprintf("expected %s, got %s", t.oneOf(k.Want), t.value(k.Got))
	case *kind.Const:
		return fmt.Sprintf("expected %s, got %s", t.value(k.Want), t.value(k.Got))
	case *kind.Format:
		return fmt.Sprintf("expected a valid %s, got %s", k.Want, t.value(k.Got))
	case *kind.Pattern:
		return fmt.Sprintf("expected a match of %s, got %s", truncate(k.Want, 80), t.value(k.Got))
	case *kind.PropertyNames:
		return fmt.Sprintf("the name %s is not allowed", t.value(k.Property))
	}
	return ""
}

// oneOf lists the values of an enum.
func (t *translator) oneOf(values []any) string {
	if len(values) == 1 {
		return t.value(values[0])
	}
	var texts []string
	for _, v := range values[:min(len(values), t.maxEnumValues)] {
		texts = append(texts, t.value(v))
	}
	if len(values) > t.maxEnumValues {
		texts = append(texts, "…")
	}
	return "one of " + strings.Join(texts, ", ")
}

// textOfShape describes errors about the form of a value.
func textOfShape(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.FalseSchema:
		return "not allowed"
	case *kind.Not:
		return "forbidden by not"
	case *kind.OneOf:
		return fmt.Sprintf("fits more than one schema in oneOf (%d and %d)", k.Subschemas[0], k.Subschemas[1])
	case *kind.Contains:
		return "no item fits contains"
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.UniqueItems:
		return fmt.Sprintf("expected unique items, but %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.RefCycle:
		return "the schema refers to itself without end"
	case *kind.InvalidJsonValue:
		return fmt.Sprintf("not a JSON value (%T)", k.Value)
	}
	return ""
}

// textOfSize describes errors about a number of characters, items or properties.
func textOfSize(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fewerThan(k.Want, "characters", k.Got)
	case *kind.MaxLength:
		return moreThan(k.Want, "characters", k.Got)
	case *kind.MinItems:
		return fewerThan(k.Want, "items", k.Got)
	case *kind.MaxItems:
		return moreThan(k.Want, "items", k.Got)
	case *kind.MinProperties:
		return fewerThan(k.Want, "properties", k.Got)
	case *kind.MaxProperties:
		return moreThan(k.Want, "properties", k.Got)
	case *kind.MinContains:
		return fewerThan(k.Want, "items that fit contains", len(k.Got))
	case *kind.MaxContains:
		return moreThan(k.Want, "items that fit contains", len(k.Got))
	}
	return ""
}

func fewerThan(want int, of string, got int) string {
	return fmt.Sprintf("expected at least %d %s, got %d", want, of, got)
}

func moreThan(want int, of string, got int) string {
	return fmt.Sprintf("expected at most %d %s, got %d", want, of, got)
}

// textOfNumber describes errors about the size of a number.
func textOfNumber(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return outOfRange("at least", k.Want, k.Got)
	case *kind.Maximum:
		return outOfRange("at most", k.Want, k.Got)
	case *kind.ExclusiveMinimum:
		return outOfRange("more than", k.Want, k.Got)
	case *kind.ExclusiveMaximum:
		return outOfRange("less than", k.Want, k.Got)
	case *kind.MultipleOf:
		return outOfRange("a multiple of", k.Want, k.Got)
	}
	return ""
}

func outOfRange(relation string, want, got *big.Rat) string {
	return fmt.Sprintf("expected %s %s, got %s", relation, decimal(want), decimal(got))
}

// brief shows a JSON value in a few characters.
func brief(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(truncate(v, 40))
	case json.Number:
		return truncate(v.String(), 40)
	case map[string]any:
		return fmt.Sprintf("an object with %d properties", len(v))
	case []any:
		return fmt.Sprintf("an array of %d items", len(v))
	case nil:
		return "null"
	}
	return truncate(fmt.Sprint(v), 40)
}

// truncate shortens a text to n bytes and an ellipsis, without splitting characters.
func truncate(s string, n int) string { return text.Shorten(s, text.Bytes, n, 0, "…") }

// decimal shows an exact number as JSON does, as far as possible.
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

// jsonPointer formats a path as a JSON pointer (RFC 6901).
func jsonPointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteString("/" + escapeToken(token))
	}
	return b.String()
}

var tokenEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func escapeToken(token string) string { return tokenEscapes.Replace(token) }
