package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// testRun is a run of some checks against a scripted server, with the fake clock of testing/synctest.
type testRun struct {
	script  script
	checks  []testCheck
	options Options
	// server is what discovery found out, in addition to what is the same in every test run.
	server check.Server
	// withDiscovery passes on the session of discovery.
	withDiscovery bool
	// withUnused passes on an unused session as well.
	withUnused bool
	// onStart is called when a process starts; may be nil.
	onStart func()
	// exitsLate keeps every process running for a second after the end of its input.
	exitsLate bool

	// interrupt is the time after which the run is interrupted; 0 is never.
	interrupt time.Duration
	// cause is the cause of the interruption; nil stands for Ctrl-C.
	cause error
}

// testCheck is a check of a test run, with what its requirement says.
type testCheck struct {
	id       string
	check    check.Check
	safety   string
	sdks     []catalogue.Deviation
	yieldsTo []string
}

// testResult is the outcome of a test run.
type testResult struct {
	*fakeServer
	results  map[string]report.Result
	attempts map[string]int
	problem  string
	sessions []*driver.Session
	duration time.Duration
}

// run runs all checks to the end of the run.
func (s testRun) run(t *testing.T) (out testResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if s.interrupt > 0 {
			time.AfterFunc(s.interrupt, func() { cancel(s.cause) })
		}
		out.fakeServer = &fakeServer{script: s.script, onStart: s.onStart, exitsLate: s.exitsLate}
		target := driver.Target{Serve: out.serve}
		server := s.discovered("stdio")
		if s.withDiscovery {
			s.options.DiscoverySession = establishedSession(t, ctx, target)
		}
		if s.withUnused {
			s.options.UnusedSession = establishedSession(t, ctx, target)
		}
		out.execute(ctx, target, server, s)
		if slices.ContainsFunc(out.sessions, (*driver.Session).IsAlive) && s.interrupt == 0 {
			t.Error("a session is still alive after the run")
		}
	})
	return out
}

// execute runs the checks and keeps their results.
func (out *testResult) execute(ctx context.Context, target driver.Target, server *check.Server, s testRun) {
	out.results, out.attempts = map[string]report.Result{}, map[string]int{}
	plan := s.plan(server)
	for i, c := range plan {
		plan[i].script.Run = func(t *check.T) {
			out.countAttempt(c.ID)
			c.script.Run(t)
		}
	}
	begin := time.Now()
	run := Execute(ctx, target, server, plan, s.options)
	for i, c := range plan {
		out.results[c.ID] = run.Result(i)
	}
	run.Wait()
	out.duration, out.problem, out.sessions = time.Since(begin), run.Problem(), run.Sessions()
}

func (out *testResult) countAttempt(id string) {
	out.mu.Lock()
	defer out.mu.Unlock()
	out.attempts[id]++
}

// discovered returns the server as discovery describes it.
func (s testRun) discovered(transport string) *check.Server {
	server := s.server
	server.Transport, server.Requested, server.Revision = transport, catalogue.NewestLegacy, catalogue.NewestLegacy
	return &server
}

// plan returns the plan of the checks in their order, with a MUST for each.
func (s testRun) plan(server *check.Server) []Case {
	var entries catalogue.Catalogue
	suite := check.Suite{}
	for _, p := range s.checks {
		entries = append(entries, &catalogue.Requirement{
			ID: p.id, Title: "title of " + p.id, Fix: "fix of " + p.id, Safety: p.safety, SDKs: p.sdks,
			YieldsTo: p.yieldsTo,
			Level:    catalogue.ByRevision[catalogue.Level]{All: catalogue.Must},
			Spec:     map[string]string{catalogue.NewestLegacy: "page#anchor"},
		})
		suite[p.id] = p.check
	}
	return Plan(entries, suite, server, func(*catalogue.Requirement) bool { return true })
}

