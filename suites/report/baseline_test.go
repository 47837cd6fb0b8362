package report

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// today is the current day in these tests.
var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestApply(t *testing.T) {
	tests := []struct {
		name    string
		entries KnownFails
		subject []string
		// known is the reason; empty if the failure is not known.
		known string
	}{
		{"listed", KnownFails{{Check: "a/b", Reason: "later"}}, nil, "later"},
		{"by glob", KnownFails{{Check: "a/*", Reason: "later"}}, nil, "later"},
		{"the first of two", KnownFails{{Check: "a/*", Reason: "one"}, {Check: "a/b", Reason: "two"}}, nil, "one"},
		{"another one", KnownFails{{Check: "a/c", Reason: "later"}}, nil, ""},
		{"flaky", KnownFails{{Check: "a/b", Reason: "later", Flaky: true}}, nil, "later"},
		{"last day", KnownFails{{Check: "a/b", Reason: "later", Expires: "2026-11-21"}}, nil, "later"},
		{"day after", KnownFails{{Check: "a/b", Reason: "later", Expires: "2026-11-20"}}, nil, ""},
		{"this revision", KnownFails{{Check: "a/b", Reason: "later", Revision: "2025-11-25"}}, nil, "later"},
		{"another revision", KnownFails{{Check: "a/b", Reason: "later", Revision: "2025-06-18"}}, nil, ""},
		{"this transport", KnownFails{{Check: "a/b", Reason: "later", Transport: "http"}}, nil, "later"},
		{"another transport", KnownFails{{Check: "a/b", Reason: "later", Transport: "stdio"}}, nil, ""},
		{"the subject", KnownFails{{Check: "a/b", Reason: "later", Subject: "x"}}, []string{"x"}, "later"},
		{"one subject of two", KnownFails{{Check: "a/b", Reason: "later", Subject: "x"}}, []string{"x", "y"}, ""},
		{"both subjects", KnownFails{
			{Check: "a/b", Reason: "one", Subject: "x"}, {Check: "a/b", Reason: "two", Subject: "y"},
		}, []string{"y", "x"}, "two"},
		{"a subject, and none that failed", KnownFails{{Check: "a/b", Reason: "later", Subject: "x"}}, nil, ""},
		{"all subjects", KnownFails{{Check: "a/b", Reason: "later"}}, []string{"x", "y"}, "later"},
	}
	for _, tt := range tests {
		r := failedResult("a/b", tt.subject...)
		tt.entries.Apply(&r, "http", today)
		reason := ""
		if r.Known != nil {
			reason = r.Known.Reason
		}
		if reason != tt.known {
			t.Errorf("%s: known because %q, want %q", tt.name, reason, tt.known)
		}
		if gates := tt.known == ""; r.Gates != gates || (r.GatedBy != catalogue.NoGate) != gates {
			t.Errorf("%s: Gates is %v by %q, want %v", tt.name, r.Gates, r.GatedBy, gates)
		}
	}
}

// TestApplyToFailsOnly checks that only a fail can be known.
func TestApplyToFailsOnly(t *testing.T) {
	for _, v := range catalogue.Verdicts {
		r := Result{ID: "a/b", Verdict: v, Gates: true, GatedBy: catalogue.GateInconclusive}
		KnownFails{{Check: "a/b"}}.Apply(&r, "stdio", today)
		if known := r.Known != nil; known != (v == catalogue.Fail) {
			t.Errorf("%s: known %v", v, known)
		}
	}
}

func failedResult(id string, subjects ...string) Result {
	return Result{
		ID: id, Revision: "2025-11-25", Verdict: catalogue.Fail, Level: catalogue.Must, Gates: true,
		GatedBy: catalogue.GateMust, Subjects: subjects,
	}
}

