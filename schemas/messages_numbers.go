package schemas

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// boundNumbers returns the value with numbers of extreme size or precision replaced by the nearest float. The validator
// uses exact arithmetic, in which 1e999999999 panics and 1e-999999 takes long. The value itself is not changed.
func boundNumbers(value any) any {
	bounded, _ := boundNumbersIn(value)
	return bounded
}

// boundNumbersIn copies only what contains such a number, and reports whether it did.
func boundNumbersIn(value any) (any, bool) {
	switch v := value.(type) {
	case json.Number:
		return boundNumber(v)
	case []any:
		var copied []any
		for i, entry := range v {
			if bounded, ok := boundNumbersIn(entry); ok {
				if copied == nil {
					copied = slices.Clone(v)
				}
				copied[i] = bounded
			}
		}
		if copied != nil {
			return copied, true
		}
	case map[string]any:
		var copied map[string]any
		for name, member := range v {
			if bounded, ok := boundNumbersIn(member); ok {
				if copied == nil {
					copied = maps.Clone(v)
				}
				copied[name] = bounded
			}
		}
		if copied != nil {
			return copied, true
		}
	}
	return value, false
}

func boundNumber(n json.Number) (any, bool) {
	if len(n) < 40 && !strings.ContainsAny(string(n), "eE") {
		return n, false
	}
	f, _ := n.Float64() // out of range it is infinite with the right sign
	return max(-math.MaxFloat64, min(math.MaxFloat64, f)), true
}
