// Package configtest has what tests of several packages need of package config.
//
// ParseFlags and ParseFile parse a command line and a file; Validate checks a file against both the schema in
// schemas/config.schema.json and the program, which have to agree; WriteHostFile writes a host's file. Every function
// fails the test on an error. Only tests import the package; those of package config cannot, since it imports that.
package configtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
)

// ParseFlags returns the flags of run on a command line.
func ParseFlags(t *testing.T, line string) config.Flags {
	t.Helper()
	var f config.Flags
	cmd := &cobra.Command{}
	f.AddAll(cmd)
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return f.WithCommandLine(cmd, cmd.Flags().Args())
}

// ParseFile parses a configuration file.
func ParseFile(t *testing.T, content string) config.File {
	t.Helper()
	c, err := config.Parse(config.DefaultFile, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// CompileSchema returns a JSON schema, compiled and as a value.
func CompileSchema(t *testing.T, content []byte) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
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
	return schema, doc.(map[string]any)
}

// Schema returns the schema of mcpcheck.yaml, compiled and as a value.
func Schema(t *testing.T) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	return CompileSchema(t, config.Schema())
}

// ValidateYAML returns an error when a YAML text does not match a schema.
func ValidateYAML(schema *jsonschema.Schema, content []byte) error {
	var value any
	if _, err := yamlfile.Read("test.yaml", content, &value); err != nil {
		return err
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// Validate returns an error when a configuration does not match the schema, or the program refuses it.
func Validate(t *testing.T, content []byte) error {
	t.Helper()
	schema, _ := Schema(t)
	if err := ValidateYAML(schema, content); err != nil {
		return err
	}
	_, err := config.Parse(config.DefaultFile, content)
	return err
}

// WriteHostFile writes a host's file, .mcp.json, to a directory.
func WriteHostFile(t *testing.T, dir string, servers map[string]any) {
	t.Helper()
	content, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
