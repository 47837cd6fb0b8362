package harness

import (
	"strings"
	"testing"
	"time"
)

func TestAccept(t *testing.T) {
	today := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	result := func(id string, v Verdict, subjects ...string) Result {
		return Result{ID: id, Revision: "2025-11-25", Verdict: v, Level: Must, Gates: v == Fail, GatedBy: GateMust, Subjects: subjects}
	}
	tests := []struct {
		name    string
		entries []KnownFail
		result  Result
		known   bool
		stale   string // part of the reason; empty: not stale
	}{
		{"listed", []KnownFail{{Check: "a/b", Reason: "later"}}, result("a/b", Fail), true, ""},
		{"by glob", []KnownFail{{Check: "a/*"}}, result("a/b", Fail), true, ""},
		{"another one", []KnownFail{{Check: "a/c"}}, result("a/b", Fail), false, "matches nothing"},
		{"passes", []KnownFail{{Check: "a/b"}}, result("a/b", Pass), false, "passes now"},
		{"passes, flaky", []KnownFail{{Check: "a/b", Flaky: true}}, result("a/b", Pass), false, ""},
		{"fails, flaky", []KnownFail{{Check: "a/b", Flaky: true}}, result("a/b", Fail), true, ""},
		{"could not be tried", []KnownFail{{Check: "a/b"}}, result("a/b", Inconclusive), false, ""},
		{"does not apply", []KnownFail{{Check: "a/b"}}, result("a/b", Skip), false, ""},
		{"last day", []KnownFail{{Check: "a/b", Expires: "2026-11-21"}}, result("a/b", Fail), true, ""},
		{"day after", []KnownFail{{Check: "a/b", Expires: "2026-11-20"}}, result("a/b", Fail), false, "expired on 2026-11-20"},
		{"this revision", []KnownFail{{Check: "a/b", Revision: "2025-11-25"}}, result("a/b", Fail), true, ""},
		{"another revision", []KnownFail{{Check: "a/b", Revision: "2025-06-18"}}, result("a/b", Fail), false, ""},
		{"this transport", []KnownFail{{Check: "a/b", Transport: "http"}}, result("a/b", Fail), true, ""},
		{"another transport", []KnownFail{{Check: "a/b", Transport: "stdio"}}, result("a/b", Fail), false, ""},
		{"the subject", []KnownFail{{Check: "a/b", Subject: "x"}}, result("a/b", Fail, "x"), true, ""},
		{"one subject of two", []KnownFail{{Check: "a/b", Subject: "x"}}, result("a/b", Fail, "x", "y"), false, ""},
		{"both subjects", []KnownFail{{Check: "a/b", Subject: "x"}, {Check: "a/b", Subject: "y"}}, result("a/b", Fail, "x", "y"), true, ""},
		{"a subject that passes", []KnownFail{{Check: "a/b", Subject: "z"}}, result("a/b", Fail, "x"), false, "passes now"},
		{"not tried by choice", []KnownFail{{Check: "left/out"}}, result("a/b", Fail), false, ""},
	}
	for _, tt := range tests {
		report := &Report{
			Target: TargetInfo{Transport: "http"}, Revisions: []RevisionInfo{{Revision: "2025-11-25"}}, Results: []Result{tt.result},
		}
		stale := Accept(tt.entries, report, today, func(id string) bool { return id != "left/out" })
		r := report.Results[0]
		if known := r.Known != nil; known != tt.known || tt.result.Verdict == Fail && r.Gates == known {
			t.Errorf("%s: known %v, gates %v", tt.name, known, r.Gates)
		}
		switch {
		case tt.stale == "" && len(stale) > 0:
			t.Errorf("%s: stale: %+v", tt.name, stale)
		case tt.stale != "" && (len(stale) != 1 || !strings.Contains(stale[0].Why, tt.stale)):
			t.Errorf("%s: got %+v, want one because %q", tt.name, stale, tt.stale)
		}
	}
}
