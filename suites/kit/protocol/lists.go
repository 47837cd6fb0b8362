package protocol

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// PagedList is a list of the server that is returned in pages.
type PagedList struct {
	// Capability is the capability that offers the list, and Method the request for it.
	Capability, Method string
	// Member is the member of the result that holds the items.
	Member string
	// Key is the member of an item that identifies it.
	Key string
}

// PagedLists are the lists that every revision has.
var PagedLists = []PagedList{
	{"tools", "tools/list", "tools", "name"},
	{"prompts", "prompts/list", "prompts", "name"},
	{"resources", "resources/list", "resources", "uri"},
	{"resources", "resources/templates/list", "resourceTemplates", "uriTemplate"},
}

// DeclaredLists are the lists whose capability the server declares.
func DeclaredLists(t *check.T) []PagedList {
	return slices.DeleteFunc(slices.Clone(PagedLists),
		func(l PagedList) bool { return !t.Server.Declares(l.Capability) })
}

// Subject names the list by its method.
func (l PagedList) Subject() check.Subject { return check.NamedSubject(l.Method) }

// ChangedMethod is the method of the notification that the list changed.
func (l PagedList) ChangedMethod() string { return "notifications/" + l.Capability + "/list_changed" }

// Keys are the keys of the items of a page, in their order. An item without a key is represented by its JSON.
func (l PagedList) Keys(page check.M) (keys []string) {
	items, _ := page[l.Member].([]any)
	for _, item := range items {
		object, _ := item.(check.M)
		key, isString := object[l.Key].(string)
		if !isString {
			key = string(text.CompactJSON(item))
		}
		keys = append(keys, key)
	}
	return keys
}

// names are the keys of all pages, sorted, when the list is requested with these params.
func (l PagedList) names(t *check.T, s *driver.Session, params check.M) (names []string) {
	check.FollowPagesWith(t, s, l.Method, l.Member, params,
		func(page check.M) { names = append(names, l.Keys(page)...) })
	return slices.Compact(Sorted(names))
}

// ExpectParamsOptional expects the same list for every form of params without a cursor: {}, none, and only _meta.
func ExpectParamsOptional(t *check.T, l PagedList) {
	s := t.Session()
	forms := []check.M{{}, nil, {"_meta": UnknownMeta}}
	replies := make([]driver.Reply, len(forms))
	replies[0] = t.Send(s, l.Method, forms[0])
	for i, params := range forms[1:] {
		replies[i+1] = t.Send(s, l.Method, params, check.AllowSilence)
	}
	if !slices.ContainsFunc(replies, func(r driver.Reply) bool { return r.Result() != nil }) {
		t.Yield("no form of %s is served", l.Method)
	}
	for _, r := range replies[:2] {
		t.Expect(r).To(check.BeResult())
	}
	if replies[2].Result() == nil {
		t.Yield("it is not served with _meta")
	}
	list := func(params check.M) func() []string { return func() []string { return l.names(t, s, params) } }
	usual := list(forms[0])
	want := usual()
	for i, params := range forms[1:] {
		got, same := Compare(t, slices.Equal, want, usual, list(params))
		t.DecidedBy(replies[0],
			replies[i+1]).Expect(same).To(check.BeTrue("the "+l.Capability+" that come with params {}",
			"other ones with params %s: %s", check.Show(params), Difference(want, got)))
	}
}

// ListMethod is a list method that the server declared and is not known to leave unanswered, and whether discovery
// received items. It is empty when there is none.
func ListMethod(t *check.T) (method string, served bool) {
	for _, family := range []struct {
		name  string
		items []check.M
	}{{"tools", t.Server.Tools}, {"prompts", t.Server.Prompts}, {"resources", t.Server.Resources}} {
		method := family.name + "/list"
		if t.Server.Declares(family.name) && check.KnownUnanswered(t, method) == nil {
			return method, len(family.items) > 0
		}
	}
	return "", false
}

