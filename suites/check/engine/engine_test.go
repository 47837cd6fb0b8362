package engine

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// usesSession is a check that uses a session, which others may use afterwards.
var usesSession = check.Probe(func(t *check.T) { t.Send(t.Session(), "tools/list", nil) })

// TestRetrySerially checks that a verdict that rests on a silent or exited server is retried with nothing else running.
func TestRetrySerially(t *testing.T) {
	silence := func(t *check.T) {
		t.Expect(t.Send(t.Session(check.Exclusive), "tools/list", nil, check.AllowSilence)).To(check.BeAnswered())
	}
	asked := func(t *check.T) { t.Send(t.Session(check.Exclusive), "tools/list", nil) }
	underLoad := func(does action) script { return script{{method: "tools/list", inParallel: true, action: does}} }
	always := func(does action) script { return script{{method: "tools/list", action: does}} }
	tests := []struct {
		name     string
		script   script
		check    func(func(*check.T)) check.Check
		run      func(*check.T)
		verdict  catalogue.Verdict
		attempts int
	}{
		{"one that answers", nil, check.Probe, silence, catalogue.Pass, 1},
		{"silent under load", underLoad(staysSilent), check.Probe, silence, catalogue.Pass, 2},
		{"exits under load", underLoad(exits), check.Probe, silence, catalogue.Pass, 2},
		{"exits under load, with an idle session", underLoad(exits), check.Probe, func(t *check.T) {
			silence(t)
			check.KeepIdle(t, t.Session(check.Exclusive))
		}, catalogue.Pass, 2},
		{"no answer to Request under load", underLoad(staysSilent), check.Probe, asked, catalogue.Pass, 2},
		{"silent under load, new process", underLoad(staysSilent), check.ProcessProbe, silence, catalogue.Pass, 2},
		{"always silent", always(staysSilent), check.Probe, silence, catalogue.Fail, 2},
		{"always exits", always(exits), check.Probe, silence, catalogue.Fail, 2},
		{"never an answer to Request", always(staysSilent), check.Probe, asked, catalogue.Inconclusive, 2},
		{"an error, which load does not explain", underLoad(answersError(-1)), check.Probe, func(t *check.T) {
			t.Expect(t.Send(t.Session(check.Exclusive), "tools/list", nil, check.AllowSilence)).To(check.BeResult())
		}, catalogue.Fail, 1},
		{
			"silence that does not matter",
			underLoad(staysSilent),
			check.Probe,
			func(t *check.T) { t.Send(t.Session(check.Exclusive), "tools/list", nil, check.AllowSilence) },
			catalogue.Pass,
			1,
		},
		{"silence and an inconclusive check", underLoad(staysSilent), check.Probe, func(t *check.T) {
			t.Send(t.Session(check.Exclusive), "tools/list", nil, check.AllowSilence)
			t.NoVerdict(check.Undecided, "no")
		}, catalogue.Inconclusive, 2},
		{"silence before a response", underLoad(staysSilent), check.Probe, func(t *check.T) {
			s := t.Session(check.Exclusive)
			asked := t.Send(s, "tools/list", nil, check.AllowSilence)
			t.Send(s, "ping", nil)
			if !asked.Answered() {
				t.Skip(check.NotApplicable, "no list")
			}
		}, catalogue.Pass, 2},
		{"silence in a shutdown probe", underLoad(staysSilent), check.ShutdownProbe, silence, catalogue.Pass, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{
				script: tt.script, options: Options{Jobs: 1},
				checks: []testCheck{
					{id: "a/load", check: check.ProcessProbe(func(t *check.T) { t.Session(check.Exclusive) })},
					{id: "a/tried", check: tt.check(tt.run)},
					{id: "a/last", check: usesSession},
				},
			}.run(t)
			out.wantVerdict(t, "a/tried", tt.verdict, "")
			out.wantAttempts(t, "a/tried", tt.attempts)
		})
	}
}

