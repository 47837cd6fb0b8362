package load

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/hooks"
	"github.com/mcpcheck/mcpcheck/fixtures/proof"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// loadFixture loads the fixture with a fault, under a virtual clock: a request takes no time but what a middleware lets
// it take.
func loadFixture(t *testing.T, w proof.Deployment, f fixtures.Fault, revision string, o Options) (out report.Load) {
	t.Helper()
	return loadServer(t, func(t *testing.T) driver.Target { target, _ := w.Target(t, f); return target }, revision, o)
}

// loadServer loads a server inside this process.
func loadServer(
	t *testing.T, serve func(*testing.T) driver.Target, revision string, o Options,
) (out report.Load) {
	t.Helper()
	o.Calls, o.Timeout, o.MaxMessageBytes = cmp.Or(o.Calls, report.CallsSafe), time.Second, 1<<20
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Second) // what the fixture still writes
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		target := serve(t)
		if target.Site != nil {
			defer target.Site.Close(driver.Limits{})
		}
		server, s, err := discovery.Inspect(ctx, target, revision)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if out, err = Run(ctx, target, server, s, o); err != nil {
			t.Fatal(err)
		}
	})
	return out
}

// take makes each request over HTTP take a time.
func take(d time.Duration) hooks.Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(d)
			next.ServeHTTP(w, r)
		})
	}
}

// failing returns the names of the results that fail.
func failing(l report.Load) (names []string) {
	for _, r := range l.Results {
		if r.Verdict == catalogue.Fail {
			names = append(names, r.Name)
		}
	}
	return names
}

// loadSettings are the deployments and revisions in which loads are tested.
var loadSettings = []proof.Setting{
	proof.Deployments[0].WithRevision("2025-11-25"), proof.Deployments[0].WithRevision("2026-07-28"),
	proof.Deployments[1].WithRevision("2025-06-18"), proof.Deployments[1].WithRevision("2026-07-28"),
	proof.Deployments[2].WithRevision("2025-11-25"), proof.Deployments[4].WithRevision("2025-11-25"),
	proof.Deployments[5].WithRevision("2025-03-26"),
}

// TestHonestServer checks that nothing fails on the honest server, and that at a constant rate the requests are as many
// as were due.
func TestHonestServer(t *testing.T) {
	for _, s := range loadSettings {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			l := loadFixture(t, s.Deployment, fixtures.Fault{}, s.Revision, Options{Clients: 4, Processes: 2,
				PerSecond: 200, Duration: time.Second, Warmup: 500 * time.Millisecond, Cancel: 0.1})
			if got := failing(l); got != nil || l.Problem != "" {
				t.Errorf("%v fail: %+v %s", got, l.Results, l.Problem)
			}
			if l.All.Count != 200 || l.All.PerSecond != 200 {
				t.Errorf("%d requests, %g a second, and 200 were due", l.All.Count, l.All.PerSecond)
			}
			if l.OwnMicroseconds <= 0 && runtime.GOOS != "windows" {
				t.Error("the CPU time of mcpcheck itself is missing")
			}
			var methods []string
			for _, f := range l.Methods {
				methods = append(methods, f.Method)
			}
			for _, want := range []string{
				"tools/call", "tools/list", "prompts/get", "resources/read", "completion/complete",
			} {
				if !slices.Contains(methods, want) {
					t.Errorf("%s is not among %v", want, methods)
				}
			}
		})
	}
}

