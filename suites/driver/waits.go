package driver

import (
	"slices"
	"sync"
	"time"
)

// Waits are the requests whose answers are waited for, for who wants to know what a run is waiting for. The zero value
// is ready; a nil one takes no notes. Any goroutine may use it.
type Waits struct {
	mu   sync.Mutex
	open []*wait // in the order in which they began
}

type wait struct {
	request Pending
	since   time.Time
}

// begin notes that the answer to a request is waited for, until end is called.
func (w *Waits) begin(p Pending) (end func()) {
	if w == nil {
		return func() {}
	}
	x := &wait{p, time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, x)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open = slices.DeleteFunc(w.open, func(other *wait) bool { return other == x })
	}
}

// Longest names the request that is waited for the longest, and for at least so long: "tools/call slow_tool". Empty
// when there is none.
func (w *Waits) Longest(least time.Duration) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 || time.Since(w.open[0].since) < least {
		return ""
	}
	return w.open[0].request.name()
}

// name is the method of the request, and what it asks for by name.
func (p Pending) name() string {
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
