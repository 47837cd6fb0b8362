package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestValidateExamples proves that example arguments are refused only if the server has listed everything about the
// tool.
func TestValidateExamples(t *testing.T) {
	const plain = `{"type": "object", "properties": {"kind": {"type": "string"}}}`
	for name, c := range map[string]struct {
		// schema is the inputSchema of the tool do; empty means that the server lists no tools.
		schema string
		// part says that a part of the list could not be read.
		part     bool
		examples check.M
		// want is a part of the error; empty means that there is none.
		want string
	}{
		"good":                    {schema: plain, examples: check.M{"kind": "a"}},
		"no such tool":            {want: `no tool "do"`},
		"perhaps no such tool":    {part: true},
		"no such property":        {schema: plain, examples: check.M{"kin": "a"}, want: "did you mean kind?"},
		"a value of another kind": {schema: plain, examples: check.M{"kind": 1}, want: "expected string"},
		"any property":            {schema: `{"type": "object"}`, examples: check.M{"path": "a"}},
		"another property": {
			schema: withMembers(plain, `"additionalProperties": {}`), examples: check.M{"path": "a"},
		},
		"a closed schema": {schema: withMembers(plain, `"additionalProperties": false`),
			examples: check.M{"path": "a"},
			want:     `no property "path" (have kind)`},
		"a property of one alternative": {examples: check.M{"kind": "a", "path": "b"},
			schema: withMembers(plain,
				`"oneOf": [{"required": ["path"], "properties": {"path": {}}}, {"required": ["a"]}]`)},
		"a property behind a reference": {examples: check.M{"path": "a"},
			schema: withMembers(plain, `"$ref": "#/$defs/file", "$defs": {"file": {"properties": {"path": {}}}}`)},
		"a schema that is wrong": {schema: withMembers(plain, `"required": "kind"`), examples: check.M{"kind": 1}},
		"a pattern that is wrong": {examples: check.M{"kind": "a"},
			schema: `{"type": "object", "properties": {"kind": {"pattern": "("}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := &check.Server{Revision: catalogue.NewestLegacy, HasAllTools: !c.part}
			if c.schema != "" {
				var schema check.M
				if err := json.Unmarshal([]byte(c.schema), &schema); err != nil {
					t.Fatal(err)
				}
				server.Tools = []check.M{{"name": "do", "inputSchema": schema}}
			}
			arguments := map[string]check.M{"do": c.examples}
			j := &serverRun{target: &target.Target{}, Options: config.Options{File: config.File{Arguments: arguments}}}
			switch err := j.validateExamples(t.Context(), server); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error is %v, want %s in it", err, c.want)
			}
		})
	}
}

// TestValidateRequestNames proves that a name is refused only if the server has listed everything.
func TestValidateRequestNames(t *testing.T) {
	for name, c := range map[string]struct {
		server check.Server
		// want is a part of the error; empty means that there is none.
		want string
	}{
		"a tool":     {server: check.Server{HasAllTools: true, Tools: []check.M{{"name": "a:do"}}}},
		"a prompt":   {server: check.Server{HasAllTools: true, Prompts: []check.M{{"name": "a:do"}}}},
		"a resource": {server: check.Server{HasAllTools: true, Resources: []check.M{{"uri": "a:do"}}}},
		"perhaps of a template": {
			server: check.Server{HasAllTools: true, Templates: []check.M{{"uriTemplate": "a:{x}"}}},
		},
		"perhaps a tool":         {server: check.Server{}},
		"of a server that fails": {server: check.Server{HasAllTools: true, Failure: "it said no"}},
		"none":                   {server: check.Server{HasAllTools: true}, want: "(there is none)"},
		"another": {
			server: check.Server{HasAllTools: true, Tools: []check.M{{"name": "a:di"}}}, want: "did you mean a:di?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []config.File{{ProtectedState: []string{"a:do"}}, {StateOnce: []string{"a:do"}}} {
				j := &serverRun{target: &target.Target{}, Options: config.Options{File: file}}
				switch err := j.validateNames(t.Context(), &c.server); {
				case c.want == "" && err != nil:
					t.Error(err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("error is %v, want %s in it", err, c.want)
				}
			}
		})
	}
}

// withMembers returns a schema with additional members.
func withMembers(schema, members string) string {
	return strings.TrimSuffix(schema, "}") + ", " + members + "}"
}