func TestStale(t *testing.T) {
	requirement := func(id string, transports ...string) *catalogue.Requirement {
		return &catalogue.Requirement{ID: id, Revisions: []string{"2025-06-18", "2025-11-25"}, Transports: transports}
	}
	entries := catalogue.Catalogue{
		requirement("a/b"), requirement("a/pipes", "stdio"), requirement("a/planned"),
		{ID: "a/old", Revisions: []string{"2024-11-05"}},
		requirement("b/one"), requirement("b/two"),
	}
	resOf := func(id string, v catalogue.Verdict) Result { return Result{ID: id, Revision: "2025-11-25", Verdict: v} }
	leaving := func(out string) catalogue.Selector { return func(r *catalogue.Requirement) bool { return r.ID != out } }
	everything := leaving("")
	tests := []struct {
		name    string
		entry   KnownFail
		wanted  catalogue.Selector
		results []Result
		// stale is a part of the reason; empty if the entry is not stale.
		stale string
	}{
		{"fails", KnownFail{Check: "a/b"}, everything, []Result{failedResult("a/b")}, ""},
		{"passes", KnownFail{Check: "a/b"}, everything, []Result{resOf("a/b", catalogue.Pass)}, "it passes now"},
		{"passes, flaky", KnownFail{Check: "a/b", Flaky: true}, everything, []Result{resOf("a/b", catalogue.Pass)}, ""},
		{"could not be tried", KnownFail{Check: "a/b"}, everything, []Result{resOf("a/b", catalogue.Inconclusive)}, ""},
		{"does not apply", KnownFail{Check: "a/b"}, everything, []Result{resOf("a/b", catalogue.Skip)}, ""},
		{"error", KnownFail{Check: "b/*"}, everything,
			[]Result{resOf("b/one", catalogue.Error), resOf("b/two", catalogue.Pass)}, ""},

		{"last day", KnownFail{Check: "a/b", Expires: "2026-11-21"}, everything, []Result{failedResult("a/b")}, ""},
		{"day after", KnownFail{Check: "a/b", Expires: "2026-11-20"},
			everything, []Result{failedResult("a/b")}, "it expired on 2026-11-20"},
		{"day after, flaky", KnownFail{Check: "a/b", Expires: "2026-11-20", Flaky: true},
			everything, []Result{resOf("a/b", catalogue.Pass)}, "it expired on 2026-11-20"},
		{"day after, left out", KnownFail{Check: "a/b", Expires: "2026-11-20"}, leaving("a/b"), nil, ""},

		{"left out", KnownFail{Check: "a/b"}, leaving("a/b"), nil, ""},
		{
			"another revision",
			KnownFail{Check: "a/b", Revision: "2025-06-18"},
			everything,
			[]Result{resOf("a/b", catalogue.Pass)},
			"",
		},
		{"this revision", KnownFail{Check: "a/b", Revision: "2025-11-25"},
			everything, []Result{resOf("a/b", catalogue.Pass)}, "it passes now"},
		{"another transport", KnownFail{Check: "a/b", Transport: "stdio"}, everything,
			[]Result{resOf("a/b", catalogue.Pass)}, ""},
		{"this transport", KnownFail{Check: "a/b", Transport: "http"},
			everything, []Result{resOf("a/b", catalogue.Pass)}, "it passes now"},
		{"a check of another transport", KnownFail{Check: "a/pipes"}, everything, nil, ""},
		{"a check of another revision", KnownFail{Check: "a/old"}, everything, nil, ""},

		{
			"one of a glob fails",
			KnownFail{Check: "b/*"},
			everything,
			[]Result{resOf("b/one", catalogue.Pass), failedResult("b/two")},
			"",
		},
		{"all of a glob pass", KnownFail{Check: "b/*"},
			everything, []Result{resOf("b/one", catalogue.Pass), resOf("b/two", catalogue.Pass)}, "it passes now"},
		{"a glob passes in part", KnownFail{Check: "b/*"},
			everything, []Result{resOf("b/one", catalogue.Pass), resOf("b/two", catalogue.Inconclusive)},
			"what could be tried of it passes now, but not b/two, which could not be"},
		{"a glob of which nothing could be tried", KnownFail{Check: "b/*"},
			everything, []Result{resOf("b/one", catalogue.Skip), resOf("b/two", catalogue.Inconclusive)}, ""},
		{"a glob is left out in part", KnownFail{Check: "b/*"}, leaving("b/two"),
			[]Result{resOf("b/one", catalogue.Pass)}, ""},

		{"the subject fails", KnownFail{Check: "a/b", Subject: "x"}, everything,
			[]Result{failedResult("a/b", "x", "y")}, ""},
		{"the subject passes", KnownFail{Check: "a/b", Subject: "z"},
			everything, []Result{failedResult("a/b", "x", "y")}, "it passes now"},
		{"a fail without a subject", KnownFail{Check: "a/b", Subject: "z"}, everything, []Result{failedResult("a/b")},
			""},

		{"unknown", KnownFail{Check: "a/plannd"}, everything, nil, "there is no such check; did you mean a/planned?"},
		{"unknown, left out", KnownFail{Check: "a/plannd"}, leaving("a/planned"), nil, "there is no such check"},
		{"an area", KnownFail{Check: "b"}, everything, nil, "did you mean b/*?"},
		{"nothing near", KnownFail{Check: "zebra"}, everything, nil, "there is no such check; mcpcheck list"},
		{"a glob of nothing", KnownFail{Check: "c/*"}, everything, nil, "it matches no check"},
		{"planned", KnownFail{Check: "a/planned"}, everything, nil, "no check tries it yet"},
	}
	for _, tt := range tests {
		tt.entry.Line = 7
		report := &Report{
			Target: TargetInfo{
				Transport: "http",
			}, Revisions: []RevisionInfo{{Revision: "2025-11-25"}}, Results: tt.results,
		}
		stale := KnownFails{tt.entry}.Stale(report, today, entries, tt.wanted)
		switch {
		case tt.stale == "" && len(stale) > 0:
			t.Errorf("%s: stale: %+v", tt.name, stale)
		case tt.stale == "":
		case len(stale) != 1, !strings.Contains(stale[0].Reason, tt.stale), stale[0].Line != 7,
			stale[0].Entry != tt.entry.Check:
			t.Errorf("%s: got %+v, want one because %q", tt.name, stale, tt.stale)
		}
	}
}
