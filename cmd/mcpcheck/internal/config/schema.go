package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters"
)

// SchemaURL is the URL of the schema of mcpcheck.yaml, for editors.
const SchemaURL = "https://raw.githubusercontent.com/mcpcheck/mcpcheck/main/schemas/config.schema.json"

//go:generate go test -run ^TestSchemaIsCurrent$ . -update

// Schema returns the JSON Schema of mcpcheck.yaml, which schemas/config.schema.json holds for editors.
func Schema() []byte {
	var properties []string
	for _, k := range keys {
		properties = append(properties, fmt.Sprintf("    %q: {\n      %s\n    }", k.name,
			strings.Join(k.schemaMembers(), ",\n      ")))
	}
	return fmt.Appendf(nil, fileSchema, strings.Join(properties, ",\n"))
}

// schemaMembers returns the members of the schema of a key.
func (k key) schemaMembers() []string {
	all := append([]string{`"description": ` + jsonText(k.doc)}, k.members...)
	if k.values != nil {
		all = append(all, `"enum": `+strings.ReplaceAll(jsonText(k.values), `","`, `", "`))
	}
	standard := k.standard
	if duration, ok := standard.(time.Duration); ok {
		standard = strings.Replace(duration.String(), "m0s", "m", 1)
	}
	if standard != nil {
		all = append(all, `"default": `+jsonText(standard))
	}
	return append(all, `"examples": [`+k.example+"]")
}

func jsonText(v any) string {
	content, _ := json.Marshal(v)
	return string(content)
}

// ListSchema returns the JSON Schema of a list of servers by name. Each has the keys of mcpcheck.yaml, and needs a
// command or a URL.
func ListSchema() []byte {
	type m = map[string]any
	var server m
	json.Unmarshal(Schema(), &server)
	definitions := server["$defs"].(m)
	draft := server["$schema"]
	for _, key := range []string{"$schema", "$id", "$defs", "title", "examples"} {
		delete(server, key)
	}
	server["description"] = "How to connect to the server, and how to test it: keys of mcpcheck.yaml. " +
		"Flags of the command line take precedence. Paths are relative to the current directory, wherever the file is."
	server["anyOf"] = []any{m{"required": []string{"command"}}, m{"required": []string{"url"}}}
	definitions["server"] = server
	list, _ := json.MarshalIndent(m{
		"$schema": draft, "$id": "https://github.com/mcpcheck/mcpcheck/schemas/list.schema.json",
		"title": "mcpcheck fleet", "description": "Servers for mcpcheck fleet, and for run --server NAME.",
		"type": "object", "additionalProperties": false, "required": []string{"servers"},
		"properties": m{"servers": m{
			"description": "Servers by name.",
			"type":        "object", "additionalProperties": m{"$ref": "#/$defs/server"},
			"examples": []any{m{
				"weather": m{"command": []string{"node", "dist/index.js"}, "profile": "spec"},
				"search":  m{"url": "https://example.com/mcp", "bearer-env": "TOKEN"},
			}},
		}},
		"$defs": definitions,
	}, "", "  ")
	return append(list, '\n')
}

// scalar is the schema of a text that may be written as another value.
const scalar = `{ "type": ["string", "number", "boolean"] }`

// These are members of the schemas of several keys.
var (
	path     = []string{`"type": "string"`, `"minLength": 1`}
	duration = []string{`"$ref": "#/$defs/duration"`}
)

// durationPart matches a number with a unit, as a part of a JSON string.
const durationPart = `([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`

// skipItem is the schema of a SkipEntry.
const skipItem = `{
        "anyOf": [
          { "$ref": "#/$defs/selector" },
          {
            "description": "Checks to skip, and why.",
            "type": "object",
            "additionalProperties": false,
            "required": ["check"],
            "properties": {
              "check": { "$ref": "#/$defs/selector" },
              "reason": { "description": "Why they are skipped.", "type": "string", ` +
	`"examples": ["a proxy rewrites it"] }
            }
          }
        ]
      }`

// reportFiles returns the properties of ReportFiles.
func reportFiles() string {
	var b strings.Builder
	for _, format := range reporters.Formats {
		base := format.BaseName
		if base == "" {
			base = "mcpcheck"
		}
		fmt.Fprintf(&b, `
        %q: { "description": "File of %s.", "$ref": "#/$defs/file", "examples": [%q] },`,
			format.Name, format.Help, base+format.Ext)
	}
	return "{" + b.String() + `
        "dir": { "description": "Directory for a report of every format.", "type": "string", "minLength": 1, ` +
		`"examples": ["reports"] }
      }`
}

// fileSchema is the schema of mcpcheck.yaml without its properties.
const fileSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "https://github.com/mcpcheck/mcpcheck/schemas/config.schema.json",
  "title": "mcpcheck.yaml",
  "description": "Configuration of mcpcheck for one server: what every run does. ` +
	`Flags of the command line take precedence. Paths are relative to the current directory, wherever the file is.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
%s
  },
  "examples": [
    {
      "command": ["node", "dist/index.js", "stdio"],
      "profile": "spec",
      "arguments": { "search": { "query": "weather" } },
      "skip": ["robust"]
    },
    {
      "url": "https://example.com/mcp",
      "bearer-env": "TOKEN",
      "reports": { "junit": "mcpcheck.xml" }
    }
  ],
  "$defs": {
    "selector": {
      "description": "An id (ping/empty-result), a glob of ids (tools/*), an area (tools) or a level (must).",
      "type": "string",
      "minLength": 1
    },
    "variable": {
      "description": "Name of an environment variable.",
      "type": "string",
      "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"
    },
    "duration": {
      "description": "A duration such as 500ms, 5s or 1m30s.",
      "type": "string",
      "pattern": "^` + durationPart + "(" + durationPart + `)*$"
    },
    "file": {
      "description": "Name of a file; its directory must exist.",
      "type": "string",
      "minLength": 1
    }
  }
}
`
