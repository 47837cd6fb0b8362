package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/health"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestHealth checks that a run waits only a few times for a server that has stopped to serve, and only a few times
// again after a reset.
func TestHealth(t *testing.T) {
	start := func(t *check.T) { t.Session(check.Exclusive) }
	ask := func(t *check.T) { t.Send(t.Session(check.Exclusive), "tools/list", nil) }
	dying := func(processes ...int) (s script) {
		for _, n := range processes {
			s = append(s, rule{method: "initialize", process: n, action: exits})
		}
		return s
	}
	var later script
	for n := range 30 {
		later = append(later, rule{method: "tools/list", process: n + 2, action: staysSilent})
	}
	const gone = "the server can no longer be talked to: the server exited with status 1"
	tests := []struct {
		name   string
		script script
		run    func(*check.T)
		// verdict is that of the last of eight checks.
		verdict catalogue.Verdict
		problem string
		// method is a method whose number of requests is compared.
		method string
		times  int
	}{
		{"a server that serves", nil, start, catalogue.Pass, "", "initialize", 8},
		{
			"no process starts",
			script{{method: "initialize", action: exits}},
			start,
			catalogue.Inconclusive,
			gone,
			"initialize",
			3 + 2,
		},
		{"two in a row do not, and one does", dying(1, 2, 4, 5), start, catalogue.Pass, "", "initialize", 8 + 4 + 1},
		{"three do not, and later all do", dying(1, 2, 3), start, catalogue.Pass, "", "initialize", 3 + 8 + 1},
		{
			"no list is answered",
			script{{method: "tools/list", action: staysSilent}},
			ask,
			catalogue.Inconclusive,
			"",
			"tools/list",
			2 + 1,
		},
		{
			"no list is answered any more",
			later,
			ask,
			catalogue.Inconclusive,
			"",
			"tools/list",
			1 + 6 + 6,
		},
		{"ping is", script{{method: "tools/list", action: staysSilent}}, func(t *check.T) {
			s := t.Session(check.Exclusive)
			r := t.Send(s, "tools/list", nil, check.AllowSilence)
			t.Send(s, "ping", nil, check.AllowSilence)
			t.Expect(r).To(check.BeAnswered())
		}, catalogue.Fail, "", "tools/list", 8 + 1},
		{"invalid input caused it", script{{method: "tools/list", action: staysSilent}}, func(t *check.T) {
			t.Send(t.Session(check.ForInvalidInput), "tools/list", nil)
		}, catalogue.Inconclusive, "", "tools/list", 8 + 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := testRun{script: tt.script, options: Options{Jobs: 1}}
			for i := range 8 {
				s.checks = append(s.checks, testCheck{id: fmt.Sprint("a/", i+1), check: check.Probe(tt.run)})
			}
			s.checks = append(s.checks, testCheck{id: "a/watch", check: check.Watch(func(*check.T, check.Wire) {})})
			out := s.run(t)
			message := ""
			if tt.problem != "" {
				message = "not tried: " + tt.problem
			}
			out.wantVerdict(t, "a/8", tt.verdict, message)
			out.wantVerdict(t, "a/watch", catalogue.Pass, "")
			if out.problem != tt.problem || out.countReceived(tt.method) != tt.times {
				t.Errorf(
					"%s was received %d times, want %d; problem %q",
					tt.method,
					out.countReceived(tt.method),
					tt.times,
					out.problem,
				)
			}
		})
	}
}

// TestReportedSilenceIsNotRetried checks that what rests on the silence of a method is not retried once a failure has
// reported that with nothing else running, even if only invalid input has shown it, and that what yields to a failure
// is not retried either.
func TestReportedSilenceIsNotRetried(t *testing.T) {
	ask := func(t *check.T, method string) driver.Reply {
		return t.Send(t.Session(check.ForInvalidInput), method, nil, check.AllowSilence)
	}
	yield := check.Probe(func(t *check.T) {
		if ask(t, "tools/list").Err != nil {
			t.Yield("it is not answered")
		}
	})
	out := testRun{
		script: script{{method: "mcpcheck/none", action: staysSilent}, {method: "tools/list", action: staysSilent}},
		checks: []testCheck{
			{id: "a/other", check: check.Probe(func(t *check.T) {
				t.Retry(check.Silent, "%v", ask(t, "mcpcheck/none").Err)
			})},
			{id: "a/yields", check: yield, yieldsTo: []string{"b/fails"}},
			{id: "b/fails", check: check.Probe(func(t *check.T) {
				t.Expect(ask(t, "mcpcheck/none")).To(check.BeAnswered())
			})},
		},
		options: Options{Jobs: 1},
	}.run(t)
	out.wantVerdict(t, "b/fails", catalogue.Fail, "")
	out.wantVerdict(t, "a/other", catalogue.Inconclusive, "")
	out.wantVerdict(t, "a/yields", catalogue.Skip, "")
	if n := out.countReceived("mcpcheck/none"); n != 3 {
		t.Errorf("mcpcheck/none was received %d times", n)
	}
	if n := out.countReceived("tools/list"); n != 1 {
		t.Errorf("tools/list was received %d times", n)
	}
}

// TestHealthOfAServerThatHangs checks that a method that makes the server hang has no effect on checks that do not use
// it.
func TestHealthOfAServerThatHangs(t *testing.T) {
	out := testRun{
		script: script{{method: "tools/list", action: hangs}},
		checks: []testCheck{
			{id: "a/list", check: check.Probe(func(t *check.T) { listTools(t) })},
			{id: "a/tried",
				check: check.Probe(func(t *check.T) { t.Send(t.Session(), "tools/list", nil, check.AllowSilence) })},
			{id: "a/ping", check: check.Probe(func(t *check.T) {
				t.Expect(t.Send(t.Session(), "ping", nil, check.AllowSilence)).To(check.BeResult())
			})},
		},
		options: Options{Jobs: 1},
	}.run(t)
	out.wantVerdict(t, "a/list", catalogue.Fail, "")
	out.wantVerdict(t, "a/tried", catalogue.Pass, "")
	out.wantVerdict(t, "a/ping", catalogue.Pass, "")
}

// TestLateAnswerInStep checks that a server that answers after --timeout is slow, not wrong, also if the request was
// sent in a step whose session has ended.
func TestLateAnswerInStep(t *testing.T) {
	late := func(t *check.T) {
		t.Expect(check.Step(t, "stimulus", func(t *check.T) driver.Reply {
			return t.Send(t.Session(), "share", nil, check.AllowSilence)
		})).To(check.BeAnswered())
	}
	out := testRun{
		script:  script{{method: "share", action: delays(8 * time.Second)}},
		checks:  []testCheck{{id: "a/one", check: check.Probe(late)}, {id: "a/two", check: check.Probe(late)}},
		options: Options{Jobs: 1},
	}.run(t)
	const want = "the server answered share, but after the --timeout of 5s"
	out.wantVerdict(t, "a/one", catalogue.Inconclusive, want)
	out.wantVerdict(t, "a/two", catalogue.Inconclusive, want)
}

// TestHealthInAnInterruptedRun checks that the end of a run is not a failure of the server.
func TestHealthInAnInterruptedRun(t *testing.T) {
	var h health.Health
	for range 10 {
		h.RecordSession(nil, fmt.Errorf("no session: %w", context.Canceled))
	}
	if reason, _ := h.DownReason(); reason != "" {
		t.Errorf("the run is stopped: %s", reason)
	}
}
