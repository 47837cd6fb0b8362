package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestEachResult checks that each result is visited once, in order, including those that are judged by another revision
// than the negotiated one.
func TestEachResult(t *testing.T) {
	levels := catalogue.ByRevision[catalogue.Level]{Values: map[string]catalogue.Level{"2025-03-26": catalogue.Must}}
	var entries catalogue.Catalogue
	ids := "http/watch http/pass http/fail other/skip other/open other/error http/ending"
	for id := range strings.FieldsSeq(ids) {
		entries = append(entries, &catalogue.Requirement{ID: id, Level: levels, Revisions: []string{"2025-03-26"}})
	}
	catalogue.Area{ChooseRevision: catalogue.AtLeast("2025-03-26")}.AssignTo(entries)
	ending := func(how string) func(*check.T) { return func(t *check.T) { endPart(t, how, "oh") } }
	suite := check.Suite{
		"http/watch": check.Watch(func(*check.T, check.Wire) {}), "http/pass": check.Probe(ending("pass")),
		"http/fail":  check.Probe(ending("fail")),
		"other/skip": check.Probe(ending("skip")), "other/open": check.Probe(ending("open")),
		"other/error": check.Probe(ending("panic")),
		"http/ending": check.ShutdownProbe(ending("pass")),
	}
	server := &check.Server{Transport: "stdio", Revision: "2024-11-05"}
	plan := Plan(entries, suite, server, func(*catalogue.Requirement) bool { return true })
	for range 2 { // as with --protocol all
		var visited []string
		target := driver.Target{Serve: (&fakeServer{}).serve}
		o := Execute(t.Context(), target, server, plan, Options{}).EachResult(func(r report.Result) {
			visited = append(visited, r.ID+" "+string(r.Verdict))
			if r.EntryLevel != catalogue.Must || r.Revision != "2024-11-05" {
				t.Errorf("%s: got level %s, revision %s", r.ID, r.EntryLevel, r.Revision)
			}
		})
		want := []string{
			"http/pass pass", "http/fail fail", "other/skip skip", "other/open inconclusive", "other/error error",
			"http/ending pass", "http/watch pass",
		}
		if diff := cmp.Diff(want, visited); diff != "" || o.Problem != "" {
			t.Errorf("%s\nproblem %q", diff, o.Problem)
		}
	}
}

// TestEachResultOfDeadServer checks that the outcome says why the server could not be tested completely.
func TestEachResultOfDeadServer(t *testing.T) {
	s := testRun{checks: []testCheck{{id: "a/1", check: usesSession}, {id: "a/2", check: usesSession},
		{id: "a/3", check: usesSession}}}
	stage := &fakeServer{script: script{{action: exits}}}
	server := s.discovered("stdio")
	var visited []report.Result
	target, options := driver.Target{Serve: stage.serve}, Options{Jobs: 1}
	e := Execute(t.Context(), target, server, s.plan(server), options)
	o := e.EachResult(func(r report.Result) { visited = append(visited, r) })
	const want = "the server can no longer be talked to: the server exited with status 1"
	if o.Problem != want || len(visited) != 3 {
		t.Errorf("got %q, %d results", o.Problem, len(visited))
	}
}

// TestEachResultOfEndlessCheck checks that a check that never returns does not delay the end of a run, and that cases
// without a result are visited as not run.
func TestEachResultOfEndlessCheck(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var released atomic.Bool
	ended := make(chan struct{})
	endless := check.Probe(func(*check.T) {
		defer close(ended)
		cancel(errors.New("the budget is spent"))
		for !released.Load() {
		}
	})
	pass := check.Probe(func(*check.T) {})
	s := testRun{checks: []testCheck{
		{id: "a/1", check: pass}, {id: "a/2", check: endless}, {id: "a/3", check: pass},
		{id: "a/4", check: check.Watch(func(*check.T, check.Wire) {})},
	}}
	server := s.discovered("stdio")
	var visited []string
	o := Execute(
		ctx, driver.Target{Serve: (&fakeServer{}).serve}, server, s.plan(server),
		Options{Jobs: 1, GracePeriod: time.Millisecond},
	).EachResult(func(r report.Result) {
		visited = append(visited, strings.TrimSpace(r.ID+" "+string(r.Verdict)+" "+r.Message))
	})
	want := []string{
		"a/1 pass", "a/2 inconclusive the budget is spent", "a/3 inconclusive the budget is spent",
		"a/4 inconclusive the budget is spent",
	}
	if diff := cmp.Diff(want, visited); diff != "" || o.Problem != "" {
		t.Errorf("%s\nproblem %q", diff, o.Problem)
	}
	released.Store(true)
	<-ended
}
