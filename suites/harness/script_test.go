package harness

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

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// scene is a run of some checks against a scripted server, under a virtual clock.
type scene struct {
	script  script
	cast    []role
	options Options
	server  Server // what discovery has learnt beside what is so in every scene
	first   bool   // the session of discovery is handed over
	spare   bool   // a process that was not greeted as well
	lingers bool   // every process runs for a second after the end of its input

	interrupt time.Duration // after which the run is interrupted; 0: never
	cause     error         // of that; nil: Ctrl-C
}

// role is a check of a scene, and what its requirement says of it.
type role struct {
	id     string
	check  Check
	safety string
	sdks   []Deviation
	yields []string
}

// played is what came of a scene.
type played struct {
	*stage
	results  map[string]Result
	attempts map[string]int
	problem  string
	sessions []*driver.Session
	took     time.Duration
}

// play runs the scene to its end.
func (s scene) play(t *testing.T) (out played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if s.interrupt > 0 {
			time.AfterFunc(s.interrupt, func() { cancel(s.cause) })
		}
		out.stage = &stage{script: s.script, lingers: s.lingers}
		target := driver.Target{Serve: out.serve}
		server := s.described("stdio")
		if s.first {
			s.options.First = greeted(t, ctx, target)
		}
		if s.spare {
			s.options.Spare = greeted(t, ctx, target)
		}
		out.run(ctx, target, server, s)
		if slices.ContainsFunc(out.sessions, (*driver.Session).Alive) && s.interrupt == 0 {
			t.Error("a session goes on after the run")
		}
	})
	return out
}

// run runs the cast of a scene and keeps what comes of it.
func (out *played) run(ctx context.Context, target driver.Target, server *Server, s scene) {
	out.results, out.attempts = map[string]Result{}, map[string]int{}
	plan := s.plan(server)
	for i, c := range plan {
		plan[i].check.run = func(t *T) {
			out.count(c.ID)
			c.check.run(t)
		}
	}
	begin := time.Now()
	run := Execute(ctx, target, server, plan, s.options)
	for i, c := range plan {
		out.results[c.ID] = run.Result(i)
	}
	run.Wait()
	out.took, out.problem, out.sessions = time.Since(begin), run.Problem(), run.Sessions()
}

// count counts an attempt.
func (out *played) count(id string) {
	out.mu.Lock()
	defer out.mu.Unlock()
	out.attempts[id]++
}

// described is the server as discovery describes it.
func (s scene) described(transport string) *Server {
	server := s.server
	server.Transport, server.Requested, server.Revision = transport, Newest, Newest
	return &server
}

// plan has the cast in its order, all of it MUSTs.
func (s scene) plan(server *Server) []Case {
	var catalogue Catalogue
	suite := Suite{}
	for _, p := range s.cast {
		catalogue = append(catalogue, &Requirement{
			ID: p.id, Title: "title of " + p.id, Fix: "fix of " + p.id, Safety: p.safety, SDKs: p.sdks,
			YieldsTo: p.yields,
			Level:    ByRevision[Level]{All: Must}, Spec: map[string]string{Newest: "page#anchor"},
		})
		suite[p.id] = p.check
	}
	return Plan(catalogue, suite, server, func(*Requirement) bool { return true })
}

