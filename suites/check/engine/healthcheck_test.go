package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/health"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestHealthCheck checks that a server that serves no session to its end has one fault, and that checks with long
// sessions do not fail.
func TestHealthCheck(t *testing.T) {
	long := func(t *check.T) {
		s := t.Session(check.Exclusive)
		for range 4 {
			t.Expect(t.Send(s, "tools/list", nil, check.AllowSilence)).To(check.BeAnswered())
		}
	}
	failsEarly := func(does action) script {
		return script{{method: "tools/list", from: 4, action: does}, {method: "ping", from: 5, action: does}}
	}
	const ends = "not tried: the server serves no session to its end: where nothing but ping is asked, " +
		"it ends after 4 answers: "
	tests := []struct {
		name    string
		script  script
		verdict catalogue.Verdict
		message string
		// control says that a health check has failed.
		control bool
	}{
		{"a server that serves", nil, catalogue.Pass, "", false},
		{
			"one that does not answer a fourth list",
			script{{method: "tools/list", from: 4, action: staysSilent}},
			catalogue.Fail,
			"",
			false,
		},
		{"one that exits at a fourth list", script{{method: "tools/list", from: 4, action: exits}}, catalogue.Fail,
			"", false},
		{"one that gets silent", failsEarly(staysSilent), catalogue.Inconclusive,
			ends + "no answer to ping within 5s (--timeout)",
			true},
		{"one that exits early", failsEarly(exits), catalogue.Inconclusive, ends + "the server exited with status 1",
			true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var failed *driver.Session
			out := testRun{script: tt.script, options: Options{Jobs: 1}, checks: []testCheck{
				{id: "a/long", check: check.Probe(long)},
				{id: "a/watch", check: check.Watch(func(t *check.T, _ check.Wire) { failed, _ = check.ServerDown(t) })},
			}}.run(t)
			out.wantVerdict(t, "a/long", tt.verdict, tt.message)
			if (failed != nil) != tt.control || (out.problem != "") != tt.control {
				t.Errorf("a health check has failed: %v; problem %q", failed, out.problem)
			}
		})
	}
}

// TestHealthCheckAfterReset checks that a failed health check is forgotten if one after the reset passes.
func TestHealthCheckAfterReset(t *testing.T) {
	var failed *driver.Session
	out := testRun{
		script: script{
			{method: "tools/list", process: 1, action: staysSilent},
			{method: "ping", process: 2, from: 2, action: staysSilent},
			{method: "ping", process: 3, from: 2, action: staysSilent},
		},
		checks: []testCheck{
			{id: "a/one", check: check.Probe(func(t *check.T) {
				s := t.Session(check.Exclusive)
				r := t.Send(s, "tools/list", nil, check.AllowSilence)
				for range health.HealthCheckThreshold - 1 {
					t.Send(s, "tools/list", nil, check.AllowSilence)
				}
				t.Expect(r).To(check.BeAnswered())
			})},
			{id: "a/two", check: usesSession},
			{id: "a/watch", check: check.Watch(func(t *check.T, _ check.Wire) { failed, _ = check.ServerDown(t) })},
		},
		options: Options{Jobs: 1},
	}.run(t)
	out.wantVerdict(t, "a/one", catalogue.Pass, "")
	out.wantVerdict(t, "a/two", catalogue.Pass, "")
	out.wantAttempts(t, "a/two", 1)
	if failed != nil || out.problem != "" {
		t.Errorf("a health check has failed: %v; problem %q", failed, out.problem)
	}
}

