package toolcall

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// CallBudget bounds the time and size of calls of one kind together. Tools that answer quickly and briefly are all
// called. The time runs from the first ExhaustedReason on, so that what precedes the calls, such as the start of a
// process, does not count.
type CallBudget struct {
	// elapsed is the time until the last Pause.
	elapsed time.Duration
	// startTime is when the time began to run; zero while it does not.
	startTime time.Time
	bytesLeft int
}

// NewCallBudget is a whole budget.
func NewCallBudget() *CallBudget { return &CallBudget{bytesLeft: maxCallsBytes} }

// Bounds of a budget.
const (
	maxCallsBytes = 8 << 20
	bytesPerCall  = 2 << 10 // for the decoded messages of a call
	maxCalls      = maxCallsBytes / bytesPerCall
)

const (
	reasonNoTime  = "the time for tool calls was used up"
	reasonNoBytes = "there was no room left for more answers"
)

// Charge subtracts a call with its decoded messages from the budget, and reports whether there is enough space to keep
// it.
func (a *CallBudget) Charge(r driver.Reply) (kept bool) {
	a.bytesLeft -= bytesPerCall
	for _, f := range []*driver.Frame{r.Request, r.Frame} {
		if f != nil {
			a.bytesLeft -= f.Raw.Len()
		}
	}
	return a.bytesLeft >= 0
}

// ExhaustedReason is why no more calls may be made; empty when they may. It starts the time.
func (a *CallBudget) ExhaustedReason() string {
	if a.startTime.IsZero() {
		a.startTime = time.Now()
	}
	switch {
	case a.bytesLeft < 0:
		return reasonNoBytes
	case a.elapsed+time.Since(a.startTime) > timing.MaxCalls:
		return reasonNoTime
	}
	return ""
}

// Pause stops the time until the next ExhaustedReason.
func (a *CallBudget) Pause() {
	if !a.startTime.IsZero() {
		a.elapsed, a.startTime = a.elapsed+time.Since(a.startTime), time.Time{}
	}
}
