package lifecycle

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// operationChecks are the checks of what a server sends during operation.
var operationChecks = check.Suite{
	"lifecycle/operation-matches-negotiated-version": check.WatchWithSetup(toolcall.CallTools,
		func(t *check.T, w check.Wire) {
			messages := w.Messages().Negotiated(t.Revision).Filter("message but the handshake",
				func(m check.Message) bool {
					return m.Request == nil || m.Request.Method != "initialize"
				})
			t.Judge(messages, func(t *check.T, m check.Message) {
				if m.HasMethod {
					since, known := schemas.MethodSince(m.Method)
					t.Expect(!known || since <= t.Revision).To(check.BeTrue("a method of "+t.Revision,
						"%s, which is of %s", m.Method, since))
				}
				if m.IsRequest() && !hasDeclaredCapability(m) {
					t.Skip(check.NotApplicable, "no such request is allowed in any form")
				}
				for tag, since := range unionTags(m) {
					t.Expect(since <= t.Revision).To(check.BeTrue("a form of "+t.Revision, "%s, which is of %s", tag,
						since))
				}
			})
		}),

	"lifecycle/no-undeclared-client-features": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		early := handshake.ServerSpokeFirst(w)
		t.Judge(w.Requests(), func(t *check.T, m check.Message) {
			since, _ := schemas.MethodSince(m.Method)
			switch {
			case early && handshake.IsBeforeConnectReply(m):
				t.Yield("the server does not wait for initialize")
			case since > t.Revision && m.Session.NegotiatedRevision() == t.Revision:
				t.Yield("a method of a later revision")
			case m.Method == "roots/list" && t.Revision < "2025-06-18" && m.Session.NegotiatedRevision() == t.Revision:
				t.Skip(check.NotApplicable, "roots/list has a rule of its own")
			}
			t.Expect(hasDeclaredCapability(m)).
				To(check.BeTrue("no request of a feature that the client did not declare",
					"%s", m.Method))
		})
	}),

	"lifecycle/no-undeclared-notifications": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		bound := w.Notifications().Filter("notification that is bound to a capability", func(m check.Message) bool {
			return notificationCapabilities[m.Method] != declaration{} && m.Session.NegotiatedRevision() != "" &&
				m.Session.ConnectResult != nil
		})
		t.Judge(bound, func(t *check.T, m check.Message) {
			handshake.SkipUnlessCapabilities(t, m.Session.ConnectResult)
			need := notificationCapabilities[m.Method]
			if need.isMalformedIn(m.Session.Capabilities) {
				t.Yield("the capability is not an object of flags")
			}
			if !need.isIn(m.Session.Capabilities) {
				t.FailAt(need.level(t.Revision), "the capability "+need.String(), "%s without it", m.Method)
			}
		})
	}),

	"lifecycle/list-changed-flag-honest": check.Watch(func(t *check.T, w check.Wire) {
		if t.Server.Sessionless {
			t.Skip(check.NotOffered, "the server has no sessions: there is no stream on which it could announce a "+
				"change")
		}
		var changes []listChange
		for _, s := range w.Sessions {
			changes = append(changes, listChanges(s)...)
		}
		if len(changes) == 0 {
			t.Skip(check.NotObserved, "no list of a family that declares listChanged has changed")
		}
		reported := map[string]bool{}
		for _, c := range changes {
			reported[c.kind] = reported[c.kind] || c.isReportedElsewhere()
		}
		check.Each(t, changes, listChange.subject, func(t *check.T, c listChange) {
			if reported[c.kind] && !c.announced {
				t.Yield("calls of tools have changed it")
			}
			if excess := c.session.UnsolicitedLimitErr(0); excess != nil && !c.announced {
				t.NoVerdict(check.Undecided, "%v", excess)
			}
			t.DecidedBy(c.frames).Expect(c.announced).To(check.ReportedBy(c.kind+"/list-changed-sent",
				check.BeTrue("a list_changed notification", "none although the list has changed")))
		})
	}),
}

// hasDeclaredCapability reports whether the client has declared the capability that a server request needs.
func hasDeclaredCapability(m check.Message) bool {
	feature := client.CapabilityOfRequest[m.Method]
	declared, _ := m.Session.ConnectParams["capabilities"].(check.M)
	return feature == "" || declared[feature] != nil
}

// notificationCapabilities are the capabilities that a server has to declare for a notification. That of log messages
// is judged by logging/capability-declared.
var notificationCapabilities = map[string]declaration{
	"notifications/tools/list_changed":     {"tools", "listChanged"},
	"notifications/prompts/list_changed":   {"prompts", "listChanged"},
	"notifications/resources/list_changed": {"resources", "listChanged"},
	"notifications/resources/updated":      {"resources", "subscribe"},
}

// declaration is a capability of a server with a flag of it. Without a flag, the capability is enough.
type declaration struct{ capability, flag string }

func (d declaration) String() string { return strings.TrimSuffix(d.capability+"."+d.flag, ".") }

// isIn reports whether capabilities contain the declaration.
func (d declaration) isIn(capabilities check.M) bool {
	if d.flag == "" {
		return check.HasMember(capabilities, d.capability)
	}
	capability, _ := capabilities[d.capability].(check.M)
	return capability[d.flag] == true
}

