package advice

import (
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// serverFile is the file with which a server is published.
var serverFile = Suite{
	"advice/server-file-valid": Probe(func(t *T) {
		file := t.Server.File
		if len(file) == 0 {
			t.Because(NotGiven).Skip("there is no server.json in the working directory of the server")
		}
		if len(file) > LongestFile {
			t.Because(Limit).Inconclusive("server.json is longer than %d bytes", LongestFile)
		}
		v := driver.Decode(file)
		content, _ := v.(M)
		names, _ := content["$schema"].(string)
		if !strings.Contains(names, "modelcontextprotocol") || !strings.Contains(names, "server.schema.json") {
			t.Because(NotGiven).Skip("server.json names no $schema of the registry, and may be something else")
		}
		err := rulesOfFile().Validate(v)
		if limit := (*schemas.LimitError)(nil); errors.As(err, &limit) {
			t.Because(Limit).Inconclusive("%v", err)
		}
		t.Expect(err == nil).To(Hold("a server.json that the registry takes", "%v", err))
	}),
}

//go:embed serverfile.json
var rulesText []byte

// rulesOfFile are what the registry wants of the file, as far as that does not depend on its version.
var rulesOfFile = sync.OnceValue(func() *schemas.Schema {
	var doc any
	if err := json.Unmarshal(rulesText, &doc); err != nil {
		panic("advice: " + err.Error()) // a test compiles them
	}
	rules, err := schemas.Compile(doc, "2025-11-25")
	if err != nil {
		panic("advice: " + err.Error())
	}
	return rules
})
