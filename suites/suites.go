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
var Areas = []harness.Area{
	{Name: "lifecycle"}, {Name: "stdio"},
	{Name: "http", JudgedBy: harness.AtLeast("2025-03-26")}, // the first revision with Streamable HTTP
	{Name: "sse", JudgedBy: harness.NearestRevision},        // whoever speaks HTTP+SSE is judged as that
	{Name: "jsonrpc"}, {Name: "result"}, {Name: "batch"}, {Name: "discover"}, {Name: "version"}, {Name: "stateless"},
	{Name: "ping"}, {Name: "cancellation"}, {Name: "progress"}, {Name: "pagination"}, {Name: "logging"},
	{Name: "completion"}, {Name: "tools"}, {Name: "resources"}, {Name: "prompts"},
	{Name: "roots", OfClient: true}, {Name: "sampling", OfClient: true}, {Name: "elicitation", OfClient: true},
	{Name: "mrtr"}, {Name: "subscriptions"}, {Name: "caching"}, {Name: "schema"}, {Name: "tasks"}, {Name: "tasks-ext"},
	{Name: "apps"}, {Name: "extensions"}, {Name: "auth"}, {Name: "robust"}, {Name: "advice"},
}

// built are the areas that have checks.
var built = []string{"lifecycle", "stdio", "jsonrpc", "batch", "ping", "tools", "schema", "robust", "http", "sse", "auth"}

// The catalogue as the program reads it: the YAML files in one, by area, in a form
// that takes milliseconds to read instead of seconds.
//
//go:generate go test -run ^TestCatalogueIsCurrent$ . -update
//go:generate go test -run ^TestChecksPageIsCurrent$ ../cmd/mcpcheck -update
//go:embed catalogue.json
var catalogueJSON []byte

// All is every requirement, those whose check is not built yet included.
var All = sync.OnceValue(func() harness.Catalogue { return read(func(harness.Area) bool { return true }) })

// Built are the requirements that a check tries: all that a run needs, and quicker
// to read than all.
var Built = sync.OnceValue(func() harness.Catalogue {
	checks := Checks()
	isBuilt := func(a harness.Area) bool { return slices.Contains(built, a.Name) }
	return slices.DeleteFunc(read(isBuilt), func(r *harness.Requirement) bool {
		_, has := checks[r.ID]
		return !has
	})
})

// read decodes the requirements of the areas that are wanted, in the order of reports.
func read(wanted func(harness.Area) bool) (all harness.Catalogue) {
	var texts map[string]json.RawMessage
	must(json.Unmarshal(catalogueJSON, &texts))
	for _, area := range Areas {
		if wanted(area) {
			var entries harness.Catalogue
			must(json.Unmarshal(texts[area.Name], &entries))
			area.Claim(entries)
			all = append(all, entries...)
		}
	}
	return all
}

// must panics: a test proves that the embedded catalogue can be read.
func must(err error) {
	if err != nil {
		panic("suites: catalogue.json: " + err.Error())
	}
}

// Checks are all checks that are built, by the id of their requirement.
var Checks = sync.OnceValue(func() harness.Suite {
	return merged(lifecycle, stdio, jsonrpc, batch, ping, tools, schema, robust,
		httpMessages, httpSessions, httpSecurity, httpStreams, sse, auth)
})

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
		if _, has := checks[r.ID]; !has {
			planned = append(planned, r)
		}
	}
	return planned
}

// HasCheck reports whether a check tries the requirement.
func HasCheck(r *harness.Requirement) bool {
	_, has := Checks()[r.ID]
	return has
}

// Find returns the requirement of that id, built or planned.
func Find(id string) (*harness.Requirement, bool) {
	i := slices.IndexFunc(All(), func(r *harness.Requirement) bool { return r.ID == id })
	if i < 0 {
		return nil, false
	}
	return All()[i], true
}
