// Package catalogue holds what the specification requires of servers, as data: requirements with their levels, pages
// and revisions, selections and frozen sets of them, the verdicts of checks, and the SDKs with known deviations. It
// knows neither checks nor servers, and does no I/O.
//
// Begin with Requirement and Catalogue. An entry is written in suites/<area>/<area>.yaml and read from the embedded
// catalogue.json, which make generate creates from these files. The id of an entry is public and never changes. Where
// an entry differs by revision, its fields are maps by revision (ByRevision). All returns the entries of all areas,
// including those that have no check yet.
package catalogue

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// catalogueJSON is generated from suites/*/*.yaml. It is read at every start of mcpcheck, and reading YAML would take
// four times as long.
//
//go:embed catalogue.json
var catalogueJSON []byte

// All returns every requirement, including those without a check.
var All = sync.OnceValue(func() (all Catalogue) {
	if err := json.Unmarshal(catalogueJSON, &all); err != nil {
		panic("catalogue: catalogue.json: " + err.Error()) // tests make sure that it can be read
	}
	return all
})
