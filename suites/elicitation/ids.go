package elicitation

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// completeNotification is the notification that the user has completed an interaction at a URL.
const completeNotification = "notifications/elicitation/complete"

// idChecks are the checks of the ids of elicitations, and of what refers to them.
var idChecks = check.Suite{
	"elicitation/id-unique": check.WatchWithSetup(callInAllModes, func(t *check.T, w check.Wire) {
		all := slices.DeleteFunc(urlElicitations(t, w),
			func(q client.ServerRequest) bool { return elicitationID(q) == "" })
		if len(all) < 2 {
			toolcall.SkipNotObserved(t, "two URLs with an id were sent", client.CallInteractively(t).Uncalled,
				toolcall.AnyTool)
		}
		check.Each(t, idUses(all), idUse.subject, func(t *check.T, s idUse) {
			if s.previous == nil {
				return
			}
			id, where := elicitationID(s.ServerRequest), "the same elicitation"
			switch {
			case s.previous.Params["url"] != s.Params["url"]:
				where = "another URL"
			// The earlier one may be the pending elicitation that the error announces.
			case isAnnounced(s.ServerRequest), isAnnounced(s.previous.ServerRequest):
			case s.previous.Session != s.Session:
				where = "another session"
			}
			t.Expect(where).To(check.BeOneOf("the same elicitation"), "where the id %s was before", check.Show(id))
			t.ExpectShould(s.previous.isDeclined() && !isAnnounced(s.ServerRequest)).To(check.BeOneOf(false),
				"the id %s again, after the user did not agree", check.Show(id))
		})
	}),

	"elicitation/complete-known-id": check.WatchWithSetup(callInAllModes, func(t *check.T, w check.Wire) {
		known := map[*driver.Session]map[string]bool{}
		for _, q := range urlElicitations(t, w) {
			if known[q.Session] == nil {
				known[q.Session] = map[string]bool{}
			}
			known[q.Session][elicitationID(q)] = true
		}
		t.Judge(completionNotifications(w, t.Revision), func(t *check.T, m check.Message) {
			if !m.Session.HasBeginning() {
				t.NoVerdict(check.Limit, "the record of the session has lost its beginning")
			}
			params, _ := m.JSON()["params"].(check.M)
			id, _ := params["elicitationId"].(string)
			if id != "" && !known[m.Session][id] && mayHideElicitation(m.Session) {
				t.Yield("the answer to a call does not say what it is about")
			}
			t.Expect(id != "" &&
				known[m.Session][id]).To(check.BeTrue("the id of an elicitation that this client was sent",
				"%s", check.Show(check.Member(params, "elicitationId"))))
		})
	}),

	requiredErrorID: check.WatchWithSetup(callAsAllClients, func(t *check.T, w check.Wire) {
		errors := requiredErrors(w, t.Revision)
		if len(errors.List) == 0 {
			toolcall.SkipNotObserved(t, "error -32042 came", client.CallInteractively(t).Uncalled, toolcall.AnyTool)
		}
		t.Judge(errors, func(t *check.T, m check.Message) {
			t.Expect(protocol.Violations(t, requiredErrorID, "URLElicitationRequiredError", m.JSON())).To(
				check.BeEmptyList[string]("a list of elicitations of URLs, each with its id"))
			t.Expect(len(announcedElicitations(m)) > 0).To(check.BeTrue("the elicitations that are required", "none"))
			declared, _ := m.Session.ConnectParams["capabilities"].(check.M)
			t.ExpectAdvice(client.HasMode(declared, urlMode)).
				To(check.BeTrue("no such error for a client without the mode url",
					"one for a client with the capabilities %s", check.Show(declared)))
		})
	}),
}

// mayHideElicitation reports whether a call in a session may have announced an elicitation that cannot be identified.
// Such a call has no response, an error without the ids, or a result with neither content nor a task.
func mayHideElicitation(s *driver.Session) bool {
	return slices.ContainsFunc(transcript.SessionTranscript(s).CallsOf("tools/call"), func(x *transcript.Call) bool {
		if x.Response == nil {
			return true
		}
		all := announcedElicitations(check.Message{Frame: x.Response})
		anonymous := func(q client.ServerRequest) bool { return elicitationID(q) == "" }
		if code, isError := (driver.Reply{Frame: x.Response}).Code(); isError {
			return code == errcode.URLElicitationRequired && (len(all) == 0 || slices.ContainsFunc(all, anonymous))
		}
		result, _ := x.Response.JSON()["result"].(check.M)
		return !check.HasMember(result, "content") && !check.HasMember(result, "task")
	})
}

// callAsAllClients calls the tools as a client with all capabilities and as one with the basic capabilities.
func callAsAllClients(t *check.T) {
	toolcall.CallTools(t)
	client.CollectServerRequests(t)
}

// completionNotifications returns the notifications, in sessions of a revision, that an interaction at a URL is
// complete.
func completionNotifications(w check.Wire, revision string) check.Messages {
	return w.Notifications().Negotiated(revision).Filter("notification "+completeNotification,
		func(m check.Message) bool {
			return m.Method == completeNotification
		})
}

// elicitationID returns the id of an elicitation; empty if it has none.
func elicitationID(q client.ServerRequest) string {
	id, _ := q.Params["elicitationId"].(string)
	return id
}

// idUse is an elicitation and the previous one with the same id; nil if there is none.
type idUse struct {
	client.ServerRequest
	previous *idUse
}

// idUses returns elicitations in the order in which they were received. The ids of different processes are independent.
func idUses(all []client.ServerRequest) (seen []idUse) {
	slices.SortStableFunc(all, func(a, b client.ServerRequest) int {
		return a.Session.TimeOf(a.Frame).Compare(b.Session.TimeOf(b.Frame))
	})
	for _, q := range all {
		s := idUse{ServerRequest: q}
		for i := range seen {
			same := seen[i].Session == q.Session || seen[i].Session.SharesProcess(q.Session)
			if same && elicitationID(seen[i].ServerRequest) == elicitationID(q) {
				s.previous = &seen[i]
			}
		}
		seen = append(seen, s)
	}
	return seen
}

// subject shows both elicitations.
func (s idUse) subject() check.Subject {
	subject := s.Subject()
	if s.previous != nil {
		subject.Frames = append([]*driver.Frame{s.previous.Frame, s.previous.Response}, subject.Frames...)
	}
	return subject
}

// isDeclined reports whether the user did not accept the elicitation, so that nothing is pending.
func (s *idUse) isDeclined() bool {
	if s.Response == nil {
		return false
	}
	result, _ := s.Response.JSON()["result"].(check.M)
	return result["action"] != "accept"
}
