package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// RunProgress says how far a run has come, while it runs. The zero value is ready to use. Its methods may be called by
// any goroutine.
type RunProgress struct {
	completed atomic.Int64
	waits     atomic.Pointer[driver.Waits]

	mu sync.Mutex
	// currentAreas are the areas of the cases that are being tried, in the order in which they started.
	currentAreas []*string
}

// beginCase notes that a case of an area is being tried until end is called.
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

// Area returns the area of the case that has been tried the longest; empty when none is being tried.
func (p *RunProgress) Area() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.currentAreas) == 0 {
		return ""
	}
	return *p.currentAreas[0]
}

// Completed returns how many cases have their result.
func (p *RunProgress) Completed() int { return int(p.completed.Load()) }

// Waiting names the request that the run has waited for the longest, if that is more than a second: "tools/call
// slow_tool". It is empty when there is none.
func (p *RunProgress) Waiting() string { return p.currentWaits().Longest(time.Second) }

// observe sets the waits that are reported, and returns them: w or, if that is nil, new ones.
func (p *RunProgress) observe(w *driver.Waits) *driver.Waits {
	p.waits.Store(cmp.Or(w, &driver.Waits{}))
	return p.waits.Load()
}

// currentWaits returns the waits that are reported; empty ones before the run begins.
func (p *RunProgress) currentWaits() *driver.Waits { return cmp.Or(p.waits.Load(), &driver.Waits{}) }
