package check

import "testing"

// TestAlteredToken checks that the altered token differs in a significant bit, also if the last bits are base64
// padding.
func TestAlteredToken(t *testing.T) {
	for token, want := range map[string]string{
		"":         "",
		"=":        "",
		"secretA":  "secretg",
		"secret9":  "secretd",
		"a.b.c_Q":  "a.b.c_w",
		"secretA=": "secretg=",
		"secret.":  "secretf",
	} {
		if got := (Credentials{Bearer: token}).AlteredToken(); got != want {
			t.Errorf("%q: got %q, want %q", token, got, want)
		}
	}
}

// TestUnsignedToken checks that the unsigned token has the payload of the original and "alg": "none".
func TestUnsignedToken(t *testing.T) {
	for token, want := range map[string]string{
		"":         "",
		"secret":   "",
		"a.b":      "",
		"a.b.c":    "", // its header is not JSON
		"MQ.b.c":   "", // its header is not an object
		"e30.b.c":  "eyJhbGciOiJub25lIn0.b.",
		"e30.b.c.": "",
		"eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c": "eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.e30.",
	} {
		if got := (Credentials{Bearer: token}).UnsignedToken(); got != want {
			t.Errorf("%q: got %q, want %q", token, got, want)
		}
	}
}
