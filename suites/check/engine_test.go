package check

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// usesSession is a check that does nothing but use a session, which others are lent then.
var usesSession = Probe(func(t *T) { t.Request(t.Session(), "tools/list", nil) })

// What rests on a silent or dead server is decided once more, when nothing else runs.
func TestRetrySerially(t *testing.T) {
	silence := func(t *T) { t.Expect(t.TryRequest(t.ExclusiveSession(), "tools/list", nil)).To(BeAnswered()) }
	asked := func(t *T) { t.Request(t.ExclusiveSession(), "tools/list", nil) }
	crowd := func(does action) script { return script{{method: "tools/list", inParallel: true, action: does}} }
	always := func(does action) script { return script{{method: "tools/list", action: does}} }
	tests := []struct {
		name     string
		script   script
		check    func(func(*T)) Check
		run      func(*T)
		verdict  catalogue.Verdict
		attempts int
	}{
		{"one that answers", nil, Probe, silence, catalogue.Pass, 1},
		{"silent in a crowd", crowd(staysSilent), Probe, silence, catalogue.Pass, 2},
		{"dead in a crowd", crowd(exits), Probe, silence, catalogue.Pass, 2},
		{"dead in a crowd, and left to itself when it is not", crowd(exits), Probe, func(t *T) {
			silence(t)
			KeepIdle(t, t.ExclusiveSession())
		}, catalogue.Pass, 2},
		{"not to be asked in a crowd", crowd(staysSilent), Probe, asked, catalogue.Pass, 2},
		{"silent in a crowd, from the start", crowd(staysSilent), ProcessProbe, silence, catalogue.Pass, 2},
		{"always silent", always(staysSilent), Probe, silence, catalogue.Fail, 2},
		{"always dead", always(exits), Probe, silence, catalogue.Fail, 2},
		{"never to be asked", always(staysSilent), Probe, asked, catalogue.Inconclusive, 2},
		{"an error, which a crowd explains not", crowd(answersError(-1)), Probe, func(t *T) {
			t.Expect(t.TryRequest(t.ExclusiveSession(), "tools/list", nil)).To(BeResult())
		}, catalogue.Fail, 1},
		{
			"silence that nothing rests on",
			crowd(staysSilent),
			Probe,
			func(t *T) { t.TryRequest(t.ExclusiveSession(), "tools/list", nil) },
			catalogue.Pass,
			1,
		},
		{"silence that is no answer either way", crowd(staysSilent), Probe, func(t *T) {
			t.TryRequest(t.ExclusiveSession(), "tools/list", nil)
			t.Inconclusive("no")
		}, catalogue.Inconclusive, 2},
		{"silence before what was answered", crowd(staysSilent), Probe, func(t *T) {
			s := t.ExclusiveSession()
			asked := t.TryRequest(s, "tools/list", nil)
			t.Request(s, "ping", nil)
			if !asked.Answered() {
				t.Skip("no list")
			}
		}, catalogue.Pass, 2},
		{"silence at an end", crowd(staysSilent), ShutdownProbe, silence, catalogue.Pass, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{
				script: tt.script, options: Options{Jobs: 1},
				checks: []testCheck{
					// which others are lent then
					{id: "a/crowd", check: ProcessProbe(func(t *T) { t.ExclusiveSession() })},
					{id: "a/tried", check: tt.check(tt.run)},
					{id: "a/last", check: usesSession},
				},
			}.run(t)
			out.wantVerdict(t, "a/tried", tt.verdict, "")
			out.wantAttempts(t, "a/tried", tt.attempts)
		})
	}
}

