// Package resources judges resources: lists, templates, readings, subscriptions and updates.
package resources

import (
	"fmt"
	"math/rand/v2"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks are the checks of the area.
var Checks = check.MergeSuites(listChecks, definitionChecks, templateChecks, contentChecks, refusalChecks,
	traversalChecks,
	subscriptionChecks, updateChecks)

const (
	listMethod      = "resources/list"
	templatesMethod = "resources/templates/list"
	readMethod      = "resources/read"
)

// The lists of the area.
var (
	resourceList = protocol.PagedLists[2]
	templateList = protocol.PagedLists[3]
)

// unknownURI is the URI of a resource that no server has, the same one for the same seed. No template is likely to have
// its scheme.
func unknownURI(t *check.T) string {
	return fmt.Sprintf("mcpcheck-nonexistent://%06x", rand.New(rand.NewPCG(uint64(t.Seed), 3)).IntN(1<<24))
}

// eachResource tries a check on each resource that is listed.
func eachResource(t *check.T, run func(t *check.T, resource check.M)) {
	eachItem(t, "the server lists no resource", subjects(t.Server.Resources, "uri"), run)
}

func eachItem(t *check.T, none string, items []check.Subject, run func(t *check.T, item check.M)) {
	if len(items) == 0 {
		t.WithReason(check.NotOffered).Skip("%s", none)
	}
	t.Each(items, func(t *check.T, item check.Subject) { run(t, item.Value) })
}

// subjects names items by a member; one without it is known by its place.
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
