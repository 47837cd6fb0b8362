package tasks

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
)

// listChecks are the checks of tasks/list, and of who may see which tasks.
var listChecks = check.Suite{
	"tasks/list-invalid-cursor": check.Probe(func(t *check.T) {
		skipUnlessList(t)
		if list := listReply(t); list.Error() != nil {
			t.Yield("tasks/list is answered with %s", check.Got(list))
		}
		r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), "tasks/list",
			check.M{"cursor": "mcpcheck-invalid-cursor"})
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),

	"tasks/list-schema": check.Probe(func(t *check.T) {
		skipUnlessList(t)
		r := listReply(t)
		taskrun.RequireAnswer(t, r)
		t.Expect(r).To(check.BeResult())
		broken := protocol.Violations(t, "tasks/list-schema", "ListTasksResult", r.Result())
		t.DecidedBy(r).Expect(broken).To(check.BeEmptyList[string]("a list of tasks"))
	}),

	"tasks/list-complete": check.Probe(func(t *check.T) {
		skipUnlessList(t)
		before := slowestRun(t) // found first, since other checks wait for it
		s := t.Session()
		listedIDs(s) // what is listed once may be kept
		all := startTasks(t, s, before)
		cancel := sync.OnceFunc(func() { cancelRuns(t, all...) })
		defer cancel()
		var known []*taskRun
		for _, c := range all {
			if first := c.PollUnrecorded(); first.Result() != nil {
				known = append(known, c)
			}
		}
		if len(known) == 0 {
			t.NoVerdict(check.Undecided, "tasks/get tells of none of the tasks")
		}
		expectListed(t, known, "")
		cancel()
		expectListed(t, known, " after their cancellation")
		expectListedStatuses(t, known)
	}),

	"tasks/auth-isolation": check.Probe(func(t *check.T) {
		if t.Credentials.SecondPrincipal == "" {
			expectBoundToSession(t)
			t.Skip(check.NotGiven, "there is no token of another principal (--token-env second=VARIABLE)")
		}
		before := slowestRun(t)
		c := startTask(t, t.Session(), before)
		other := newOtherPrincipal(t)
		methods := []check.Subject{check.NamedSubject("tasks/get"), check.NamedSubject("tasks/list"),
			check.NamedSubject("tasks/cancel"),
			check.NamedSubject("tasks/result")}
		methods = slices.DeleteFunc(methods, func(m check.Subject) bool {
			return m.Name == "tasks/list" && !declaresList(t) || m.Name == "tasks/cancel" && !declaresCancel(t)
		})
		t.Each(methods, func(t *check.T, method check.Subject) {
			if method.Name == "tasks/result" {
				followRuns(c) // otherwise the server might wait for the task to end
			}
			if method.Name == "tasks/list" {
				r, listed := other.findTask(t, c.ID)
				t.Expect(!listed).To(check.BeTrue("no task of another principal", "%s", r))
				return
			}
			r := other.send(t, method.Name, check.M{"taskId": c.ID})
			t.Expect(r.Result() == nil).To(check.BeTrue("no access to a task of another principal", "%s", r))
		})
	}),
}

// expectListed requires tasks/list to have each of the tasks that tasks/get still tells of.
func expectListed(t *check.T, known []*taskRun, when string) {
	listed, err := listedIDs(known[0].Session)
	missing := slices.DeleteFunc(slices.Clone(known), func(c *taskRun) bool {
		return slices.Contains(listed, c.ID) || c.PollUnrecorded().Result() == nil
	})
	if err != nil {
		t.NoVerdict(check.Undecided, "tasks/list could not be read to its end: %v", check.Explain(err))
	}
	t.Expect(len(missing) == 0).To(check.BeTrue("each task in tasks/list that tasks/get tells of"+when,
		"%d of %d are missing", len(missing), len(known)))
}

// expectListedStatuses requires tasks/list to tell of tasks that have ended what tasks/get has told before.
func expectListedStatuses(t *check.T, known []*taskRun) {
	statuses := map[string]any{}
	for i, c := range known {
		if slices.ContainsFunc(known[:i], func(other *taskRun) bool { return other.ID == c.ID }) {
			t.Yield("two tasks have the same id")
		}
		status := c.PollUnrecorded().Result()["status"]
		if slices.Contains([]any{"completed", "failed", "cancelled"}, status) {
			statuses[c.ID] = status
		}
	}
	check.EachPage(known[0].Session, "tasks/list", "tasks", check.M{}, func(page check.M) {
		for _, task := range protocol.ObjectsIn(page["tasks"]) {
			id, _ := task["taskId"].(string)
			if ended := statuses[id]; ended != nil {
				t.Expect(task["status"]).To(check.BeOneOf(ended), "the status in tasks/list of a task that has ended")
			}
		}
	})
}

