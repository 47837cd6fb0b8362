package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// shardReport returns a report with some results.
func shardReport(name string, index, of int, results ...Result) NamedReport {
	r := Report{
		SchemaVersion: 1, Profile: catalogue.Release, Options: &OptionsInfo{Protocol: "auto"}, Results: results,
		Revisions: []RevisionInfo{{Requested: "auto", Revision: "2025-11-25"}},
		Started:   time.Date(2026, 1, 1, 0, 0, index, 0, time.UTC), Seconds: 2, Counts: Count(results),
	}
	c := Coverage{Revision: "2025-11-25"}
	for _, x := range results {
		if !x.Secondary && x.Area() != "advice" {
			c.Requirements++
			*c.count(x.Verdict)++
		}
	}
	r.Coverage = []Coverage{c}
	if of > 0 {
		r.Options.Shard = &ShardInfo{index, of}
	}
	return NamedReport{name, r}
}

func resultOf(id string, v catalogue.Verdict) Result {
	r := Result{ID: id, Revision: "2025-11-25", Verdict: v, Level: catalogue.Must, EntryLevel: catalogue.Must,
		Message: id + " " +
			string(v)}
	if v == catalogue.Fail {
		r.Gates, r.GatedBy, r.Findings = true, catalogue.GateMust, []Finding{{Got: r.Message}}
	}
	return r
}

func asSecondary(r Result) Result {
	r.Secondary = true
	return r
}

func withReason(reason Reason, r Result) Result {
	r.Reason = reason
	return r
}

func TestMergeReports(t *testing.T) {
	lesser := resultOf("w/1", catalogue.Fail)
	lesser.Level, lesser.Gates, lesser.Message = catalogue.Should, false, "a lesser one"
	second := resultOf("w/1", catalogue.Fail)
	second.Message, second.Findings = "something else", []Finding{{Got: "something else"}}
	for name, test := range map[string]struct {
		parts   []NamedReport
		want    []string // id and verdict
		tried   int
		message string // in the problem, or in the message of the first result
	}{
		"in the order of the catalogue, whatever the order of files": {
			parts: []NamedReport{shardReport("b", 2, 2, resultOf("c/1", catalogue.Pass)),
				shardReport("a", 1, 2, resultOf("a/1", catalogue.Pass), resultOf("b/1", catalogue.Skip))},
			want: []string{"a/1 pass", "b/1 skip", "c/1 pass"}, tried: 2,
		},
		"a watch that observed nothing in its own shard passes in another one": {
			parts: []NamedReport{shardReport("a", 1, 2, resultOf("w/1", catalogue.Skip)),
				shardReport("b", 2, 2, asSecondary(resultOf("w/1", catalogue.Pass)))},
			want: []string{"w/1 pass"}, tried: 1,
		},
		"advice is not counted": {
			parts: []NamedReport{
				shardReport("a", 1, 2, resultOf("advice/1", catalogue.Skip)), shardReport("b", 2, 2,
					asSecondary(resultOf("advice/1", catalogue.Pass))),
			},
			want: []string{"advice/1 pass"},
		},
		"the reason of a watch that left something out counts more than that of one that saw nothing": {
			parts: []NamedReport{
				shardReport("a", 1, 2, withReason(CallsOff, resultOf("v/1", catalogue.Inconclusive)),
					withReason(CallsOff, resultOf("w/1", catalogue.Inconclusive)),
					resultOf("x/1", catalogue.Inconclusive)),
				shardReport("b", 2, 2, asSecondary(withReason(NotObserved, resultOf("v/1", catalogue.Skip))),
					asSecondary(withReason(OtherCheck, resultOf("w/1", catalogue.Skip))),
					asSecondary(withReason(OtherCheck,
						resultOf("x/1", catalogue.Skip)))),
			},
			want: []string{"v/1 inconclusive", "w/1 skip", "x/1 inconclusive"},
		},
		"a watch fails that fails in any shard": {
			parts: []NamedReport{
				shardReport("a", 1, 2, resultOf("a/1", catalogue.Pass), asSecondary(resultOf("w/1", catalogue.Fail))),
				shardReport("b", 2,
					2, resultOf("w/1", catalogue.Pass)),
			},
			want: []string{"a/1 pass", "w/1 fail"}, tried: 2,
		},
		"the fail of the higher level is kept": {
			parts: []NamedReport{shardReport("a", 1, 2, lesser),
				shardReport("b", 2, 2, asSecondary(resultOf("w/1", catalogue.Fail)))},
			want: []string{"w/1 fail"}, tried: 1, message: "w/1 fail",
		},
		"two fails of the same level are combined": {
			parts: []NamedReport{shardReport("a", 1, 2, resultOf("w/1", catalogue.Fail)),
				shardReport("b", 2, 2, asSecondary(second))},
			want: []string{"w/1 fail"}, tried: 1, message: "w/1 fail\nsomething else",
		},
		"a shard is missing": {
			parts: []NamedReport{shardReport("a", 1, 3, resultOf("a/1", catalogue.Pass)),
				shardReport("c", 3, 3, asSecondary(resultOf("b/1", catalogue.Pass)))},
			want: []string{"a/1 pass", "b/1 pass"}, tried: 1, message: "shard 2/3 is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			merged, _, err := MergeReports(test.parts, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range merged.Results {
				got = append(got, r.ID+" "+string(r.Verdict))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("results, - want, + got:\n%s", diff)
			}
			if c := merged.Coverage[0]; c.Tried != test.tried {
				t.Errorf("Tried is %d, want %d", c.Tried, test.tried)
			}
			if message := merged.Problem + merged.Results[0].Message; !strings.Contains(message, test.message) {
				t.Errorf("got message %q, want %q", message, test.message)
			}
			if merged.Options.Shard != nil || merged.Counts != Count(merged.Results) {
				t.Errorf("options %v, counts %v", merged.Options, merged.Counts)
			}
		})
	}
}

