package schemas

import (
	_ "embed"
	"encoding/json"
)

// Config is the JSON Schema of mcpcheck.yaml.
//
//go:embed config.schema.json
var Config []byte

// ServerList is the JSON Schema of a list of servers by name. Each has the keys of mcpcheck.yaml, and needs a command
// or a URL.
func ServerList() ([]byte, error) {
	var server map[string]any
	if err := json.Unmarshal(Config, &server); err != nil {
		return nil, err
	}
	definitions := server["$defs"].(map[string]any)
	draft := server["$schema"]
	for _, key := range []string{"$schema", "$id", "$defs", "title", "examples"} {
		delete(server, key)
	}
	type m = map[string]any
	server["description"] = "How the server is reached, and how it is judged: keys of mcpcheck.yaml. " +
		"Flags of the command line win over it. Paths are relative to the current directory, wherever the file is."
	server["anyOf"] = []any{m{"required": []string{"command"}}, m{"required": []string{"url"}}}
	definitions["server"] = server
	return json.MarshalIndent(m{
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
}
