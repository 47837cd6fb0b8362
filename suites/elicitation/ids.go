package elicitation

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// completion says that the user has been at a URL.
const completion = "notifications/elicitation/complete"

// ids are the checks of the ids of elicitations, and of what refers to them.
var ids = Suite{
	"elicitation/id-unique": WatchAfter(askInModes, func(t *T, w Wire) {
		all := slices.DeleteFunc(visits(t, w), func(q kit.Question) bool { return idOf(q) == "" })
		if len(all) < 2 {
			kit.NothingSeen(t, "two URLs with an id were sent", kit.Inquiries(t).Uncalled, kit.AnyTool)
		}
		Each(t, sightings(all), sighting.subject, func(t *T, s sighting) {
			if s.before == nil {
				return
			}
			id, where := idOf(s.Question), "the same elicitation"
			switch {
			case s.before.Params["url"] != s.Params["url"]:
				where = "another URL"
			case isAnnounced(s.Question), isAnnounced(s.before.Question): // it may be the one that is pending
			case s.before.Session != s.Session:
				where = "another session"
			}
			t.Expect(where).To(BeOneOf("the same elicitation"), "where the id %s was before", Show(id))
			t.Warn(s.before.isOver() && !isAnnounced(s.Question)).To(BeOneOf(false),
				"the id %s again, after the user did not agree", Show(id))
		})
	}),

	"elicitation/complete-known-id": WatchAfter(askInModes, func(t *T, w Wire) {
		known := map[*driver.Session]map[string]bool{}
		for _, q := range visits(t, w) {
			if known[q.Session] == nil {
				known[q.Session] = map[string]bool{}
			}
			known[q.Session][idOf(q)] = true
		}
		t.Judge(completions(w, t.Revision), func(t *T, m Message) {
			if !m.Session.Whole() {
				t.Because(Limit).Inconclusive("the record of the session has lost its beginning")
			}
			params, _ := m.JSON()["params"].(M)
			id, _ := params["elicitationId"].(string)
			if id != "" && !known[m.Session][id] && isUnclear(m.Session) {
				t.Yield("the answer to a call does not say what it is about")
			}
			t.Expect(id != "" && known[m.Session][id]).To(Hold("the id of an elicitation that this client was sent",
				"%s", Show(Member(params, "elicitationId"))))
		})
	}),

	requiredShape: WatchAfter(callInEveryWay, func(t *T, w Wire) {
		errors := required(w, t.Revision)
		if len(errors.List) == 0 {
			kit.NothingSeen(t, "error -32042 came", kit.Inquiries(t).Uncalled, kit.AnyTool)
		}
		t.Judge(errors, func(t *T, m Message) {
			t.Expect(kit.Broken(t, requiredShape, "URLElicitationRequiredError", m.JSON())).To(
				BeEmptyList[string]("a list of elicitations of URLs, each with its id"))
			t.Expect(len(announced(m)) > 0).To(Hold("the elicitations that are required", "none"))
			client, _ := m.Session.Hello["capabilities"].(M)
			t.Inform(kit.HasMode(client, urlMode)).To(Hold("no such error for a client without the mode url",
				"one for a client with the capabilities %s", Show(client)))
		})
	}),
}

// isUnclear reports whether a call in a session may have announced an elicitation for all that can be read: it has no
// answer, an error that announces none with its id, or a result with nothing in it.
func isUnclear(s *driver.Session) bool {
	return slices.ContainsFunc(kit.DialogueIn(s).Of("tools/call"), func(x *kit.Exchange) bool {
		if x.Answer == nil {
			return true
		}
		all := announced(Message{Frame: x.Answer})
		anonymous := func(q kit.Question) bool { return idOf(q) == "" }
		if code, isError := (driver.Reply{Frame: x.Answer}).Code(); isError {
			return code == urlElicitationRequired && (len(all) == 0 || slices.ContainsFunc(all, anonymous))
		}
		result, _ := x.Answer.JSON()["result"].(M)
		return !Has(result, "content") && !Has(result, "task")
	})
}

// callInEveryWay calls the tools as a client that can be asked for everything and, where sessions say so, as one that
// can be asked for nothing.
func callInEveryWay(t *T) {
	kit.CallTools(t)
	kit.LetInquire(t)
}

// completions are what says in sessions of a revision that a user has been at a URL.
func completions(w Wire, revision string) Messages {
	return w.Notifications().Established(revision).Filter("notification "+completion, func(m Message) bool {
		return m.Method == completion
	})
}

// idOf is the id of an elicitation; empty when it has none.
func idOf(q kit.Question) string {
	id, _ := q.Params["elicitationId"].(string)
	return id
}

// sighting is an elicitation, and the one before it that had the same id; nil when there is none.
type sighting struct {
	kit.Question
	before *sighting
}

// sightings are elicitations in the order in which they came. Each process of a server counts for itself.
func sightings(all []kit.Question) (seen []sighting) {
	slices.SortStableFunc(all, func(a, b kit.Question) int {
		return a.Session.Moment(a.Frame).Compare(b.Session.Moment(b.Frame))
	})
	for _, q := range all {
		s := sighting{Question: q}
		for i := range seen {
			same := seen[i].Session == q.Session || seen[i].Session.SharesProcess(q.Session)
			if same && idOf(seen[i].Question) == idOf(q) {
				s.before = &seen[i]
			}
		}
		seen = append(seen, s)
	}
	return seen
}

// subject shows both.
func (s sighting) subject() Subject {
	subject := s.Subject()
	if s.before != nil {
		subject.Frames = append([]*driver.Frame{s.before.Frame, s.before.Answer}, subject.Frames...)
	}
	return subject
}

// isOver reports whether the user did not agree to it, so that nothing of it is pending.
func (s *sighting) isOver() bool {
	if s.Answer == nil {
		return false
	}
	result, _ := s.Answer.JSON()["result"].(M)
	return result["action"] != "accept"
}
