package kit

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// ListMethod is the list method of a family that the server declared, and whether it served it; empty when the server
// declares no list, and then none must be asked for, or is known to answer none.
func ListMethod(t *T) (method string, served bool) {
	for _, family := range []struct {
		name  string
		items []M
	}{{"tools", t.Server.Tools}, {"prompts", t.Server.Prompts}, {"resources", t.Server.Resources}} {
		method := family.name + "/list"
		if t.Server.Declares(family.name) && t.Mute(method) == nil {
			return method, len(family.items) > 0
		}
	}
	return "", false
}

// WantListMethod is ListMethod for a check that cannot do without one.
func WantListMethod(t *T) string {
	method, _ := ListMethod(t)
	for _, declared := range ListsOf(t.Server.Capabilities) {
		if method == "" {
			t.Lost("no list is answered: %v", t.Mute(declared))
		}
	}
	if method == "" {
		t.Because(NotOffered).Skip("the server declares no list that could be asked for")
	}
	return method
}

// Ordinary is a request like most that a server gets: for a list that it declared, or else the session's harmless one.
func Ordinary(t *T, s *driver.Session) (method string, params M) {
	if method, _ = ListMethod(t); method != "" {
		return method, nil
	}
	return s.Harmless()
}

// UnknownMeta is a _meta that any request may have, with a key that no server knows.
var UnknownMeta = M{"com.example/mcpcheck": M{"a": 1}, "progressToken": "t"}

// UnknownCapabilities are what a client may declare that no server knows.
var UnknownCapabilities = M{"experimental": M{"com.example/mcpcheck": M{}}, "mcpcheckFuture": M{"a": 1}}

// ObjectsIn are the members of a list that are objects; none when it is not a list.
func ObjectsIn(v any) []M {
	list, _ := v.([]any)
	return Objects(list)
}

// Difference says in a few words how two lists of names differ that are not equal.
func Difference(before, after []string) string {
	if name, ok := firstNotIn(before, after); ok {
		return name + " came"
	}
	if name, ok := firstNotIn(after, before); ok {
		return name + " went"
	}
	return "another number of items"
}

// firstNotIn is the first of some names that is not among those known.
func firstNotIn(known, names []string) (name string, ok bool) {
	all := make(map[string]bool, len(known))
	for _, name := range known {
		all[name] = true
	}
	i := slices.IndexFunc(names, func(name string) bool { return !all[name] })
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// ListKeys is what identifies an item of a list.
var ListKeys = map[string]string{"tools": "name", "prompts": "name", "resources": "uri"}

// ListsOf are the list methods of the families that are declared.
func ListsOf(capabilities M) (methods []string) {
	for _, family := range []string{"tools", "prompts", "resources"} {
		if capabilities[family] != nil {
			methods = append(methods, family+"/list")
		}
	}
	return methods
}

// AskLists asks for each list that the server declares, so that there are answers to judge.
func AskLists(t *T) {
	for _, method := range ListsOf(t.Server.Capabilities) {
		if t.Mute(method) == nil {
			t.Try(t.Session(), method, nil)
		}
	}
}

// ListNames are the names of the tools of all pages, in their order, when they are asked for with params.
func ListNames(t *T, s *driver.Session, params M) (names []string) {
	t.PagesWith(s, "tools/list", "tools", params, func(page M) {
		for _, tool := range toolSubjects(ObjectsIn(page["tools"])) {
			names = append(names, tool.Name)
		}
	})
	return names
}

// Sorted are the names in ascending order.
func Sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
