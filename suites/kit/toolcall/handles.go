package toolcall

import (
	"maps"
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Handle is a name for state that one tool creates, and that other tools take as an argument.
type Handle struct {
	// Name is the member of the structured result, and the argument.
	Name string
	// Creator is the tool that returns the handle, Users are the tools that take it.
	Creator check.Subject
	Users   []check.Subject
}

// Handles are the handles that the schemas of the listed tools show: a string that is named like an id, in the result
// of a tool that creates something by its name, is not read-only and does not take the handle itself. Identifiers that
// tools find, such as those of users or places, are not handles.
func Handles(t *check.T) (all []Handle) {
	for _, creator := range ListedTools(t) {
		if !creatorPattern.MatchString(creator.Name) || report.IsReadOnly(creator.Value) {
			continue
		}
		taken := stringProperties(creator.Value["inputSchema"])
		for _, name := range stringProperties(creator.Value["outputSchema"]) {
			if !handlePattern.MatchString(name) || slices.Contains(taken, name) {
				continue
			}
			h := Handle{Name: name, Creator: creator}
			for _, tool := range ListedTools(t) {
				if slices.Contains(stringProperties(tool.Value["inputSchema"]), name) {
					h.Users = append(h.Users, tool)
				}
			}
			if len(h.Users) > 0 {
				all = append(all, h)
			}
		}
	}
	return all
}

var (
	// creatorPattern matches names of tools that create state, such as create_basket, basket.open and startSession.
	creatorPattern = regexp.MustCompile(`(^|[_./-])(create|open|start|begin|new|launch|allocate|connect)($|[_./A-Z-])`)
	// handlePattern matches names of handles, such as basket_id, basketId and handle.
	handlePattern = regexp.MustCompile(`^(id|handle|session|token)$|(_|-)(id|handle)$|[a-z](Id|ID|Handle)$`)
)

// stringProperties are the names of the properties of a schema that are strings.
func stringProperties(schema any) (names []string) {
	object, _ := schema.(check.M)
	properties, _ := object["properties"].(check.M)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if property, _ := properties[name].(check.M); property["type"] == "string" {
			names = append(names, name)
		}
	}
	return names
}