// TestRetrySeriallyOneByOne checks that such cases are retried one by one, in the order of the plan, while no other
// process of the server runs.
func TestRetrySeriallyOneByOne(t *testing.T) {
	var mu sync.Mutex
	var order []string
	part := func(id string) testCheck {
		var tried bool
		return testCheck{id: id, check: check.Probe(func(t *check.T) {
			if !tried {
				tried = true
				check.Parallel(t, 2, func(t *check.T, _ int) {
					t.Expect(t.Send(t.Session(check.Exclusive), "slow", nil, check.AllowSilence)).To(check.BeAnswered())
				})
			}
			mu.Lock()
			order = append(order, id)
			mu.Unlock()
			t.Expect(listTools(t)["alone"]).To(check.BeOneOf(true))
		})}
	}
	out := testRun{
		script:  script{{method: "slow", action: staysSilent}},
		checks:  []testCheck{part("a/one"), part("a/two"), part("a/three")},
		options: Options{Jobs: 3}, exitsLate: true,
	}.run(t)
	for _, id := range []string{"a/one", "a/two", "a/three"} {
		out.wantVerdict(t, id, catalogue.Pass, "")
	}
	if diff := cmp.Diff([]string{"a/one", "a/two", "a/three"}, order); diff != "" {
		t.Error(diff)
	}
}

// TestOneClient checks that a server that can run only once is never started twice, and that checks that would need
// that are inconclusive.
func TestOneClient(t *testing.T) {
	initialize := func(t *check.T) {
		t.Expect(t.Send(t.Session(check.Process), "initialize",
			driver.ConnectParams(catalogue.NewestLegacy), check.AllowSilence)).To(check.BeResult())
	}
	newProcess := check.ProcessProbe(initialize)
	withSecond := func(second func(t *check.T)) check.Check {
		return check.Probe(func(t *check.T) {
			t.Send(t.Session(), "tools/list", nil)
			second(t)
		})
	}
	out := testRun{
		script: script{{inParallel: true, action: exits}},
		checks: []testCheck{
			{id: "a/one", check: usesSession}, {id: "a/two", check: usesSession}, {id: "a/fresh", check: newProcess},
			{id: "a/ending",
				check: check.ShutdownProbe(func(t *check.T) { t.Send(t.Session(check.ToEnd), "tools/list", nil) })},
			{id: "b/started", check: withSecond(initialize)},
			{id: "b/own",
				check: withSecond(func(t *check.T) { t.Send(t.Session(check.Exclusive), "tools/list", nil) })},
			{id: "b/parts", check: check.Probe(func(t *check.T) {
				check.Parallel(t, 2, func(t *check.T, _ int) { t.Send(t.Session(), "tools/list", nil) })
			})},
		},
		server: check.Server{OneClient: true}, options: Options{Jobs: 8}, withDiscovery: true, exitsLate: true,
	}.run(t)
	for id := range out.results {
		if strings.HasPrefix(id, "a/") {
			out.wantVerdict(t, id, catalogue.Pass, "")
		} else {
			out.wantVerdict(t, id, catalogue.Inconclusive, "it takes two processes at a time, and the server runs one")
		}
	}
	if out.maxRunning != 1 {
		t.Errorf("%d processes ran at a time", out.maxRunning)
	}
}

// TestDiscoverySession checks that checks use the session of discovery, unless the handshake failed.
func TestDiscoverySession(t *testing.T) {
	for failure, want := range map[string]int{"": 1, "it refuses": 2} {
		out := testRun{
			checks: []testCheck{{id: "a/one", check: usesSession.WhenConnectRefused()}},
			server: check.Server{Failure: failure}, options: Options{Jobs: 1}, withDiscovery: true,
		}.run(t)
		out.wantVerdict(t, "a/one", catalogue.Pass, "")
		if out.started != want || len(out.sessions) != want {
			t.Errorf("failure %q: %d processes, %d sessions, want %d", failure, out.started, len(out.sessions), want)
		}
	}
}

// TestUnusedSession checks that the unused session of discovery serves a check that wants such a session, and that
// watches judge what is sent in it.
func TestUnusedSession(t *testing.T) {
	out := testRun{
		checks: []testCheck{
			{id: "a/one", check: usesSession},
			{id: "a/fresh",
				check: check.ProcessProbe(func(t *check.T) { t.Send(t.Session(check.Exclusive), "tools/list", nil) })},
			{id: "a/watch", check: check.Watch(func(t *check.T, w check.Wire) {
				greetings, lists := len(w.ResultsOf("initialize").List), len(w.ResultsOf("tools/list").List)
				if greetings != 2 || lists != 2 {
					t.Fail("those of two sessions", "%d greetings and %d lists", greetings, lists)
				}
			})},
		},
		options: Options{Jobs: 1}, withDiscovery: true, withUnused: true,
	}.run(t)
	for id := range out.results {
		out.wantVerdict(t, id, catalogue.Pass, "")
	}
	if out.started != 2 {
		t.Errorf("%d processes were started, want only those of discovery", out.started)
	}
}

