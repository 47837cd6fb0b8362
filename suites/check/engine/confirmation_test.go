package engine

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestConfirmation checks that a check that does not pass on a reused session runs again, and only the second verdict
// counts.
func TestConfirmation(t *testing.T) {
	skip := func(t *check.T) { t.Skip(check.NotApplicable, "no") }
	open := func(t *check.T) { t.NoVerdict(check.Undecided, "no") }
	again := func(t *check.T) { t.Retry(check.Undecided, "no") }
	fail := func(t *check.T) { t.Fail("this", "that") }
	broken := func(*check.T) { panic("oh") }
	reusing := func(ends ...func(*check.T)) func(*check.T) { // the last of ends is how it ends in a confirmation
		return func(t *check.T) {
			t.Session()
			if !t.IsConfirmation() {
				ends[0](t)
			}
			ends[len(ends)-1](t)
		}
	}
	pass := func(*check.T) {}
	tests := []struct {
		name     string
		check    check.Check
		isolate  bool
		verdict  catalogue.Verdict
		attempts int
	}{
		{"a pass", check.Probe(reusing(pass)), false, catalogue.Pass, 1},
		{"a skip", check.Probe(reusing(skip)), false, catalogue.Skip, 1},
		{"an inconclusive check", check.Probe(reusing(open)), false, catalogue.Inconclusive, 1},
		{"a retry that passes", check.Probe(reusing(again, pass)), false, catalogue.Pass, 2},
		{"a retry that does not", check.Probe(reusing(again)), false, catalogue.Inconclusive, 2},
		{"a fail", check.Probe(reusing(fail)), false, catalogue.Fail, 2},
		{"a fail caused by others", check.Probe(reusing(fail, pass)), false, catalogue.Pass, 2},
		{"a minor fail", check.Probe(reusing(func(t *check.T) { t.FailAt(catalogue.Should, "this", "that") })), false,
			catalogue.Fail, 1},
		{"a minor fail that needs confirmation", check.Probe(func(t *check.T) {
			check.NeedsConfirmation(t)
			t.FailAt(catalogue.Should, "this", "that")
		}), false, catalogue.Fail, 2},
		{"a fail that is a skip when confirmed", check.Probe(reusing(fail, skip)), false, catalogue.Skip, 2},
		{"a panic", check.Probe(reusing(broken)), false, catalogue.Error, 2},
		{"a fail on a session of its own", check.Probe(func(t *check.T) { t.Session(check.Exclusive); fail(t) }), false,
			catalogue.Fail, 1},
		{"a fail on a process of its own", check.ProcessProbe(func(t *check.T) { t.Session(check.Process); fail(t) }),
			false,
			catalogue.Fail, 1},
		{"a fail without a session", check.Probe(fail), false, catalogue.Fail, 1},
		{"a fail that needs confirmation", check.Probe(func(t *check.T) { check.NeedsConfirmation(t); fail(t) }), false,
			catalogue.Fail,
			2},
		{"a fail at the end of a reused session",
			check.ShutdownProbe(func(t *check.T) { t.Session(check.ToEnd); fail(t) }), false,
			catalogue.Fail, 2},
		{"a fail of a watch", check.Watch(func(t *check.T, _ check.Wire) { fail(t) }), false, catalogue.Fail, 1},
		{"a fail where nothing is shared", check.Probe(reusing(fail)), true, catalogue.Fail, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{
				checks:  []testCheck{{id: "a/uses", check: usesSession}, {id: "a/tried", check: tt.check}},
				options: Options{Jobs: 1, Isolate: tt.isolate},
			}.run(t)
			out.wantVerdict(t, "a/tried", tt.verdict, "")
			out.wantAttempts(t, "a/tried", tt.attempts)
		})
	}
}

// TestConfirmationOfShutdownProbe checks that a confirmed shutdown probe does not affect the sessions of others.
func TestConfirmationOfShutdownProbe(t *testing.T) {
	out := testRun{
		checks: []testCheck{
			{id: "a/two", check: check.Probe(func(t *check.T) { t.Session(); t.Session(check.Exclusive) })},
			{id: "a/end",
				check: check.ShutdownProbe(func(t *check.T) { t.Session(check.ToEnd); t.Fail("this", "that") })},
		},
		options: Options{Jobs: DefaultJobs},
	}.run(t) // it checks that all sessions have ended
	out.wantAttempts(t, "a/end", 2)
}

// TestConfirmationOnTheWire checks that the effects of an earlier check are not held against the server, here one that
// answers only one list in a session.
func TestConfirmationOnTheWire(t *testing.T) {
	tests := []struct {
		name    string
		script  script
		verdict catalogue.Verdict
		// processes are the processes in which the three checks ran last.
		processes string
	}{
		{"a stateless server", nil, catalogue.Pass, "1 1 1"},
		{"one that answers one list per session", script{{method: "tools/list", nth: 2, action: answersError(-1)}},
			catalogue.Pass,
			"1 2 3"},
		{"one that always does so", script{{method: "tools/list", process: 1, from: 2, action: answersError(-1)},
			{method: "tools/list", process: 2, action: answersError(-1)}}, catalogue.Fail, "1 2 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := make([]string, 3)
			part := func(i int, id string) testCheck {
				return testCheck{id: id, check: check.Probe(func(t *check.T) {
					s := t.Session()
					in[i] = strings.TrimPrefix(s.Name(), "session ")
					if i < 2 {
						listTools(t)
					}
				})}
			}
			out := testRun{
				script: tt.script, options: Options{Jobs: 1},
				checks: []testCheck{part(0, "a/first"), part(1, "a/second"), part(2, "a/third")},
			}.run(t)
			out.wantVerdict(t, "a/second", tt.verdict, "")
			if got := strings.Join(in, " "); got != tt.processes {
				t.Errorf("the checks ran in the processes %s, want %s", got, tt.processes)
			}
		})
	}
}

// TestHealthCheckBetweenConfirmations checks that a health check between confirmations in one session finds a server
// that stops to respond after one of them, and that the failure is then retried.
func TestHealthCheckBetweenConfirmations(t *testing.T) {
	lesser := func(t *check.T) {
		check.NeedsConfirmation(t)
		t.Send(t.Session(), "tools/list", nil)
		t.FailAt(catalogue.Should, "this", "that")
	}
	tests := []struct {
		name   string
		script script
		// attempts is the number for the first check.
		attempts int
	}{
		{"a server that serves", nil, 2},
		{"one that gets silent after the first check", script{
			{method: "ping", process: 2, from: 2, action: staysSilent},
		}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{
				script: tt.script, options: Options{Jobs: 1},
				checks: []testCheck{{id: "a/one", check: check.Probe(lesser)},
					{id: "a/two", check: check.Probe(lesser)}},
			}.run(t)
			for _, id := range []string{"a/one", "a/two"} {
				out.wantVerdict(t, id, catalogue.Fail, "")
			}
			out.wantAttempts(t, "a/one", tt.attempts)
			out.wantAttempts(t, "a/two", 2)
		})
	}
}