// TestScale checks that the steps of a scale are 1, 2, 4 … clients and all of them, and that the knee is where a server
// serves no more at a time.
func TestScale(t *testing.T) {
	twoAtATime := func(next http.Handler) http.Handler {
		places := make(chan struct{}, 2) // inside of the virtual clock's bubble
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			places <- struct{}{}
			defer func() { <-places }()
			time.Sleep(10 * time.Millisecond)
			next.ServeHTTP(w, r)
		})
	}
	for _, s := range []struct {
		deployment proof.Deployment
		fault      fixtures.Fault
		knee       int
	}{
		{proof.Deployments[1], fixtures.Fault{Middleware: twoAtATime}, 2},
		{proof.Deployments[1], fixtures.Fault{Middleware: take(10 * time.Millisecond)}, 0},
	} {
		t.Run(fmt.Sprint(s.knee), func(t *testing.T) {
			l := loadFixture(t, s.deployment, s.fault, "2025-11-25",
				Options{Clients: 6, Scale: true, Duration: time.Second, Mix: Mix{"ping": 1}})
			var steps []int
			for _, s := range l.Scale {
				steps = append(steps, s.Clients)
			}
			if !slices.Equal(steps, []int{1, 2, 4, 6}) || l.Knee != s.knee || failing(l) != nil || l.Problem != "" {
				t.Errorf("steps %v, knee %d, want %d: %+v", steps, l.Knee, s.knee, l.Scale)
			}
		})
	}
}

// TestMethodBudgets checks that a budget of a method is of its requests alone.
func TestMethodBudgets(t *testing.T) {
	l := loadFixture(t, proof.Deployments[1], fixtures.Fault{Middleware: take(10 * time.Millisecond)}, "2025-11-25",
		Options{Clients: 4, Duration: time.Second, Mix: Mix{"ping": 1, "tools/list": 1}, Methods: map[string]Budgets{
			"ping":       {P99: 9 * time.Millisecond},
			"tools/list": {P99: 20 * time.Millisecond, Throughput: 300, Errors: 0.1},
		}})
	if got := failing(l); !slices.Equal(got, []string{"ping: " + WithinP99, "tools/list: " + Throughput}) {
		t.Errorf("%v fail", got)
	}
	l = loadFixture(t, proof.Deployments[1], fixtures.Fault{Middleware: chain(take(time.Millisecond), breakLater)},
		"2025-11-25", Options{Clients: 4, Duration: 100 * time.Millisecond, Mix: Mix{"tools/call": 1, "ping": 1},
			Budgets: Budgets{Errors: 1},
			Methods: map[string]Budgets{"tools/call": {Errors: 0.1}, "ping": {Errors: 0.1}}})
	if got := failing(l); !slices.Equal(got, []string{"tools/call: " + WithinErrors}) {
		t.Errorf("%v fail: %+v", got, l.Methods)
	}
}

// TestRefusalEndsTheLoad checks that 429 with Retry-After ends a load before its time, and is not a failure, unless it
// is ignored: then it is a request without a response.
func TestRefusalEndsTheLoad(t *testing.T) {
	fault := fixtures.Fault{Middleware: chain(take(time.Millisecond), refuseLater)}
	o := Options{Clients: 4, Duration: time.Second, Mix: Mix{"tools/call": 3, "ping": 1}}
	l := loadFixture(t, proof.Deployments[1], fault, "2025-11-25", o)
	if got := failing(l); got != nil || !strings.HasSuffix(l.Problem, ": 429 Too Many Requests with Retry-After") {
		t.Errorf("%v fail, and the problem is %q", got, l.Problem)
	}
	if l.Seconds > 0.1 || l.All.PerSecond < 1000 {
		t.Errorf("%g a second in %g s", l.All.PerSecond, l.Seconds)
	}
	o.IgnoreRefusals = true
	l = loadFixture(t, proof.Deployments[1], fault, "2025-11-25", o)
	if got := failing(l); !slices.Equal(got, []string{Answered}) || l.Problem != "" || l.Seconds != 1 {
		t.Errorf("%v fail, and the problem is %q after %g s", got, l.Problem, l.Seconds)
	}
}

