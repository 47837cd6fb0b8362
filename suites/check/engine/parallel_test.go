package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestParallel checks that the parts of a check run at the same time, unless only one case may run at a time.
func TestParallel(t *testing.T) {
	tests := []struct {
		name  string
		jobs  int
		again bool // whether it is retried with nothing else running
		took  time.Duration
	}{
		{"at a time", 8, false, time.Second},
		{"with one job", 1, false, 3 * time.Second},
		{"one case at a time", 8, true, 3 * time.Second},
	}
	for _, tt := range tests {
		var tried bool
		out := testRun{
			script: script{{method: "tools/list", action: delays(time.Second)},
				{method: "silence", action: staysSilent}},
			checks: []testCheck{{id: "a/together", check: check.Probe(func(t *check.T) {
				if tt.again && !tried {
					tried = true
					t.Send(t.Session(check.Exclusive), "silence", nil)
				}
				check.Parallel(t, 3, func(t *check.T, _ int) { t.Send(t.Session(check.Exclusive), "tools/list", nil) })
			})}},
			options: Options{Jobs: tt.jobs},
		}.run(t)
		out.wantVerdict(t, "a/together", catalogue.Pass, "")
		if got := time.Duration(out.results["a/together"].Seconds) * time.Second; got != tt.took {
			t.Errorf("%s: three parts of a second took %v, want %v", tt.name, got, tt.took)
		}
		if wire := out.results["a/together"].Evidence; len(wire) != 6 {
			t.Errorf("%s: the evidence is not that of all parts: %v", tt.name, wire)
		}
	}
}

// TestParallelSessions checks that each part has sessions of its own, also in a confirmation.
func TestParallelSessions(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		out := testRun{
			checks: []testCheck{{id: "a/together", check: check.Probe(func(t *check.T) {
				names := map[string]bool{t.Session().Name(): true}
				check.Parallel(t, 2, func(t *check.T, _ int) { names[t.Session().Name()] = true })
				t.Expect(len(names)).To(check.BeOneOf(3))
			})}},
			options: Options{Jobs: 1, Isolate: isolate},
		}.run(t)
		out.wantVerdict(t, "a/together", catalogue.Pass, "")
	}
}

// TestParallelStops checks that the check ends as the first of its failing parts, whichever ended first.
func TestParallelStops(t *testing.T) {
	tests := []struct {
		parts   string
		verdict catalogue.Verdict
		message string
	}{
		{"pass pass", catalogue.Pass, ""},
		{"pass skip fail", catalogue.Skip, "part 1"},
		{"pass fail skip", catalogue.Fail, "expected part 1\ngot that"},
		{"open skip", catalogue.Inconclusive, "part 0"},
		{"pass panic", catalogue.Error, ""},
	}
	for _, tt := range tests {
		out := testRun{
			checks: []testCheck{{id: "a/together", check: check.Probe(func(t *check.T) {
				parts := strings.Fields(tt.parts)
				check.Parallel(t, len(parts), func(t *check.T, i int) {
					time.Sleep(time.Duration(len(parts)-i) * time.Second) // so that the last part ends first
					endPart(t, parts[i], fmt.Sprint("part ", i))
				})
			})}},
		}.run(t)
		out.wantVerdict(t, "a/together", tt.verdict, tt.message)
	}
}