// isMalformedIn reports whether capabilities contain the declaration in an invalid form.
func (d declaration) isMalformedIn(capabilities check.M) bool {
	capability, isObject := capabilities[d.capability].(check.M)
	_, isFlag := capability[d.flag].(bool)
	return check.HasMember(capabilities, d.capability) && !isObject || check.HasMember(capability, d.flag) && !isFlag
}

// level returns the level of the requirement to declare it, which is a MUST of the lifecycle page since 2025-06-18.
func (d declaration) level(revision string) catalogue.Level {
	if revision < "2025-06-18" {
		return catalogue.Should
	}
	return catalogue.Must
}

// unionTags returns the variants of closed unions in a message that not every revision has, each with its first
// revision. Variants of content are judged by tools/call-content-types, prompts/content-types and
// sampling/content-types.
func unionTags(m check.Message) map[string]string {
	tags := map[string]string{}
	if params, _ := m.JSON()["params"].(check.M); m.Method == "elicitation/create" && params["mode"] == "url" {
		tags["elicitation of mode url"] = "2025-11-25"
	}
	return tags
}

// listChange is a list that had changed when it was requested again in the same session.
type listChange struct {
	session *driver.Session
	// kind is the feature, such as "tools", and difference describes the change.
	kind, difference string
	// announced reports that the server sent a list_changed notification.
	announced bool
	// frames are the messages that brought both lists.
	frames []*driver.Frame
}

// isReportedElsewhere reports whether a check of the list's own area, such as tools/list-changed-sent, reports the
// change: one by valid calls without a notification.
func (c listChange) isReportedElsewhere() bool {
	others := func(f *driver.Frame) bool { return f.User != toolcall.ValidCallsName }
	return !c.announced && !slices.ContainsFunc(c.frames, others)
}

func (c listChange) subject() check.Subject {
	return check.Subject{Name: c.kind + ": " + c.difference, SourceFrames: c.frames}
}

// listChanges compares the successive listings of a session for the features that declare listChanged. A change that
// was undone before a notification was due does not count.
func listChanges(s *driver.Session) (changes []listChange) {
	for family, key := range protocol.ListKeys {
		capability, _ := s.Capabilities[family].(check.M)
		if capability["listChanged"] != true {
			continue
		}
		all := listings(s, family, key)
		// This is the last listing before the change.
		old := 0
		for first, last := range equalRuns(all) {
			if slices.Equal(all[old].names, all[first].names) {
				old = last
				continue
			}
			announced := slices.ContainsFunc(all[old:last+1], func(l listing) bool { return l.announced })
			if !announced && all[last].at-all[first].at < timing.ListChanged {
				continue
			}
			before, after := all[old], all[first]
			what, behind := protocol.Difference(before.names, after.names), slices.Concat(before.frames, after.frames)
			changes = append(changes, listChange{s, family, what, announced, behind})
			old = last
		}
	}
	return changes
}

// equalRuns yields the first and the last index of each longest run of equal listings.
func equalRuns(all []listing) iter.Seq2[int, int] {
	return func(yield func(first, last int) bool) {
		for first := 0; first < len(all); {
			last := first
			for last+1 < len(all) && slices.Equal(all[last+1].names, all[first].names) {
				last++
			}
			if !yield(first, last) {
				return
			}
			first = last + 1
		}
	}
}

// listing is a complete list as it was returned, page by page.
type listing struct {
	// names are sorted, and nil until the first page was received.
	names []string
	at    time.Duration
	// announced reports that a list_changed notification was received after this listing and before the next one.
	announced bool
	frames    []*driver.Frame
}

// listings returns the complete listings of a feature in a session. A change may be announced on any stream of the
// session, including those that a check has opened.
func listings(s *driver.Session, family, key string) (all []listing) {
	method := family + "/list"
	// Ids of unanswered list requests; the value reports whether the request is for the first page.
	asked := map[string]bool{}
	l := listing{}
	for _, f := range s.FramesSince(0) {
		switch {
		case f.AfterInvalidInput:
			return all
		case f.Manual && f.RoundTrip == nil: // a probe of another era
		case f.Side == driver.FromClient && f.Method == method:
			params, _ := f.JSON()["params"].(check.M)
			asked[driver.IDKey(f.ID)] = params["cursor"] == nil
		case f.Method == "notifications/"+family+"/list_changed" && len(all) > 0:
			all[len(all)-1].announced = true
		case f.Side == driver.FromServer && f.IsResponse():
			id := driver.IDKey(f.RequestID())
			first, ok := asked[id]
			if !ok {
				continue
			}
			delete(asked, id)
			if first {
				l = listing{names: []string{}}
			}
			result, _ := f.JSON()["result"].(check.M)
			items, isList := result[family].([]any)
			if l.names == nil || !isList { // the first page is not recorded, or there is no list
				l = listing{}
				continue
			}
			l.at, l.frames = f.At, append(l.frames, f)
			for _, item := range check.Objects(items) {
				name, _ := item[key].(string)
				l.names = append(l.names, name)
			}
			if cursor, _ := result["nextCursor"].(string); cursor == "" {
				slices.Sort(l.names)
				all, l = append(all, l), listing{}
			}
		}
	}
	return all
}
