// Package catalogue holds the requirements of all areas, for whoever needs no check: those of an area are in
// suites/<area>/<area>.yaml.
package catalogue

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// catalogueJSON is made from suites/*/*.yaml. Each start of mcpcheck reads it, which takes four times as long from
// YAML.
//
//go:embed catalogue.json
var catalogueJSON []byte

// All is every requirement, those whose check is not built yet included.
var All = sync.OnceValue(func() (all harness.Catalogue) {
	if err := json.Unmarshal(catalogueJSON, &all); err != nil {
		panic("catalogue: catalogue.json: " + err.Error()) // a test reads it
	}
	return all
})
