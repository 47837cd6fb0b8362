package toolcall

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func TestWithShortTimes(t *testing.T) {
	for name, tt := range map[string]struct {
		property check.M
		want     any // nil if the property is left out
	}{
		"duration":         {check.M{"type": "number", "default": json.Number("10")}, json.Number("1")},
		"delaySeconds":     {check.M{"type": "integer", "minimum": json.Number("0")}, json.Number("1")},
		"wait":             {check.M{"type": "integer", "minimum": json.Number("2")}, json.Number("2")},
		"sleep":            {check.M{"type": "integer", "description": "Milliseconds to sleep"}, nil},
		"delayMs":          {check.M{"type": "integer"}, nil},
		"duration_minutes": {check.M{"type": "integer"}, nil},
		"delay":            {check.M{"type": "integer", "description": "in hours"}, nil},
		"duration_text":    {check.M{"type": "string"}, nil},
		"seconds":          {check.M{"type": "integer", "enum": []any{json.Number("5")}}, nil},
		"lines":            {check.M{"type": "integer"}, nil},
		"seconds (given)":  {check.M{"type": "integer"}, json.Number("7")},
		"duration (false)": {nil, nil},
	} {
		input := check.M{"type": "object", "properties": check.M{name: tt.property}}
		if tt.property == nil {
			input["properties"] = check.M{name: false}
		}
		schema, err := schemas.Compile(input, "2025-11-25")
		if err != nil {
			t.Fatal(err)
		}
		args := check.M{}
		if name == "seconds (given)" {
			args[name] = tt.want
		}
		before := maps.Clone(args)
		got := withShortTimes(check.Subject{Value: check.M{"inputSchema": input}}, schema, args)
		if got[name] != tt.want {
			t.Errorf("%s: %v, want %v", name, got[name], tt.want)
		}
		if !maps.Equal(args, before) {
			t.Errorf("%s: the arguments of the caller were changed to %v", name, args)
		}
	}
}