// greeted is an established session that nobody has used.
func greeted(t *testing.T, ctx context.Context, target driver.Target) *driver.Session {
	t.Helper()
	s, err := driver.Start(ctx, target, driver.Options{})
	if err == nil {
		err = s.Establish(driver.Hello(Newest))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// want compares the verdict of a part, and its message if one is given.
func (out played) want(t *testing.T, id string, verdict Verdict, message string) {
	t.Helper()
	r := out.results[id]
	if r.Verdict != verdict || message != "" && r.Message != message {
		t.Errorf("%s: got %s: %s\nwant %s: %s", id, r.Verdict, r.Message, verdict, message)
	}
}

// wantAttempts compares how often a part was tried.
func (out played) wantAttempts(t *testing.T, id string, want int) {
	t.Helper()
	if got := out.attempts[id]; got != want {
		t.Errorf("%s was tried %d times, want %d", id, got, want)
	}
}

// script is what a server does: the first line that is about a message says what. What no line is about is answered as
// by a sound server.
type script []line

// line is what a server does with some messages. What it does not name may be any.
type line struct {
	method  string
	process int  // which one of those that were started, from 1
	nth     int  // of this method in this process, from 1
	from    int  // the same, and all that follow
	crowded bool // while another process runs
	does    act
}

// act is what a server does in place of a good answer.
type act struct {
	silent bool          // nothing
	dies   bool          // it exits with status 1
	hangs  bool          // it reads nothing more
	code   string        // of an error, as JSON
	result string        // of the answer, as JSON
	says   string        // lines of its own, before the answer
	after  time.Duration // it takes its time
}

var (
	ignores = act{silent: true}
	dies    = act{dies: true}
	hangs   = act{hangs: true}
)

func refuses(code int) act      { return act{code: fmt.Sprint(code)} }
func says(lines ...string) act  { return act{says: strings.Join(lines, "\n") + "\n"} }
func takes(d time.Duration) act { return act{after: d} }

// stage is where a script is played: the server of a scene, with all its processes.
type stage struct {
	script  script
	lingers bool

	mu      sync.Mutex
	started int      // processes in all
	running int      // processes now
	most    int      // processes at a time
	heard   []string // all messages, as "2 tools/list": the process and the method
}

// message is as much of a message as a script is about.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// serve is one process.
func (s *stage) serve(ctx context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
	process := s.enter()
	defer s.leave()
	count := map[string]int{}
	lines := json.NewDecoder(in)
	for {
		var m message
		if lines.Decode(&m) != nil {
			if s.lingers {
				time.Sleep(time.Second)
			}
			return 0
		}
		count[m.Method]++
		does, alone := s.direct(process, m.Method, count[m.Method])
		select {
		case <-time.After(does.after):
		case <-ctx.Done():
		}
		if does.hangs {
			<-ctx.Done()
		}
		if does.dies || does.hangs {
			return 1
		}
		io.WriteString(out, does.says)
		if m.Method != "" && m.ID != nil && !does.silent {
			io.WriteString(out, does.answer(m, process, alone)+"\n")
		}
	}
}

// answer is the answer to a request: usually a result that says who gave it.
func (a act) answer(m message, process int, alone bool) string {
	result := cmp.Or(a.result, fmt.Sprintf(`{"process":%d,"alone":%v}`, process, alone))
	switch {
	case a.code != "":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}`, m.ID, a.code)
	case m.Method == "initialize" && a.result == "":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{}}`, Newest)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *stage) enter() (process int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	s.running++
	s.most = max(s.most, s.running)
	return s.started
}

func (s *stage) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

// direct says what to do with a message, and whether no other process runs.
func (s *stage) direct(process int, method string, nth int) (does act, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, fmt.Sprint(process, " ", method))
	alone = s.running == 1
	for _, l := range s.script {
		switch {
		case l.method != "" && l.method != method, l.process != 0 && l.process != process:
		case l.nth != 0 && l.nth != nth, l.from > nth, l.crowded && alone:
		default:
			return l.does, alone
		}
	}
	return act{}, alone
}

// times is how often a method was heard.
func (s *stage) times(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.heard {
		if strings.HasSuffix(m, " "+method) {
			n++
		}
	}
	return n
}

// list asks for the tools, and wants a result: what most parts of scenes do.
func list(t *T) M {
	r := t.Try(t.Session(), "tools/list", nil)
	t.Expect(r).To(BeResult())
	return r.Result()
}

var errBudget = errors.New("the run took longer than 5m0s (--budget)")
