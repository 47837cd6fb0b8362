package driver

import (
	"strings"
	"testing"
)

// nestedArrays returns arrays inside each other, with something in the innermost one.
func nestedArrays(depth int, innermost string) string {
	return strings.Repeat("[", depth) + innermost + strings.Repeat("]", depth)
}

func TestDeepMessages(t *testing.T) {
	objects := strings.Repeat(`{"a":`, 12_000) + "1" + strings.Repeat("}", 12_000)
	tests := []struct {
		name, raw string
		shape     JSONKind
		deep      bool
		answers   string // the id
	}{
		{"shallow", `{"id":1,"result":{}}`, Object, false, "1"},
		{"many brackets side by side",
			`{"result":[` + strings.Repeat("[],", 20_000) + `[]],"id":2}`, Object, false, "2"},
		{"brackets in a text", `{"result":"\"` + nestedArrays(12_000, "") + `","id":3}`, Object, false, "3"},
		{"deep arrays", `{"result":{"a":` + nestedArrays(12_000, `"]"`) + `},"id":4}`, Object, true, "4"},
		{"deep objects", `{"result":` + objects + `,"id":5}`, Object, true, "5"},
		{"deep twice",
			`{"result":[` + nestedArrays(12_000, "") + `,` + nestedArrays(12_000, "") + `],"id":6}`, Object, true, "6"},
		{"very deep", `{"result":` + nestedArrays(500_000, "") + `,"id":7}`, Object, true, "7"},
		{"deep array", nestedArrays(12_000, ""), Array, true, ""},
		{"deep, cut off", strings.Repeat("[", 12_000), NotJSON, true, ""},
		{"deep, closed too often", nestedArrays(12_000, "") + "]", NotJSON, true, ""},
		{"deep, and no JSON", `{"result":` + nestedArrays(12_000, "") + `,nonsense}`, NotJSON, true, ""},
	}
	for _, tt := range tests {
		f := &Frame{Raw: Text(tt.raw)}
		f.parse()
		if f.Kind != tt.shape || f.TooDeep != tt.deep || string(f.ID) != tt.answers {
			t.Errorf("%s: got kind %v, too deep %v, id %s", tt.name, f.Kind, f.TooDeep, f.ID)
		}
		if got, want := f.JSON() != nil, tt.shape == Object; got != want {
			t.Errorf("%s: it is decoded: %v", tt.name, got)
		}
		if got, want := IsJSON(f.Raw.Bytes()), tt.shape != NotJSON; got != want {
			t.Errorf("%s: it is JSON: %v", tt.name, got)
		}
		if tt.shape == Array && len(f.Messages()) != 1 {
			t.Errorf("%s: %d members", tt.name, len(f.Messages()))
		}
	}
}

func TestDeepResponse(t *testing.T) {
	serve := respondingServer(func(int, string) string {
		return `{"id":1,"result":{"a":` + nestedArrays(12_000, "") +
			"}}\n"
	})
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		if r := s.Call("ping", nil); !r.Answered() || r.Result() == nil {
			t.Errorf("got %v", r.Err)
		}
	})
}
