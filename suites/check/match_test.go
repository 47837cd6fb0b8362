package check

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// TestMatchersOfKinds checks that each matcher matches only what it describes.
func TestMatchersOfKinds(t *testing.T) {
	result, refusal := reply(`{"id":1,"result":{"a":1}}`), reply(`{"id":1,"error":{"code":-32601,"message":"no"}}`)
	toolError := reply(`{"id":1,"result":{"isError":true}}`)
	none := driver.Reply{Err: errors.New("none came")}
	odd := reply(`{"id":1,"error":{"code":"x"}}`)
	tests := []struct {
		name    string
		matcher types.GomegaMatcher
		yes, no []any
	}{
		{"an answer", BeAnswered(), []any{result, refusal}, []any{none}},
		{"a result", BeResult(), []any{result, toolError}, []any{refusal, none, reply(`{"id":1,"result":null}`)}},
		{"an error", BeError(), []any{refusal, odd}, []any{result, toolError, none}},
		{"an error of a code", BeError(-32601), []any{refusal}, []any{odd, result, none}},
		{"a refusal", BeRefused(), []any{refusal, toolError}, []any{result, none}},
		{"a tool error", BeToolError(), []any{toolError}, []any{refusal, result, none}},
		{"a string", BeString(), []any{"", "x"}, []any{nil, true, json.Number("1"), Absent{}}},
		{"an object", BeObject(), []any{M{}}, []any{nil, []any{}, "x"}},
		{"an array", BeArray(), []any{[]any{}}, []any{nil, M{}, "x"}},
		{"a boolean", BeBoolean(), []any{true, false}, []any{nil, "true", json.Number("1")}},
		{"an integer", BeInteger(), []any{json.Number("-1"), json.Number("1e3")},
			[]any{json.Number("1e-3"), json.Number("x"), 1, "1"}},
		{"one of", BeOneOf(1, 2), []any{1, 2}, []any{3, "1", nil}},
		{"no items", BeEmptyList[string]("none"), []any{[]string{}, []string(nil)}, []any{[]string{"a"}}},
		{"what holds", BeTrue("this", "that"), []any{true}, []any{false, nil, 1}},
		{"a condition", Satisfy("odd", func(n int) bool { return n%2 == 1 }), []any{1}, []any{2, "1"}},
	}
	for _, tt := range tests {
		for _, actual := range tt.yes {
			if ok, _ := tt.matcher.Match(actual); !ok {
				t.Errorf("%s: %s does not match", tt.name, Show(actual))
			}
		}
		for _, actual := range tt.no {
			if ok, _ := tt.matcher.Match(actual); ok {
				t.Errorf("%s: %s matches", tt.name, Show(actual))
			}
		}
	}
}

