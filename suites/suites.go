// Package suites is the catalogue of requirements and the checks that try them:
// for each area of the specification a file of requirements, <area>.yaml, beside
// the file of their checks, <area>.go.
package suites

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Areas are the areas of the catalogue, in the order of reports.
var Areas = []string{
	"lifecycle", "stdio", "http", "sse", "jsonrpc", "result", "batch", "discover", "version", "stateless",
	"ping", "cancellation", "progress", "pagination", "logging", "completion",
	"tools", "resources", "prompts", "roots", "sampling", "elicitation", "mrtr", "subscriptions", "caching",
	"schema", "tasks", "tasks-ext", "apps", "extensions", "auth", "robust", "advice",
}

// The catalogue as the program reads it: the YAML files in one, in a form that
// takes milliseconds to read instead of seconds.
//
//go:generate go test -run ^TestCatalogueIsCurrent$ . -update
//go:embed catalogue.json
var catalogueJSON []byte

// All is every requirement, those whose check is not built yet included.
var All = sync.OnceValue(func() (all harness.Catalogue) {
	if err := json.Unmarshal(catalogueJSON, &all); err != nil {
		panic("suites: catalogue.json: " + err.Error()) // a test proves that it can be read
	}
	return all
})

// Checks are all checks that are built, by the id of their requirement.
func Checks() harness.Suite {
	return merged(lifecycle, stdio, jsonrpc, batch, ping, tools, schema, robust)
}

// merged puts suites together.
func merged(suites ...harness.Suite) harness.Suite {
	all := harness.Suite{}
	for _, suite := range suites {
		maps.Copy(all, suite)
	}
	return all
}

// Planned are the requirements that no check tries yet, in the order of the
// catalogue.
func Planned() (planned harness.Catalogue) {
	checks := Checks()
	for _, r := range All() {
		if _, built := checks[r.ID]; !built {
			planned = append(planned, r)
		}
	}
	return planned
}

// Built reports whether a check tries the requirement.
func Built(r *harness.Requirement) bool {
	_, built := Checks()[r.ID]
	return built
}

// Find returns the requirement of that id, built or planned.
func Find(id string) (*harness.Requirement, bool) {
	i := slices.IndexFunc(All(), func(r *harness.Requirement) bool { return r.ID == id })
	if i < 0 {
		return nil, false
	}
	return All()[i], true
}
