package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		counts Counts
		want   int
	}{
		{Counts{Pass: 3}, ExitConforms},
		{Counts{Pass: 3, Fail: 2}, ExitConforms},
		{Counts{Fail: 2, Gating: 1}, ExitFails},
		{Counts{Fail: 2, Gating: 1, Error: 1}, ExitInternal},
	}
	for _, tt := range tests {
		if got := tt.counts.ExitCode(); got != tt.want {
			t.Errorf("%+v: got %d, want %d", tt.counts, got, tt.want)
		}
	}
}

func TestCount(t *testing.T) {
	got := Count([]Result{
		{
			Verdict: catalogue.Pass,
		}, {Verdict: catalogue.Pass}, {Verdict: catalogue.Fail, Gates: true}, {Verdict: catalogue.Fail,
			Known: &KnownInfo{}}, {Verdict: catalogue.Skip},
		{Verdict: catalogue.Inconclusive, Gates: true}, {Verdict: catalogue.Error},
	})
	want := Counts{Pass: 2, Fail: 2, Inconclusive: 1, Skip: 1, Error: 1, Gating: 2, Known: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if area := (Result{ID: "tools/one"}).Area(); area != "tools" {
		t.Errorf("the area is %s", area)
	}
}

// TestNoVerdictCause checks that a run with only inconclusive results has a cause, unlike one in which nothing applies.
func TestNoVerdictCause(t *testing.T) {
	pass, skip := Result{Verdict: catalogue.Pass}, Result{Verdict: catalogue.Skip,
		Message: "not declared"}
	silent, exited := Result{Verdict: catalogue.Inconclusive,
		Message: "silence"}, Result{Verdict: catalogue.Inconclusive, Message: "death"}
	for _, tt := range []struct {
		name    string
		results []Result
		cause   string
	}{
		{"no results", nil, ""},
		{"nothing applies", []Result{skip, skip}, ""},
		{"one passes", []Result{silent, pass, silent}, ""},
		{"one fails", []Result{silent, {Verdict: catalogue.Fail}}, ""},
		{"one is our error", []Result{silent, {Verdict: catalogue.Error}}, ""},
		{"one is inconclusive", []Result{skip, silent, skip}, "silence"},
		{"several causes", []Result{silent, exited, skip, exited}, "death"},
	} {
		if cause := NoVerdictCause(tt.results); cause != tt.cause {
			t.Errorf("%s: got %q", tt.name, cause)
		}
	}
}

// TestUntestedMusts checks that many MUSTs without a verdict for one cause are reported, and a few are not.
func TestUntestedMusts(t *testing.T) {
	lost := func(n int, cause string, of Result) (all []Result) {
		of.Message, of.Verdict = cause, catalogue.Inconclusive
		for range n {
			all = append(all, of)
		}
		return all
	}
	must := Result{EntryLevel: catalogue.Must, Unresponsive: true}
	for _, tt := range []struct {
		name    string
		results []Result
		n       int
		cause   string
	}{
		{"none", nil, 0, ""},
		{"a few", lost(4, "silence", must), 0, ""},
		{"several causes", append(lost(4, "silence", must), lost(4, "death", must)...), 0, ""},
		{"many", append(lost(4, "silence", must), lost(5, "death", must)...), 5, "death"},
		{"of other levels", lost(5, "silence", Result{EntryLevel: catalogue.Should, Unresponsive: true}), 0, ""},
		{"of a list", lost(5, "error -32603", Result{EntryLevel: catalogue.Must, Reason: NotListed}), 5,
			"error -32603"},
		{"over a limit", lost(5, "too long", Result{EntryLevel: catalogue.Must, Reason: Limit}), 5,
			"too long"},
		{"for other reasons", lost(5, "not called", Result{EntryLevel: catalogue.Must}), 0, ""},
	} {
		if n, cause := UntestedMusts(tt.results); n != tt.n || cause != tt.cause {
			t.Errorf("%s: got %d, %q", tt.name, n, cause)
		}
	}
}

// TestDemote checks that what a tentative check finds does not block.
func TestDemote(t *testing.T) {
	held := Result{Verdict: catalogue.Fail, Gates: true, GatedBy: catalogue.GateMust}
	if held.Demote(); held.Gates || held.GatedBy != catalogue.NoGate || !held.Tentative ||
		held.Verdict != catalogue.Fail {
		t.Errorf("%+v", held)
	}
}