// establishedSession returns an established session that nothing has used.
func establishedSession(t *testing.T, ctx context.Context, target driver.Target) *driver.Session {
	t.Helper()
	s, err := driver.Start(ctx, target, driver.Options{})
	if err == nil {
		err = s.Open(driver.ConnectParams(catalogue.NewestLegacy))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantVerdict compares the verdict of a check and, unless it is empty, its message.
func (out testResult) wantVerdict(t *testing.T, id string, verdict catalogue.Verdict, message string) {
	t.Helper()
	r := out.results[id]
	if r.Verdict != verdict || message != "" && r.Message != message {
		t.Errorf("%s: got %s: %s\nwant %s: %s", id, r.Verdict, r.Message, verdict, message)
	}
}

// wantAttempts compares how often a check was tried.
func (out testResult) wantAttempts(t *testing.T, id string, want int) {
	t.Helper()
	if got := out.attempts[id]; got != want {
		t.Errorf("%s was tried %d times, want %d", id, got, want)
	}
}

// script is what a server does: the first rule that matches a message decides. A message that no rule matches gets a
// valid response.
type script []rule

// rule is what a server does with some messages. Empty fields match any message.
type rule struct {
	method     string
	process    int  // number of the process, in the order of their starts from 1
	nth        int  // number of the message of this method in this process, from 1
	from       int  // the first of several such numbers
	inParallel bool // whether another process runs
	action     action
}

// action is what a server does instead of sending a valid response.
type action struct {
	silent bool          // it sends no response
	exits  bool          // it exits with status 1
	hangs  bool          // it reads nothing more
	code   string        // of an error response, as JSON
	result string        // of the response, as JSON
	writes string        // lines that it writes before the response
	delay  time.Duration // before it reacts
}

var (
	staysSilent = action{silent: true}
	exits       = action{exits: true}
	hangs       = action{hangs: true}
)

func answersError(code int) action  { return action{code: fmt.Sprint(code)} }
func writes(lines ...string) action { return action{writes: strings.Join(lines, "\n") + "\n"} }
func delays(d time.Duration) action { return action{delay: d} }

// fakeServer runs a script: it is the server of a test run, with all of its processes.
type fakeServer struct {
	script    script
	onStart   func()
	exitsLate bool

	mu         sync.Mutex
	started    int      // processes in all
	running    int      // processes that run
	maxRunning int      // the most processes that ran at a time
	received   []string // the process and the method of all messages, as "2 tools/list"
}

// message is the part of a message that scripts depend on.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// serve runs one process.
func (s *fakeServer) serve(ctx context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
	process := s.startProcess()
	defer s.endProcess()
	count := map[string]int{}
	lines := json.NewDecoder(in)
	for {
		var m message
		if lines.Decode(&m) != nil {
			if s.exitsLate {
				time.Sleep(time.Second)
			}
			return 0
		}
		count[m.Method]++
		does, alone := s.actionFor(process, m.Method, count[m.Method])
		select {
		case <-time.After(does.delay):
		case <-ctx.Done():
		}
		if does.hangs {
			<-ctx.Done()
		}
		if does.exits || does.hangs {
			return 1
		}
		io.WriteString(out, does.writes)
		if m.Method != "" && m.ID != nil && !does.silent {
			io.WriteString(out, does.answer(m, process, alone)+"\n")
		}
	}
}

// answer returns the response to a request: usually a result that says which process has sent it.
func (a action) answer(m message, process int, alone bool) string {
	result := cmp.Or(a.result, fmt.Sprintf(`{"process":%d,"alone":%v}`, process, alone))
	switch {
	case a.code != "":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}`, m.ID, a.code)
	case m.Method == "initialize" && a.result == "":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{}}`, catalogue.NewestLegacy)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *fakeServer) startProcess() (process int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onStart != nil {
		s.onStart()
	}
	s.started++
	s.running++
	s.maxRunning = max(s.maxRunning, s.running)
	return s.started
}

func (s *fakeServer) endProcess() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

// actionFor returns what to do with a message, and whether no other process runs.
func (s *fakeServer) actionFor(process int, method string, nth int) (does action, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, fmt.Sprint(process, " ", method))
	alone = s.running == 1
	for _, l := range s.script {
		switch {
		case l.method != "" && l.method != method, l.process != 0 && l.process != process:
		case l.nth != 0 && l.nth != nth, l.from > nth, l.inParallel && alone:
		default:
			return l.action, alone
		}
	}
	return action{}, alone
}

// countReceived returns how many messages of a method were received.
func (s *fakeServer) countReceived(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.received {
		if strings.HasSuffix(m, " "+method) {
			n++
		}
	}
	return n
}

// listTools requests tools/list and expects a result.
func listTools(t *check.T) check.M {
	r := t.Send(t.Session(), "tools/list", nil, check.AllowSilence)
	t.Expect(r).To(check.BeResult())
	return r.Result()
}

var errBudget = errors.New("the run took longer than 5m0s (--budget)")

// endPart ends a check, or a part of it, in the named way.
func endPart(t *check.T, how, message string) {
	switch how {
	case "skip":
		t.Skip(check.NotApplicable, "%s", message)
	case "open":
		t.NoVerdict(check.Undecided, "%s", message)
	case "fail":
		t.Fail(message, "that")
	case "panic":
		panic(message)
	}
}
