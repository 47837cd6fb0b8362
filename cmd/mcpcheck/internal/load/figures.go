package load

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// maxLatency is the longest time that is told apart.
const maxLatency = 10 * time.Minute

// latencies are the times of requests, in microseconds, to three digits.
type latencies struct {
	mu     sync.Mutex
	times  *hdrhistogram.Histogram
	errors map[string]int
}

func newLatencies() *latencies {
	return &latencies{times: hdrhistogram.New(1, maxLatency.Microseconds(), 3), errors: map[string]int{}}
}

// add counts a request, by the error that it came to or by the time that it took.
func (l *latencies) add(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.errors[errorKind(err)]++
		return
	}
	l.times.RecordValue(min(took, maxLatency).Microseconds())
}

// errorKind names the kind of an error, without what differs from request to request.
func errorKind(err error) string {
	var network *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no response within --timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.As(err, &network):
		return "network: " + network.Op
	}
	return err.Error()
}

// quantiles are the shares of requests, in percent, of which a report says how long they took at most.
var quantiles = []float64{1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100}

// figures returns what the requests came to in a time.
func (l *latencies) figures(method string, within time.Duration) report.LoadFigures {
	l.mu.Lock()
	defer l.mu.Unlock()
	ms := func(v int64) float64 { return float64(v) / 1000 }
	f := report.LoadFigures{
		Method: method, Count: l.times.TotalCount(), PerSecond: rate(l.times.TotalCount(), within),
		P50: ms(l.times.ValueAtQuantile(50)), P90: ms(l.times.ValueAtQuantile(90)),
		P99: ms(l.times.ValueAtQuantile(99)), P999: ms(l.times.ValueAtQuantile(99.9)), Max: ms(l.times.Max()),
	}
	for kind, n := range l.errors {
		f.Errors = append(f.Errors, report.LoadError{Kind: kind, Count: int64(n)})
	}
	for _, share := range quantiles {
		if f.Count > 0 {
			f.Quantiles = append(f.Quantiles, report.LoadQuantile{
				Percent: share, Time: ms(l.times.ValueAtQuantile(share)),
			})
		}
	}
	slices.SortFunc(f.Errors, func(a, b report.LoadError) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	return f
}

func rate(n int64, within time.Duration) float64 {
	if within <= 0 {
		return 0
	}
	return float64(n) / within.Seconds()
}

// recorder collects what the clients of a load see.
type recorder struct {
	// start and end are between which requests are counted.
	start, end time.Time
	methods    map[string]*latencies
	all        *latencies
	connect    *latencies
	found      *foundList
}

// foundList has what was wrong, by the name of the result, in all steps of a load.
type foundList struct {
	mu     sync.Mutex
	byName map[string]*report.LoadResult
}

func newRecorder(w *Workload, found *foundList) *recorder {
	r := &recorder{methods: map[string]*latencies{}, all: newLatencies(), connect: newLatencies(), found: found}
	for _, q := range w.requests {
		if r.methods[q.method] == nil {
			r.methods[q.method] = newLatencies()
		}
	}
	return r
}

// add counts a request that was due at a time. Requests of the warm-up are verified, and not counted.
// afterCancel says that the client has cancelled the request before.
func (r *recorder) add(q *request, due time.Time, took time.Duration, wrong *finding, err error, afterCancel bool) {
	if !due.Before(r.start) {
		r.methods[q.method].add(took, err)
		r.all.add(took, err)
	}
	if wrong != nil {
		r.found.note(*wrong)
	}
	switch {
	case err != nil && afterCancel:
		r.found.note(finding{AfterCancel, q.String() + ": " + errorKind(err)})
	case err != nil:
		r.found.note(finding{Answered, q.String() + ": " + errorKind(err)})
	}
}

// passed is how long requests were counted: to the end or, if it has come early, until now.
func (r *recorder) passed(early bool) time.Duration {
	end := r.end
	if now := time.Now(); early && now.Before(end) {
		end = now
	}
	return max(0, end.Sub(r.start))
}

// note adds a finding.
func (l *foundList) note(f finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName == nil {
		l.byName = map[string]*report.LoadResult{}
	}
	r := l.byName[f.result]
	if r == nil {
		r = &report.LoadResult{Name: f.result, Verdict: catalogue.Fail}
		l.byName[f.result] = r
	}
	if r.Count++; len(r.Findings) < maxFindings && !slices.Contains(r.Findings, f.what) {
		r.Findings = append(r.Findings, f.what)
	}
}

// forget removes what was found in the sense of a result.
func (l *foundList) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byName, name)
}

// all returns the results in whose sense something was found.
func (l *foundList) all() (results []report.LoadResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.byName)) {
		results = append(results, *l.byName[name])
	}
	return results
}

// result returns the result of a name: a pass, if nothing was found.
func (l *foundList) result(name string) report.LoadResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.byName[name]; r != nil {
		return *r
	}
	return report.LoadResult{Name: name, Verdict: catalogue.Pass}
}
