package harness

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// uses is a check that does nothing but use a session, which others are lent then.
var uses = Probe(func(t *T) { t.Ask(t.Session(), "tools/list", nil) })

// What rests on a silent or dead server is decided once more, when nothing else runs.
func TestDecidingAgain(t *testing.T) {
	silence := func(t *T) { t.Expect(t.Try(t.Own(), "tools/list", nil)).To(BeAnswered()) }
	asked := func(t *T) { t.Ask(t.Own(), "tools/list", nil) }
	crowd := func(does act) script { return script{{method: "tools/list", crowded: true, does: does}} }
	always := func(does act) script { return script{{method: "tools/list", does: does}} }
	tests := []struct {
		name     string
		script   script
		check    func(func(*T)) Check
		run      func(*T)
		verdict  Verdict
		attempts int
	}{
		{"one that answers", nil, Probe, silence, Pass, 1},
		{"silent in a crowd", crowd(ignores), Probe, silence, Pass, 2},
		{"dead in a crowd", crowd(dies), Probe, silence, Pass, 2},
		{"dead in a crowd, and left to itself when it is not", crowd(dies), Probe, func(t *T) {
			silence(t)
			KeepIdle(t, t.Own())
		}, Pass, 2},
		{"not to be asked in a crowd", crowd(ignores), Probe, asked, Pass, 2},
		{"silent in a crowd, from the start", crowd(ignores), Fresh, silence, Pass, 2},
		{"always silent", always(ignores), Probe, silence, Fail, 2},
		{"always dead", always(dies), Probe, silence, Fail, 2},
		{"never to be asked", always(ignores), Probe, asked, Inconclusive, 2},
		{"an error, which a crowd explains not", crowd(refuses(-1)), Probe, func(t *T) {
			t.Expect(t.Try(t.Own(), "tools/list", nil)).To(BeResult())
		}, Fail, 1},
		{
			"silence that nothing rests on",
			crowd(ignores),
			Probe,
			func(t *T) { t.Try(t.Own(), "tools/list", nil) },
			Pass,
			1,
		},
		{"silence that is no answer either way", crowd(ignores), Probe, func(t *T) {
			t.Try(t.Own(), "tools/list", nil)
			t.Inconclusive("no")
		}, Inconclusive, 2},
		{"silence before what was answered", crowd(ignores), Probe, func(t *T) {
			s := t.Own()
			asked := t.Try(s, "tools/list", nil)
			t.Ask(s, "ping", nil)
			if !asked.Answered() {
				t.Skip("no list")
			}
		}, Pass, 2},
		{"silence at an end", crowd(ignores), Ending, silence, Pass, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := scene{
				script: tt.script, options: Options{Jobs: 1},
				cast: []role{
					{id: "a/crowd", check: Fresh(func(t *T) { t.Own() })}, // which others are lent then
					{id: "a/tried", check: tt.check(tt.run)},
					{id: "a/last", check: uses},
				},
			}.play(t)
			out.want(t, "a/tried", tt.verdict, "")
			out.wantAttempts(t, "a/tried", tt.attempts)
		})
	}
}

// Doubtful cases are decided again one by one, in the order of the plan, each with no other process of the server
// beside its own.
func TestDecidingAgainInQuiet(t *testing.T) {
	var mu sync.Mutex
	var order []string
	part := func(id string) role {
		return role{id: id, check: Probe(func(t *T) {
			if !t.run.quiet.Load() {
				Parallel(t, 2, func(t *T, _ int) { t.Expect(t.Try(t.Own(), "slow", nil)).To(BeAnswered()) })
			}
			mu.Lock()
			order = append(order, id)
			mu.Unlock()
			t.Expect(list(t)["alone"]).To(BeOneOf(true))
		})}
	}
	out := scene{
		script:  script{{method: "slow", does: ignores}},
		cast:    []role{part("a/one"), part("a/two"), part("a/three")},
		options: Options{Jobs: 3}, lingers: true,
	}.play(t)
	for _, id := range []string{"a/one", "a/two", "a/three"} {
		out.want(t, id, Pass, "")
	}
	if diff := cmp.Diff([]string{"a/one", "a/two", "a/three"}, order); diff != "" {
		t.Error(diff)
	}
}

