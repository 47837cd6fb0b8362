package driver

import (
	"encoding/json"
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
		{"0", "0", true, 0},
		{"-0", "0", true, 0},
		{"0.000e99999999999999999999", "", true, 0},
		{"7", "7", true, 7},
		{"7.0", "7", true, 7},
		{"70e-1", "7", true, 7},
		{"-32602.0", "-32602", true, -32602},
		{"1e2", "100", true, 100},
		{"1E+2", "100", true, 100},
		{"0.5", "1/2", false, 0},
		{"1.50", "3/2", false, 0},
		{"9223372036854775807", "9223372036854775807", true, 9223372036854775807},
		{"-9223372036854775808", "-9223372036854775808", true, -9223372036854775808},
		{"18446744073709551615", "18446744073709551615", true, 0},
		{"100000000000000000000", "100000000000000000000", true, 0},
		{"1e999999999", "", true, 0},
		{"1e-99999999999999999999", "", true, 0},
		{"", "", false, 0},
		{" 7 ", "7", true, 7},
		{"01", "", false, 0},
		{"0x10", "", false, 0},
		{"Inf", "", false, 0},
		{"1_0", "", false, 0},
		{`"1"`, "", false, 0},
		{"1e" + strings.Repeat("9", 1<<20), "", true, 0},
	}
	for _, tt := range tests {
		key := ""
		if n, ok := parseNumber(tt.text); ok {
			key = n.RatString()
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
