package load

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

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
	// recording says that the warm-up is over.
	start, end time.Time
	methods    map[string]*latencies
	all        *latencies
	connect    *latencies

	mu       sync.Mutex
	findings map[string]*findings
}

// findings are what was wrong in the sense of one result.
type findings struct {
	count int64
	first []string
}

func newRecorder(w *Workload) *recorder {
	r := &recorder{methods: map[string]*latencies{}, all: newLatencies(), connect: newLatencies(),
		findings: map[string]*findings{}}
	for _, q := range w.requests {
		if r.methods[q.method] == nil {
			r.methods[q.method] = newLatencies()
		}
	}
	return r
}

// add counts a request that was due at a time. Requests of the warm-up are verified, and not counted.
func (r *recorder) add(q *request, due time.Time, took time.Duration, wrong *finding, err error) {
	if !due.Before(r.start) {
		r.methods[q.method].add(took, err)
		r.all.add(took, err)
	}
	if wrong != nil {
		r.note(*wrong)
	}
	if err != nil {
		r.note(finding{Answered, q.String() + ": " + errorKind(err)})
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
func (r *recorder) note(f finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.findings[f.result]
	if found == nil {
		found = &findings{}
		r.findings[f.result] = found
	}
	if found.count++; len(found.first) < maxFindings && !slices.Contains(found.first, f.what) {
		found.first = append(found.first, f.what)
	}
}
