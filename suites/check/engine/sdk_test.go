package engine

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestFailWithoutFindingsHasNoDeviation checks that no SDK explains a failure without findings.
func TestFailWithoutFindingsHasNoDeviation(t *testing.T) {
	all := catalogue.Pattern{Regexp: regexp.MustCompile("")}
	c := Case{Requirement: &catalogue.Requirement{SDKs: []catalogue.Deviation{{SDK: "one", Got: all}}}}
	e := &Execution{options: Options{SDKs: []catalogue.SDK{{ID: "one"}}}}
	if got := e.deviations(c, attempt.Outcome{Verdict: catalogue.Fail}); got != nil {
		t.Errorf("got %v", got)
	}
	if got := e.deviations(c,
		attempt.Outcome{Verdict: catalogue.Fail, Findings: []report.Finding{{Got: "this"}}}); len(got) != 1 {
		t.Errorf("with a finding: got %v", got)
	}
}

// TestKnownDeviation checks that a failure comes from an SDK if every finding matches and the server has sent what only
// that SDK sends. It stays a fail, which blocks under the profile strict and with GateSDKs.
func TestKnownDeviation(t *testing.T) {
	pattern := func(expr string) catalogue.Pattern { return catalogue.Pattern{Regexp: regexp.MustCompile(expr)} }
	says := script{{method: "tools/list", action: answersError(-32601)}} // with the message "no"
	fails := func(got ...string) func(*check.T) {
		return func(t *check.T) {
			t.Send(t.Session(), "tools/list", nil, check.AllowSilence)
			check.Each(t, got, check.NamedSubject, func(t *check.T, got string) { t.Fail("a result", "%s", got) })
		}
	}
	six := []string{"sdk 1", "sdk 2", "sdk 3", "sdk 4", "sdk 5", "sdk 6"}
	for _, tt := range []struct {
		name        string
		script      script
		check       func(*check.T)
		profile     catalogue.Profile
		gate        bool
		isOf, gates bool
	}{
		{name: "release", script: says, check: fails("sdk"), profile: catalogue.Release, isOf: true},
		{name: "spec", script: says, check: fails("sdk"), profile: catalogue.Spec, isOf: true},
		{name: "strict", script: says, check: fails("sdk"), profile: catalogue.Strict, isOf: true, gates: true},
		{name: "--sdk gate", script: says, check: fails("sdk"), profile: catalogue.Release, gate: true, isOf: true,
			gates: true},
		{name: "another finding", script: says, check: fails("own"), profile: catalogue.Release, gates: true},
		{name: "another finding as well", script: says, check: fails("sdk", "own"), profile: catalogue.Release,
			gates: true},
		{name: "more findings than are shown", script: says, check: fails(six...), profile: catalogue.Release,
			isOf: true},
		{name: "an untold finding is another", script: says, check: fails(append(six, "own")...),
			profile: catalogue.Release, gates: true},
		{name: "another server", check: fails("sdk"), profile: catalogue.Release, gates: true},
		{name: "a result quotes the SDK", check: fails("sdk"), profile: catalogue.Release, gates: true,
			script: script{{method: "tools/list", action: action{result: `{"message":"no"}`}}}},
		{name: "a result that is an error", profile: catalogue.Release, check: fails("sdk"), isOf: true,
			script: script{{method: "tools/list", action: action{result: `{"isError":true,"message":"no"}`}}}},
		{name: "recognised by a probe", script: script{{method: "mcpcheck/no-such-method",
			action: answersError(-32601)}},
			check: fails("sdk"), profile: catalogue.Release, isOf: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{
				script: tt.script,
				checks: []testCheck{{id: "a/tried", check: check.Probe(tt.check), sdks: []catalogue.Deviation{
					{SDK: "other", Versions: "1.0", Got: pattern("."), Fix: "?"},
					{
						SDK: "one", Versions: "1.2", Got: pattern("^sdk"), Issue: "https://example.com/1",
						Fix: "Wrap it.",
					},
				}}},
				options: Options{Jobs: 1, Profile: tt.profile, GateSDKs: tt.gate, SDKs: []catalogue.SDK{
					{ID: "other", Name: "Other", Errors: []catalogue.ErrorPatterns{{pattern("never")}}},
					{ID: "one", Name: "One 1.x",
						Errors: []catalogue.ErrorPatterns{{pattern("never")}, {pattern(`"message":"no"`)}}},
				}},
			}.run(t)
			r := out.results["a/tried"]
			fix, want := "fix of a/tried", (*report.SDKInfo)(nil)
			if tt.isOf {
				fix = "Nothing in your code. Wrap it."
				want = &report.SDKInfo{ID: "one", Name: "One 1.x", Versions: "1.2", Issue: "https://example.com/1"}
			}
			if diff := cmp.Diff(want, r.SDK); diff != "" || r.Fix != fix {
				t.Errorf("%s fix: %s", diff, r.Fix)
			}
			if r.Verdict != catalogue.Fail || r.Level != catalogue.Must || r.Gates != tt.gates ||
				(r.GatedBy == catalogue.GateMust) != tt.gates {
				t.Errorf("got %s at %s, gates %v by %q", r.Verdict, r.Level, r.Gates, r.GatedBy)
			}
			if count := report.Count([]report.Result{r}); count.SDK == 1 != (tt.isOf && !tt.gates) {
				t.Errorf("the counts are %+v", count)
			}
		})
	}
}

// TestNoNeedlessSDKProbes checks that nothing is sent to recognise an SDK if no SDKs are given.
func TestNoNeedlessSDKProbes(t *testing.T) {
	out := testRun{checks: []testCheck{{id: "a/tried",
		check: check.Probe(func(t *check.T) { t.Session(); t.Fail("this", "sdk") }),
		sdks:  []catalogue.Deviation{{SDK: "one", Got: catalogue.Pattern{Regexp: regexp.MustCompile("sdk")}}}}}}.run(t)
	if n := out.countReceived("mcpcheck/no-such-method"); n != 0 {
		t.Errorf("the server received %d probes", n)
	}
}

// TestSDKProbes checks that probes call only tools that may be called with such arguments.
func TestSDKProbes(t *testing.T) {
	tool := func(name string, required []any, hints check.M) check.M {
		return check.M{"name": name, "inputSchema": check.M{"required": required}, "annotations": hints}
	}
	readOnly, destructive := check.M{"readOnlyHint": true}, check.M{"destructiveHint": true}
	need := []any{"a"}
	const unknownTools = "tools/call, tools/call 5, tools/call mcpcheck_no_such_tool"
	for _, tt := range []struct {
		calls report.CallPolicy
		tools []check.M
		want  string
	}{
		{report.CallsNone, []check.M{tool("one", need, readOnly)}, "mcpcheck/no-such-method"},
		{report.CallsSafe, nil, "mcpcheck/no-such-method, " + unknownTools},
		{report.CallsSafe, []check.M{tool("drop", need, destructive), tool("none", nil, readOnly)},
			"mcpcheck/no-such-method, " + unknownTools},
		{report.CallsSafe, []check.M{tool("drop", need, destructive), tool("one", need, readOnly),
			tool("two", need, readOnly)},
			"mcpcheck/no-such-method, tools/call one, " + unknownTools},
	} {
		e := &Execution{options: Options{Calls: tt.calls}, server: &check.Server{Tools: tt.tools}}
		var asked []string
		for _, r := range e.sdkProbes() {
			asked = append(asked, strings.TrimSuffix(fmt.Sprint(r.Method, " ", r.Params["name"]), " <nil>"))
		}
		if got := strings.Join(asked, ", "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.calls, got, tt.want)
		}
	}
}