// TestParallelIsConfirmed checks that a verdict rests on what its parts rest on: reused sessions and silent servers.
func TestParallelIsConfirmed(t *testing.T) {
	tests := []struct {
		name     string
		script   script
		run      func(*check.T)
		verdict  catalogue.Verdict
		attempts int
	}{
		{"on sessions that others have used", script{{method: "tools/list", nth: 2, action: answersError(-1)}},
			func(t *check.T) { listTools(t) }, catalogue.Pass, 2},
		{"on a silent server", script{{method: "slow", process: 2, action: staysSilent}},
			func(t *check.T) {
				t.Expect(t.Send(t.Session(check.Exclusive), "slow", nil, check.AllowSilence)).To(check.BeAnswered())
			}, catalogue.Pass, 2},
		{"on a step that found it silent", script{{method: "slow", process: 2, action: staysSilent}},
			func(t *check.T) {
				answered := check.Step(t, "step",
					func(t *check.T) bool {
						return t.Send(t.Session(check.Exclusive), "slow", nil, check.AllowSilence).Answered()
					})
				t.Expect(answered).To(check.BeOneOf(true))
			}, catalogue.Pass, 2},
	}
	for _, tt := range tests {
		t.Log(tt.name)
		out := testRun{
			script: tt.script,
			checks: []testCheck{{id: "a/uses", check: usesSession},
				{id: "a/together", check: check.Probe(func(t *check.T) {
					check.Parallel(t, 1, func(t *check.T, _ int) { tt.run(t) })
				})}},
			options: Options{Jobs: 1},
		}.run(t)
		out.wantVerdict(t, "a/together", tt.verdict, "")
		out.wantAttempts(t, "a/together", tt.attempts)
		if wire := out.results["a/together"].Evidence; len(wire) != 2 || wire[1].Arrow != "←" {
			t.Errorf("the evidence is not that of the part: %v", wire)
		}
	}
}

// TestStep checks that a step runs once for all checks, once for all confirmations, and once with nothing else running.
func TestStep(t *testing.T) {
	tests := []struct {
		name   string
		script script
		jobs   int
		// times is how often the step runs.
		times  int
		values string
	}{
		{"one after the other", nil, 1, 1, "1 1 1"},
		{"at the same time", script{{method: "share", action: delays(time.Second)}}, 8, 1, ""},
		{"alone once for all", script{{method: "share", process: 1, action: answersError(-1)}}, 1, 2, "2 2 2"},
		{"once for all that are retried", script{{method: "share", process: 1, action: staysSilent}},
			1, 2, "3 3 3"}, // the second process is a health check
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			values := map[string]string{}
			sharing := func(id string) testCheck {
				return testCheck{id: id, check: check.Probe(func(t *check.T) {
					r := check.Step(t, "step", func(t *check.T) check.M {
						r := t.Send(t.Session(), "share", nil, check.AllowSilence)
						t.Expect(r).To(check.BeResult())
						return r.Result()
					})
					mu.Lock()
					defer mu.Unlock()
					values[id] = fmt.Sprint(r["process"])
				})}
			}
			out := testRun{
				script:  tt.script,
				checks:  []testCheck{{id: "a/0", check: usesSession}, sharing("a/1"), sharing("a/2"), sharing("a/3")},
				options: Options{Jobs: tt.jobs},
			}.run(t)
			for _, id := range []string{"a/1", "a/2", "a/3"} {
				out.wantVerdict(t, id, catalogue.Pass, "")
			}
			if got := out.countReceived("share"); got != tt.times {
				t.Errorf("the step ran %d times, want %d", got, tt.times)
			}
			if got := values["a/1"] + " " + values["a/2"] + " " + values["a/3"]; tt.values != "" && got != tt.values {
				t.Errorf("the checks got the values of the processes %s, want %s", got, tt.values)
			}
		})
	}
}

// TestStepInConfirmation checks that a step that passed on sessions of its own without a fault is not run again.
func TestStepInConfirmation(t *testing.T) {
	tests := []struct {
		name   string
		script script
		// times is how often the step runs.
		times int
	}{
		{"sound", nil, 1},
		{"with a fault", script{{method: "share", nth: 1, process: 2, action: staysSilent}}, 2},
	}
	for _, tt := range tests {
		sharing := check.Probe(func(t *check.T) {
			check.Step(t, "step",
				func(t *check.T) bool {
					return t.Send(t.Session(check.Exclusive), "share", nil, check.AllowSilence).Answered()
				})
			t.Expect(listTools(t)).To(check.BeError(-1))
		})
		out := testRun{
			script:  tt.script,
			checks:  []testCheck{{id: "a/uses", check: usesSession}, {id: "a/shares", check: sharing}},
			options: Options{Jobs: 1},
		}.run(t)
		out.wantVerdict(t, "a/shares", catalogue.Fail, "")
		if got := out.countReceived("share"); got != tt.times {
			t.Errorf("%s: the step ran %d times, want %d", tt.name, got, tt.times)
		}
	}
}

