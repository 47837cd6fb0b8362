package driver

import (
	"encoding/json"
	"math/big"
	"strings"
)

// parseNumber parses a JSON number. It fails for one that takes too much memory: no id, code or size has a thousand
// digits or such an exponent.
func parseNumber(text string) (n *big.Rat, ok bool) {
	const maxLength, maxExponent = 1000, 4 // in characters
	text = strings.TrimSpace(text)
	if len(text) > maxLength || !isNumber(text) {
		return nil, false
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 && len(text[e+1:]) > maxExponent {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func isNumber(text string) bool {
	return strings.Trim(text, "+-.0123456789eE") == "" && json.Valid([]byte(text))
}

// IsInteger reports whether a JSON number has no fraction, however it is written: 7, 7.0, 70e-1, 1e400. A number that
// takes too much memory counts as one.
func IsInteger(text json.Number) bool {
	if n, ok := parseNumber(string(text)); ok {
		return n.IsInt()
	}
	return isNumber(string(text))
}

// Integer returns the value of a JSON number without a fraction, however it is written. ok is false if it has one or
// needs more than 64 bits.
func Integer(text json.Number) (i int64, ok bool) {
	n, ok := parseNumber(string(text))
	if !ok || !n.IsInt() || !n.Num().IsInt64() {
		return 0, false
	}
	return n.Num().Int64(), true
}

// SameNumber reports whether two JSON numbers are equal: 1.0 equals 1, and 2^53+1 does not equal 2^53.
func SameNumber(a, b json.Number) bool {
	x, ok := parseNumber(string(a))
	y, both := parseNumber(string(b))
	return ok && both && x.Cmp(y) == 0
}
