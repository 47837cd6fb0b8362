package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// coercions replace a valid value by one of another type, or spelling, that is often taken for it.
var coercions = []mutator{
	{"type", fraction},
	{"type", asText},
	{"type", asNumber},
	{"type", asBoolean},
	{"type", asSingleItem},
	{"type", asNull},
	{"enum", inOtherCase},
}

// fraction replaces a whole number by the fraction that follows or precedes it.
func fraction(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	n, ok := new(big.Rat).SetString(fmt.Sprint(t.value))
	if !ok || !isInteger(t.parts) {
		return mutation{}, false
	}
	limits := numberRangeOf(t.parts, false)
	if n.Add(n, big.NewRat(1, 2)); !limits.contains(n) {
		n.Sub(n, big.NewRat(1, 1))
	}
	v := jsonNumber(n)
	return coercible(v, fmt.Sprintf("is %v, not a whole number", v)), true
}

// asText replaces a number or a boolean by the string of the same characters.
func asText(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	switch t.value.(type) {
	case bool, int64, float64, json.Number:
		text := fmt.Sprint(t.value)
		return coercible(text, fmt.Sprintf("is the string %q, not %s", text, text)), true
	}
	return mutation{}, false
}

// asNumber replaces true by 1, false by 0, and a string by 1.
func asNumber(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	switch v := t.value.(type) {
	case bool:
		if v {
			return coercible(1, "is 1, not true"), true
		}
		return coercible(0, "is 0, not false"), true
	case string:
		return coercible(1, "is 1, not a string"), true
	}
	return mutation{}, false
}

// asBoolean replaces a number by true, which some languages count as 1.
func asBoolean(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	switch t.value.(type) {
	case int64, float64, json.Number:
		return coercible(true, "is true, not a number"), true
	}
	return mutation{}, false
}

// asSingleItem replaces an array by its first item.
func asSingleItem(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	items, _ := t.value.([]any)
	if len(items) == 0 {
		return mutation{}, false
	}
	return coercible(items[0], fmt.Sprintf("is %s, not an array of it", brief(items[0]))), true
}

// asNull replaces a value by null, which is not the same as leaving it out, unless null is the default.
func asNull(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	isDefault := slices.ContainsFunc(t.parts, func(s *jsonschema.Schema) bool {
		return s.Default != nil && *s.Default == nil
	})
	return coercible(nil, "is null"), t.present && t.value != nil && !isDefault
}

// inOtherCase replaces a value of an enum by itself in capital letters, or in small ones.
func inOtherCase(_ *valueMaker, t mutationSite, _ int) (mutation, bool) {
	text, _ := t.value.(string)
	other := strings.ToUpper(text)
	if other == text {
		other = strings.ToLower(text)
	}
	hasEnum := slices.ContainsFunc(t.parts, func(s *jsonschema.Schema) bool { return s.Enum != nil })
	return coercible(other, fmt.Sprintf("is %s, not %s", brief(other), brief(text))), hasEnum && other != text
}

func coercible(value any, reason string) mutation {
	return mutation{value: value, reason: reason, isCoercible: true}
}
