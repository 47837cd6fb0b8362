package driver

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Waits are the requests whose answers are waited for, for who wants to know what a run is waiting for. The zero value
// is ready; a nil one takes no notes. Any goroutine may use it.
type Waits struct {
	mu         sync.Mutex
	open       []*wait       // in the order in which they began
	startCount int           // waits for processes that had said nothing yet
	startsDone int           // those of them that are over
	startTotal time.Duration // that these took together
}

type wait struct {
	request     Pending
	since       time.Time
	startNumber int // which of the waits for processes that had said nothing yet it is; 0: none of them
}

// begin notes that the answer to a request is waited for, until end is called. The first one to a process waits for
// that to start.
func (w *Waits) begin(p Pending, first bool) (end func()) {
	if w == nil {
		return func() {}
	}
	x := &wait{request: p, since: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	if first {
		w.startCount++
		x.startNumber = w.startCount
	}
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

// Longest names the request that is waited for the longest, and for at least so long: "tools/call slow_tool". Empty
// when there is none.
func (w *Waits) Longest(least time.Duration) string {
	if x := w.longest(least); x != nil {
		return x.request.label()
	}
	return ""
}

// longest is the wait that lasts the longest, and for at least so long; nil when there is none.
func (w *Waits) longest(least time.Duration) *wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 || time.Since(w.open[0].since) < least {
		return nil
	}
	return w.open[0]
}

// Start says which start of a process Longest waits for: "process 18, 5.1 s each". Empty when it waits for no start.
func (w *Waits) LongestStart(least time.Duration) string {
	x := w.longest(least)
	if x == nil || x.startNumber == 0 {
		return ""
	}
	text := fmt.Sprint("process ", x.startNumber)
	if ended, each := w.StartStats(); ended > 0 {
		text += fmt.Sprintf(", %.1f s each", each.Seconds())
	}
	return text
}

// StartStats is how many processes were waited for until they had started, and how long on average.
func (w *Waits) StartStats() (n int, each time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.startsDone, w.startTotal / time.Duration(max(1, w.startsDone))
}

// label is the method of the request, and what it asks for by name.
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
