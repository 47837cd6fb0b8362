package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// checkWithVerdict is a check with the given verdict, which yields if that is its verdict.
var (
	checkWithVerdict = func(v catalogue.Verdict) check.Check {
		return check.Probe(func(t *check.T) {
			switch v {
			case catalogue.Fail:
				t.Fail("good", "bad")
			case catalogue.Inconclusive:
				t.NoVerdict(check.Undecided, "who knows")
			case catalogue.Skip:
				t.Skip(check.NotApplicable, "it does not apply")
			}
		})
	}
	yieldingCheck = func(t *check.T) { t.Yield("src is not a string") }
)

// TestYield checks that a result names only causes that are confirmed by the results of the entries it yields to.
func TestYield(t *testing.T) {
	again := func(t *check.T) { t.Retry(report.OtherCheck, "src is not a string") }
	some := func(t *check.T) {
		check.Each(t, []string{"good", "bad"}, check.NamedSubject, func(t *check.T, name string) {
			if name == "bad" {
				yieldingCheck(t)
			}
		})
	}
	none := func(t *check.T) {
		check.Each(t, []string{"absent", "bad"}, check.NamedSubject, func(t *check.T, name string) {
			if name == "bad" {
				yieldingCheck(t)
			}
			t.Skip(report.NotOffered, "it is absent")
		})
	}
	sdk := catalogue.Deviation{SDK: "one", Versions: "1.2"}
	others := []testCheck{
		{id: "b/fails", check: checkWithVerdict(catalogue.Fail)},
		{id: "b/fails-too", check: checkWithVerdict(catalogue.Fail),
			sdks: []catalogue.Deviation{sdk}},
		{id: "b/passes", check: checkWithVerdict(catalogue.Pass)},
		{id: "b/skips", check: checkWithVerdict(catalogue.Skip)},
		{id: "b/open", check: checkWithVerdict(catalogue.Inconclusive)},
		{id: "b/watch-fails", check: check.Watch(func(t *check.T, _ check.Wire) { t.Fail("good", "bad") })},
		{id: "b/yields", check: check.Probe(yieldingCheck), yieldsTo: []string{"b/fails"}},
		{id: "b/some", check: check.Probe(some), yieldsTo: []string{"b/fails"}},
		{id: "b/mutual", check: check.Probe(yieldingCheck), yieldsTo: []string{"a/one"}},
	}
	for i := range 7 {
		others = append(others, testCheck{id: fmt.Sprint("b/a", i+1), check: checkWithVerdict(catalogue.Fail)})
	}
	for _, tt := range []struct {
		yields  string
		run     func(*check.T)
		verdict catalogue.Verdict
		reason  report.Reason
		causes  string
		message string
	}{
		{"b/fails", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/fails",
			"src is not a string: same cause as b/fails"},
		{"b/watch-fails", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/watch-fails",
			"src is not a string: same cause as b/watch-fails"},
		{"b/passes b/fails*", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/fails b/fails-too",
			"src is not a string: same cause as b/fails, b/fails-too"},
		{"b/yields", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/fails",
			"src is not a string: same cause as b/fails"},
		{"b/some", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/fails",
			"src is not a string: same cause as b/fails"},
		{"b/open b/passes", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/open",
			"src is not a string: same cause as b/open"},
		{"b/passes b/skips", yieldingCheck, catalogue.Inconclusive, report.Undecided, "",
			"src is not a string, and no other check reports it"},
		{"b/mutual", yieldingCheck, catalogue.Inconclusive, report.Undecided, "",
			"src is not a string, and no other check reports it"},
		{"b/mutual b/fails", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/fails",
			"src is not a string: same cause as b/fails"},
		{"b/fails", again, catalogue.Inconclusive, report.OtherCheck, "b/fails",
			"src is not a string: same cause as b/fails"},
		{"b/passes", again, catalogue.Inconclusive, report.Undecided, "",
			"src is not a string, and no other check reports it"},
		{"b/a*", yieldingCheck, catalogue.Skip, report.OtherCheck, "b/a1 b/a2 b/a3 b/a4 b/a5 b/a6 b/a7",
			"src is not a string: same cause as b/a1, b/a2, b/a3, b/a4, b/a5 and 2 more"},
		{"b/fails", none, catalogue.Skip, report.OtherCheck, "b/fails", "src is not a string: same cause as b/fails"},
		{"b/fails", some, catalogue.Pass, "", "", ""},
		{"b/passes", some, catalogue.Pass, "", "",
			"1 of 2 variants could not be tested (bad: src is not a string), and no other check reports why"},
	} {
		first := testCheck{id: "a/one", check: check.Probe(tt.run), yieldsTo: strings.Fields(tt.yields)}
		out := testRun{checks: append([]testCheck{first}, others...),
			options: Options{Profile: catalogue.Strict}}.run(t)
		t.Log(tt.yields)
		out.wantVerdict(t, "a/one", tt.verdict, tt.message)
		r := out.results["a/one"]
		if got := strings.Join(r.Causes, " "); r.Reason != tt.reason || got != tt.causes || r.Message != tt.message {
			t.Errorf("%s: got reason %s, causes %q: %s", tt.yields, r.Reason, got, r.Message)
		}
		if gates := tt.verdict == catalogue.Inconclusive; r.Gates != gates {
			t.Errorf("%s: Gates is %v", tt.yields, r.Gates)
		}
	}
}