// TestJobs checks that processes are started ahead of the checks that need them, unless only one check runs at a time.
func TestJobs(t *testing.T) {
	tests := []struct {
		jobs int
		// atATime is the number of checks that run at a time.
		atATime int32
		// processes is the number of processes while the first of three checks has its own.
		processes int32
	}{
		{1, 1, 1},
		{2, 2, 3},
		{0, 3, 3}, // more jobs than checks
	}
	for _, tt := range tests {
		var running, most, started, processes atomic.Int32
		probe := check.ProcessProbe(func(t *check.T) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			t.Session(check.Process)
			time.Sleep(time.Second) // so that the other checks start
			processes.CompareAndSwap(0, started.Load())
		})
		testRun{
			checks: []testCheck{{id: "a/one", check: probe}, {id: "a/two", check: probe},
				{id: "a/three", check: probe}},
			options: Options{Jobs: tt.jobs}, onStart: func() { started.Add(1) },
		}.run(t)
		if most.Load() != tt.atATime || processes.Load() != tt.processes {
			t.Errorf("%d jobs: got %d checks at a time and %d processes, want %d and %d",
				tt.jobs, most.Load(), processes.Load(), tt.atATime, tt.processes)
		}
	}
}

// TestWaitingForStepFreesJob checks that checks that wait for a step do not occupy jobs.
func TestWaitingForStepFreesJob(t *testing.T) {
	var tried, meanwhile atomic.Bool
	waits := check.Probe(func(t *check.T) {
		check.Step(t, "step", func(t *check.T) bool {
			time.Sleep(time.Second)
			tried.Store(true)
			return true
		})
	})
	testRun{
		checks: []testCheck{
			{id: "a/1", check: waits}, {id: "a/2", check: waits}, {id: "a/3", check: waits},
			{id: "a/4", check: check.Probe(func(*check.T) { meanwhile.Store(!tried.Load()) })},
		},
		options: Options{Jobs: 2},
	}.run(t)
	if !meanwhile.Load() {
		t.Error("the last check was not tried while the step was running")
	}
}

func TestJobsFor(t *testing.T) {
	quick, slow := &check.Server{Latency: 50 * time.Millisecond}, &check.Server{Latency: 350 * time.Millisecond}
	inTurn := &check.Server{Latency: slow.Latency, OneRequestAtATime: true}
	tests := []struct {
		server *check.Server
		asked  int
		want   int
	}{{quick, 0, 8}, {slow, 0, 48}, {inTurn, 0, 1}, {slow, 8, 8}, {slow, 1, 1}, {quick, 50, 50}}
	for _, tt := range tests {
		if got := jobsFor(tt.server, tt.asked); got != tt.want {
			t.Errorf("got %d for latency %v and %d requested jobs, want %d", got, tt.server.Latency, tt.asked, tt.want)
		}
	}
}

// TestWaitingForStepFreesSession checks that a check that waits for a step releases the only session of the pool for
// it.
func TestWaitingForStepFreesSession(t *testing.T) {
	try := func(t *check.T) {
		check.Step(t, "step", func(t *check.T) bool {
			time.Sleep(time.Second)
			t.Send(t.Session(), "tools/list", nil)
			return true
		})
	}
	out := testRun{
		checks: []testCheck{
			{id: "a/1", check: check.Probe(func(t *check.T) { t.Session(); time.Sleep(time.Millisecond); try(t) })},
			{id: "a/2", check: check.Probe(try)},
		},
		options: Options{Jobs: 2},
	}.run(t)
	out.wantVerdict(t, "a/1", catalogue.Pass, "")
	out.wantVerdict(t, "a/2", catalogue.Pass, "")
}

