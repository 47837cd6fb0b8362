package explore

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// TestParseScript proves that scripts are read as they were written, and that others are refused with a reason.
func TestParseScript(t *testing.T) {
	const revision = `"revision":"2025-11-25"`
	for _, test := range []struct{ name, content, problem string }{
		{"no JSON", `x`, "it is not JSON of mcpcheck explore"},
		{"other version", `{"script":2}`, "its version is 2, not 1"},
		{"unknown revision", `{"script":1,"revision":"1999-01-01"}`, `its revision "1999-01-01" is unknown`},
		{"unknown action", `{"script":1,` + revision + `,"steps":[{"do":"dance"}]}`, `step 1 does "dance"`},
		{"no method", `{"script":1,` + revision + `,"steps":[{"do":"send"}]}`, "step 1 has no method"},
		{"valid", `{"script":1,` + revision + `,"steps":[{"number":3,"do":"request","method":"ping"}]}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseScript([]byte(test.content))
			switch {
			case err == nil && test.problem != "":
				t.Errorf("got no error, want %s", test.problem)
			case err != nil && (test.problem == "" || !strings.Contains(err.Error(), test.problem)):
				t.Errorf("got %v, want %q", err, test.problem)
			}
		})
	}
}

// TestResolve proves that references stand for parts of results, and are not resolved where a result lacks the part.
func TestResolve(t *testing.T) {
	results := map[int]check.M{4: {"tools": []any{check.M{"name": "echo"}}, "nextCursor": "b"}}
	resultOf := func(step int) check.M { return results[step] }
	for _, test := range []struct {
		name  string
		value any
		want  any
	}{
		{"member", reference(4, []any{"nextCursor"}), "b"},
		{"in a list", check.M{"name": reference(4, []any{"tools", 0, "name"})}, check.M{"name": "echo"}},
		{"plain", check.M{"a": []any{"b", true}}, check.M{"a": []any{"b", true}}},
		{"no such step", reference(5, []any{"nextCursor"}), nil},
		{"no such item", []any{reference(4, []any{"tools", 1})}, nil},
		{"not an object", reference(4, []any{"nextCursor", "x"}), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := resolve(test.value, resultOf)
			if ok != (test.want != nil) || ok && cmp.Diff(got, test.want) != "" {
				t.Errorf("got %v, %v", got, ok)
			}
		})
	}
}

// TestEncode proves that the order of members depends on the seed alone, and that their values do not.
func TestEncode(t *testing.T) {
	params := check.M{"_meta": check.M{"b": 1, "a": 2}}
	message := check.M{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": params}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		line := string(encode(message, seed))
		if line != string(encode(message, seed)) || len(line) != len(text.CompactJSON(message)) {
			t.Errorf("seed %d gives %s", seed, line)
		}
		orders[line] = true
	}
	if len(orders) < 10 {
		t.Errorf("there are %d orders", len(orders))
	}
}
