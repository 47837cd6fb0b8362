package schemas

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxOtherArguments = 40 // of one schema
	maxOtherValues    = 12 // of one enum
	smallMaximum      = 10 // up to which a maximum is one of OtherArguments
	largeMaximum      = 100
	largeNumber       = 150
)

// OtherArguments are further valid arguments, besides those of ValidArguments: with all optional properties, with each
// of them alone, with each value of an enum, with both booleans, with a text beyond ASCII, one within Latin-1, one with
// the character NUL and an empty one, with the smallest number, with 1, 2, -1 and a half, with a maximum of up to 10,
// and with an array of one item. All but the first differ from valid in one place, where that is possible. For larger
// numbers there is OtherLargeNumbers.
func OtherArguments(s *Schema, valid map[string]any) (list []map[string]any) {
	m := &valueMaker{schema: s}
	return m.others(valid, true, otherValues)
}

// OtherEnumValues are those of OtherArguments that differ from valid in the value of an enum.
func OtherEnumValues(s *Schema, valid map[string]any) (list []map[string]any) {
	m := &valueMaker{schema: s}
	return m.others(valid, false, enumValues)
}

// OtherChoices are those of OtherArguments that differ from valid in the value of an enum or in a boolean.
func OtherChoices(s *Schema, valid map[string]any) (list []map[string]any) {
	m := &valueMaker{schema: s}
	return m.others(valid, false, func(site mutationSite) []any {
		if value, isBoolean := site.value.(bool); isBoolean {
			return []any{value, !value}
		}
		return enumValues(site)
	})
}

// OtherLargeNumbers are valid arguments that differ from valid in a number: its maximum, if that is one of 11 to 100,
// or 150, if that is allowed. Such a number may say how much the tool does: those whose name or description suggests a
// time are left out.
func OtherLargeNumbers(s *Schema, valid map[string]any) (list []map[string]any) {
	m := &valueMaker{schema: s}
	return m.others(valid, false, func(site mutationSite) []any {
		switch site.value.(type) {
		case json.Number, float64, int64:
			if !isTime(site) {
				return append(maximumBetween(site.parts, smallMaximum+1, largeMaximum),
					json.Number(fmt.Sprint(largeNumber)))
			}
		}
		return nil
	})
}

// isTime reports whether the name or the description of a place suggests that it is a time.
func isTime(site mutationSite) bool {
	text := strings.Join(site.path, " ")
	for _, s := range site.parts {
		text += " " + s.Description
	}
	return timePattern.MatchString(text)
}

// timePattern matches words for times.
var timePattern = regexp.MustCompile(
	`(?i)time|duration|delay|sleep|wait|pause|second|sec\b|milli|\bms\b|_ms\b|minute|interval|(?-i:Ms\b)`)

// others are valid arguments with other values, after those with all optional properties if they are to be complete.
func (m *valueMaker) others(
	valid map[string]any, complete bool, otherValues func(mutationSite) []any,
) (list []map[string]any) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	seen := []string{fmt.Sprint(valid)}
	add := func(arguments map[string]any) (added bool) {
		text := fmt.Sprint(arguments)
		if arguments == nil || slices.Contains(seen, text) || m.schema.validateAll(arguments) != nil {
			return false
		}
		seen, list = append(seen, text), append(list, arguments)
		return true
	}
	all := m.complete(valid, 0)
	if add(all) && !complete {
		list = nil
	}
	for _, site := range m.sites(all) {
		if len(site.path) == 0 {
			continue
		}
		for _, value := range otherValues(site) {
			change := mutation{value: value}
			if !hasParent(valid, site.path) || !add(site.withChange(valid, change)) {
				add(site.withChange(all, change))
			}
		}
	}
	return list[:min(len(list), maxOtherArguments)]
}

// otherValues are the values of a site that may make a difference; the value that it has is one of them.
func otherValues(site mutationSite) (values []any) {
	values = append([]any{site.value}, enumValues(site)...)
	switch value := site.value.(type) {
	case bool:
		values = append(values, !value)
	case string:
		if isFreeText(site.parts) {
			values = append(values, "mcpcheck é✓😀", "mcpcheck é", "mcpcheck\x00", "")
		}
	case []any:
		if len(value) > 1 {
			values = append(values, value[:1])
		}
	case json.Number, float64, int64:
		values = append(values, smallestNumber(site.parts), json.Number("1"), json.Number("2"), json.Number("-1"),
			json.Number("0.5"))
		values = append(values, maximumBetween(site.parts, math.MinInt64, smallMaximum)...)
	}
	return values
}

// isFreeText reports whether nothing but lengths restricts a text.
func isFreeText(parts []*jsonschema.Schema) bool {
	return !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool {
		return s.Format != nil || s.Pattern != nil || s.Enum != nil || s.Const != nil || s.ContentEncoding != nil
	})
}

// enumValues are the values that the schema of a site lists.
func enumValues(site mutationSite) (values []any) {
	for _, s := range site.parts {
		if s.Enum != nil {
			values = append(values, s.Enum.Values[:min(len(s.Enum.Values), maxOtherValues)]...)
		}
		for _, branch := range slices.Concat(s.OneOf, s.AnyOf) {
			if branch.Const != nil {
				values = append(values, *branch.Const)
			}
		}
	}
	return values
}

// smallestNumber is the minimum of a number, or 0.
func smallestNumber(parts []*jsonschema.Schema) json.Number {
	for _, s := range parts {
		if s.Minimum != nil && s.Minimum.IsInt() && !strings.HasPrefix(s.Minimum.String(), "-") {
			return json.Number(s.Minimum.Num().String())
		}
	}
	return json.Number("0")
}

// maximumBetween is the maximum of a number, if it is an integer in this range.
func maximumBetween(parts []*jsonschema.Schema, least, most int64) []any {
	for _, s := range parts {
		isIn := s.Maximum != nil && s.Maximum.IsInt() && s.Maximum.Cmp(big.NewRat(least, 1)) >= 0 &&
			s.Maximum.Cmp(big.NewRat(most, 1)) <= 0
		if isIn {
			return []any{json.Number(s.Maximum.Num().String())}
		}
	}
	return nil
}

// hasParent reports whether arguments have the object or array in which a place is, and for an item the item itself.
func hasParent(arguments map[string]any, path []string) bool {
	var at any = arguments
	for _, token := range path[:len(path)-1] {
		object, isObject := at.(map[string]any)
		if !isObject { // places in items are reached by the complete arguments
			return false
		}
		at = object[token]
	}
	_, isObject := at.(map[string]any)
	return isObject
}