// TestWaitsAreBounded checks that a run waits only a few times for a silent server, however many checks there are.
func TestWaitsAreBounded(t *testing.T) {
	tests := []struct {
		name   string
		script script
		most   time.Duration
	}{
		{"silent after the handshake", script{{method: "initialize"}, {action: staysSilent}}, 30 * time.Second},
		{"silent after a few messages", script{{method: "tools/list", from: 2, action: staysSilent},
			{method: "ping", from: 3, action: staysSilent}}, 60 * time.Second},
		{"no process starts", script{{action: staysSilent}}, 90 * time.Second},
	}
	for _, tt := range tests {
		s := testRun{script: tt.script, options: Options{Jobs: 4}}
		for i := range 60 {
			s.checks = append(s.checks, testCheck{id: fmt.Sprint("a/", i), check: check.Probe(func(t *check.T) {
				s := t.Session(check.Exclusive)
				t.Send(s, "tools/list", nil)
				t.Send(s, "tools/list", nil)
			})})
		}
		out := s.run(t)
		if out.duration > tt.most || out.problem == "" {
			t.Errorf("%s: it took %v; problem %q", tt.name, out.duration, out.problem)
		}
	}
}

// TestRunsOnce checks that the problem of a server that can be started only once says so.
func TestRunsOnce(t *testing.T) {
	out := testRun{
		script: script{{method: "initialize", process: 1}, {process: 1}, {action: exits}},
		checks: []testCheck{
			{id: "a/one", check: usesSession},
			{id: "a/two", check: check.ProcessProbe(func(t *check.T) {
				t.Expect(t.Session(check.Process).Connect(driver.ConnectParams(catalogue.NewestLegacy))).
					To(check.BeResult())
			})},
		},
		options: Options{Jobs: 1}, withDiscovery: true,
	}.run(t)
	const want = "no session could be opened after the first one, as if the server could run only once: " +
		"the server exited with status 1"
	out.wantVerdict(t, "a/one", catalogue.Pass, "")
	out.wantVerdict(t, "a/two", catalogue.Inconclusive, "not tried: "+want)
	if out.problem != want {
		t.Errorf("problem %q", out.problem)
	}
}

// TestConcurrentRequests checks that responses to concurrent requests are awaited together, and that a server that
// handles one request at a time has the whole timeout for each.
func TestConcurrentRequests(t *testing.T) {
	tests := []struct {
		name     string
		does     action
		answered int
		took     time.Duration
	}{
		{"answered", action{}, 4, 0},
		{"silent", staysSilent, 0, 5 * time.Second},
		{"one at a time", delays(3 * time.Second), 4, 12 * time.Second},
		{"too slow", delays(6 * time.Second), 0, 5 * time.Second},
	}
	for _, tt := range tests {
		answered, took := 0, time.Duration(0)
		testRun{
			script: script{{method: "list", action: tt.does}}, options: Options{Jobs: 1},
			checks: []testCheck{{id: "a/one", check: check.Probe(func(t *check.T) {
				s := t.Session(check.Exclusive)
				begin := time.Now()
				var all []driver.Pending
				for range 4 {
					all = append(all, s.Request("list", nil))
				}
				for _, p := range all {
					if s.Await(p).Answered() {
						answered++
					}
				}
				took = time.Since(begin)
			})}},
		}.run(t)
		if answered != tt.answered || took != tt.took {
			t.Errorf("%s: got %d responses in %v, want %d in %v", tt.name, answered, took, tt.answered, tt.took)
		}
	}
}

// TestBarrier checks that another request proves that the server is alive if the no-op gets no response.
func TestBarrier(t *testing.T) {
	tests := []struct {
		name     string
		declares string
		verdict  catalogue.Verdict
	}{
		{"a list that is declared", `{"tools":{}}`, catalogue.Pass},
		{"no list", `{}`, catalogue.Inconclusive},
	}
	for _, tt := range tests {
		welcome := fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s}`, catalogue.NewestLegacy, tt.declares)
		out := testRun{
			script: script{{method: "initialize", action: action{result: welcome}},
				{method: "ping", action: staysSilent}},
			checks: []testCheck{{id: "a/one", check: check.Probe(func(t *check.T) {
				s := t.Session(check.Exclusive)
				mark := s.Mark()
				s.Notify("nothing", nil)
				t.Expect(check.Barrier(t, s, mark)).To(check.BeEmptyList[*driver.Frame]("nothing"))
			})}},
			options: Options{Jobs: 1},
		}.run(t)
		out.wantVerdict(t, "a/one", tt.verdict, "")
	}
}
