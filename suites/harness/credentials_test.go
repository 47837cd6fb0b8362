package harness

import "testing"

// The altered token differs in a bit that counts, also where it is base64 whose last bits are padding.
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
		if got := (Credentials{Bearer: token}).Altered(); got != want {
			t.Errorf("%q: got %q, want %q", token, got, want)
		}
	}
}
