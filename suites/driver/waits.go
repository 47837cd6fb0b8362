package driver

import (
	"slices"
	"sync"
	"time"
)

// Waits holds the requests that sessions wait for, so that a user can see what a run is doing. The zero value is ready
// to use; a nil one holds nothing. Any goroutine may use it.
type Waits struct {
	mu sync.Mutex
	// open holds the waits in the order in which they began.
	open []*wait
	// startsDone is the number of waits for the first response of a process that are over.
	startsDone int
	// startTotal is the time that these took together.
	startTotal time.Duration
}

type wait struct {
	request Pending
	since   time.Time
}

// begin notes that a session waits for a response until end is called. first reports whether it waits for the first
// response of a process.
func (w *Waits) begin(p Pending, first bool) (end func()) {
	if w == nil {
		return func() {}
	}
	x := &wait{request: p, since: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, x)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if first {
			w.startsDone, w.startTotal = w.startsDone+1, w.startTotal+time.Since(x.since)
		}
		w.open = slices.DeleteFunc(w.open, func(other *wait) bool { return other == x })
	}
}

// Longest returns the method and the subject of the oldest request that a session waits for, such as "tools/call
// slow_tool". It returns "" if no wait has lasted for least.
func (w *Waits) Longest(least time.Duration) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 || time.Since(w.open[0].since) < least {
		return ""
	}
	return w.open[0].request.label()
}

// StartStats returns how many processes have started, and how long that took on average.
func (w *Waits) StartStats() (n int, each time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.startsDone, w.startTotal / time.Duration(max(1, w.startsDone))
}

// label returns the method of the request, and the name or URI that it asks for.
func (p Pending) label() string {
	if p.frame == nil {
		return p.Method
	}
	params, _ := p.frame.JSON()["params"].(M)
	for _, member := range []string{"name", "uri"} {
		if what, ok := params[member].(string); ok {
			return p.Method + " " + Brief([]byte(what))
		}
	}
	return p.Method
}