// RequireListMethod is ListMethod for a check that needs one; it ends the check where there is none.
func RequireListMethod(t *check.T) string {
	method, _ := ListMethod(t)
	for _, declared := range ListMethods(t.Server.Capabilities) {
		if method == "" {
			check.NoAnswer(t, "no list is answered: %v", check.KnownUnanswered(t, declared))
		}
	}
	if method == "" {
		t.Skip(check.NotOffered, "the server declares no list that could be asked for")
	}
	return method
}

// OrdinaryRequest is a typical request: for a list that the server declares or, without one, the no-op of the session.
func OrdinaryRequest(t *check.T, s *driver.Session) (method string, params check.M) {
	if method, _ = ListMethod(t); method != "" {
		return method, nil
	}
	return s.NoOp()
}

// UnknownMeta is a valid _meta for any request, with a key that no server knows.
var UnknownMeta = check.M{"com.example/mcpcheck": check.M{"a": 1}, "progressToken": "t"}

// MetaWithoutToken is UnknownMeta without a progress token.
var MetaWithoutToken = check.M{"com.example/mcpcheck": check.M{"a": 1}}

// UnknownCapabilities are valid client capabilities that no server knows, or with a member that none knows.
var UnknownCapabilities = check.M{
	"experimental":   check.M{"com.example/mcpcheck": check.M{}},
	"mcpcheckFuture": check.M{"a": 1},
	"sampling":       check.M{"mcpcheckFuture": check.M{}},
	"elicitation":    check.M{"form": check.M{}, "mcpcheckFuture": check.M{}},
}

// ObjectsIn are the elements of a list that are objects; there are none when v is not a list.
func ObjectsIn(v any) []check.M {
	list, _ := v.([]any)
	return check.Objects(list)
}

// Difference names one item by which two lists that are not equal differ.
func Difference(before, after []string) string {
	if name, ok := firstNotIn(before, after); ok {
		return name + " came"
	}
	if name, ok := firstNotIn(after, before); ok {
		return name + " went"
	}
	return "another number of items"
}

// firstNotIn is the first name that is not among the known ones.
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

// ListKeys are the members that identify the items of a list, by the name of the list.
var ListKeys = map[string]string{"tools": "name", "prompts": "name", "resources": "uri"}

// ListMethods are the list methods of the declared capabilities.
func ListMethods(capabilities check.M) (methods []string) {
	for _, family := range []string{"tools", "prompts", "resources"} {
		if capabilities[family] != nil {
			methods = append(methods, family+"/list")
		}
	}
	return methods
}

// AskLists requests each list that the server declares, so that watches have responses to judge.
func AskLists(t *check.T) {
	for _, method := range ListMethods(t.Server.Capabilities) {
		if check.KnownUnanswered(t, method) == nil {
			t.Send(t.Session(), method, nil, check.AllowSilence)
		}
	}
}

// ToolNames are the names of the tools on all pages, when the list is requested with these params.
func ToolNames(t *check.T, s *driver.Session, params check.M) []string {
	return ItemNames(t, s, "tools", params)
}

// Sorted returns the names in ascending order.
func Sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// ItemNames are the names of the items on all pages, in their order, when the list of a family such as "tools" is
// requested with these params. An item without a name is represented by its position.
func ItemNames(t *check.T, s *driver.Session, family string, params check.M) (names []string) {
	check.FollowPagesWith(t, s, family+"/list", family, params, func(page check.M) {
		for _, item := range NamedSubjects(ObjectsIn(page[family])) {
			names = append(names, item.Name)
		}
	})
	return names
}

// NamedSubjects names the items of a list. An item without a name is represented by its position.
func NamedSubjects(items []check.M) (subjects []check.Subject) {
	for i, item := range items {
		name, ok := item["name"].(string)
		if !ok {
			name = fmt.Sprintf("#%d", i+1)
		}
		subjects = append(subjects, check.Subject{Name: name, Value: item})
	}
	return subjects
}

// UnknownToolName is a name that no tool has. It depends on the seed only.
func UnknownToolName(t *check.T) string {
	return fmt.Sprintf("mcpcheck_no_such_tool_%06x", rand.New(rand.NewPCG(uint64(t.Seed), 1)).IntN(1<<24))
}

// LogLevels are the levels of log messages, the lowest first (RFC 5424, section 6.2.1).
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
