package toolcall

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// ExpectDeclared expects that a server that serves the list of a family, such as "tools", declares the capability.
func ExpectDeclared(t *check.T, family string) {
	if check.HasMember(t.Server.Capabilities, family) { // schema/capability-shapes judges the value
		return
	}
	handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
	r := t.Send(t.Session(check.ForInvalidInput), family+"/list", check.M{})
	items, _ := r.Result()[family].([]any)
	t.Expect(items).To(check.BeEmptyList[any]("no " + family + ", since the capability is not declared"))
	invalid.SkipUnlessServerRejects(t, r)
	t.ExpectShould(r).To(check.BeError())
}

// ExpectList expects that the list of a family is served. An internal error is a minor violation.
func ExpectList(t *check.T, family string) {
	r := t.Send(t.Session(), family+"/list", check.M{}, check.AllowSilence)
	if code, _ := r.Code(); code == errcode.InternalError {
		t.FailAt(catalogue.Should, "a result", "%s", r)
	}
	protocol.SkipUnlessObject(t, r)
	t.Expect(r).To(check.BeResult())
	t.Expect(check.Member(r.Result(), family)).To(check.BeArray())
}

// SkipUnlessCanNotify ends a check of notifications when the server has no stream to send any.
func SkipUnlessCanNotify(t *check.T) {
	if !t.Server.CanNotify() {
		t.Skip(check.NotOffered, "the server has no sessions: there is no stream on which it could announce a change")
	}
}

// ExpectListChangeNotified expects a notification for each change of a list of prompts or resources that calls of tools
// caused.
func ExpectListChangeNotified(t *check.T, family string) {
	if capability, _ := t.Server.Capabilities[family].(check.M); capability["listChanged"] != true {
		t.Skip(check.NotDeclared, "the server does not declare %s.listChanged", family)
	}
	SkipUnlessCanNotify(t)
	calls := ValidCalls(t)
	changes := slices.DeleteFunc(slices.Clone(calls.ListChanges), func(c ListChange) bool { return c.Kind != family })
	if len(changes) == 0 {
		SkipNotObserved(t, "call has changed the list", calls.Uncalled, AnyTool)
	}
	for _, c := range changes {
		switch {
		case !c.Notified && c.LimitErr != nil:
			t.NoVerdict(check.Undecided, "%v", c.LimitErr)
		case !c.Notified && c.NoStream:
			t.Yield("no subscription for it is open")
		}
		t.Expect(c.Notified).To(check.BeTrue("notifications/"+family+"/list_changed",
			"none, although the list changed from %s to %s", check.Show(c.Before), check.Show(c.After)))
	}
}

// Duplicates are the repetitions of names that occurred before.
func Duplicates(names []string) (again []string) {
	known := map[string]bool{}
	for _, name := range names {
		if known[name] {
			again = append(again, name)
		}
		known[name] = true
	}
	return again
}
