// Package configtest has what tests of several packages need of package config.
//
// ParseFlags and ParseFile make what a command line and a file say; Validate holds a file against both the schema in
// schemas/config.schema.json and the program, which have to agree; WriteHostFile writes the file of a host. Every
// function fails the test by itself. Only tests import it, and those of package config cannot: it imports that.
package configtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/schemas"
)

// ParseFlags are the flags of run that a command line gives.
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

// ParseFile is a configuration file.
func ParseFile(t *testing.T, content string) config.File {
	t.Helper()
	c, err := config.Parse(config.DefaultFile, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// CompileSchema is a schema, compiled, and as JSON.
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

// Schema is the schema of mcpcheck.yaml.
func Schema(t *testing.T) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	return CompileSchema(t, schemas.Config)
}

// ValidateYAML reports how a text in YAML breaks a schema.
func ValidateYAML(schema *jsonschema.Schema, content []byte) error {
	asJSON, err := yaml.YAMLToJSON(content)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// Validate reports how a configuration breaks the schema, or what mcpcheck does not like in it.
func Validate(t *testing.T, content []byte) error {
	t.Helper()
	schema, _ := Schema(t)
	if err := ValidateYAML(schema, content); err != nil {
		return err
	}
	_, err := config.Parse(config.DefaultFile, content)
	return err
}

// WriteHostFile writes the file of a host, .mcp.json, into a directory.
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
