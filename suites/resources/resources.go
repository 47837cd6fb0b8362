// Package resources holds the checks of resources: lists, definitions, templates, reading, subscriptions of the legacy
// revisions, and notifications of updates.
//
// Listed resources are read once for all checks, by readResults, within limits of time and size. What lies outside of
// the served directories is requested by traversalURIs, and never shown in a report.
package resources

import (
	"fmt"
	"math/rand/v2"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(listChecks, definitionChecks, templateChecks, mimeTypeCheck, contentChecks,
	refusalChecks, traversalChecks, subscriptionChecks, updateChecks)

const (
	listMethod      = "resources/list"
	templatesMethod = "resources/templates/list"
	readMethod      = "resources/read"
)

// These are the lists of the area.
var (
	resourceList = protocol.PagedLists[2]
	templateList = protocol.PagedLists[3]
)

// unknownURI returns the URI of a resource that no server has; it depends on the seed only. Its scheme makes it
// unlikely to match a template.
func unknownURI(t *check.T) string {
	return fmt.Sprintf("mcpcheck-nonexistent://%06x", rand.New(rand.NewPCG(uint64(t.Seed), 3)).IntN(1<<24))
}

// eachResource runs a check on each listed resource.
func eachResource(t *check.T, run func(t *check.T, resource check.M)) {
	eachItem(t, "the server lists no resource", subjects(t.Server.Resources, "uri"), run)
}

// eachItem runs a check on each item; without any, it ends the check with the reason none.
func eachItem(t *check.T, none string, items []check.Subject, run func(t *check.T, item check.M)) {
	if len(items) == 0 {
		t.Skip(check.NotOffered, "%s", none)
	}
	t.Each(items, func(t *check.T, item check.Subject) { run(t, item.Value) })
}

// subjects names items by a member; items without it are named by their position.
func subjects(items []check.M, key string) (all []check.Subject) {
	for i, item := range items {
		name, isString := item[key].(string)
		if !isString {
			name = fmt.Sprintf("#%d", i+1)
		}
		all = append(all, check.Subject{Name: name, Value: item})
	}
	return all
}
