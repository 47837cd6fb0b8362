package driver

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	tests := []struct {
		text    string
		key     string // "": not a number
		integer bool
		value   int64 // 0 also when it needs more than 64 bits
	}{
		{"0", "e0", true, 0},
		{"-0", "e0", true, 0},
		{"0.000e99999999999999999999", "e0", true, 0},
		{"7", "7e0", true, 7},
		{"7.0", "7e0", true, 7},
		{"70e-1", "7e0", true, 7},
		{"-32602.0", "-32602e0", true, -32602},
		{"1e2", "1e2", true, 100},
		{"1E+2", "1e2", true, 100},
		{"0.5", "5e-1", false, 0},
		{"1.50", "15e-1", false, 0},
		{"9223372036854775807", "9223372036854775807e0", true, 9223372036854775807},
		{"-9223372036854775808", "-9223372036854775808e0", true, -9223372036854775808},
		{"18446744073709551615", "18446744073709551615e0", true, 0},
		{"100000000000000000000", "1e20", true, 0},
		{"1e999999999", "1e999999999", true, 0},
		{"1e-99999999999999999999", "", false, 0},
		{"", "", false, 0},
		{" 7 ", "7e0", true, 7},
		{"01", "", false, 0},
		{"0x10", "", false, 0},
		{"Inf", "", false, 0},
		{"1_0", "", false, 0},
		{`"1"`, "", false, 0},
		{"1e" + strings.Repeat("9", 1<<20), "", false, 0},
	}
	for _, tt := range tests {
		key := ""
		if n, ok := parseNumber(tt.text); ok {
			key = n.key()
		}
		if key != tt.key {
			t.Errorf("%.40s: the key is %.40q, want %.40q", tt.text, key, tt.key)
		}
		if got := IsInteger(json.Number(tt.text)); got != tt.integer {
			t.Errorf("%.40s: integer is %v", tt.text, got)
		}
		if got, _ := Integer(json.Number(tt.text)); got != tt.value {
			t.Errorf("%.40s: the value is %d, want %d", tt.text, got, tt.value)
		}
	}
}

func TestCode(t *testing.T) {
	for text, want := range map[string]int{"-32602": -32602, "-32602.0": -32602, "-3.2602e4": -32602, "1e2": 100} {
		r := Reply{Synthetic: M{"error": M{"code": json.Number(text)}}}
		if code, ok := r.Code(); code != want || !ok {
			t.Errorf("%s: got %d, %v", text, code, ok)
		}
	}
	for _, text := range []string{"18446744073709551615", "1e999999999", "-32602.5"} {
		r := Reply{Synthetic: M{"error": M{"code": json.Number(text)}}}
		if code, ok := r.Code(); code != 0 || ok {
			t.Errorf("%s: got %d, %v", text, code, ok)
		}
	}
}

// FuzzNumber compares the results with exact arithmetic, as far as that is cheap.
func FuzzNumber(f *testing.F) {
	f.Add("1.0", "1")
	f.Add("-0.00120e3", "-1.2")
	f.Add("18446744073709551615", "18446744073709551616")
	f.Add("100000000000000000000", "1e20")
	f.Fuzz(func(t *testing.T, a, b string) {
		IsInteger(json.Number(a))
		if len(a)+len(b) > 40 || strings.ContainsAny(a+b, "eE") && len(a)+len(b) > 10 {
			return
		}
		x, ok := new(big.Rat).SetString(a)
		y, both := new(big.Rat).SetString(b)
		if !ok || !both || !json.Valid([]byte(a)) || !json.Valid([]byte(b)) {
			return
		}
		if got, want := SameNumber(json.Number(a), json.Number(b)), x.Cmp(y) == 0; got != want {
			t.Errorf("%s and %s: same is %v", a, b, got)
		}
		if got := IsInteger(json.Number(a)); got != x.IsInt() {
			t.Errorf("%s: integer is %v", a, got)
		}
	})
}
