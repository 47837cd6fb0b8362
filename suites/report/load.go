package report

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// Load is what a load on a server came to: mcpcheck load.
type Load struct {
	// Kind is LoadKind, which tells the report from that of a run.
	Kind          string                `json:"kind"`
	SchemaVersion int                   `json:"schemaVersion"`
	Program       catalogue.ProgramInfo `json:"tool"`
	Target        TargetInfo            `json:"target"`
	Server        ServerInfo            `json:"server"`
	Revision      string                `json:"revision"`
	Started       time.Time             `json:"started"`
	Clients       int                   `json:"clients"`
	// Processes is how many processes of the server the clients shared, over stdio.
	Processes int `json:"processes,omitempty"`
	// PerSecond is the number of requests a second that was asked for; 0 where each client waited for its response.
	PerSecond float64 `json:"perSecond,omitempty"`
	Seconds   float64 `json:"seconds"`
	// Methods are the figures of each method, All those of all together, and Connect those of beginning a session.
	Methods []LoadFigures `json:"methods"`
	All     LoadFigures   `json:"all"`
	Connect LoadFigures   `json:"connect"`
	Process *LoadProcess  `json:"process,omitempty"`
	// OwnMicroseconds is the CPU time that mcpcheck itself takes for a request; 0 where the system does not tell.
	OwnMicroseconds float64 `json:"ownMicroseconds,omitempty"`
	// Scale has the figures of the loads by fewer clients, and at last those of All.
	Scale []LoadStep `json:"scale,omitempty"`
	// Knee is the number of clients from which on more of them bring little; 0 if there was none.
	Knee    int          `json:"knee,omitempty"`
	Results []LoadResult `json:"results"`
	// Problem is why the load ended before its time; empty if it did not.
	Problem  string `json:"problem,omitempty"`
	ExitCode int    `json:"exitCode"`
	// Counts are those of the results, each of which gates.
	Counts Counts `json:"counts"`
}

// CountResults counts the results of the load.
func (l *Load) CountResults() {
	for _, r := range l.Results {
		if r.Verdict == catalogue.Fail {
			l.Counts.Fail++
			l.Counts.Gating++
		} else {
			l.Counts.Pass++
		}
	}
}

// LoadFigures are counts and times of the requests of one kind. Times are in milliseconds.
type LoadFigures struct {
	Method string `json:"method"`
	// Count is how many requests were answered.
	Count     int64       `json:"count"`
	PerSecond float64     `json:"perSecond"`
	P50       float64     `json:"p50"`
	P90       float64     `json:"p90"`
	P99       float64     `json:"p99"`
	P999      float64     `json:"p999"`
	Max       float64     `json:"max"`
	Errors    []LoadError `json:"errors,omitempty"`
	// Quantiles are the times within which shares of the requests were answered.
	Quantiles []LoadQuantile `json:"quantiles,omitempty"`
}

// LoadQuantile says that a share of the requests, in percent, took a time at most, in milliseconds.
type LoadQuantile struct {
	Percent float64 `json:"percent"`
	Time    float64 `json:"time"`
}

// LoadStep is a load by a number of clients.
type LoadStep struct {
	Clients int         `json:"clients"`
	All     LoadFigures `json:"all"`
}

// LoadKind is the kind of the report of a load.
const LoadKind = "load"

// KneeOf returns the number of clients of the last step before more clients bring little: the first step after it has
// less than a quarter of the throughput that it would add if the throughput grew as the clients do. It is 0 where each
// step brings more than that.
func KneeOf(steps []LoadStep) int {
	for i := 1; i < len(steps); i++ {
		last, next := steps[i-1], steps[i]
		hoped := last.All.PerSecond * float64(next.Clients-last.Clients) / float64(last.Clients)
		if next.All.PerSecond-last.All.PerSecond < hoped/4 {
			return last.Clients
		}
	}
	return 0
}

// LoadError counts the errors of a kind.
type LoadError struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// LoadProcess is what the process of the server used: the most memory that was resident, and CPU time.
type LoadProcess struct {
	Megabytes  float64 `json:"megabytes"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// AfterMegabytes is the memory that was resident when all sessions had ended; 0 over stdio, where the process had,
	// too.
	AfterMegabytes float64 `json:"afterMegabytes,omitempty"`
}

// LoadResult says whether the server was right under load, or within a budget. Count is how often it was not.
type LoadResult struct {
	Name     string            `json:"name"`
	Verdict  catalogue.Verdict `json:"verdict"`
	Count    int64             `json:"count,omitempty"`
	Findings []string          `json:"findings,omitempty"`
}

// ErrorCount is how many requests had no response.
func (f LoadFigures) ErrorCount() (n int64) {
	for _, e := range f.Errors {
		n += e.Count
	}
	return n
}

// ErrorShare is the share of the requests that had no response, from 0 to 1.
func (f LoadFigures) ErrorShare() float64 {
	errors := f.ErrorCount()
	return float64(errors) / float64(max(1, f.Count+errors))
}

// Fails reports whether a result of the load fails.
func (l Load) Fails() bool {
	for _, r := range l.Results {
		if r.Verdict == catalogue.Fail {
			return true
		}
	}
	return false
}
