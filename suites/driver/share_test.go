package driver

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Values have the same fingerprint if they are equal, whatever the order of members, and only then.
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

// What is shared is equal to what it stands for, and its equal parts are one.
func TestSharing(t *testing.T) {
	shared := Sharing{}
	var all []any
	for i := range 3 {
		text := fmt.Sprintf(`{"name":"t%d","schema":{"required":["x"],"of":[{"type":"string"},{"type":"string"}]}}`, i)
		v := Decode([]byte(text))
		one := shared.One(v)
		if diff := cmp.Diff(v, one); diff != "" {
			t.Error(diff)
		}
		all = append(all, one)
	}
	same := func(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
	schema := all[0].(M)["schema"]
	if !same(schema, all[2].(M)["schema"]) {
		t.Error("equal schemas are two")
	}
	if parts := schema.(M)["of"].([]any); !same(parts[0], parts[1]) {
		t.Error("equal parts are two")
	}
	deep := Decode([]byte(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)))
	if diff := cmp.Diff(Fingerprint(deep), Fingerprint(shared.One(deep))); diff != "" {
		t.Errorf("a deep value has changed: %s", diff)
	}
}

// A long text is decoded as any other, and what two long ones have in common is one value.
func TestLongTextsShare(t *testing.T) {
	items := strings.Repeat(`{"name":"a","of":["x",{"y":1}]},`, shortText/16) + `null`
	texts := []string{
		`{"id":1,"result":{"tools":[` + items + `]}}`,
		`{"id":2,"result":{"tools":[` + items + `]}}`,
		`[` + items + `]`,
		`{"text":"` + strings.Repeat("long ", shortText) + `"}`,
		`[[` + items + `],[` + items + `]]`,
		" \r\n [ " + strings.Repeat("1, ", shortText) + "[{}] ]\t",
		strings.Repeat("7", 2*shortText),
		strings.Repeat("[", 2*sharedLevels) + items + strings.Repeat("]", 2*sharedLevels),
		`{"a":1,"a":"` + strings.Repeat(`\"\u00e9\\`, shortText) + `","\u0062":[]}`,
	}
	var all []any
	for _, text := range texts {
		v := Decode([]byte(text))
		if !reflect.DeepEqual(v, decode([]byte(text))) {
			t.Errorf("%s is decoded otherwise", Brief([]byte(text)))
		}
		all = append(all, v)
	}
	same := func(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
	first, second := all[0].(M)["result"], all[1].(M)["result"]
	if !same(first, second) {
		t.Error("equal results are two")
	}
	if tools := first.(M)["tools"].([]any); !same(tools[0], tools[1]) {
		t.Error("equal items are two")
	}
	if len(lately.values) > 3 {
		t.Errorf("%d values are kept", len(lately.values))
	}
}