// TestOpenStreams checks that a response counts when it arrives, although the server leaves its stream open.
func TestOpenStreams(t *testing.T) {
	leaveOpen := func(next http.Handler) http.Handler {
		isCall := hooks.ByMessageMethod("tools/call")
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isCall(r) {
				next.ServeHTTP(w, r)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "text/event-stream")
			text := bytes.TrimPrefix(bytes.TrimSpace(answer.Body.Bytes()), []byte("data: "))
			fmt.Fprintf(w, ": soon\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
			fmt.Fprintf(w, "data: %s\n\n", text)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
	}
	fault := fixtures.Fault{Middleware: chain(take(10*time.Millisecond), leaveOpen)}
	l := loadFixture(t, proof.Deployments[1], fault, "2025-11-25",
		Options{Clients: 2, Duration: time.Second, Mix: Mix{"tools/call": 1}})
	if got := failing(l); got != nil || l.Problem != "" || l.All.Max > 11 || l.All.Count != 200 {
		t.Errorf("%v fail, problem %q, %+v", got, l.Problem, l.All)
	}
}

// TestServerRequests checks that a server may ask the client for a sign of life, and wait for it, before it responds.
func TestServerRequests(t *testing.T) {
	for _, d := range []int{0, 1, 5} {
		t.Run(proof.Deployments[d].Name, func(t *testing.T) {
			l := loadFixture(t, proof.Deployments[d], fixtures.Fault{Request: pingClient}, "2025-06-18",
				Options{Clients: 2, PerSecond: 100, Duration: time.Second, Mix: Mix{"tools/call": 1}})
			if got := failing(l); got != nil || l.Problem != "" || l.All.Count != 100 {
				t.Errorf("%v fail, problem %q: %+v", got, l.Problem, l.Results)
			}
		})
	}
}

// pingClient asks the client for a sign of life before it serves a call of a tool.
func pingClient(c *fixtures.Conn, req map[string]any) (served bool) {
	return req["method"] == "tools/call" && c.Call("ping", nil) == nil
}

// TestBehind checks that a load ends two timeouts after its time at the latest, although requests are due.
func TestBehind(t *testing.T) {
	over := func(d proof.Deployment, f fixtures.Fault) func(*testing.T) driver.Target {
		return func(t *testing.T) driver.Target { target, _ := d.Target(t, f); return target }
	}
	for _, tt := range []struct {
		name  string
		serve func(*testing.T) driver.Target
	}{
		{"a slow server", over(proof.Deployments[1], fixtures.Fault{Middleware: take(100 * time.Millisecond)})},
		{"a process that stops to read", func(t *testing.T) driver.Target {
			target, _ := proof.Deployments[0].Target(t, fixtures.Fault{})
			serve, processes := target.Serve, 0
			target.Serve = func(ctx context.Context, in io.Reader, out, err io.Writer, term <-chan struct{}) int {
				if processes++; processes > 1 { // the first one is that of the quiet session
					in = &stuckReader{in: in, lines: 10, ctx: ctx}
				}
				return serve(ctx, in, out, err, term)
			}
			return target
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loadServer(t, tt.serve, "2025-11-25",
				Options{Clients: 2, PerSecond: 1000, Duration: time.Second, Mix: Mix{"ping": 1}})
			if l.Problem != errBehind.Error() || l.All.Count == 0 {
				t.Errorf("problem %q after %d requests", l.Problem, l.All.Count)
			}
		})
	}
}

// stuckReader reads some lines, and then nothing for as long as the process runs.
type stuckReader struct {
	in    io.Reader
	lines int
	ctx   context.Context
}

func (r *stuckReader) Read(p []byte) (n int, err error) {
	if r.lines <= 0 {
		<-r.ctx.Done()
		return 0, io.EOF
	}
	n, err = r.in.Read(p)
	r.lines -= bytes.Count(p[:n], []byte("\n"))
	return n, err
}

// TestMarkersInHeaders checks that a marker stays as it is where a header repeats the argument: the server refuses a
// body that says something else.
func TestMarkersInHeaders(t *testing.T) {
	var regions sync.Map
	repeatRegion := fixtures.Fault{Reply: func(_ *fixtures.Conn, req, reply map[string]any) {
		result, _ := reply["result"].(map[string]any)
		params, _ := req["params"].(map[string]any)
		tools, _ := result["tools"].([]any)
		if tools != nil { // no more than eight tools are called
			tools = slices.DeleteFunc(tools, func(t any) bool { return t.(map[string]any)["name"] != "route" })
			result["tools"] = tools
		}
		for _, t := range tools {
			t.(map[string]any)["inputSchema"].(map[string]any)["required"] = []any{"region"}
		}
		if args, _ := params["arguments"].(map[string]any); params["name"] == "route" && result != nil {
			regions.Store(args["region"], true)
			result["content"] = []any{map[string]any{"type": "text", "text": args["region"]}}
		}
	}}
	repeatRegion.Middleware = take(time.Millisecond)
	l := loadFixture(t, proof.Deployments[3], repeatRegion, "2026-07-28",
		Options{Clients: 4, Duration: 100 * time.Millisecond, Mix: Mix{"tools/call": 1}})
	if got := failing(l); got != nil || l.Problem != "" {
		t.Errorf("%v fail: %+v %s", got, l.Results, l.Problem)
	}
	if _, sent := regions.Load(marker); !sent {
		t.Error("no call had a marker in a header")
	}
}

// TestCoordinatedOmission checks that a server that stands still for a while shows in the latencies at a constant rate,
// as it would to clients who come at their own times, and not as one slow request.
func TestCoordinatedOmission(t *testing.T) {
	var n atomic.Int64
	pause := func(next http.Handler) http.Handler {
		var still atomic.Int64 // until when, in nanoseconds
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && n.Add(1) == 100 {
				still.Store(time.Now().Add(500 * time.Millisecond).UnixNano())
			}
			time.Sleep(time.Until(time.Unix(0, still.Load())))
			time.Sleep(time.Millisecond)
			next.ServeHTTP(w, r)
		})
	}
	l := loadFixture(t, proof.Deployments[1], fixtures.Fault{Middleware: pause}, "2025-11-25", Options{Clients: 2,
		PerSecond: 100, Duration: 2 * time.Second, Mix: Mix{"ping": 1}})
	if l.All.P90 < 100 || l.All.P50 > 10 || l.All.Max < 490 {
		t.Errorf("p50 %.1f, p90 %.1f, max %.1f ms: a quarter of the requests were due within half a second", l.All.P50,
			l.All.P90, l.All.Max)
	}
}