// TestStepStops checks that a step that does not pass ends every check that reads it in the same way, with the same
// evidence, and runs once.
func TestStepStops(t *testing.T) {
	for how, verdict := range map[string]catalogue.Verdict{
		"skip": catalogue.Skip, "open": catalogue.Inconclusive, "fail": catalogue.Fail, "panic": catalogue.Error,
		"pass": catalogue.Pass,
	} {
		twice := check.Probe(func(t *check.T) {
			for range 2 {
				check.Step(t, "step", func(t *check.T) bool {
					t.Send(t.Session(), "share", nil)
					endPart(t, how, "step")
					return true
				})
			}
		})
		for _, isolate := range []bool{false, true} {
			out := testRun{
				checks:  []testCheck{{id: "a/one", check: twice}, {id: "a/two", check: twice}},
				options: Options{Jobs: 1, Isolate: isolate},
			}.run(t)
			for _, id := range []string{"a/one", "a/two"} {
				out.wantVerdict(t, id, verdict, "")
				wire := out.results[id].Evidence
				if len(wire) != 2 || !strings.Contains(wire[0].Text, `"share"`) {
					t.Errorf("%s, isolate %v: %s does not have the evidence of the step: %v", how, isolate, id, wire)
				}
			}
			if out.countReceived("share") != 1 {
				t.Errorf("%s, isolate %v: the step ran %d times", how, isolate, out.countReceived("share"))
			}
		}
	}
}

// TestDeferred checks that a deferred part of a step ends only the checks that need it.
func TestDeferred(t *testing.T) {
	for how, verdict := range map[string]catalogue.Verdict{
		"skip": catalogue.Skip, "open": catalogue.Inconclusive, "fail": catalogue.Fail, "panic": catalogue.Error,
		"pass": catalogue.Pass,
	} {
		step := func(t *check.T) (part func()) {
			return check.Step(t, "step", func(t *check.T) func() {
				return check.Deferred(t, func() { endPart(t, how, "part") })
			})
		}
		out := testRun{checks: []testCheck{
			{id: "a/wants", check: check.Probe(func(t *check.T) { step(t)() })},
			{id: "a/other", check: check.Probe(func(t *check.T) { step(t) })},
		}}.run(t)
		out.wantVerdict(t, "a/wants", verdict, "")
		out.wantVerdict(t, "a/other", catalogue.Pass, "")
	}
}

// TestWatchAfterSerialRetry checks that a step that passed on a reused session is not run again for a watch, although
// some cases were retried with nothing else running.
func TestWatchAfterSerialRetry(t *testing.T) {
	step := func(t *check.T) {
		check.Step(t, "step", func(t *check.T) bool {
			check.NeedsConfirmation(t)
			return t.Send(t.Session(), "share", nil, check.AllowSilence).Answered()
		})
	}
	out := testRun{
		script: script{{method: "hang", action: staysSilent}},
		checks: []testCheck{
			{id: "a/doubtful",
				check: check.Probe(func(t *check.T) { t.Send(t.Session(check.Exclusive), "hang", nil) })},
			{id: "a/watch", check: check.WatchWithSetup(step, func(t *check.T, _ check.Wire) { step(t) })},
		},
	}.run(t)
	out.wantVerdict(t, "a/watch", catalogue.Pass, "")
	if out.attempts["a/doubtful"] < 2 || out.countReceived("share") != 1 {
		t.Errorf("the step ran %d times, want once", out.countReceived("share"))
	}
}
