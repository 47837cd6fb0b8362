package schemas

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// tame returns the value with numbers of absurd size or precision replaced by the nearest float: the validator does
// exact arithmetic, in which 1e999999999 panics and 1e-999999 takes its time. The value itself is left as it is.
func tame(value any) any {
	tamed, _ := tameCopy(value)
	return tamed
}

// tameCopy copies only what holds such a number, and tells whether it did.
func tameCopy(value any) (any, bool) {
	switch v := value.(type) {
	case json.Number:
		return tameNumber(v)
	case []any:
		var copied []any
		for i, entry := range v {
			if tamed, ok := tameCopy(entry); ok {
				if copied == nil {
					copied = slices.Clone(v)
				}
				copied[i] = tamed
			}
		}
		if copied != nil {
			return copied, true
		}
	case map[string]any:
		var copied map[string]any
		for name, member := range v {
			if tamed, ok := tameCopy(member); ok {
				if copied == nil {
					copied = maps.Clone(v)
				}
				copied[name] = tamed
			}
		}
		if copied != nil {
			return copied, true
		}
	}
	return value, false
}

func tameNumber(n json.Number) (any, bool) {
	if len(n) < 40 && !strings.ContainsAny(string(n), "eE") {
		return n, false
	}
	f, _ := n.Float64() // out of range: infinite with the right sign
	return max(-math.MaxFloat64, min(math.MaxFloat64, f)), true
}
