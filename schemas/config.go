package schemas

import _ "embed"

// Config is the JSON Schema of mcpcheck.yaml.
//
//go:embed config.schema.json
var Config []byte
