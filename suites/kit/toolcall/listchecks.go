package toolcall

import (
	"maps"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
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
	t.Expect(r).To(BeListed(r))
	t.Expect(check.Member(r.Result(), family)).To(check.BeArray())
}

// BeListed matches the result of a list; r is what is matched. Silence is reported by jsonrpc/every-request-answered,
// whichever request shows it, except that after tools/list.
func BeListed(r driver.Reply) types.GomegaMatcher {
	if r.Answered() || r.Method == "tools/list" {
		return check.BeResult()
	}
	return check.ReportedBy("jsonrpc/every-request-answered",
		check.ReportedBy("http/sse-response-eventually", check.BeResult()))
}

// SkipUnlessCanNotify ends a check of notifications when the server has no stream to send any.
func SkipUnlessCanNotify(t *check.T) {
	if !t.Server.CanNotify() {
		t.Skip(check.NotOffered, "the server has no sessions: there is no stream on which it could announce a change")
	}
}

// ExpectListChangeNotified expects a notification for each change of a list that calls of tools caused.
func ExpectListChangeNotified(t *check.T, family string) {
	if capability, _ := t.Server.Capabilities[family].(check.M); capability["listChanged"] != true {
		t.Skip(check.NotDeclared, "the server does not declare %s.listChanged", family)
	}
	SkipUnlessCanNotify(t)
	calls := ValidCalls(t)
	changes := calls.changesOf(family)
	if len(changes) == 0 && len(calls.List) > 0 {
		t.NoVerdict(check.Died, "the session did not survive the calls of its tools")
	}
	changes = slices.DeleteFunc(changes, func(c ListChange) bool { return !c.IsChange() })
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
		isNotified := check.BeTrue("notifications/"+family+"/list_changed",
			"none, although the list changed from %s to %s", check.Show(c.Before), check.Show(c.After))
		if t.IsModern() { // other subscriptions of the session are open
			isNotified = check.ReportedBy("subscriptions/concurrent", isNotified)
		}
		t.Expect(c.Notified).To(isNotified)
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

// listedNames are the sorted keys of the items that a session lists now. It ends the check when the tools are not
// listed; other checks report errors of the other lists.
func listedNames(t *check.T, s *driver.Session, family string) (names []string) {
	if family == "tools" {
		return protocol.Sorted(protocol.ToolNames(t, s, check.M{}))
	}
	check.EachPage(s, family+"/list", family, check.M{}, func(page check.M) {
		for _, item := range protocol.ObjectsIn(page[family]) {
			name, _ := item[protocol.ListKeys[family]].(string)
			names = append(names, name)
		}
	})
	return protocol.Sorted(names)
}

// ListChange is what became of a list during calls.
type ListChange struct {
	// Family is the name of the list, such as "tools".
	Family string
	// Before and After are the sorted keys of its items.
	Before, After []string
	// Notified reports whether the notification of a change came meanwhile.
	Notified bool
	// LimitErr is why the notification may have come but was not kept; nil when everything was kept.
	LimitErr *driver.LimitError
	// NoStream reports whether there was no stream for the notification.
	NoStream bool
}

// IsChange reports whether the list has changed.
func (c ListChange) IsChange() bool { return !slices.Equal(c.Before, c.After) }

// changesOf is what became of one list.
func (c *ToolCalls) changesOf(family string) []ListChange {
	return slices.DeleteFunc(slices.Clone(c.ListChanges), func(l ListChange) bool { return l.Family != family })
}

// HasLeft reports whether a tool is no longer listed after the calls.
func (c *ToolCalls) HasLeft(tool string) bool {
	all := c.changesOf("tools")
	return len(all) > 0 && !slices.Contains(all[len(all)-1].After, tool)
}

// recordChanges records how the lists and resources changed since the mark.
func (c *ToolCalls) recordChanges(t *check.T, s *driver.Session, mark int) {
	for _, x := range c.currentResources {
		c.SubscribedResources = append(c.SubscribedResources, x.observe(s, mark))
	}
	if c.recordListChanges(t, s, mark) && t.IsModern() && t.Site() != nil && len(transcript.OpenFilters(s)) > 1 {
		s.Sleep(timing.ShortWait)
		s.Barrier(s.Mark()) // its response shows which subscriptions were not notified: subscriptions/concurrent
	}
}

// recordListChanges records how the lists changed since the mark, and reports whether a change was announced.
func (c *ToolCalls) recordListChanges(t *check.T, s *driver.Session, mark int) (notified bool) {
	for _, family := range slices.Sorted(maps.Keys(c.listsBefore)) {
		change := ListChange{Family: family, Before: c.listsBefore[family], After: listedNames(t, s, family)}
		if change.IsChange() && t.Server.CanNotify() {
			change.await(t, s, mark)
		}
		notified = notified || change.Notified
		c.ListChanges = append(c.ListChanges, change)
	}
	return notified
}

// await waits for the notification of the change. Without it, it lists again, since the list may have changed back.
func (c *ListChange) await(t *check.T, s *driver.Session, mark int) {
	c.NoStream = t.IsModern() && !isSubscribedToList(s, c.Family)
	if c.Notified = awaitListChanged(s, mark, c.Family); !c.Notified {
		c.LimitErr, c.After = s.UnsolicitedLimitErr(mark), listedNames(t, s, c.Family)
	}
}

// awaitListChanged reports whether the server announces within timing.ListChanged that the list of a family changed
// since the mark.
func awaitListChanged(s *driver.Session, mark int, family string) bool {
	_, err := s.Wait(mark, timing.ListChanged, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/"+family+"/list_changed"
	})
	return err == nil
}