// TestMergeReportsOfOne checks that merging one report does not change it.
func TestMergeReportsOfOne(t *testing.T) {
	one := shardReport("a", 0, 0, resultOf("a/1", catalogue.Pass), resultOf("b/1", catalogue.Fail))
	merged, duplicates, err := MergeReports([]NamedReport{one}, nil)
	if diff := cmp.Diff(one.Report, merged); diff != "" || err != nil || duplicates != nil {
		t.Errorf("%v, %v, - was, + is:\n%s", err, duplicates, diff)
	}
}

// TestMergeReportsNames checks that conflicts and duplicates are named.
func TestMergeReportsNames(t *testing.T) {
	a := shardReport("a.json", 0, 0, resultOf("a/1", catalogue.Pass), resultOf("b/1", catalogue.Pass))
	again := shardReport("b.json", 0, 0, resultOf("a/1", catalogue.Pass), resultOf("b/1", catalogue.Pass))
	merged, duplicates, err := MergeReports([]NamedReport{a, again}, nil)
	want := []string{"a.json and b.json both have a/1 and 1 more; the first stands"}
	if err != nil || !slices.Equal(duplicates, want) {
		t.Error(duplicates, err)
	}
	if merged.Coverage[0].Requirements != 2 {
		t.Error("a duplicate is counted twice")
	}
	for text, change := range map[string]func(r *NamedReport){
		"a.json and b.json disagree on a/1 in 2025-11-25, which is pass and fail": func(r *NamedReport) {
			r.Results = []Result{resultOf("a/1", catalogue.Fail)}
		},
		"options is {\"seed\":0} and {\"seed\":7}": func(r *NamedReport) {
			r.Options = &OptionsInfo{Protocol: "auto", Seed: 7}
		},
		"profile is \"release\" and \"spec\"":     func(r *NamedReport) { r.Profile = catalogue.Spec },
		"baseline is \"none\" and \"known.yaml\"": func(r *NamedReport) { r.Baseline = &Baseline{File: "known.yaml"} },
		`target is {} and {"url":"http://x/"}`: func(r *NamedReport) {
			r.Target.URL = "http://x/"
		},
		`server is ["",""] and ["other","2"]`: func(r *NamedReport) {
			r.Server = ServerInfo{Name: "other", Version: "2"}
		},
	} {
		other := shardReport("b.json", 0, 0, resultOf("a/1", catalogue.Pass))
		change(&other)
		if _, _, err := MergeReports([]NamedReport{a, other}, nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

// TestMergeReportsExercised checks that a capability is exercised if one shard has exercised it.
func TestMergeReportsExercised(t *testing.T) {
	a, b := shardReport("a", 1, 2, resultOf("a/1", catalogue.Inconclusive)), shardReport("b", 2, 2,
		resultOf("b/1", catalogue.Pass))
	a.Coverage[0].Unexercised = []string{"prompts", "tools"}
	entries := catalogue.Catalogue{{ID: "a/1", Capability: "tools"}, {ID: "b/1", Capability: "tools"}}
	merged, _, err := MergeReports([]NamedReport{a, b}, entries)
	if diff := cmp.Diff([]string{"prompts"}, merged.Coverage[0].Unexercised); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// TestMergeCauses checks that a result that yields to an entry of another shard names the outcome of that entry.
func TestMergeCauses(t *testing.T) {
	for _, tt := range []struct {
		cause   catalogue.Verdict
		message string // of the cause
		verdict catalogue.Verdict
		want    string
	}{
		{catalogue.Fail, "", catalogue.Skip, "it is odd: same cause as b/1"},
		{catalogue.Inconclusive, "", catalogue.Skip, "it is odd: same cause as b/1"},
		{catalogue.Pass, "1 of 2 variants could not be tested", catalogue.Skip, "it is odd: same cause as b/1"},
		{catalogue.Pass, "", catalogue.Inconclusive, "it is odd, and no other check reports it"},
		{"", "", catalogue.Skip, "it is odd: b/1 judges that"},
	} {
		yields := withReason(OtherCheck, resultOf("a/1", catalogue.Skip))
		yields.Message, yields.Causes = "it is odd: b/1 judges that", []string{"b/1"}
		cause := resultOf("b/1", tt.cause)
		cause.Message = tt.message
		parts := []NamedReport{shardReport("a", 1, 2, yields), shardReport("b", 2, 2, cause)}
		if tt.cause == "" {
			parts = parts[:1]
		}
		for i := range parts {
			parts[i].Profile = catalogue.Strict
		}
		merged, _, err := MergeReports(parts, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := merged.Results[0]
		if r.Verdict != tt.verdict || r.Message != tt.want || r.Gates != (tt.verdict == catalogue.Inconclusive) {
			t.Errorf("%s: got %s: %s, gates %v", tt.cause, r.Verdict, r.Message, r.Gates)
		}
	}
}
