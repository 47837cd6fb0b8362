package jsonrpc

import (
	"encoding/json"
	"testing"
)

func TestNumbersOfAnySize(t *testing.T) {
	for _, tt := range []struct {
		number    json.Number
		requestID bool // the number may be the id of a request
		usable    bool // the number may be the code of an error
	}{
		{"1", true, true},
		{"18446744073709551615", true, true},
		{"100000000000000000000", true, true},
		{"1e20", true, true},
		{"1e999999999", true, true},
		{"1.5", false, true},
		{"-32602.0", true, true},
		{"-32500", true, false},
		{"-32500.0", true, false},
		{"-325e2", true, false},
	} {
		if got := isRequestID(tt.number); got != tt.requestID {
			t.Errorf("%s: id is %v", tt.number, got)
		}
		if got := isUnreservedCode(tt.number); got != tt.usable {
			t.Errorf("%s: usable is %v", tt.number, got)
		}
	}
}