// TestBudgets checks that figures that the operator does not want fail, and others pass.
func TestBudgets(t *testing.T) {
	for _, tt := range []struct {
		name    string
		budgets Budgets
		want    []string
	}{
		{"none", Budgets{}, nil},
		{"met", Budgets{P99: 11 * time.Millisecond, Errors: 0, Throughput: 390}, nil},
		{"too slow", Budgets{P99: 9 * time.Millisecond}, []string{WithinP99}},
		{"too few", Budgets{Throughput: 410}, []string{Throughput}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loadFixture(t, proof.Deployments[1], fixtures.Fault{Middleware: take(10 * time.Millisecond)},
				"2025-11-25", Options{Clients: 4, Duration: time.Second, Mix: Mix{"ping": 1}, Budgets: tt.budgets})
			if got := failing(l); !slices.Equal(got, tt.want) {
				t.Errorf("%v fail, want %v: %+v", got, tt.want, l.All)
			}
		})
	}
	l := loadFixture(t, proof.Deployments[1], fixtures.Fault{Middleware: chain(take(time.Millisecond), breakLater)},
		"2025-11-25", Options{Clients: 4, Duration: 100 * time.Millisecond, Mix: Mix{"tools/call": 1},
			Budgets: Budgets{Errors: 0.5}})
	if got := failing(l); !slices.Equal(got, []string{Answered}) {
		t.Errorf("%v fail, want %s alone: %+v", got, Answered, l.Results)
	}
}