// TestPhases checks that probes run first, then the checks that end sessions, then the watches, which see all messages.
func TestPhases(t *testing.T) {
	var mu sync.Mutex
	var order []string
	record := func(id string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, id)
	}
	recording := func(id string) func(*check.T) {
		return func(t *check.T) {
			record(id)
			t.Send(t.Session(), "says/"+id, nil)
		}
	}
	out := testRun{
		options: Options{Jobs: 1},
		checks: []testCheck{
			{id: "a/watch", check: check.Watch(func(t *check.T, w check.Wire) {
				record("watch")
				t.Expect(len(w.Responses().List)).To(check.BeOneOf(8)) // three handshakes and their pings, two requests
			})},
			{id: "a/prepared",
				check: check.WatchWithSetup(func(t *check.T) {
					recording("prepared")(t)
					t.Skip(check.NotApplicable,
						"a setup has no verdict")
				},
					func(t *check.T, w check.Wire) {
						record("judged")
						t.Judge(w.ResultsOf("says/prepared"), func(*check.T, check.Message) {})
					})},
			{id: "a/ending",
				check: check.ShutdownProbe(func(t *check.T) {
					record("ending")
					t.Session(check.ToEnd).Stdio().CloseStdin()
				})},
			{id: "a/call", check: check.Probe(func(*check.T) { record("call") }), safety: "calls-tool-invalid"},
			{id: "a/probe", check: check.Probe(recording("probe"))},
			{id: "a/fresh", check: check.ProcessProbe(func(t *check.T) { record("fresh"); t.Session(check.Process) })},
		},
	}.run(t)
	for _, id := range []string{"a/prepared", "a/ending", "a/call", "a/probe", "a/fresh"} {
		out.wantVerdict(t, id, catalogue.Pass, "")
	}
	want := []string{"fresh", "prepared", "probe", "call", "ending", "watch", "judged"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

// TestProbeOrder checks that processes are started early, and that all tool calls but the first are late.
func TestProbeOrder(t *testing.T) {
	nothing := func(*check.T) {}
	s := testRun{checks: []testCheck{
		{id: "a/invalid", check: check.Probe(nothing), safety: "calls-tool-invalid"},
		{id: "a/one", check: check.Probe(nothing), safety: "safe"},
		{id: "a/valid", check: check.Probe(nothing), safety: "calls-tool-valid"},
		{id: "a/valid-too", check: check.Probe(nothing), safety: "calls-tool-valid"},
		{id: "a/watch", check: check.Watch(nil)},
		{id: "a/prepared", check: check.WatchWithSetup(nothing, nil)},
		{id: "a/ending", check: check.ShutdownProbe(nothing)},
		{id: "a/fresh", check: check.ProcessProbe(nothing)},
		{id: "a/fresh-too", check: check.ProcessProbe(nothing)},
		{id: "a/two", check: check.Probe(nothing)},
		{id: "a/waiting", check: check.WatchWithSetup(nothing, nil).StartsFirst()},
	}}
	server := s.discovered("stdio")
	e := &Execution{server: server, plan: s.plan(server)}
	names := func(cases []int) (ids []string) {
		for _, i := range cases {
			ids = append(ids, strings.TrimPrefix(e.plan[i].ID, "a/"))
		}
		return ids
	}
	want := strings.Fields("fresh valid fresh-too prepared one two invalid valid-too")
	waiting, others := e.probeOrder()
	if diff := cmp.Diff(want, names(others)); diff != "" {
		t.Errorf("the cases start in another order: %s", diff)
	}
	if diff := cmp.Diff([]string{"waiting"}, names(waiting)); diff != "" {
		t.Errorf("others wait for late messages: %s", diff)
	}
	want = strings.Fields("fresh fresh-too invalid one valid valid-too two ending watch prepared waiting")
	if diff := cmp.Diff(want, names(e.resultOrder())); diff != "" {
		t.Errorf("the results are in another order: %s", diff)
	}
}

// TestInterruption checks that an interrupted run ends at once, keeps the results it has, and leaves no process behind.
func TestInterruption(t *testing.T) {
	tests := []struct {
		name    string
		cause   error
		message string
	}{
		{"Ctrl-C", nil, "interrupted"},
		{"the time is up", errBudget, errBudget.Error()},
	}
	for _, tt := range tests {
		out := testRun{
			script: script{{method: "tools/list", process: 1, nth: 2, action: staysSilent}},
			checks: []testCheck{
				{id: "a/passed", check: usesSession},
				{id: "a/passing", check: check.Probe(func(t *check.T) {
					t.Send(t.Session(), "tools/list", nil, check.AllowSilence)
				})},
				{id: "a/failing", check: check.Probe(func(t *check.T) { t.Fail("this", "that") })},
				{id: "a/later", check: usesSession},
				{id: "a/ending", check: check.ShutdownProbe(func(t *check.T) { t.Session(check.ToEnd) })},
				{id: "a/watch", check: check.Watch(func(*check.T, check.Wire) {})},
			},
			options: Options{Jobs: 1}, interrupt: time.Second, cause: tt.cause,
		}.run(t)
		out.wantVerdict(t, "a/passed", catalogue.Pass, "")
		out.wantVerdict(t, "a/passing", catalogue.Pass, "")
		for _, id := range []string{"a/failing", "a/later", "a/ending", "a/watch"} {
			out.wantVerdict(t, id, catalogue.Inconclusive, tt.message)
		}
		out.wantAttempts(t, "a/passing", 1)
		if out.duration != time.Second || out.running != 0 || out.problem != "" {
			t.Errorf("%s: %v, %d processes are left, problem %q", tt.name, out.duration, out.running, out.problem)
		}
	}
}

// TestInterruptionOfAFail checks that an interrupted attempt is neither confirmed nor retried.
func TestInterruptionOfAFail(t *testing.T) {
	for name, options := range map[string][]check.SessionOption{"pooled": nil, "its own": {check.Exclusive}} {
		out := testRun{
			script: script{{method: "silence", action: staysSilent}},
			checks: []testCheck{{id: "a/uses", check: usesSession},
				{id: "a/failing", check: check.Probe(func(t *check.T) {
					t.Expect(t.Send(t.Session(options...), "silence", nil, check.AllowSilence)).To(check.BeAnswered())
				})}},
			options: Options{Jobs: 1}, interrupt: time.Second,
		}.run(t)
		t.Log(name)
		out.wantVerdict(t, "a/failing", catalogue.Inconclusive, "interrupted")
		out.wantAttempts(t, "a/failing", 1)
	}
}

// TestResult checks that a result has the findings and the level, and the evidence of the attempt that counts.
func TestResult(t *testing.T) {
	out := testRun{
		script: script{{method: "tools/list", action: delays(2 * time.Second)}},
		checks: []testCheck{
			{id: "a/uses", check: usesSession},
			{id: "a/lesser", check: check.Probe(func(t *check.T) {
				t.Send(t.Session(), "tools/list", nil)
				t.ExpectShould("got").To(check.BeOneOf("wanted"))
			})},
			{
				id: "a/two-sessions",
				check: check.Probe(func(t *check.T) {
					t.Send(t.Session(check.Exclusive), "ping", nil)
					t.Send(t.Session(check.ForInvalidInput), "ping", nil)
				}),
			},
			{id: "a/judged-before", check: check.Probe(nil)},
		},
		options: Options{Jobs: 1, Profile: catalogue.Strict},
	}.run(t)
	r := out.results["a/lesser"]
	want := report.Result{
		ID: "a/lesser", Title: "title of a/lesser", Revision: catalogue.NewestLegacy, Level: catalogue.Should,
		EntryLevel: catalogue.Must,
		Verdict:    catalogue.Fail,
		Gates:      true, GatedBy: catalogue.GateStrict, Message: "expected \"wanted\"\ngot \"got\"",
		Findings: []report.Finding{{Want: `"wanted"`, Got: `"got"`}},
		Spec:     "https://modelcontextprotocol.io/specification/2025-11-25/page#anchor",
		Fix:      "fix of a/lesser", Seconds: 4,
	}
	wire, where := r.Evidence, r.Locations
	r.Evidence, r.Locations = nil, nil
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if len(where) != 1 || !strings.HasPrefix(where[0], "engine/engine_test.go:") {
		t.Errorf("the location is %v", where)
	}
	if len(wire) != 2 || wire[0].Arrow != "→" || !strings.Contains(wire[1].Text, `"process":2`) ||
		wire[1].Seconds != 2 {
		t.Errorf("the evidence is not that of the confirmation: %+v", wire)
	}
	both := out.results["a/two-sessions"].Evidence
	for _, name := range []string{"1", "2"} {
		if !slices.ContainsFunc(both, func(l report.Line) bool { return l.Session == name }) {
			t.Errorf("session %s is missing: %+v", name, both)
		}
	}
	out.wantVerdict(t, "a/judged-before", catalogue.Error, "")
}

// TestUntestableResults checks that all cases of a server that could not be reached are inconclusive for the same
// reason.
func TestUntestableResults(t *testing.T) {
	s := testRun{checks: []testCheck{{id: "a/one"}, {id: "a/two"}}}
	results := UntestableResults(s.plan(s.discovered("stdio")), "it did not start")
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		if r.Verdict != catalogue.Inconclusive || r.Message != "it did not start" || r.EntryLevel != catalogue.Must ||
			r.Spec == "" ||
			r.Fix == "" {
			t.Errorf("got %+v", r)
		}
	}
}
