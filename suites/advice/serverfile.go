package advice

import (
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// serverFileChecks are the checks of server.json, the file with which a server is published.
var serverFileChecks = check.Suite{
	"advice/server-file-valid": check.Probe(func(t *check.T) {
		file := t.Server.File
		if len(file) == 0 {
			t.Skip(check.NotGiven, "there is no server.json in the working directory of the server")
		}
		if len(file) > check.MaxServerFile {
			t.NoVerdict(check.Limit, "server.json is longer than %d bytes", check.MaxServerFile)
		}
		v := driver.Decode(file)
		content, _ := v.(check.M)
		names, _ := content["$schema"].(string)
		if !strings.Contains(names, "modelcontextprotocol") || !strings.Contains(names, "server.schema.json") {
			t.Skip(check.NotGiven, "server.json names no $schema of the registry, and may be something else")
		}
		err := serverFileSchema().Validate(v)
		if limit := (*schemas.LimitError)(nil); errors.As(err, &limit) {
			t.NoVerdict(check.Limit, "%v", err)
		}
		t.Expect(err == nil).To(check.BeTrue("a server.json that the registry takes", "%v", err))
	}),
}

//go:embed serverfile.json
var serverFileSchemaText []byte

// serverFileSchema returns the rules of the registry for the file, as far as they do not depend on its version.
var serverFileSchema = sync.OnceValue(func() *schemas.Schema {
	var doc any
	if err := json.Unmarshal(serverFileSchemaText, &doc); err != nil {
		panic("advice: " + err.Error()) // A test compiles the schema.
	}
	rules, err := schemas.Compile(doc, "2025-11-25")
	if err != nil {
		panic("advice: " + err.Error())
	}
	return rules
})
