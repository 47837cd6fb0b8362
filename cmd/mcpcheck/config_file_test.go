package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
)

func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// TestConfigSchemaExamples validates every example of the schema with the schema, and those of keys with the program.
// Every key has a description and an example.
func TestConfigSchemaExamples(t *testing.T) {
	_, doc := configtest.Schema(t)
	for _, example := range doc["examples"].([]any) {
		if err := configtest.Validate(t, []byte(jsonText(example))); err != nil {
			t.Errorf("%s: %v", jsonText(example), err)
		}
	}
	for key, schema := range doc["properties"].(object) {
		schema := schema.(object)
		examples, _ := schema["examples"].([]any)
		if len(examples) == 0 || schema["description"] == nil {
			t.Errorf("%s: no description or no example", key)
		}
		for _, example := range examples {
			if err := configtest.Validate(t, []byte(jsonText(object{key: example}))); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

// TestConfigReadme validates the example of the reference.
func TestConfigReadme(t *testing.T) {
	example := snippetInSection(t, "mcpcheck.yaml", "yaml")
	if err := configtest.Validate(t, []byte(example.text)); err != nil {
		t.Errorf("%v: %v in\n%s", example, err, example.text)
	}
}

// TestInvalidConfigs proves that the schema and the program refuse the same configurations.
func TestInvalidConfigs(t *testing.T) {
	for _, content := range []string{
		"profil: spec", "profile: nice", "protocol: '1.0'", "calls: some", "jobs: -1", "seed: x",
		"timeout: soon", "budget: 5", "max-message: 4096", "max-message: 0MiB",
		"start-timeout: -1s", "command: npm start", "url: example.com",
		"headers: {X-Key: 'a b'}", "headers: {'a b': KEY}", "bearer-env: Bearer x", "env: {'A=B': c}",
		"reports: {xml: f}", "reports: {json: [f]}", "only: ping", "skip: [{reason: x}]",
		"skip: [{check: ping, why: x}]", "arguments: {a: }", "arguments: {a: 1}",
	} {
		if _, err := config.Parse(config.DefaultFile, []byte(content)); err == nil {
			t.Errorf("%s: mcpcheck accepts it", content)
		}
		if configtest.Validate(t, []byte(content)) == nil {
			t.Errorf("%s: the schema accepts it", content)
		}
	}
}

// TestConfigNumbers proves that a number in place of a string keeps its text.
func TestConfigNumbers(t *testing.T) {
	const text = "command: [serve, --port, 0080, 1.10, true]\nenv: {VERSION: 1.10, N: 1e3, S: \"1.10\"}\n"
	c, err := config.Parse(config.DefaultFile, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"serve", "--port", "0080", "1.10", "true"}, c.Command); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"VERSION": "1.10", "N": "1e3", "S": "1.10"}, c.Env); diff != "" {
		t.Error(diff)
	}
}

// TestConfigLimits proves that a file which is not a configuration is refused quickly.
func TestConfigLimits(t *testing.T) {
	for name, content := range map[string]string{
		"deep": "only: " + strings.Repeat("[", config.MaxBytes/2),
		"odd":  "command: !!binary x",
	} {
		if _, err := config.Parse(config.DefaultFile, []byte(content)); err == nil || len(err.Error()) > 200 {
			t.Errorf("%s: %v, want a short error", name, err)
		}
	}
}
