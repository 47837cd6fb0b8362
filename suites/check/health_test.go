package check

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestHealth checks that a run waits only a few times for a server that has stopped to serve, and only a few times
// again after a reset.
func TestHealth(t *testing.T) {
	start := func(t *T) { t.Session(Exclusive) }
	ask := func(t *T) { t.Send(t.Session(Exclusive), "tools/list", nil) }
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
		run    func(*T)
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
		{"ping is", script{{method: "tools/list", action: staysSilent}}, func(t *T) {
			s := t.Session(Exclusive)
			r := t.Send(s, "tools/list", nil, AllowSilence)
			t.Send(s, "ping", nil, AllowSilence)
			t.Expect(r).To(BeAnswered())
		}, catalogue.Fail, "", "tools/list", 8 + 1},
		{"invalid input caused it", script{{method: "tools/list", action: staysSilent}}, func(t *T) {
			t.Send(t.Session(ForInvalidInput), "tools/list", nil)
		}, catalogue.Inconclusive, "", "tools/list", 8 + 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := testRun{script: tt.script, options: Options{Jobs: 1}}
			for i := range 8 {
				s.checks = append(s.checks, testCheck{id: fmt.Sprint("a/", i+1), check: Probe(tt.run)})
			}
			s.checks = append(s.checks, testCheck{id: "a/watch", check: Watch(func(*T, Wire) {})})
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

// TestHealthOfAServerThatHangs checks that a method that makes the server hang has no effect on checks that do not use
// it.
func TestHealthOfAServerThatHangs(t *testing.T) {
	out := testRun{
		script: script{{method: "tools/list", action: hangs}},
		checks: []testCheck{
			{id: "a/list", check: Probe(func(t *T) { listTools(t) })},
			{id: "a/tried", check: Probe(func(t *T) { t.Send(t.Session(), "tools/list", nil, AllowSilence) })},
			{id: "a/ping",
				check: Probe(func(t *T) { t.Expect(t.Send(t.Session(), "ping", nil, AllowSilence)).To(BeResult()) })},
		},
		options: Options{Jobs: 1},
	}.run(t)
	out.wantVerdict(t, "a/list", catalogue.Fail, "")
	out.wantVerdict(t, "a/tried", catalogue.Pass, "")
	out.wantVerdict(t, "a/ping", catalogue.Pass, "")
}

// TestUnansweredMethods checks after how many unanswered requests a method is known to get no response: two or, with
// nothing else running, one if it was never answered, and six in a row if it was. Later unanswered requests of such a
// method start no health check.
func TestUnansweredMethods(t *testing.T) {
	const answer, silence = true, false
	tests := []struct {
		name    string
		serial  bool
		answers []bool
		known   bool
		suspect bool
	}{
		{"once", false, []bool{silence}, false, false},
		{"once, with nothing else running", true, []bool{silence}, true, false},
		{"twice", false, []bool{silence, silence}, true, true},
		{"and answered", false, []bool{silence, silence, answer}, false, true},
		{"answered before", true, []bool{answer, silence, silence, silence, silence, silence}, false, true},
		{"and never after it", true, []bool{answer, silence, silence, silence, silence, silence, silence}, true, true},
		{"and once more", true, []bool{answer, silence, silence, silence, answer, silence, silence}, false, true},
	}
	for _, tt := range tests {
		var h health
		if tt.serial {
			h.reset()
		}
		for _, answered := range tt.answers {
			r := driver.Reply{Method: "tools/list", Err: &driver.TimeoutError{}}
			if answered {
				r = driver.Reply{Method: "tools/list", Frame: &driver.Frame{}}
			}
			h.recordReply(&driver.Session{}, r)
		}
		known, suspect := h.unansweredError("tools/list") != nil, h.needsCheck()
		if known != tt.known || suspect != tt.suspect {
			t.Errorf("%s: known as unanswered: %v, health check needed: %v", tt.name, known, suspect)
		}
	}
}

// TestLateAnswerInStep checks that a server that answers after --timeout is slow, not wrong, also if the request was
// sent in a step whose session has ended.
func TestLateAnswerInStep(t *testing.T) {
	late := func(t *T) {
		t.Expect(Step(t, "stimulus", func(t *T) driver.Reply {
			return t.Send(t.Session(), "share", nil, AllowSilence)
		})).To(BeAnswered())
	}
	out := testRun{
		script:  script{{method: "share", action: delays(8 * time.Second)}},
		checks:  []testCheck{{id: "a/one", check: Probe(late)}, {id: "a/two", check: Probe(late)}},
		options: Options{Jobs: 1},
	}.run(t)
	const want = "the server answered share, but after the --timeout of 5s"
	out.wantVerdict(t, "a/one", catalogue.Inconclusive, want)
	out.wantVerdict(t, "a/two", catalogue.Inconclusive, want)
}

// TestHealthInAnInterruptedRun checks that the end of a run is not a failure of the server.
func TestHealthInAnInterruptedRun(t *testing.T) {
	var h health
	for range 10 {
		h.recordSession(nil, fmt.Errorf("no session: %w", context.Canceled))
	}
	if reason, _ := h.downReason(); reason != "" {
		t.Errorf("the run is stopped: %s", reason)
	}
}

// TestSessionsOfAStoppedRun checks that sessions are opened as long as that is possible, even if none of them lasts.
func TestSessionsOfAStoppedRun(t *testing.T) {
	for _, failed := range []*driver.Session{nil, {}} {
		var h health
		h.failCheck(failed, errors.New("of a control"))
		if stopped := h.noSessionError() != nil; stopped != (failed == nil) {
			t.Errorf("stopped is %v after a health check in %v", stopped, failed)
		}
	}
}
