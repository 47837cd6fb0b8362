package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// RecordedServer returns a description of the server in recorded sessions that negotiated one revision, as far as they
// show it.
func RecordedServer(transport string, sessions []*driver.Session) *check.Server {
	s := &check.Server{Transport: transport, Capabilities: check.M{}}
	for _, session := range sessions {
		s.Revision, s.Requested = session.NegotiatedRevision(), session.NegotiatedRevision()
		if s.ConnectResult == nil && session.ConnectResult != nil {
			s.ConnectResult, s.Capabilities, s.Era = session.ConnectResult, session.Capabilities, session.Era()
		}
	}
	wire := check.Wire{Sessions: sessions}
	if all := wire.ResultsOf(s.ConnectMethod()).List; len(all) > 0 {
		s.ConnectReply = all[0].Reply()
	}
	s.Tools, s.HasAllTools = recordedList(wire, "tools")
	s.Prompts, _ = recordedList(wire, "prompts")
	s.Resources, _ = recordedList(wire, "resources")
	s.Templates, _ = recordedList(wire, "resourceTemplates")
	return s
}

// listMethods are the methods of the lists, by the member of a result that has the items.
var listMethods = map[string]string{
	"tools": "tools/list", "prompts": "prompts/list", "resources": "resources/list",
	"resourceTemplates": "resources/templates/list",
}

// recordedList returns the items of the first list that a client read to its end; otherwise those of all pages.
func recordedList(w check.Wire, member string) (items []check.M, complete bool) {
	var all []check.M
	for _, s := range w.Sessions {
		items = nil
		for _, m := range (check.Wire{Sessions: []*driver.Session{s}}).ResultsOf(listMethods[member]).List {
			result, _ := m.JSON()["result"].(check.M)
			if params, _ := m.Request.JSON()["params"].(check.M); params["cursor"] == nil {
				items = nil
			}
			page, _ := result[member].([]any)
			items, all = append(items, check.Objects(page)...), append(all, check.Objects(page)...)
			if result["nextCursor"] == nil {
				return items, true
			}
		}
	}
	return all, false
}

// hasRecordedLists reports whether a client has read each list to its end that the server declares. Then the recording
// describes the server as discovery does.
func hasRecordedLists(server *check.Server, sessions []*driver.Session) bool {
	for _, member := range []string{"tools", "prompts", "resources"} {
		_, complete := recordedList(check.Wire{Sessions: sessions}, member)
		if server.Declares(member) && !complete {
			return false
		}
	}
	return true
}

// Watches returns the cases of a plan that send nothing.
func Watches(plan []Case) []Case {
	return slices.DeleteFunc(slices.Clone(plan), func(c Case) bool { return c.script.Kind != attempt.Watch })
}

// JudgeRecorded judges recorded sessions by the watches of a plan and, if they contain the lists of the server, by the
// probes whose requests they contain. notTried is how many cases need a live server instead. Cases that are specific to
// a transport over HTTP are judged only if all sessions were recorded with their HTTP.
func JudgeRecorded(
	server *check.Server, plan []Case, sessions []*driver.Session, o Options,
) (results []report.Result, notTried int) {
	o.Jobs, o.Progress = 1, &RunProgress{}
	run := newRun(o, driver.Target{})
	run.IsReplay, run.WatchedSessions = true, sessions
	run.RecordedSessions = slices.Concat(sessions, o.OtherRecorded)
	e := &Execution{
		ctx: context.Background(), server: server, options: o, run: run, finished: make(chan struct{}),
		sdks: sync.OnceValue(func() []catalogue.SDK { return recognisedSDKs(o.SDKs, sessions) }),
	}
	e.run.WatchPhase.Store(true)
	carried := !slices.ContainsFunc(sessions, func(s *driver.Session) bool { return s.HTTP() == nil })
	listed := hasRecordedLists(server, sessions)
	for _, c := range plan {
		isJudged := c.script.Kind == attempt.Watch || listed && c.script.Kind <= attempt.ProcessProbe
		if !isJudged || server.Transport != "stdio" && len(c.Transports) > 0 && !carried {
			continue
		}
		c.script.Setup = nil
		e.plan = append(e.plan, c)
	}
	e.allocateResults()
	for i, c := range e.plan {
		e.setResult(i, e.judge(i, c).result)
	}
	close(e.finished)
	for i := range e.plan {
		if r := e.Result(i); r.Message != attempt.NeedsLiveServer {
			results = append(results, r)
		}
	}
	return results, len(plan) - len(results)
}

// GroupByRevision groups sessions by the revision that they negotiated; sessions without one are left out.
func GroupByRevision(sessions []*driver.Session) map[string][]*driver.Session {
	by := map[string][]*driver.Session{}
	for _, s := range sessions {
		if revision := s.NegotiatedRevision(); slices.Contains(catalogue.Revisions, revision) {
			by[revision] = append(by[revision], s)
		}
	}
	return by
}
