package driver

import (
	"strings"
	"testing"
)

// nested is arrays inside each other, with something in the innermost.
func nested(depth int, innermost string) string {
	return strings.Repeat("[", depth) + innermost + strings.Repeat("]", depth)
}

func TestDeepMessages(t *testing.T) {
	objects := strings.Repeat(`{"a":`, 12_000) + "1" + strings.Repeat("}", 12_000)
	tests := []struct {
		name, raw string
		shape     Shape
		deep      bool
		answers   string // the id
	}{
		{"shallow", `{"id":1,"result":{}}`, Object, false, "1"},
		{"many brackets side by side",
			`{"result":[` + strings.Repeat("[],", 20_000) + `[]],"id":2}`, Object, false, "2"},
		{"brackets in a text", `{"result":"\"` + nested(12_000, "") + `","id":3}`, Object, false, "3"},
		{"deep arrays", `{"result":{"a":` + nested(12_000, `"]"`) + `},"id":4}`, Object, true, "4"},
		{"deep objects", `{"result":` + objects + `,"id":5}`, Object, true, "5"},
		{"deep twice",
			`{"result":[` + nested(12_000, "") + `,` + nested(12_000, "") + `],"id":6}`, Object, true, "6"},
		{"very deep", `{"result":` + nested(500_000, "") + `,"id":7}`, Object, true, "7"},
		{"deep array", nested(12_000, ""), Array, true, ""},
		{"deep, cut off", strings.Repeat("[", 12_000), NotJSON, true, ""},
		{"deep, closed too often", nested(12_000, "") + "]", NotJSON, true, ""},
		{"deep, and no JSON", `{"result":` + nested(12_000, "") + `,nonsense}`, NotJSON, true, ""},
	}
	for _, tt := range tests {
		f := &Frame{Raw: Text(tt.raw)}
		f.parse()
		if f.Shape != tt.shape || f.Deep != tt.deep || string(f.ID) != tt.answers {
			t.Errorf("%s: got shape %v, deep %v, id %s", tt.name, f.Shape, f.Deep, f.ID)
		}
		if got, want := f.JSON() != nil, tt.shape == Object; got != want {
			t.Errorf("%s: it is decoded: %v", tt.name, got)
		}
		if got, want := IsJSON(f.Raw.Bytes()), tt.shape != NotJSON; got != want {
			t.Errorf("%s: it is JSON: %v", tt.name, got)
		}
		if tt.shape == Array && len(f.Members()) != 1 {
			t.Errorf("%s: %d members", tt.name, len(f.Members()))
		}
	}
}

func TestDeepAnswerIsAnAnswer(t *testing.T) {
	serve := answering(func(int, string) string { return `{"id":1,"result":{"a":` + nested(12_000, "") + "}}\n" })
	converse(t, Limits{}, serve, func(t *testing.T, s *Session) {
		if r := s.Exchange("ping", nil); !r.Answered() || r.Result() == nil {
			t.Errorf("got %v", r.Err)
		}
	})
}
