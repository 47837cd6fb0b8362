package report

import "testing"

type object = map[string]any

func TestPermit(t *testing.T) {
	tool := func(hints object) object { return object{"name": "x", "annotations": hints} }
	tests := []struct {
		name           string
		calls          CallPolicy
		tool           object
		examples       bool
		invalid, valid bool
	}{
		{"a plain tool", CallsSafe, object{}, false, false, false},
		{"a tool that is not destructive", CallsSafe, tool(object{"destructiveHint": false}), false, true, false},
		{"a tool that only says that it writes", CallsSafe, tool(object{"readOnlyHint": false}), false, false, false},
		{"a read-only tool", CallsSafe, tool(object{"readOnlyHint": true}), false, true, true},
		{"a destructive tool", CallsSafe, tool(object{"destructiveHint": true}), false, false, false},
		{"a destructive tool with examples", CallsSafe, tool(object{"destructiveHint": true}), true, false, true},
		{"a read-only tool, whatever it says of destruction", CallsSafe,
			tool(object{"readOnlyHint": true, "destructiveHint": true}), false, true, true},
		{"a plain tool with examples", CallsSafe, object{}, true, true, true},
		{"a hint that is not a boolean", CallsSafe,
			tool(object{"readOnlyHint": "true", "destructiveHint": "false"}), false, false, false},
		{"a plain tool and invalid", CallsInvalid, object{}, false, true, false},
		{"a destructive tool and invalid", CallsInvalid, tool(object{"destructiveHint": true}), false, false, false},
		{"a destructive tool with examples and invalid", CallsInvalid,
			tool(object{"destructiveHint": true}), true, false, true},
		{"none", CallsNone, tool(object{"readOnlyHint": true}), true, false, false},
		{"all", CallsAll, tool(object{"destructiveHint": true}), false, true, true},
	}
	for _, tt := range tests {
		p := tt.calls.Permit(tt.tool, tt.examples)
		if p.Invalid != tt.invalid || p.Valid != tt.valid {
			t.Errorf("%s: got %+v, want invalid %v, valid %v", tt.name, p, tt.invalid, tt.valid)
		}
		if !(p.Invalid && p.Valid) && p.Reason == "" {
			t.Errorf("%s: no reason", tt.name)
		}
	}
}

func TestParseCallPolicy(t *testing.T) {
	for _, name := range CallPolicies {
		if got, err := ParseCallPolicy(string(name)); got != name || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := ParseCallPolicy("some"); err == nil ||
		err.Error() != `unknown call policy "some" (have safe, none, invalid, all)` {
		t.Errorf("got %v", err)
	}
}
