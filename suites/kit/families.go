package kit

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// ExpectDeclared is the check that a server declares a family whose list it serves.
func ExpectDeclared(t *T, family string) {
	if Has(t.Server.Capabilities, family) { // as what, schema/capability-shapes judges
		return
	}
	WantCapabilities(t, t.Server.Welcome)
	r := t.Ask(t.Hostile(), family+"/list", M{})
	items, _ := r.Result()[family].([]any)
	t.Expect(items).To(BeEmptyList[any]("no " + family + ", since the capability is not declared"))
	WantRefuser(t, r)
	t.Warn(r).To(BeError())
}

// ExpectList is the check that a family is listed. An error of the server's own is a lesser deviation.
func ExpectList(t *T, family string) {
	r := t.Try(t.Session(), family+"/list", M{})
	if code, _ := r.Code(); code == -32603 {
		t.FailAt(Should, "a result", "%s", r)
	}
	WantObject(t, r)
	t.Expect(r).To(BeResult())
	t.Expect(Member(r.Result(), family)).To(BeArray())
}

// WantAnnouncer ends a check of announcements when the server has no way to make any.
func WantAnnouncer(t *T) {
	if !t.Server.CanAnnounce() {
		t.Because(NotOffered).Skip("the server has no sessions: there is no stream on which it could announce a change")
	}
}

// ExpectAnnounced is the check that changes of a list of prompts or resources are announced which calls of tools have
// made.
func ExpectAnnounced(t *T, family string) {
	if capability, _ := t.Server.Capabilities[family].(M); capability["listChanged"] != true {
		t.Because(NotDeclared).Skip("the server does not declare %s.listChanged", family)
	}
	WantAnnouncer(t)
	calls := ValidCalls(t)
	changes := slices.DeleteFunc(slices.Clone(calls.Changes), func(c ListChange) bool { return c.Family != family })
	if len(changes) == 0 {
		NothingSeen(t, "call has changed the list", calls.Uncalled, AnyTool)
	}
	for _, c := range changes {
		switch {
		case !c.Notified && c.Unheard != nil:
			t.Inconclusive("%v", c.Unheard)
		case !c.Notified && c.Deaf:
			t.Yield("no subscription for it is open")
		}
		t.Expect(c.Notified).To(Hold("notifications/"+family+"/list_changed",
			"none, although the list changed from %s to %s", Show(c.Before), Show(c.After)))
	}
}

// NamesIn are the names of a family of all pages, in their order, when they are asked for with params. What has none is
// known by its place.
func NamesIn(t *T, s *driver.Session, family string, params M) (names []string) {
	FollowPagesWith(t, s, family+"/list", family, params, func(page M) {
		for _, item := range namedSubjects(ObjectsIn(page[family])) {
			names = append(names, item.Name)
		}
	})
	return names
}

// Repeated are the names that come after the same one.
func Repeated(names []string) (again []string) {
	known := map[string]bool{}
	for _, name := range names {
		if known[name] {
			again = append(again, name)
		}
		known[name] = true
	}
	return again
}