// A server that can run only once is never started twice; nothing is held against it in a check that wants that.
func TestOneClient(t *testing.T) {
	hello := func(t *T) { t.Expect(t.Try(t.Start(), "initialize", driver.Hello(Newest))).To(BeResult()) }
	greet := Fresh(hello)
	beside := func(second func(t *T)) Check {
		return Probe(func(t *T) {
			t.Ask(t.Session(), "tools/list", nil)
			second(t)
		})
	}
	out := scene{
		script: script{{crowded: true, does: dies}},
		cast: []role{
			{id: "a/one", check: uses}, {id: "a/two", check: uses}, {id: "a/fresh", check: greet},
			{id: "a/ending", check: Ending(func(t *T) { t.Ask(LastSession(t), "tools/list", nil) })},
			{id: "b/started", check: beside(hello)},
			{id: "b/own", check: beside(func(t *T) { t.Ask(t.Own(), "tools/list", nil) })},
			{id: "b/parts", check: Probe(func(t *T) {
				Parallel(t, 2, func(t *T, _ int) { t.Ask(t.Session(), "tools/list", nil) })
			})},
		},
		server: Server{OneClient: true}, options: Options{Jobs: 8}, first: true, lingers: true,
	}.play(t)
	for id := range out.results {
		if strings.HasPrefix(id, "a/") {
			out.want(t, id, Pass, "")
		} else {
			out.want(t, id, Inconclusive, "it takes two processes at a time, and the server runs one")
		}
	}
	if out.most != 1 {
		t.Errorf("%d processes ran at a time", out.most)
	}
}

// The session of discovery is lent, unless there was no handshake.
func TestSessionOfDiscovery(t *testing.T) {
	for failure, want := range map[string]int{"": 1, "it refuses": 2} {
		out := scene{
			cast:   []role{{id: "a/one", check: uses.WhenRefused()}},
			server: Server{Failure: failure}, options: Options{Jobs: 1}, first: true,
		}.play(t)
		out.want(t, "a/one", Pass, "")
		if out.started != want || len(out.sessions) != want {
			t.Errorf("failure %q: %d processes, %d sessions, want %d", failure, out.started, len(out.sessions), want)
		}
	}
}

// The other session of discovery is taken by who wants one that nobody has used, and what is said in it counts for
// watches.
func TestSpareSessionOfDiscovery(t *testing.T) {
	out := scene{
		cast: []role{
			{id: "a/one", check: uses},
			{id: "a/fresh", check: Fresh(func(t *T) { t.Ask(t.Own(), "tools/list", nil) })},
			{id: "a/watch", check: Watch(func(t *T, w Wire) {
				greetings, lists := len(w.ResultsOf("initialize").List), len(w.ResultsOf("tools/list").List)
				if greetings != 2 || lists != 2 {
					t.Fail("those of two sessions", "%d greetings and %d lists", greetings, lists)
				}
			})},
		},
		options: Options{Jobs: 1}, first: true, spare: true,
	}.play(t)
	for id := range out.results {
		out.want(t, id, Pass, "")
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
		check := Fresh(func(t *T) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			t.Start()
			time.Sleep(time.Second) // for the others to begin
			processes.CompareAndSwap(0, int32(len(t.run.Sessions())))
		})
		scene{
			cast:    []role{{id: "a/one", check: check}, {id: "a/two", check: check}, {id: "a/three", check: check}},
			options: Options{Jobs: tt.jobs},
		}.play(t)
		if most.Load() != tt.atATime || processes.Load() != tt.processes {
			t.Errorf("%d jobs: %d checks at a time and %d processes, want %d and %d",
				tt.jobs, most.Load(), processes.Load(), tt.atATime, tt.processes)
		}
	}
}

// Checks that wait for a step that another one tries do not keep others from being tried.
func TestWaitingTakesNoPlace(t *testing.T) {
	var tried, meanwhile atomic.Bool
	waits := Probe(func(t *T) {
		Step(t, "step", func(t *T) bool {
			time.Sleep(time.Second)
			tried.Store(true)
			return true
		})
	})
	scene{
		cast: []role{
			{id: "a/1", check: waits}, {id: "a/2", check: waits}, {id: "a/3", check: waits},
			{id: "a/4", check: Probe(func(*T) { meanwhile.Store(!tried.Load()) })},
		},
		options: Options{Jobs: 2},
	}.play(t)
	if !meanwhile.Load() {
		t.Error("the last check was not tried before the step was")
	}
}

