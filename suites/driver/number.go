package driver

import (
	"encoding/json"
	"strconv"
	"strings"
)

// number is a JSON number of any size in normal form: digits × 10^exponent. The digits neither begin nor end with zero,
// and are empty for zero. It needs no more memory than its text, even for 1e999999999.
type number struct {
	negative bool
	digits   string
	exponent int64
}

// parseNumber parses a JSON number. It fails for one whose exponent needs more than 32 bits.
func parseNumber(text string) (n number, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return number{}, false
	}
	text, n.negative = strings.CutPrefix(text, "-")
	mantissa, power := text, "0"
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		mantissa, power = text[:e], text[e+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	n.digits = strings.TrimRight(all, "0")
	if n.digits == "" {
		return number{}, true
	}
	exponent, err := strconv.ParseInt(power, 10, 32)
	n.exponent = exponent + int64(len(all)-len(n.digits)-len(fraction))
	return n, err == nil
}

// key returns a text that is the same for two numbers if and only if they are equal.
func (n number) key() string {
	sign := ""
	if n.negative {
		sign = "-"
	}
	return sign + n.digits + "e" + strconv.FormatInt(n.exponent, 10)
}

// IsInteger reports whether a JSON number has no fraction, however it is written: 7, 7.0, 70e-1, 1e400.
func IsInteger(text json.Number) bool {
	n, ok := parseNumber(string(text))
	return ok && n.exponent >= 0
}

// Integer returns the value of a JSON number without a fraction, however it is written. ok is false if it has one or
// needs more than 64 bits.
func Integer(text json.Number) (i int64, ok bool) {
	const most = 18 // the most zeros that an int64 ends with
	n, ok := parseNumber(string(text))
	if !ok || n.exponent < 0 || n.exponent > most {
		return 0, false
	}
	plain := "0" + n.digits + strings.Repeat("0", int(n.exponent))
	if n.negative {
		plain = "-" + plain
	}
	if i, err := strconv.ParseInt(plain, 10, 64); err == nil {
		return i, true
	}
	return 0, false
}

// SameNumber reports whether two JSON numbers are equal: 1.0 equals 1, and 2^53+1 does not equal 2^53.
func SameNumber(a, b json.Number) bool {
	x, ok := parseNumber(string(a))
	y, both := parseNumber(string(b))
	return ok && both && x.key() == y.key()
}
