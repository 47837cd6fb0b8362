package engine

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// runOverHTTP runs the checks against the script served over HTTP by one process.
func (s testRun) runOverHTTP(t *testing.T) (out testResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out.fakeServer = &fakeServer{script: s.script}
		web := &http.Server{Handler: &endpoint{fakeServer: out.fakeServer, count: map[string]int{}}}
		conns := pipeNetwork{make(chan net.Conn), make(chan struct{})}
		go web.Serve(conns)
		defer web.Close()
		site, err := driver.NewSite(driver.SiteOptions{URL: "http://127.0.0.1:8080/mcp", Dial: conns.dial})
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close(driver.Limits{})
		server := s.discovered("http")
		out.execute(t.Context(), driver.Target{Site: site}, server, s)
	})
	return out
}

// endpoint answers POST requests with JSON, by the script.
type endpoint struct {
	*fakeServer
	mu    sync.Mutex
	count map[string]int
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	e.mu.Lock()
	e.count[m.Method]++
	nth := e.count[m.Method]
	e.mu.Unlock()
	does, alone := e.actionFor(1, m.Method, nth)
	switch {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case does.silent:
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, does.answer(m, 1, alone))
	}
}

// pipeNetwork is a network with one server.
type pipeNetwork struct {
	conns chan net.Conn
	done  chan struct{}
}

func (d pipeNetwork) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case d.conns <- there:
		return here, nil
	case <-d.done: // net/http may dial when it no longer needs the connection
		return nil, net.ErrClosed
	}
}

func (d pipeNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

func (d pipeNetwork) Close() error   { close(d.done); return nil }
func (d pipeNetwork) Addr() net.Addr { return &net.TCPAddr{} }

// TestRetrySeriallyOverHTTP checks that, since all sessions share one server over HTTP, an inconclusive result that
// rests on silence is retried even if it would not be over stdio.
func TestRetrySeriallyOverHTTP(t *testing.T) {
	tests := []struct {
		name     string
		script   script
		verdict  catalogue.Verdict
		attempts int
	}{
		{"one that answers", nil, catalogue.Pass, 1},
		{"silent at first", script{{method: "tools/list", nth: 1, action: staysSilent}}, catalogue.Pass, 2},
		{"always silent", script{{method: "tools/list", action: staysSilent}}, catalogue.Inconclusive, 2},
		{"an error at first", script{{method: "tools/list", nth: 1, action: answersError(-1)}},
			catalogue.Inconclusive, 1},
	}
	for _, tt := range tests {
		t.Log(tt.name)
		out := testRun{
			script: tt.script,
			checks: []testCheck{{id: "a/one", check: check.Probe(func(t *check.T) {
				if r := t.Send(t.Session(check.Exclusive), "tools/list", nil, check.AllowSilence); r.Result() == nil {
					t.NoVerdict(check.Undecided, "%s", check.Got(r))
				}
				if t.Site() == nil {
					t.Fail("a site", "none")
				}
			})}},
		}.runOverHTTP(t)
		out.wantVerdict(t, "a/one", tt.verdict, "")
		out.wantAttempts(t, "a/one", tt.attempts)
	}
}

// TestConcurrentSessions checks that each job has a session over HTTP, and that jobs share a few sessions over stdio.
func TestConcurrentSessions(t *testing.T) {
	slowly := check.Probe(func(t *check.T) {
		s := t.Session()
		time.Sleep(time.Second)
		t.Send(s, "tools/list", nil)
	})
	tests := []struct {
		name     string
		play     func(testRun, *testing.T) testResult
		jobs     int
		sessions int
	}{
		{"stdio", testRun.run, 4, 1},
		{"stdio", testRun.run, 8, 1}, // other jobs share sessions
		{"HTTP", testRun.runOverHTTP, 4, 4},
		{"HTTP", testRun.runOverHTTP, 1, 1},
	}
	for _, tt := range tests {
		s := testRun{options: Options{Jobs: tt.jobs}}
		for _, id := range strings.Fields("a/1 a/2 a/3 a/4") {
			s.checks = append(s.checks, testCheck{id: id, check: slowly})
		}
		out := tt.play(s, t)
		if len(out.sessions) != tt.sessions {
			t.Errorf("%s, %d jobs: %d sessions, want %d", tt.name, tt.jobs, len(out.sessions), tt.sessions)
		}
	}
	limits := []int{
		Options{Jobs: 8}.sessionLimit(driver.Target{}), Options{Jobs: 1}.sessionLimit(driver.Target{}),
		Options{Jobs: 8}.sessionLimit(driver.Target{Site: &driver.Site{}}),
		Options{Jobs: 8, Quick: true}.sessionLimit(driver.Target{}),
	}
	if diff := cmp.Diff([]int{2, 1, 8, 1}, limits); diff != "" {
		t.Error(diff)
	}
}

// TestEvidenceOverHTTP checks that evidence has the HTTP status and events, and that watches ignore manual requests.
func TestEvidenceOverHTTP(t *testing.T) {
	out := testRun{
		checks: []testCheck{{id: "a/one", check: check.Probe(func(t *check.T) {
			s := t.Session()
			t.Send(s, "tools/list", nil)
			s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete}).AwaitEnd()
			s.HTTP().Do(driver.HTTPRequest{Body: []byte(`{"jsonrpc":"2.0","id":"mine","method":"by/hand"}`)}).AwaitEnd()
		})}},
	}.runOverHTTP(t)
	var got []string
	for _, l := range out.results["a/one"].Evidence {
		got = append(got, l.Arrow+" "+l.HTTP)
	}
	const posted = "→ POST /mcp, ← 200 OK; content-type: application/json"
	want := posted + ", → DELETE /mcp, ← 405 Method Not Allowed, " + posted
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	w := check.Wire{Sessions: out.sessions}
	for _, m := range append(w.Messages().List, w.Lines().List...) {
		if m.Manual {
			t.Errorf("%s is the response to a manual request, but is judged", m.Raw.Bytes())
		}
	}
}