// Doubtful cases are decided again one by one, in the order of the plan, each with no other process of the server
// beside its own.
func TestRetrySeriallyOneByOne(t *testing.T) {
	var mu sync.Mutex
	var order []string
	part := func(id string) testCheck {
		return testCheck{id: id, check: Probe(func(t *T) {
			if !t.execution.serial.Load() {
				Parallel(t, 2,
					func(t *T, _ int) { t.Expect(t.TryRequest(t.ExclusiveSession(), "slow", nil)).To(BeAnswered()) })
			}
			mu.Lock()
			order = append(order, id)
			mu.Unlock()
			t.Expect(listTools(t)["alone"]).To(BeOneOf(true))
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

// A server that can run only once is never started twice; nothing is held against it in a check that wants that.
func TestOneClient(t *testing.T) {
	hello := func(t *T) {
		t.Expect(t.TryRequest(t.NewProcess(), "initialize",
			driver.ConnectParams(catalogue.NewestLegacy))).To(BeResult())
	}
	greet := ProcessProbe(hello)
	beside := func(second func(t *T)) Check {
		return Probe(func(t *T) {
			t.Request(t.Session(), "tools/list", nil)
			second(t)
		})
	}
	out := testRun{
		script: script{{inParallel: true, action: exits}},
		checks: []testCheck{
			{id: "a/one", check: usesSession}, {id: "a/two", check: usesSession}, {id: "a/fresh", check: greet},
			{id: "a/ending", check: ShutdownProbe(func(t *T) { t.Request(SessionToEnd(t), "tools/list", nil) })},
			{id: "b/started", check: beside(hello)},
			{id: "b/own", check: beside(func(t *T) { t.Request(t.ExclusiveSession(), "tools/list", nil) })},
			{id: "b/parts", check: Probe(func(t *T) {
				Parallel(t, 2, func(t *T, _ int) { t.Request(t.Session(), "tools/list", nil) })
			})},
		},
		server: Server{OneClient: true}, options: Options{Jobs: 8}, withDiscovery: true, exitsLate: true,
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

// The session of discovery is lent, unless there was no handshake.
func TestDiscoverySession(t *testing.T) {
	for failure, want := range map[string]int{"": 1, "it refuses": 2} {
		out := testRun{
			checks: []testCheck{{id: "a/one", check: usesSession.WhenConnectRefused()}},
			server: Server{Failure: failure}, options: Options{Jobs: 1}, withDiscovery: true,
		}.run(t)
		out.wantVerdict(t, "a/one", catalogue.Pass, "")
		if out.started != want || len(out.sessions) != want {
			t.Errorf("failure %q: %d processes, %d sessions, want %d", failure, out.started, len(out.sessions), want)
		}
	}
}

// The other session of discovery is taken by who wants one that nobody has used, and what is said in it counts for
// watches.
func TestUnusedSession(t *testing.T) {
	out := testRun{
		checks: []testCheck{
			{id: "a/one", check: usesSession},
			{id: "a/fresh", check: ProcessProbe(func(t *T) { t.Request(t.ExclusiveSession(), "tools/list", nil) })},
			{id: "a/watch", check: Watch(func(t *T, w Wire) {
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
		t.Errorf("%d processes were started, want those of discovery", out.started)
	}
}

// Processes are started ahead of the checks that need them; with one job none is, and one check runs at a time.
func TestJobs(t *testing.T) {
	tests := []struct {
		jobs      int
		atATime   int32 // checks
		processes int32 // while the first of three checks has its own
	}{
		{1, 1, 1},
		{2, 2, 3},
		{0, 3, 3}, // more than there are checks
	}
	for _, tt := range tests {
		var running, most, processes atomic.Int32
		check := ProcessProbe(func(t *T) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			t.NewProcess()
			time.Sleep(time.Second) // for the others to begin
			processes.CompareAndSwap(0, int32(len(t.execution.Sessions())))
		})
		testRun{
			checks: []testCheck{{id: "a/one", check: check}, {id: "a/two", check: check},
				{id: "a/three", check: check}},
			options: Options{Jobs: tt.jobs},
		}.run(t)
		if most.Load() != tt.atATime || processes.Load() != tt.processes {
			t.Errorf("%d jobs: %d checks at a time and %d processes, want %d and %d",
				tt.jobs, most.Load(), processes.Load(), tt.atATime, tt.processes)
		}
	}
}

// Checks that wait for a step that another one tries do not keep others from being tried.
func TestWaitingForStepFreesJob(t *testing.T) {
	var tried, meanwhile atomic.Bool
	waits := Probe(func(t *T) {
		Step(t, "step", func(t *T) bool {
			time.Sleep(time.Second)
			tried.Store(true)
			return true
		})
	})
	testRun{
		checks: []testCheck{
			{id: "a/1", check: waits}, {id: "a/2", check: waits}, {id: "a/3", check: waits},
			{id: "a/4", check: Probe(func(*T) { meanwhile.Store(!tried.Load()) })},
		},
		options: Options{Jobs: 2},
	}.run(t)
	if !meanwhile.Load() {
		t.Error("the last check was not tried before the step was")
	}
}

func TestJobsFor(t *testing.T) {
	quick, slow := &Server{Latency: time.Millisecond}, &Server{Latency: 3 * time.Second}
	tests := []struct {
		server *Server
		asked  int
		want   int
	}{{quick, 0, 8}, {slow, 0, 32}, {slow, 8, 8}, {slow, 1, 1}, {quick, 50, 50}}
	for _, tt := range tests {
		if got := jobsFor(tt.server, tt.asked); got != tt.want {
			t.Errorf("%d for a server of %v, asked for %d, want %d", got, tt.server.Latency, tt.asked, tt.want)
		}
	}
}

// Who waits for a step with the one session of the pool does not keep those waiting who try the step.
func TestWaitingForStepFreesSession(t *testing.T) {
	try := func(t *T) {
		Step(t, "step", func(t *T) bool {
			time.Sleep(time.Second)
			t.Request(t.Session(), "tools/list", nil)
			return true
		})
	}
	out := testRun{
		checks: []testCheck{
			{id: "a/1", check: Probe(func(t *T) { t.Session(); time.Sleep(time.Millisecond); try(t) })},
			{id: "a/2", check: Probe(try)},
		},
		options: Options{Jobs: 2},
	}.run(t)
	out.wantVerdict(t, "a/1", catalogue.Pass, "")
	out.wantVerdict(t, "a/2", catalogue.Pass, "")
}

// Checks that talk come first, then those that end sessions, then the watches, which see everything that was said.
func TestPhases(t *testing.T) {
	var mu sync.Mutex
	var order []string
	came := func(id string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, id)
	}
	saying := func(id string) func(*T) {
		return func(t *T) {
			came(id)
			t.Request(t.Session(), "says/"+id, nil)
		}
	}
	out := testRun{
		options: Options{Jobs: 1},
		checks: []testCheck{
			{id: "a/watch", check: Watch(func(t *T, w Wire) {
				came("watch")
				t.Expect(len(w.Responses().List)).To(BeOneOf(8)) // three handshakes and their pings, two requests
			})},
			{id: "a/prepared", check: WatchWithSetup(func(t *T) { saying("prepared")(t); t.Skip("that is no verdict") },
				func(t *T, w Wire) {
					came("judged")
					t.Judge(w.ResultsOf("says/prepared"), func(*T, Message) {})
				})},
			{id: "a/ending", check: ShutdownProbe(func(t *T) { came("ending"); SessionToEnd(t).Stdio().CloseStdin() })},
			{id: "a/call", check: Probe(func(*T) { came("call") }), safety: "calls-tool-invalid"},
			{id: "a/probe", check: Probe(saying("probe"))},
			{id: "a/fresh", check: ProcessProbe(func(t *T) { came("fresh"); t.NewProcess() })},
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

// Processes are started early, and all tools but the first are called late.
func TestProbeOrder(t *testing.T) {
	nothing := func(*T) {}
	s := testRun{checks: []testCheck{
		{id: "a/invalid", check: Probe(nothing), safety: "calls-tool-invalid"},
		{id: "a/one", check: Probe(nothing), safety: "safe"},
		{id: "a/valid", check: Probe(nothing), safety: "calls-tool-valid"},
		{id: "a/valid-too", check: Probe(nothing), safety: "calls-tool-valid"},
		{id: "a/watch", check: Watch(nil)},
		{id: "a/prepared", check: WatchWithSetup(nothing, nil)},
		{id: "a/ending", check: ShutdownProbe(nothing)},
		{id: "a/fresh", check: ProcessProbe(nothing)},
		{id: "a/fresh-too", check: ProcessProbe(nothing)},
		{id: "a/two", check: Probe(nothing)},
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
	if diff := cmp.Diff(want, names(e.probeOrder())); diff != "" {
		t.Errorf("they begin in another order: %s", diff)
	}
	want = strings.Fields("fresh fresh-too invalid one valid valid-too two ending watch prepared")
	if diff := cmp.Diff(want, names(e.resultOrder())); diff != "" {
		t.Errorf("they come to results in another order: %s", diff)
	}
}

// A run that is interrupted comes to its end at once, keeps what is known, and leaves nothing behind.
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
				{id: "a/passing", check: Probe(func(t *T) { t.TryRequest(t.Session(), "tools/list", nil) })},
				{id: "a/failing", check: Probe(func(t *T) { t.Fail("this", "that") })},
				{id: "a/later", check: usesSession},
				{id: "a/ending", check: ShutdownProbe(func(t *T) { SessionToEnd(t) })},
				{id: "a/watch", check: Watch(func(*T, Wire) {})},
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

// An interrupted attempt is neither confirmed nor decided again, whatever it came to.
func TestInterruptionOfAFail(t *testing.T) {
	for name, session := range map[string]func(*T) *driver.Session{"lent": (*T).Session,
		"its own": (*T).ExclusiveSession} {
		out := testRun{
			script: script{{method: "silence", action: staysSilent}},
			checks: []testCheck{{id: "a/uses", check: usesSession}, {id: "a/failing", check: Probe(func(t *T) {
				t.Expect(t.TryRequest(session(t), "silence", nil)).To(BeAnswered())
			})}},
			options: Options{Jobs: 1}, interrupt: time.Second,
		}.run(t)
		t.Log(name)
		out.wantVerdict(t, "a/failing", catalogue.Inconclusive, "interrupted")
		out.wantAttempts(t, "a/failing", 1)
	}
}

// A result says what was found, at what level, and shows the wire of the attempt that counts.
func TestResult(t *testing.T) {
	out := testRun{
		script: script{{method: "tools/list", action: delays(2 * time.Second)}},
		checks: []testCheck{
			{id: "a/uses", check: usesSession},
			{id: "a/lesser", check: Probe(func(t *T) {
				t.Request(t.Session(), "tools/list", nil)
				t.ExpectShould("got").To(BeOneOf("wanted"))
			})},
			{
				id: "a/two-sessions",
				check: Probe(func(t *T) {
					t.Request(t.ExclusiveSession(), "ping", nil)
					t.Request(t.SessionForInvalidInput(), "ping", nil)
				}),
			},
			{id: "a/judged-before", check: Probe(nil)},
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
	if len(where) != 1 || !strings.HasPrefix(where[0], "check/engine_test.go:") {
		t.Errorf("it was found at %v", where)
	}
	if len(wire) != 2 || wire[0].Arrow != "→" || !strings.Contains(wire[1].Text, `"process":2`) ||
		wire[1].Seconds != 2 {
		t.Errorf("the wire is not that of the confirmation: %+v", wire)
	}
	both := out.results["a/two-sessions"].Evidence
	for _, name := range []string{"1", "2"} {
		if !slices.ContainsFunc(both, func(l report.Line) bool { return l.Session == name }) {
			t.Errorf("session %s is not named: %+v", name, both)
		}
	}
	out.wantVerdict(t, "a/judged-before", catalogue.Error, "")
}

func TestExplain(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, "nothing wrong"},
		{errors.New("oh"), "oh"},
		{&driver.SessionEndError{Cause: "it exited"}, "it exited"},
		{
			&driver.SessionEndError{Cause: "it exited", Stderr: []string{"a", "b"}},
			"it exited; its last lines on stderr:\n  a\n  b",
		},
	}
	for _, tt := range tests {
		if got := Explain(tt.err).Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A server that could not be talked to leaves every case open, for one reason.
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
