package catalogue

import (
	"bytes"
	"fmt"
	"testing"
)

func TestCheckSDKs(t *testing.T) {
	sdks := []SDK{{ID: "one"}}
	for _, tt := range []struct{ deviation, want string }{
		{"{sdk: one, versions: '1.2', got: x, fix: y}", ""},
		{"{sdk: one, versions: 1.2 to 2.0, got: x, fix: y, issue: 'https://example.com/1', read: true}", ""},
		{"{sdk: two, versions: '1.2', got: x, fix: y}", `a/b: unknown SDK "two"`},
		{"{sdk: one, versions: all, got: x, fix: y}", `a/b: versions "all" of one (want 1.2, or 1.2 to 1.4)`},
		{"{sdk: one, versions: '1.2', fix: y}", "a/b: the deviation of one wants got and fix"},
		{"{sdk: one, versions: '1.2', got: x}", "a/b: the deviation of one wants got and fix"},
		{"{sdk: one, versions: '1.2', got: x, fix: y, issue: '#1'}", "a/b: the issue of one is not a URL"},
		{"{sdk: one, got: '['}", "2:26: error parsing regexp: missing closing ]: `[`"},
		{"{sdk: one, name: x}", "2:3: field name not found in type catalogue.Deviation"},
	} {
		catalogue, err := ReadCatalogue(fmt.Appendf(nil, "- id: a/b\n  sdks: [%s]\n", tt.deviation))
		if err == nil {
			err = catalogue.CheckSDKs(sdks)
		}
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.deviation, got, tt.want)
		}
	}
}

// TestErrorPatterns checks that all texts of one ErrorPatterns are required, in whichever errors they are.
func TestErrorPatterns(t *testing.T) {
	sdks, err := ReadSDKs([]byte("- says: ['never', ['one', 'two']]"))
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]bool{
		"one": false, "two|other": false, "one two": true, "other|two|one": true, "": false,
	} {
		if got := sdks[0].Matches(bytes.Split([]byte(said), []byte("|"))...); got != want {
			t.Errorf("%s: got %v", said, got)
		}
	}
}

func TestReadSDKs(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"- {id: one, name: One, says: ['x', ['y', 'z']]}\n", "<nil>"},
		{"- id: one\n  says: [['(']]\n", "2:11: error parsing regexp: missing closing ): `(`"},
		{"- id: one\n  says: ['(']\n", "2:10: error parsing regexp: missing closing ): `(`"},
		{"- id: one\n  say: [x]\n", "2:3: field say not found in type catalogue.SDK"},
	} {
		if _, err := ReadSDKs([]byte(tt.text)); fmt.Sprint(err) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}
