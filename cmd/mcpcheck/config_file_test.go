package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// compileSchema is a schema, compiled, and as JSON.
func compileSchema(t *testing.T, text []byte) (*jsonschema.Schema, object) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema, doc.(object)
}

func compileConfigSchema(t *testing.T) (*jsonschema.Schema, object) {
	t.Helper()
	return compileSchema(t, schemas.Config)
}

// validateYAML reports how a text in YAML breaks a schema.
func validateYAML(schema *jsonschema.Schema, text []byte) error {
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// validateConfig reports how a configuration breaks the schema, or what mcpcheck does not like in it.
func validateConfig(t *testing.T, text []byte) error {
	t.Helper()
	schema, _ := compileConfigSchema(t)
	if err := validateYAML(schema, text); err != nil {
		return err
	}
	_, err := parseConfig(defaultConfigFile, text)
	return err
}

// TestConfigSchemaKeys holds the schema and the program together: the same keys, the same words, the same defaults.
func TestConfigSchemaKeys(t *testing.T) {
	_, doc := compileConfigSchema(t)
	properties := doc["properties"].(object)
	reports := properties["reports"].(object)["properties"].(object)
	skip := properties["skip"].(object)["items"].(object)["anyOf"].([]any)[1].(object)["properties"].(object)
	formats := []string{"dir"}
	for _, format := range reporters.Formats {
		formats = append(formats, format.Name)
	}
	for _, test := range []struct {
		name      string
		got, want []string
	}{
		{"keys", sortedKeys(properties), yamlKeys(reflect.TypeFor[config]())},
		{"reports", sortedKeys(reports), yamlKeys(reflect.TypeFor[reportFiles]())},
		{"reports and formats", sortedKeys(reports), formats},
		{"skip", sortedKeys(skip), yamlKeys(reflect.TypeFor[skipEntry]())},
		{"protocol", enumValues(properties, "protocol"), append([]string{"auto", "all"}, catalogue.Revisions...)},
		{"profile", enumValues(properties, "profile"), toStrings(catalogue.Profiles...)},
		{"sdk", enumValues(properties, "sdk"), []string{showSDK, gateSDK}},
		{"calls", enumValues(properties, "calls"), toStrings(report.CallPolicies...)},
	} {
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: the program (-) and the schema (+) differ:\n%s", test.name, diff)
		}
	}
}

func enumValues(properties object, key string) (words []string) {
	for _, word := range properties[key].(object)["enum"].([]any) {
		words = append(words, word.(string))
	}
	slices.Sort(words)
	return words
}

func toStrings[T ~string](words ...T) (texts []string) {
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return texts
}

// TestConfigSchemaDefaults compares the defaults of the schema with those of the flags.
func TestConfigSchemaDefaults(t *testing.T) {
	_, doc := compileConfigSchema(t)
	run := newRunCommand()
	for key, schema := range doc["properties"].(object) {
		value, ok := schema.(object)["default"]
		flag := run.Flags().Lookup(key)
		if !ok || flag == nil {
			continue
		}
		want, got := flag.DefValue, jsonText(value)
		if long, err := time.ParseDuration(want); err == nil && key != "seed" {
			short, _ := time.ParseDuration(got)
			want, got = long.String(), short.String()
		}
		if got != want {
			t.Errorf("%s: the schema says %s by default, the flag %s", key, got, want)
		}
	}
}

func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// TestConfigSchemaExamples tries every example of the schema on the schema itself, and those of keys on the program.
// Every key has a description and an example.
func TestConfigSchemaExamples(t *testing.T) {
	_, doc := compileConfigSchema(t)
	for _, example := range doc["examples"].([]any) {
		if err := validateConfig(t, []byte(jsonText(example))); err != nil {
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
			if err := validateConfig(t, []byte(jsonText(object{key: example}))); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

// TestConfigReadme tries the example of the reference.
func TestConfigReadme(t *testing.T) {
	example := snippetInSection(t, "mcpcheck.yaml", "yaml")
	if err := validateConfig(t, []byte(example.text)); err != nil {
		t.Errorf("%v: %v in\n%s", example, err, example.text)
	}
}

// TestInvalidConfigs: what the schema refuses, the program refuses as well, and the other way round.
func TestInvalidConfigs(t *testing.T) {
	for _, text := range []string{
		"profil: spec", "profile: nice", "protocol: '1.0'", "calls: some", "jobs: -1", "seed: x",
		"timeout: soon", "budget: 5", "max-message: 4096", "max-message: 0MiB",
		"start-timeout: -1s", "command: npm start", "url: example.com",
		"headers: {X-Key: 'a b'}", "headers: {'a b': KEY}", "bearer-env: Bearer x", "env: {'A=B': c}",
		"reports: {xml: f}", "reports: {json: [f]}", "only: ping", "skip: [{reason: x}]",
		"skip: [{check: ping, why: x}]", "arguments: {a: }", "arguments: {a: 1}",
	} {
		if _, err := parseConfig(defaultConfigFile, []byte(text)); err == nil {
			t.Errorf("%s: mcpcheck takes it", text)
		}
		if validateConfig(t, []byte(text)) == nil {
			t.Errorf("%s: the schema takes it", text)
		}
	}
}

// TestConfigNumbers: a number that stands for a text stays as it is written.
func TestConfigNumbers(t *testing.T) {
	const text = "command: [serve, --port, 0080, 1.10, true]\nenv: {VERSION: 1.10, N: 1e3, S: \"1.10\"}\n"
	c, err := parseConfig(defaultConfigFile, []byte(text))
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

// TestConfigLimits: a file that is no configuration is refused at once.
func TestConfigLimits(t *testing.T) {
	for name, text := range map[string]string{
		"deep": "only: " + strings.Repeat("[", maxConfigBytes/2),
		"odd":  "command: !!binary x",
	} {
		if _, err := parseConfig(defaultConfigFile, []byte(text)); err == nil || len(err.Error()) > 200 {
			t.Errorf("%s: %v, want a short error", name, err)
		}
	}
}