// TestYieldToUntestedEntry checks that a result also yields to an entry that was not selected.
func TestYieldToUntestedEntry(t *testing.T) {
	entries := catalogue.Catalogue{
		{ID: "a/one", Revisions: []string{catalogue.NewestLegacy}, YieldsTo: []string{"b/*"}},
		{ID: "b/one", Revisions: []string{catalogue.NewestLegacy}},
		{ID: "b/web", Revisions: []string{catalogue.NewestLegacy}, Transports: []string{"http"}},
		{ID: "b/planned", Revisions: []string{catalogue.NewestLegacy}},
	}
	suite := check.Suite{"a/one": check.Watch(func(t *check.T, _ check.Wire) { yieldingCheck(t) }),
		"b/one": checkWithVerdict(catalogue.Pass),
		"b/web": checkWithVerdict(catalogue.Pass)}
	server := &check.Server{Transport: "stdio", Revision: catalogue.NewestLegacy}
	plan := Plan(entries, suite, server, func(r *catalogue.Requirement) bool { return r.ID == "a/one" })
	results, _ := JudgeRecorded(server, plan, nil, Options{})
	if r := results[0]; r.Verdict != catalogue.Skip || r.Message != "src is not a string: b/one judges that" {
		t.Errorf("got %s: %s", r.Verdict, r.Message)
	}
}

// TestYieldToCause checks that a fail yields to an entry that has failed on the same messages.
func TestYieldToCause(t *testing.T) {
	fails := func(methods ...string) func(t *check.T) {
		return func(t *check.T) {
			s := t.Session()
			check.Each(t, methods, check.NamedSubject,
				func(t *check.T, method string) { t.Expect(t.Send(s, method, nil)).To(check.BeResult()) })
		}
	}
	shared := func(t *check.T) { // the message that decides in all checks
		r := check.Step(t, "one", func(t *check.T) driver.Reply { return t.Send(t.Session(), "one", nil) })
		t.Expect(r).To(check.BeResult())
	}
	errors := check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(w.Errors(), func(t *check.T, m check.Message) { t.Fail("no error", "one") })
	})
	wrong := []rule{{method: "one", action: answersError(-1)}, {method: "two", action: action{result: "5"}}}
	for _, tt := range []struct {
		name    string
		run     func(*check.T)
		yields  string
		verdict catalogue.Verdict
	}{
		{"the same message", fails("one"), "b/errors", catalogue.Skip},
		{"again", fails("one", "ping", "one"), "b/errors", catalogue.Skip},
		{"another one as well", fails("one", "two"), "b/errors", catalogue.Fail},
		{"another one", fails("two"), "b/errors", catalogue.Fail},
		{"no message", func(t *check.T) { t.Fail("good", "bad") }, "b/errors", catalogue.Fail},
		{"it yields to an entry that passes", fails("one"), "b/passes", catalogue.Fail},
		{"it yields to nothing", fails("one"), "", catalogue.Fail},
		{"a minor one", fails("one"), "b/lesser", catalogue.Fail},
		{"it yields to an entry that yields", shared, "b/too", catalogue.Skip},
	} {
		out := testRun{
			script: wrong,
			checks: []testCheck{
				{id: "a/one", check: check.Probe(tt.run), yieldsTo: strings.Fields(tt.yields)},
				{id: "b/errors", check: errors}, {id: "b/passes", check: checkWithVerdict(catalogue.Pass)},
				{id: "b/lesser", check: check.Watch(func(t *check.T, w check.Wire) {
					t.Judge(w.Errors(),
						func(t *check.T, m check.Message) { t.FailAt(catalogue.Should, "no error", "one") })
				})},
				{id: "b/too", check: check.Probe(shared), yieldsTo: []string{"b/errors"}},
			},
			options: Options{Profile: catalogue.Release},
		}.run(t)
		message := ""
		if tt.verdict == catalogue.Skip {
			message = "same cause as b/errors"
		}
		t.Log(tt.name)
		out.wantVerdict(t, "b/errors", catalogue.Fail, "")
		out.wantVerdict(t, "a/one", tt.verdict, message)
		r := out.results["a/one"]
		if r.Gates != (tt.verdict == catalogue.Fail) || (r.Findings == nil) != (tt.verdict == catalogue.Skip) ||
			len(r.Locations) == 0 {
			t.Errorf("%s: got %+v", tt.name, r)
		}
	}
}

// TestYieldToViolatedEntry checks that a fail yields to the entry that is about exactly its violation, also when the
// two were found in different messages, as after invalid input.
func TestYieldToViolatedEntry(t *testing.T) {
	fails := check.Probe(func(t *check.T) {
		t.Expect(t.Send(t.Session(check.ForInvalidInput), "one", nil)).To(check.BeError(-32601))
	})
	partly := check.Probe(func(t *check.T) { t.Caveat("something is left out") })
	for _, tt := range []struct {
		code    string
		cause   check.Check
		verdict catalogue.Verdict
	}{
		{`"-32601"`, checkWithVerdict(catalogue.Fail), catalogue.Skip},
		{"-32600.5", checkWithVerdict(catalogue.Fail), catalogue.Skip}, {"null",
			checkWithVerdict(catalogue.Fail), catalogue.Skip},
		{`"-32601"`, checkWithVerdict(catalogue.Pass), catalogue.Fail}, {`"-32601"`, partly, catalogue.Fail},
		{"-32600", checkWithVerdict(catalogue.Fail), catalogue.Fail},
		{"-32601.0", checkWithVerdict(catalogue.Fail), catalogue.Pass},
	} {
		const owner = "jsonrpc/error-code-integer"
		out := testRun{
			script: script{{method: "one", action: action{code: tt.code}}},
			checks: []testCheck{
				{id: "a/one", check: fails, yieldsTo: []string{owner}}, {id: owner, check: tt.cause},
			},
		}.run(t)
		t.Log(tt.code)
		out.wantVerdict(t, "a/one", tt.verdict, "")
	}
}
