package harness

import (
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Progress is how far a run has come, for who wants to know it meanwhile. The zero value is ready; any goroutine may
// ask.
type Progress struct {
	settled atomic.Int64
	waits   driver.Waits
}

// Settled is how many cases have their result.
func (p *Progress) Settled() int { return int(p.settled.Load()) }

// Waiting names the request that the run has waited for the longest, and for some time: "tools/call slow_tool". Empty
// when there is none.
func (p *Progress) Waiting() string { return p.waits.Longest(time.Second) }
