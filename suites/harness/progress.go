package harness

import (
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
	waits   driver.Waits

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
func (p *Progress) Waiting() string { return p.waits.Longest(time.Second) }