// TestApply checks that a setting of mcpcheck.yaml counts, that a flag takes precedence, and that a value that makes no
// sense is reported with its place.
func TestApply(t *testing.T) {
	file := func(text string) config.File {
		f, err := config.Parse("mcpcheck.yaml", []byte("command: [server]\nload:\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	standard := Options{Clients: 10, Processes: 1, Duration: time.Second, Warmup: time.Second, Cancel: 0.01}
	for _, tt := range []struct {
		file, flag string
		want       func(Options) bool
		err        string
	}{
		{file: "  clients: 50\n  warmup: 0s\n  rate: 20\n", want: func(o Options) bool {
			return o.Clients == 50 && o.Warmup == 0 && o.PerSecond == 20 && o.Duration == time.Second
		}},
		{file: "  clients: 50\n  cancel: 0\n", flag: "clients", want: func(o Options) bool {
			return o.Clients == 10 && o.Cancel == 0
		}},
		{file: "  mix: {tools/call: 5}\n  ramp: 1s\n  processes: 2\n  duration: 3s\n", want: func(o Options) bool {
			return o.Mix["tools/call"] == 5 && o.Ramp == time.Second && o.Processes == 2 && o.Duration == 3*time.Second
		}},
		{file: "  p99: 1s\n  errors: 0.1\n  throughput: 7\n  methods: {ping: {p99: 2s}}\n", want: func(o Options) bool {
			return o.Budgets == Budgets{P99: time.Second, Errors: 0.1, Throughput: 7} &&
				o.Methods["ping"].P99 == 2*time.Second
		}},
		{file: "  errors: 2\n", err: "mcpcheck.yaml:3:11: load.errors is a share from 0 to 1, not 2"},
		{file: "  clients: 0\n", flag: "p99", err: "mcpcheck.yaml:3:12: load.clients is from 1 to 10000, not 0"},
		{file: "  mix: {ping: 1}\nrate: 5\n", flag: "scale",
			err: "mcpcheck.yaml:4:7: rate and --scale exclude each other: leave out one of them"},
		{file: "  processes: 20\n", flag: "processes", want: func(o Options) bool { return o.Processes == 1 }},
	} {
		o := standard
		o.Scale = tt.flag == "scale"
		v := config.Options{File: file(tt.file)}
		v.Flags.IsGiven = func(flag string) bool { return flag == tt.flag }
		err := o.apply(v)
		switch {
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%q: error %v, want %s", tt.file, err, tt.err)
		case tt.err == "" && (err != nil || !tt.want(o)):
			t.Errorf("%q: error %v, %+v", tt.file, err, o)
		}
	}
}

func TestParseMix(t *testing.T) {
	for _, tt := range []struct{ text, method, err string }{
		{"tools/call=5,tools/list=1", "tools/call", ""},
		{"tools/call", "", `"tools/call" is not METHOD=WEIGHT`},
		{"ping=-1", "", `"ping=-1" is not METHOD=WEIGHT`},
	} {
		mix, err := ParseMix(tt.text)
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: error %v, want %q", tt.text, err, tt.err)
		case tt.err == "" && mix[tt.method] != 5:
			t.Errorf("%s: got %v", tt.text, mix)
		}
	}
}

// TestCompareRuns checks that what fails after a load, and again, is found, and what fails by chance is not.
func TestCompareRuns(t *testing.T) {
	run := func(problem string, ids ...string) quickRun {
		q := quickRun{failures: map[string]bool{}, problem: problem}
		for _, id := range ids {
			q.failures[id] = true
		}
		return q
	}
	for _, tt := range []struct {
		name  string
		after []quickRun
		want  string
	}{
		{"the same failure", []quickRun{run("", "a/x")}, ""},
		{"none", []quickRun{run("")}, ""},
		{"another failure", []quickRun{run("", "a/x", "b/y"), run("", "b/y")}, "did not before: b/y"},
		{"a failure by chance", []quickRun{run("", "b/y"), run("", "c/z")}, ""},
		{"a server that is down", []quickRun{run("down"), run("down")}, "could not be run after the load: down"},
		{"a server that is down for a while", []quickRun{run("down"), run("")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := compareRuns(run("", "a/x"), func() quickRun {
				next := tt.after[0]
				tt.after = tt.after[1:]
				return next
			})
			if got := strings.Join(r.Findings, "\n"); (r.Verdict == catalogue.Fail) != (tt.want != "") ||
				!strings.Contains(got, tt.want) || len(tt.after) > 0 {
				t.Errorf("got %+v, want %q", r, tt.want)
			}
		})
	}
}
