package driver

import "testing"

// TestFingerprint checks that values have the same fingerprint if and only if they are equal, in whatever order their
// members are.
func TestFingerprint(t *testing.T) {
	texts := []string{
		`null`, `true`, `false`, `1`, `1.0`, `"1"`, `""`, `[]`, `{}`, `[1]`, `[[1]]`, `[1,2]`, `[2,1]`, `[[1],2]`,
		`[[],[]]`, `{"a":1}`, `{"b":1}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`, `{"a":{"b":2}}`, `["a",1]`, `[{"a":1}]`,
		`{"a":{"x":1},"b":{}}`, `{"a":{},"b":{"x":1}}`,
	}
	known := map[uint64]string{}
	for _, text := range texts {
		key := Fingerprint(Decode([]byte(text)))
		if other, ok := known[key]; ok {
			t.Errorf("%s and %s have the same fingerprint", text, other)
		}
		known[key] = text
	}
	one, other := Decode([]byte(`{"a":1,"b":[2,{"c":3}]}`)), Decode([]byte(`{"b":[2,{"c":3}],"a":1}`))
	if Fingerprint(one) != Fingerprint(other) {
		t.Error("the order of members makes a difference")
	}
}