// expectBoundToSession requires a server that binds tasks to sessions, as a refused tasks/get shows, to refuse
// tasks/cancel as well. Where tasks/get is served, ids alone give access, which they may without authorization.
func expectBoundToSession(t *check.T) {
	if t.Server.Sessionless || !declaresCancel(t) {
		return
	}
	c := startTask(t, t.Session(), slowestRun(t))
	defer cancelRuns(t, c)
	other, params := t.Session(check.Exclusive), check.M{"taskId": c.ID}
	if t.Send(other, "tasks/get", params, check.AllowSilence).Error() == nil || c.PollUnrecorded().Result() == nil {
		return
	}
	r := t.Send(other, "tasks/cancel", params, check.AllowSilence)
	t.DecidedBy(r).ExpectShould(r.Result() == nil).To(check.BeTrue(
		"no access to a task of another session, to which tasks/get has none", "%s", r))
}

// listReply returns the reply to tasks/list.
func listReply(t *check.T) driver.Reply {
	if r := runTasks(t).ListReply; r.Request != nil {
		return r
	}
	return t.Send(t.Session(), "tasks/list", nil)
}

// skipUnlessList ends the check as skip if the server does not list tasks.
func skipUnlessList(t *check.T) {
	if !declaresList(t) {
		t.Skip(check.NotDeclared, "the server does not declare tasks.list")
	}
}

// taskIDs returns the ids of tasks.
func taskIDs(tasks []check.M) (ids []string) {
	for _, task := range tasks {
		id, _ := task["taskId"].(string)
		ids = append(ids, id)
	}
	return ids
}

// listedIDs returns the ids of the tasks that tasks/list has in a session.
func listedIDs(s *driver.Session) (ids []string, err error) {
	err = check.EachPage(s, "tasks/list", "tasks", check.M{}, func(page check.M) {
		ids = append(ids, taskIDs(protocol.ObjectsIn(page["tasks"]))...)
	})
	return ids, err
}

// maxListed is the number of tasks that are created to be listed.
const maxListed = 8

// startTasks creates several tasks of the kind of one before. The server may refuse more than the first.
func startTasks(t *check.T, s *driver.Session, before *taskRun) []*taskRun {
	all := []*taskRun{startTask(t, s, before)}
	for len(all) < maxListed && !check.SavesRequests(t) {
		nothing := new(pendingRequests)
		call := callAsTask(t, s, before.ToolCall, nothing)
		if !isTask(call.Reply) {
			break
		}
		all = append(all, newTaskRun(t, s, call, nothing))
	}
	return all
}

// principal is another principal than that of the client, with its own session if the server has sessions.
type principal struct {
	session *driver.Session
	header  map[string][]string
}

// newOtherPrincipal opens a session with the second token.
func newOtherPrincipal(t *check.T) principal {
	s := t.Session(check.Process)
	header := roundtrip.BearerHeader(t.Credentials.SecondPrincipal)
	connect := roundtrip.PostConnect(t, s, header)
	if r := connect.AwaitReply(); r.Result() == nil {
		t.Retry(check.Undecided, "no session for the other principal: initialize was answered with %s",
			connect.Response())
	}
	header.Set(roundtrip.VersionHeader, t.Revision)
	if id := connect.Response().Header.Get(roundtrip.SessionIDHeader); id != "" {
		header.Set(roundtrip.SessionIDHeader, id)
	}
	roundtrip.PostInitialized(s, header).AwaitEnd()
	return principal{s, header}
}

// send sends a request with the token of the principal.
func (p principal) send(t *check.T, method string, params check.M) driver.Reply {
	x := roundtrip.RetryWhileBusy(p.session, func() *driver.RoundTrip {
		return roundtrip.PostRequest(p.session,
			roundtrip.ManualRequest{Method: method, Params: params, Header: p.header})
	})
	r := x.AwaitReply()
	invalid.SkipUnlessServerRejects(t, r)
	return check.RequireServerReply(t, r)
}

// maxPages is the number of pages of tasks/list that the other principal reads.
const maxPages = 100

// findTask looks for a task on the pages that the principal may read, and returns the last page that was read.
func (p principal) findTask(t *check.T, id string) (page driver.Reply, listed bool) {
	params := check.M{}
	for range maxPages {
		page = p.send(t, "tasks/list", params)
		if slices.Contains(taskIDs(protocol.ObjectsIn(page.Result()["tasks"])), id) {
			return page, true
		}
		cursor, more := page.Result()["nextCursor"].(string)
		if !more {
			return page, false
		}
		params = check.M{"cursor": cursor}
	}
	t.Caveat("only %d pages of tasks/list were read", maxPages)
	return page, false
}
