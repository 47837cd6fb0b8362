package check

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// RunProgress is how far a run has come, for who wants to know it meanwhile. The zero value is ready; any goroutine may
// ask.
type RunProgress struct {
	completed atomic.Int64
	waits     atomic.Pointer[driver.Waits]

	mu           sync.Mutex
	currentAreas []*string // areas of the cases that are being tried, in the order in which they began
}

// beginCase notes that a case of an area is being tried, until end is called.
func (p *RunProgress) beginCase(area string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.currentAreas = append(p.currentAreas, &area)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.currentAreas = slices.DeleteFunc(p.currentAreas, func(other *string) bool { return other == &area })
	}
}

// Area is that of the case which has been tried the longest; empty when none is.
func (p *RunProgress) Area() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.currentAreas) == 0 {
		return ""
	}
	return *p.currentAreas[0]
}

// Completed is how many cases have their result.
func (p *RunProgress) Completed() int { return int(p.completed.Load()) }

// Waiting names the request that the run has waited for the longest, and for some time: "tools/call slow_tool". Empty
// when there is none.
func (p *RunProgress) Waiting() string { return p.currentWaits().Longest(time.Second) }

// Starting says which start of the server the run has waited for the longest, and for some time: "process 18, 5.1 s
// each". Empty when it waits for something else.
func (p *RunProgress) Starting() string { return p.currentWaits().LongestStart(time.Second) }

// observe has the waits of a target watched, or others where it has none.
func (p *RunProgress) observe(w *driver.Waits) *driver.Waits {
	p.waits.Store(cmp.Or(w, &driver.Waits{}))
	return p.waits.Load()
}

// currentWaits are the waits that are watched; none before the run begins.
func (p *RunProgress) currentWaits() *driver.Waits { return cmp.Or(p.waits.Load(), &driver.Waits{}) }
