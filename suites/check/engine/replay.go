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
	for _, list := range []struct {
		method, member string
		items          *[]check.M
	}{
		{"tools/list", "tools", &s.Tools}, {"prompts/list", "prompts", &s.Prompts},
		{"resources/list", "resources", &s.Resources},
		{"resources/templates/list", "resourceTemplates", &s.Templates},
	} {
		for _, m := range wire.ResultsOf(list.method).List {
			result, _ := m.JSON()["result"].(check.M)
			items, _ := result[list.member].([]any)
			*list.items = append(*list.items, check.Objects(items)...)
			s.HasAllTools = s.HasAllTools || list.method == "tools/list" && result["nextCursor"] == nil
		}
	}
	return s
}

// JudgeRecorded judges recorded sessions by the watches of a plan. notTried is how many cases need a live server
// instead. Watches that are specific to a transport over HTTP are judged only if all sessions were recorded with their
// HTTP.
func JudgeRecorded(
	server *check.Server, plan []Case, sessions []*driver.Session, o Options,
) (results []report.Result, notTried int) {
	o.Jobs, o.Progress = 1, &RunProgress{}
	run := newRun(o, driver.Target{})
	run.IsReplay, run.WatchedSessions = true, sessions
	e := &Execution{
		ctx: context.Background(), server: server, options: o, run: run, finished: make(chan struct{}),
		sdks: sync.OnceValue(func() []catalogue.SDK { return recognisedSDKs(o.SDKs, sessions) }),
	}
	e.run.WatchPhase.Store(true)
	carried := !slices.ContainsFunc(sessions, func(s *driver.Session) bool { return s.HTTP() == nil })
	for _, c := range plan {
		if c.script.Kind != attempt.Watch || server.Transport != "stdio" && len(c.Transports) > 0 && !carried {
			notTried++
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
		results = append(results, e.Result(i))
	}
	return results, notTried
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
