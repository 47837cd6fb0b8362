//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/specs"
)

// measurements is how often each side of a ratio is measured.
const measurements = 7

// BenchmarkRun compares a full run with a minimal session of the same server: start, initialize or server/discover,
// tools/list, close. Both are measured in turn, so that other load affects both. MCPCHECK_BENCH_NODE and
// MCPCHECK_BENCH_NODE_MODERN name Node servers.
func BenchmarkRun(b *testing.B) {
	self := buildProgram(b)
	for _, era := range []struct{ revision, node string }{
		{catalogue.NewestLegacy, "MCPCHECK_BENCH_NODE"},
		{catalogue.ModernRevisions[len(catalogue.ModernRevisions)-1], "MCPCHECK_BENCH_NODE_MODERN"},
	} {
		b.Run(era.revision+"/go", func(b *testing.B) { compareWithBareSession(b, self, era.revision, self, "serve") })
		b.Run(era.revision+"/node", func(b *testing.B) {
			command := strings.Fields(os.Getenv(era.node))
			if len(command) == 0 {
				b.Skip(era.node + " is not set")
			}
			compareWithBareSession(b, self, era.revision, command...)
		})
	}
}

func compareWithBareSession(b *testing.B, self, revision string, server ...string) {
	for b.Loop() {
		var bares, quicks, fulls []time.Duration
		var last runCost
		for range measurements {
			bares = append(bares, bareSession(b, revision, server))
			asked := slices.Concat([]string{"--protocol", revision, "--"}, server)
			quicks = append(quicks, fullRun(b, self, append([]string{"--quick"}, asked...)...).wall)
			last = fullRun(b, self, asked...)
			fulls = append(fulls, last.wall)
		}
		b.ReportMetric(float64(countStarts(b, self, revision, server)), "processes")
		slices.Sort(bares)
		slices.Sort(quicks)
		slices.Sort(fulls)
		one, quick, all := bares[measurements/2], quicks[measurements/2], fulls[measurements/2]
		b.ReportMetric(float64(quick)/float64(one), "quick/bare")
		b.ReportMetric(float64(all)/float64(one), "full/bare")
		b.ReportMetric(one.Seconds()*1000, "ms-bare")
		b.ReportMetric(all.Seconds()*1000, "ms-full")
		b.ReportMetric(last.megabytes, "MB-peak")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkManyTools tests servers with many tools in pages of fifty: time and memory grow with their number.
func BenchmarkManyTools(b *testing.B) {
	self := buildProgram(b)
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				u := fullStdioRun(b, self, []string{self, "serve", "--tools", fmt.Sprint(n)})
				b.ReportMetric(u.wall.Seconds(), "s-full")
				b.ReportMetric(u.megabytes, "MB-peak")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// BenchmarkLongResults tests servers with long results, over both transports and in both eras. The results are
// requested many times, and must not stay in memory each time.
func BenchmarkLongResults(b *testing.B) {
	self := buildProgram(b)
	for kind := range longResults {
		for _, revision := range []string{catalogue.NewestLegacy,
			catalogue.ModernRevisions[len(catalogue.ModernRevisions)-1]} {
			b.Run(kind+"/"+revision+"/stdio", func(b *testing.B) {
				for b.Loop() {
					reportCost(b, fullRun(b, self, "--protocol", revision, "--", "badserver", "long", kind))
				}
			})
			b.Run(kind+"/"+revision+"/http", func(b *testing.B) {
				for b.Loop() {
					site := httptest.NewServer(fixtures.Handler(b.Context(), fixtures.HTTPOptions{},
						longResults[kind]()))
					reportCost(b, fullRun(b, self, "--url", site.URL+"/mcp", "--protocol", revision))
					site.CloseClientConnections()
					site.Close()
				}
			})
		}
	}
}

// reportCost prints the cost of a full run.
func reportCost(b *testing.B, c runCost) {
	b.ReportMetric(c.wall.Seconds(), "s-full")
	b.ReportMetric(c.megabytes, "MB-peak")
	b.ReportMetric(0, "ns/op")
}

// buildProgram builds mcpcheck.
func buildProgram(b *testing.B) string {
	self := filepath.Join(b.TempDir(), "mcpcheck")
	if out, err := exec.Command("go", "build", "-o", self, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return self
}

// bareSession returns how long one session takes, including the exit of the server.
func bareSession(b *testing.B, revision string, server []string) time.Duration {
	reached := driver.Target{Command: server}
	if catalogue.IsModern(revision) {
		reached.Era = driver.Modern{Revision: revision}
	}
	begin := time.Now()
	s, err := driver.Start(b.Context(), reached, driver.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Open(driver.ConnectParams(revision)); err != nil {
		b.Fatal(err)
	}
	if _, err := check.ListAll(s, "tools/list", "tools", nil); err != nil {
		b.Fatal(err)
	}
	s.Stdio().CloseStdin() // like a client that waits for the server to exit
	s.Stdio().AwaitExit(10 * time.Second)
	took := time.Since(begin)
	s.Close()
	return took
}

// countStarts returns how many server processes a full run starts.
func countStarts(b *testing.B, self, revision string, server []string) int {
	const count = `echo >>"$0"; exec "$@"`
	log := filepath.Join(b.TempDir(), "started")
	fullRun(b, self, slices.Concat([]string{"--protocol", revision, "--", "sh", "-c", count, log}, server)...)
	lines, err := os.ReadFile(log)
	if err != nil {
		b.Fatal(err)
	}
	return len(lines)
}

// runCost is the cost of a full run.
type runCost struct {
	wall time.Duration
	// megabytes is the largest resident set of mcpcheck itself, without its servers.
	megabytes float64
	// checks is the number of checks with a verdict.
	checks int
}

func fullStdioRun(b *testing.B, self string, server []string) runCost {
	return fullRun(b, self, append([]string{"--"}, server...)...)
}

func fullRun(b *testing.B, self string, server ...string) runCost {
	rep := filepath.Join(b.TempDir(), "report.json")
	cmd := exec.Command(self, append([]string{"run", "-q", "--json", rep}, server...)...)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	peak := watchPeak(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() > report.ExitUntestable {
		b.Fatal(err)
	}
	u := runCost{wall: time.Since(begin), megabytes: peak()}
	content, err := os.ReadFile(rep)
	if err != nil {
		b.Fatal(err)
	}
	var parsed report.Report
	if err := json.Unmarshal(content, &parsed); err != nil {
		b.Fatal(err)
	}
	u.checks = parsed.Counts.Pass + parsed.Counts.Fail
	return u
}

// watchPeak samples the peak resident set of a process, in megabytes, until the returned function is called. The value
// that wait reports would include the servers.
func watchPeak(pid int) func() float64 {
	peak := make(chan float64)
	stop := make(chan struct{})
	go func() {
		var most float64
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, peakResidentSet(pid))
			case <-stop:
				peak <- most
				return
			}
		}
	}()
	return func() float64 {
		close(stop)
		return <-peak
	}
}

func peakResidentSet(pid int) (megabytes float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if content, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Sscan(content, &megabytes)
		}
	}
	return megabytes / 1024
}

// BenchmarkCheck measures the cost of a check for mcpcheck itself: a run against a server in the same process,
// including the server's share, divided by the number of checks.
func BenchmarkCheck(b *testing.B) {
	reached := driver.Target{
		Serve: func(ctx context.Context, in io.Reader, out, err io.Writer, term <-chan struct{}) int {
			return fixtures.Serve(ctx, fixtures.Stdio{In: in, Out: out, Err: err, Term: term}, fixtures.Fault{})
		},
	}
	checks := 0
	for b.Loop() {
		server, first, err := discovery.Inspect(b.Context(), reached, catalogue.NewestLegacy)
		if err != nil {
			b.Fatal(err)
		}
		plan := engine.Plan(suites.Implemented(), suites.Checks(), server,
			func(*catalogue.Requirement) bool { return true })
		specs.Run(
			b.Context(),
			reached,
			server,
			plan,
			engine.Options{Calls: report.CallsSafe, Profile: catalogue.Release, DiscoverySession: first},
			func(report.Result) {},
		)
		checks += len(plan)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(checks), "µs/check")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkHTTP compares a full run over HTTP with the sum of the server's response times: without delay, and with 100
// ms each.
func BenchmarkHTTP(b *testing.B) {
	self := buildProgram(b)
	for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
		b.Run(delay.String(), func(b *testing.B) {
			for b.Loop() {
				server := &slowServer{
					delay: delay,
					next:  fixtures.Handler(b.Context(), fixtures.HTTPOptions{}, fixtures.Fault{}),
				}
				site := httptest.NewServer(server)
				u := fullRun(b, self, "--url", site.URL+"/mcp")
				site.CloseClientConnections()
				site.Close()
				serial := time.Duration(server.busy.Load())
				b.ReportMetric(u.wall.Seconds(), "s-full")
				b.ReportMetric(serial.Seconds(), "s-serial")
				b.ReportMetric(u.wall.Seconds()/serial.Seconds(), "full/serial")
				b.ReportMetric(float64(server.requests.Load()), "requests")
				b.ReportMetric(u.megabytes, "MB-peak")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// BenchmarkLongBodies tests a server that answers the handshake, and everything else with endless bodies: what is read
// of them must not accumulate in memory.
func BenchmarkLongBodies(b *testing.B) {
	self := buildProgram(b)
	for _, mode := range []string{"endless-json", "endless-event"} {
		b.Run(mode, func(b *testing.B) {
			for b.Loop() {
				honest, bad := fixtures.Handler(b.Context(), fixtures.HTTPOptions{},
					fixtures.Fault{}), badHandlers()[mode](nil)
				site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if isHandshake(r) {
						honest.ServeHTTP(w, r)
					} else {
						bad.ServeHTTP(w, r)
					}
				}))
				u := fullRun(b, self, "--url", site.URL+"/mcp")
				site.CloseClientConnections()
				site.Close()
				b.ReportMetric(u.wall.Seconds(), "s-full")
				b.ReportMetric(u.megabytes, "MB-peak")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// slowServer waits before each response, and sums up the response times. Streams that a client opens to listen do not
// count.
type slowServer struct {
	delay    time.Duration
	next     http.Handler
	busy     atomic.Int64
	requests atomic.Int64
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	time.Sleep(s.delay)
	if r.Method != http.MethodGet {
		defer func() {
			s.busy.Add(int64(time.Since(begin)))
			s.requests.Add(1)
		}()
	}
	s.next.ServeHTTP(w, r)
}