func TestMessages(t *testing.T) {
	tests := []struct {
		matcher types.GomegaMatcher
		actual  any
		want    string
	}{
		{BeRefused(), reply(`{"id":1,"result":{}}`), "expected an error, or a result with isError true\ngot result {}"},
		{
			BeError(-32600, -32602),
			driver.Reply{Err: errors.New("none came")},
			"expected error -32600 or -32602\ngot none came",
		},
		{BeEmptyList[string]("one each"), []string{"a", "b", "c", "d"}, "expected one each\ngot \"a\", \"b\", \"c\""},
		{BeTrue("this", "that %d", 7), false, "expected this\ngot that 7"},
		{BeObject(), []any{}, "expected an object\ngot []"},
	}
	for _, tt := range tests {
		tt.matcher.Match(tt.actual)
		if got := tt.matcher.FailureMessage(tt.actual); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	o := outcomeOf(func(t *T) { t.Expect("x").NotTo(BeString()) })
	if o.Verdict != catalogue.Fail || o.Message != "expected anything but a string\ngot \"x\"" {
		t.Errorf("got %+v", o)
	}
}

// TestBareErrors checks that an HTTP error without a JSON-RPC error has no code to judge.
func TestBareErrors(t *testing.T) {
	bare := driver.Reply{
		Frame: &driver.Frame{
			Side: driver.StatusOnly,
			Raw:  driver.Text("HTTP 400 Bad Request"),
		}, Synthetic: M{"error": M{"message": "no"}},
	}
	tests := []struct {
		name    string
		matcher types.GomegaMatcher
		verdict catalogue.Verdict
		message string
	}{
		{"any error", BeError(), catalogue.Pass, ""},
		{"an error of a code", BeError(-32600), catalogue.Inconclusive,
			"there is no code to judge: HTTP 400 Bad Request"},
		{"a refusal", BeRefused(), catalogue.Pass, ""},
		{"a result", BeResult(), catalogue.Fail, "expected a result\ngot HTTP 400 Bad Request"},
	}
	for _, tt := range tests {
		if o := outcomeOf(func(t *T) { t.Expect(bare).To(tt.matcher) }); o.Verdict != tt.verdict ||
			o.Message != tt.message {
			t.Errorf("%s: got %+v", tt.name, o)
		}
	}
}

// TestShowLongValues checks that Show shortens long texts and lists before it encodes them, with the same result.
func TestShowLongValues(t *testing.T) {
	long, quoted := strings.Repeat("long ", 1000), strings.Repeat("\"\n", 1000)
	var list []any
	var names []string
	for i := range 1000 {
		list = append(list, i)
		names = append(names, strings.Repeat("é", i))
	}
	values := []any{
		long, quoted, strings.Repeat("é", 1000), list, names, []any(nil), []any{}, M(nil), M{}, []string(nil), nil,
		M{"a": M{"b": []any{long, list, M{}}}, "z": []any{}}, []any{list, list, nil}, strings.Repeat("x", 399),
	}
	for i, v := range values {
		if diff := cmp.Diff(driver.Brief(text.CompactJSON(v)), Show(v)); diff != "" {
			t.Errorf("value %d: %s", i, diff)
		}
	}
	if n := len(text.CompactJSON(shortenValue(M{"a": []any{strings.Repeat("x", 1<<20), list}}))); n > 4<<10 {
		t.Errorf("a long value has %d bytes", n)
	}
}

func TestShow(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{"<x>", `"<x>"`},
		{json.Number("1.50"), "1.50"},
		{M{"a": json.Number("1")}, `{"a":1}`},
		{Absent{}, "nothing: the member is missing"},
		{Member(M{"a": nil}, "a"), "null"},
		{Member(M{"a": nil}, "b"), "nothing: the member is missing"},
		{&driver.Frame{Raw: driver.Text("as it was")}, "as it was"},
		{errors.New("oh"), "oh"},
		{time.Second, "1s"},
		{&strings.Builder{}, "{}"}, // it implements Stringer by its pointer
		{func() {}, ""},
		{reply(`{"id":1,"result":"x"}`), `result "x"`},
		{reply(`{"id":1}`), `{"id":1}`},
	}
	for _, tt := range tests {
		if got := Show(tt.value); got != tt.want && tt.want != "" || got == "" {
			t.Errorf("%v: got %s, want %s", tt.value, got, tt.want)
		}
	}
	if !HasMember(M{"a": nil}, "a") || HasMember(M{"a": nil}, "b") {
		t.Error("HasMember does not tell null from a missing member")
	}
}

func reply(text string) driver.Reply {
	m, _ := driver.Decode([]byte(text)).(M)
	return driver.Reply{Synthetic: m, Frame: &driver.Frame{Raw: driver.Text(text)}}
}

func TestMatchers(t *testing.T) {
	result, refusal := reply(
		`{"id":1,"result":{"a":1}}`,
	), reply(
		`{"id":1,"error":{"code":-32601,"message":"no\nsuch"}}`,
	)
	silence := driver.Reply{Err: &driver.TimeoutError{Method: "ping", After: 5e9}}
	tests := []struct {
		name    string
		matcher types.GomegaMatcher
		actual  any
		ok      bool
		// message is that of a value that does not match.
		message string
	}{
		{"an error of the code", BeError(-32601), refusal, true, ""},
		{"an error of one of the codes", BeError(-32602, -32601), refusal, true, ""},
		{"an error of any code", BeError(), refusal, true, ""},
		{"another code", BeError(-32602), refusal, false, "expected error -32602\ngot error -32601: no such"},
		{"a result for an error", BeError(-32602), result, false, "expected error -32602\ngot result {\"a\":1}"},
		{"silence", BeAnswered(), silence, false, "expected an answer\ngot no answer to ping within 5s"},
		{"a result", BeResult(), result, true, ""},
		{"an error for a result", BeResult(), refusal, false, "expected a result\ngot error -32601: no such"},
		{"an integer", BeInteger(), json.Number("7"), true, ""},
		{"an integer with a point", BeInteger(), json.Number("7.0"), true, ""},
		{"an integer of 64 bits", BeInteger(), json.Number("18446744073709551615"), true, ""},
		{"a huge integer", BeInteger(), json.Number("1e999999999"), true, ""},
		{"a fraction", BeInteger(), json.Number("7.5"), false, "expected an integer\ngot 7.5"},
		{"a text for an integer", BeInteger(), "7", false, "expected an integer\ngot \"7\""},
		{"a missing member", BeString(), Absent{}, false, "expected a string\ngot nothing: the member is missing"},
		{"null", BeObject(), nil, false, "expected an object\ngot null"},
		{"one of", BeOneOf("a", "b"), "b", true, ""},
		{"none of", BeOneOf("a", "b"), "c<d>", false, "expected \"a\" or \"b\"\ngot \"c<d>\""},
	}
	for _, tt := range tests {
		ok, err := tt.matcher.Match(tt.actual)
		if ok != tt.ok || err != nil {
			t.Errorf("%s: got %v, %v", tt.name, ok, err)
		}
		if got := tt.matcher.FailureMessage(tt.actual); !ok && got != tt.message {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.message)
		}
	}
}
