package driver

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// The parts of a text are those that encoding/json finds.
func FuzzParts(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, ` [ ] `, `{"a":1}`, ` { "a" : 1 , "b" : [ 2 , {"c":"]"} ] } `, `[1,"a",null,true,-1.5e3]`,
		`[[],{},[{}]]`, `{"a":1,"a":2}`, `{"\u0061\"}":"\\","b":"\\\""}`, `["\ud800", "é"]`, "{\"\xff\":\"\xff\"}",
		"[\n1\t,\r\n2\n]", `{"":""}`, `7`, `"[1]"`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		var items, gotItems []json.RawMessage
		members, gotMembers := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		json.Unmarshal(text, &items)
		json.Unmarshal(text, &members)
		for name, value := range Parts(text) {
			gotItems = append(gotItems, value)
			gotMembers[name] = value
		}
		same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
		if len(members) > 0 && !maps.EqualFunc(members, gotMembers, same) {
			t.Errorf("%q has the members %q", text, gotMembers)
		}
		if items != nil && !slices.EqualFunc(items, gotItems, same) {
			t.Errorf("%q has the items %q", text, gotItems)
		}
		for name, member := range members {
			if !same(Part(text, name), member) {
				t.Errorf("%q: %q is %q", text, name, Part(text, name))
			}
		}
	})
}