func TestJobsFor(t *testing.T) {
	quick, slow := &Server{Pace: time.Millisecond}, &Server{Pace: 3 * time.Second}
	tests := []struct {
		server *Server
		asked  int
		want   int
	}{{quick, 0, 8}, {slow, 0, 32}, {slow, 8, 8}, {slow, 1, 1}, {quick, 50, 50}}
	for _, tt := range tests {
		if got := jobsFor(tt.server, tt.asked); got != tt.want {
			t.Errorf("%d for a server of %v, asked for %d, want %d", got, tt.server.Pace, tt.asked, tt.want)
		}
	}
}

// Who waits for a step with the one session of the pool does not keep those waiting who try the step.
func TestWaitingWithASession(t *testing.T) {
	try := func(t *T) {
		Step(t, "step", func(t *T) bool {
			time.Sleep(time.Second)
			t.Ask(t.Session(), "tools/list", nil)
			return true
		})
	}
	out := scene{
		cast: []role{
			{id: "a/1", check: Probe(func(t *T) { t.Session(); time.Sleep(time.Millisecond); try(t) })},
			{id: "a/2", check: Probe(try)},
		},
		options: Options{Jobs: 2},
	}.play(t)
	out.want(t, "a/1", Pass, "")
	out.want(t, "a/2", Pass, "")
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
			t.Ask(t.Session(), "says/"+id, nil)
		}
	}
	out := scene{
		options: Options{Jobs: 1},
		cast: []role{
			{id: "a/watch", check: Watch(func(t *T, w Wire) {
				came("watch")
				t.Expect(len(w.Responses().List)).To(BeOneOf(8)) // three handshakes and their pings, two requests
			})},
			{id: "a/prepared", check: WatchAfter(func(t *T) { saying("prepared")(t); t.Skip("that is no verdict") },
				func(t *T, w Wire) {
					came("judged")
					t.Judge(w.ResultsOf("says/prepared"), func(*T, Message) {})
				})},
			{id: "a/ending", check: Ending(func(t *T) { came("ending"); LastSession(t).Stdio().CloseInput() })},
			{id: "a/call", check: Probe(func(*T) { came("call") }), safety: "calls-tool-invalid"},
			{id: "a/probe", check: Probe(saying("probe"))},
			{id: "a/fresh", check: Fresh(func(t *T) { came("fresh"); t.Start() })},
		},
	}.play(t)
	for _, id := range []string{"a/prepared", "a/ending", "a/call", "a/probe", "a/fresh"} {
		out.want(t, id, Pass, "")
	}
	want := []string{"fresh", "prepared", "probe", "call", "ending", "watch", "judged"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

// Processes are started early, and all tools but the first are called late.
func TestTalking(t *testing.T) {
	nothing := func(*T) {}
	s := scene{cast: []role{
		{id: "a/invalid", check: Probe(nothing), safety: "calls-tool-invalid"},
		{id: "a/one", check: Probe(nothing), safety: "safe"},
		{id: "a/valid", check: Probe(nothing), safety: "calls-tool-valid"},
		{id: "a/valid-too", check: Probe(nothing), safety: "calls-tool-valid"},
		{id: "a/watch", check: Watch(nil)},
		{id: "a/prepared", check: WatchAfter(nothing, nil)},
		{id: "a/ending", check: Ending(nothing)},
		{id: "a/fresh", check: Fresh(nothing)},
		{id: "a/fresh-too", check: Fresh(nothing)},
		{id: "a/two", check: Probe(nothing)},
	}}
	server := s.described("stdio")
	e := &Execution{server: server, plan: s.plan(server)}
	names := func(cases []int) (ids []string) {
		for _, i := range cases {
			ids = append(ids, strings.TrimPrefix(e.plan[i].ID, "a/"))
		}
		return ids
	}
	want := strings.Fields("fresh valid fresh-too prepared one two invalid valid-too")
	if diff := cmp.Diff(want, names(e.talking())); diff != "" {
		t.Errorf("they begin in another order: %s", diff)
	}
	want = strings.Fields("fresh fresh-too invalid one valid valid-too two ending watch prepared")
	if diff := cmp.Diff(want, names(e.order())); diff != "" {
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
		out := scene{
			script: script{{method: "tools/list", process: 1, nth: 2, does: ignores}},
			cast: []role{
				{id: "a/passed", check: uses},
				{id: "a/passing", check: Probe(func(t *T) { t.Try(t.Session(), "tools/list", nil) })},
				{id: "a/failing", check: Probe(func(t *T) { t.Fail("this", "that") })},
				{id: "a/later", check: uses},
				{id: "a/ending", check: Ending(func(t *T) { LastSession(t) })},
				{id: "a/watch", check: Watch(func(*T, Wire) {})},
			},
			options: Options{Jobs: 1}, interrupt: time.Second, cause: tt.cause,
		}.play(t)
		out.want(t, "a/passed", Pass, "")
		out.want(t, "a/passing", Pass, "")
		for _, id := range []string{"a/failing", "a/later", "a/ending", "a/watch"} {
			out.want(t, id, Inconclusive, tt.message)
		}
		out.wantAttempts(t, "a/passing", 1)
		if out.took != time.Second || out.running != 0 || out.problem != "" {
			t.Errorf("%s: %v, %d processes are left, problem %q", tt.name, out.took, out.running, out.problem)
		}
	}
}

// An interrupted attempt is neither confirmed nor decided again, whatever it came to.
func TestInterruptionOfAFail(t *testing.T) {
	for name, session := range map[string]func(*T) *driver.Session{"lent": (*T).Session, "its own": (*T).Own} {
		out := scene{
			script: script{{method: "silence", does: ignores}},
			cast: []role{{id: "a/uses", check: uses}, {id: "a/failing", check: Probe(func(t *T) {
				t.Expect(t.Try(session(t), "silence", nil)).To(BeAnswered())
			})}},
			options: Options{Jobs: 1}, interrupt: time.Second,
		}.play(t)
		t.Log(name)
		out.want(t, "a/failing", Inconclusive, "interrupted")
		out.wantAttempts(t, "a/failing", 1)
	}
}

// A result says what was found, at what level, and shows the wire of the attempt that counts.
func TestResult(t *testing.T) {
	out := scene{
		script: script{{method: "tools/list", does: takes(2 * time.Second)}},
		cast: []role{
			{id: "a/uses", check: uses},
			{id: "a/lesser", check: Probe(func(t *T) {
				t.Ask(t.Session(), "tools/list", nil)
				t.Warn("got").To(BeOneOf("wanted"))
			})},
			{
				id:    "a/two-sessions",
				check: Probe(func(t *T) { t.Ask(t.Own(), "ping", nil); t.Ask(t.Hostile(), "ping", nil) }),
			},
			{id: "a/judged-before", check: Probe(nil)},
		},
		options: Options{Jobs: 1, Profile: Strict},
	}.play(t)
	r := out.results["a/lesser"]
	want := Result{
		ID: "a/lesser", Title: "title of a/lesser", Revision: Newest, Level: Should, Entry: Must, Verdict: Fail,
		Gates: true, GatedBy: GateStrict, Message: "expected \"wanted\"\ngot \"got\"",
		Findings: []Finding{{Want: `"wanted"`, Got: `"got"`}},
		Spec:     "https://modelcontextprotocol.io/specification/2025-11-25/page#anchor",
		Fix:      "fix of a/lesser", Seconds: 4,
	}
	wire, where := r.Wire, r.Where
	r.Wire, r.Where = nil, nil
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if len(where) != 1 || !strings.HasPrefix(where[0], "harness/engine_test.go:") {
		t.Errorf("it was found at %v", where)
	}
	if len(wire) != 2 || wire[0].Arrow != "→" || !strings.Contains(wire[1].Text, `"process":2`) ||
		wire[1].Seconds != 2 {
		t.Errorf("the wire is not that of the confirmation: %+v", wire)
	}
	both := out.results["a/two-sessions"].Wire
	for _, name := range []string{"1", "2"} {
		if !slices.ContainsFunc(both, func(l Line) bool { return l.Session == name }) {
			t.Errorf("session %s is not named: %+v", name, both)
		}
	}
	out.want(t, "a/judged-before", Error, "")
}

func TestExplain(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, "nothing wrong"},
		{errors.New("oh"), "oh"},
		{&driver.Death{Cause: "it exited"}, "it exited"},
		{
			&driver.Death{Cause: "it exited", Stderr: []string{"a", "b"}},
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
func TestUntried(t *testing.T) {
	s := scene{cast: []role{{id: "a/one"}, {id: "a/two"}}}
	results := Untried(s.plan(s.described("stdio")), "it did not start")
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		if r.Verdict != Inconclusive || r.Message != "it did not start" || r.Entry != Must || r.Spec == "" ||
			r.Fix == "" {
			t.Errorf("got %+v", r)
		}
	}
}
