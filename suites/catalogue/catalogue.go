// Package catalogue is what the specification requires of servers, as data: requirements with their levels, pages and
// revisions, selections and frozen sets of them, the verdicts that a check may come to, and the SDKs that are known to
// deviate. It knows neither checks nor servers.
//
// An entry is written in suites/<area>/<area>.yaml and read from catalogue.json, which make generate makes of all of
// them. The id of an entry is public and never renamed. Where an entry differs by revision, its fields are maps by
// revision (ByRevision). All returns the entries of all areas, those included that have no check yet.
package catalogue

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// catalogueJSON is made from suites/*/*.yaml. Each start of mcpcheck reads it, which takes four times as long from
// YAML.
//
//go:embed catalogue.json
var catalogueJSON []byte

// All is every requirement, those whose check is not built yet included.
var All = sync.OnceValue(func() (all Catalogue) {
	if err := json.Unmarshal(catalogueJSON, &all); err != nil {
		panic("catalogue: catalogue.json: " + err.Error()) // a test reads it
	}
	return all
})
