package report

import "github.com/mcpcheck/mcpcheck/suites/catalogue"

// Load is what a load on a server came to: mcpcheck load.
type Load struct {
	SchemaVersion int                   `json:"schemaVersion"`
	Program       catalogue.ProgramInfo `json:"tool"`
	Target        TargetInfo            `json:"target"`
	Server        ServerInfo            `json:"server"`
	Revision      string                `json:"revision"`
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
	Results []LoadResult  `json:"results"`
	// Problem is why the load ended before its time; empty if it did not.
	Problem  string `json:"problem,omitempty"`
	ExitCode int    `json:"exitCode"`
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

// Fails reports whether a result of the load fails.
func (l Load) Fails() bool {
	for _, r := range l.Results {
		if r.Verdict == catalogue.Fail {
			return true
		}
	}
	return false
}
