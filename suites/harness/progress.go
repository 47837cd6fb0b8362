package harness

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Progress is how far a run has come, for who wants to know it meanwhile. The zero value is ready; any goroutine may
// ask.
type Progress struct {
	settled atomic.Int64
	waits   atomic.Pointer[driver.Waits]

	mu    sync.Mutex
	tried []*string // areas of the cases that are being tried, in the order in which they began
}

// begin notes that a case of an area is being tried, until end is called.
func (p *Progress) begin(area string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried = append(p.tried, &area)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tried = slices.DeleteFunc(p.tried, func(other *string) bool { return other == &area })
	}
}

// Area is that of the case which has been tried the longest; empty when none is.
func (p *Progress) Area() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tried) == 0 {
		return ""
	}
	return *p.tried[0]
}

// Settled is how many cases have their result.
func (p *Progress) Settled() int { return int(p.settled.Load()) }

// Waiting names the request that the run has waited for the longest, and for some time: "tools/call slow_tool". Empty
// when there is none.
func (p *Progress) Waiting() string { return p.waitsSoFar().Longest(time.Second) }

// Starting says which start of the server the run has waited for the longest, and for some time: "process 18, 5.1 s
// each". Empty when it waits for something else.
func (p *Progress) Starting() string { return p.waitsSoFar().Start(time.Second) }

// watch has the waits of a target watched, or others where it has none.
func (p *Progress) watch(w *driver.Waits) *driver.Waits {
	p.waits.Store(cmp.Or(w, &driver.Waits{}))
	return p.waits.Load()
}

// waitsSoFar are the waits that are watched; none before the run begins.
func (p *Progress) waitsSoFar() *driver.Waits { return cmp.Or(p.waits.Load(), &driver.Waits{}) }
