package harness

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// needGinkgo skips a test under the flags of go test with which Ginkgo ends the program.
func needGinkgo(t *testing.T) {
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" || f.Name == "test.count" && f.Value.String() != "1" {
			t.Skipf("Ginkgo does not run with -%s", f.Name)
		}
	})
}

// Run tells each result once, in the order in which results come, also of what is judged by another revision than the
// negotiated one.
func TestRun(t *testing.T) {
	needGinkgo(t)
	levels := ByRevision[Level]{By: map[string]Level{"2025-03-26": Must}}
	var catalogue Catalogue
	ids := "http/watch http/pass http/fail other/skip other/open other/error http/ending"
	for id := range strings.FieldsSeq(ids) {
		catalogue = append(catalogue, &Requirement{ID: id, Level: levels, Revisions: []string{"2025-03-26"}})
	}
	Area{JudgedBy: AtLeast("2025-03-26")}.Claim(catalogue)
	ending := func(how string) func(*T) { return func(t *T) { end(t, how, "oh") } }
	suite := Suite{
		"http/watch": Watch(func(*T, Wire) {}), "http/pass": Probe(ending("pass")), "http/fail": Probe(ending("fail")),
		"other/skip": Probe(ending("skip")), "other/open": Probe(ending("open")), "other/error": Probe(ending("panic")),
		"http/ending": Ending(ending("pass")),
	}
	server := &Server{Transport: "stdio", Revision: "2024-11-05"}
	plan := Plan(catalogue, suite, server, func(*Requirement) bool { return true })
	for range 2 { // as for --protocol all
		var told []string
		o, err := Run(
			t.Context(),
			driver.Target{Serve: (&stage{}).serve},
			server,
			plan,
			Options{},
			func(r Result) {
				told = append(told, r.ID+" "+string(r.Verdict))
				if r.Entry != Must || r.Revision != "2024-11-05" {
					t.Errorf("%s: got level %s, revision %s", r.ID, r.Entry, r.Revision)
				}
			},
		)
		want := []string{
			"http/pass pass", "http/fail fail", "other/skip skip", "other/open inconclusive", "other/error error",
			"http/ending pass", "http/watch pass",
		}
		if diff := cmp.Diff(want, told); diff != "" || o.Problem != "" || err != nil {
			t.Errorf("%s\nproblem %q, %v", diff, o.Problem, err)
		}
	}
}

// Run says why the server could not be tested to the end.
func TestRunOfADeadServer(t *testing.T) {
	needGinkgo(t)
	s := scene{cast: []role{{id: "a/1", check: uses}, {id: "a/2", check: uses}, {id: "a/3", check: uses}}}
	stage := &stage{script: script{{does: dies}}}
	server := s.described("stdio")
	var told []Result
	target, options := driver.Target{Serve: stage.serve}, Options{Jobs: 1}
	o, err := Run(t.Context(), target, server, s.plan(server), options, func(r Result) { told = append(told, r) })
	const want = "the server can no longer be talked to: the server exited with status 1"
	if o.Problem != want || err != nil || len(told) != 3 {
		t.Errorf("got %q, %v, %d results", o.Problem, err, len(told))
	}
}

// A check that computes without end, and hears of nothing, does not hold up the end of a run: what has no result then
// is told as not run.
func TestRunOfAnEndlessCheck(t *testing.T) {
	needGinkgo(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	var released atomic.Bool
	ended := make(chan struct{})
	endless := Probe(func(*T) {
		defer close(ended)
		cancel(errors.New("the budget is spent"))
		for !released.Load() {
		}
	})
	pass := Probe(func(*T) {})
	s := scene{cast: []role{
		{id: "a/1", check: pass}, {id: "a/2", check: endless}, {id: "a/3", check: pass},
		{id: "a/4", check: Watch(func(*T, Wire) {})},
	}}
	server := s.described("stdio")
	var told []string
	o, err := Run(
		ctx, driver.Target{Serve: (&stage{}).serve}, server, s.plan(server),
		Options{Jobs: 1, Grace: time.Millisecond},
		func(r Result) { told = append(told, strings.TrimSpace(r.ID+" "+string(r.Verdict)+" "+r.Message)) },
	)
	want := []string{
		"a/1 pass", "a/2 inconclusive the budget is spent", "a/3 inconclusive the budget is spent",
		"a/4 inconclusive the budget is spent",
	}
	if diff := cmp.Diff(want, told); diff != "" || o.Problem != "" || err != nil {
		t.Errorf("%s\nproblem %q, %v", diff, o.Problem, err)
	}
	released.Store(true)
	<-ended
}

// Ginkgo has every case as a spec, and what it makes of their outcomes harms nobody.
func TestSpecify(t *testing.T) {
	needGinkgo(t)
	s := scene{cast: []role{{id: "a/one"}, {id: "b/two"}, {id: "a/three"}, {id: "b/four"}, {id: "b/five"}}}
	plan := s.plan(s.described("stdio"))
	var seen []int
	err := specify(plan, func(i int) Result {
		seen = append(seen, i)
		return Result{Verdict: Verdicts[i], Message: "oh"}
	})
	slices.Sort(seen)
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, seen); diff != "" || err != nil {
		t.Errorf("%s%v", diff, err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, areasOf(plan)); diff != "" {
		t.Error(diff)
	}
}

// A panic on the way through Ginkgo is an error, and does not end the program.
func TestSpecifyPanics(t *testing.T) {
	err := specify([]Case{{}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "mcpcheck failed: ") {
		t.Errorf("got %v", err)
	}
}
