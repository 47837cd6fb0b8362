package catalogue

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadSentences(t *testing.T) {
	const text = `
'2025-11-25':
  server/tools#tool:
    1 MUST server: [tools/a, tools/b]
    2-3 SHOULD NOT client:
'2026-07-28':
  basic/index:
    1 REQUIRED both: Nobody can see it.
`
	want := []Sentence{
		{Revision: "2025-11-25", Page: "server/tools#tool", Ordinal: 1, Keyword: "MUST", Binds: BindsServer,
			IDs: []string{"tools/a", "tools/b"}},
		{Revision: "2025-11-25", Page: "server/tools#tool", Ordinal: 2, Keyword: "SHOULD NOT", Binds: BindsClient},
		{Revision: "2025-11-25", Page: "server/tools#tool", Ordinal: 3, Keyword: "SHOULD NOT", Binds: BindsClient},
		{Revision: "2026-07-28", Page: "basic/index", Ordinal: 1, Keyword: "REQUIRED", Binds: BindsBoth,
			Reason: "Nobody can see it."},
	}
	got, err := ReadSentences([]byte(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	const url = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool"
	if got := want[0].URL(); got != url {
		t.Errorf("URL: got %s, want %s", got, url)
	}
}

func TestReadSentencesRejects(t *testing.T) {
	const wanted = " (want ORDINAL KEYWORD PARTY, as 1 MUST server)"
	for text, want := range map[string]string{
		"- a": "1:1: want a map",
		"2025-11-26: {}": `1:1: unknown revision "2025-11-26" ` +
			"(have " + strings.Join(Revisions, ", ") + ")",
		"2025-11-25: []":                            "1:13: want a map",
		"2025-11-25: {a: {}, a: {}}":                `1:21: "a" is there twice`,
		"2025-11-25:\n  a: {1 MAY server: }":        `2:7: invalid row "1 MAY server"` + wanted,
		"2025-11-25:\n  a: {0 MUST server: }":       `2:7: invalid row "0 MUST server"` + wanted,
		"2025-11-25:\n  a: {1 MUST me: }":           `2:7: invalid row "1 MUST me"` + wanted,
		"2025-11-25:\n  a: {3-2 MUST server: }":     "2:7: no sentence from 3 to 2",
		"2025-11-25:\n  a: {1 MUST server: {b: c}}": "2:22: cannot unmarshal !!map into string",
	} {
		if got, err := ReadSentences([]byte(text)); err == nil || err.Error() != want || got != nil {
			t.Errorf("%q: got %v, %v; want %s", text, got, err, want)
		}
	}
}
