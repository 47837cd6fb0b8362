package driver

import (
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Patience knows how long the sessions of a run wait for a response: the reply timeout or, after several requests that
// had none, a second for those that ask what had none before and never had one. A server that leaves what it refuses
// unanswered would otherwise take minutes. Its methods may be called by any goroutine.
type Patience struct {
	mu sync.Mutex
	// timeouts counts the requests without a response.
	timeouts int
	// answered tells of each request, by requestTarget, that had a response or none whether it ever had one.
	answered map[string]bool
}

// maxTimeouts is after how many requests without a response others are waited for less.
const maxTimeouts = 3

// wait returns how long the response to a request is waited for, which is timeout at most.
func (p *Patience) wait(request *Frame, timeout time.Duration) time.Duration {
	if p == nil {
		return timeout
	}
	target := requestTarget(request)
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered, known := p.answered[target]; p.timeouts < maxTimeouts || !known || answered {
		return timeout
	}
	return min(timeout, timing.UnansweredBefore)
}

// add notes whether a request had a response within the reply timeout.
func (p *Patience) add(request *Frame, answered bool) {
	if p == nil || request == nil {
		return
	}
	target := requestTarget(request)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answered == nil {
		p.answered = map[string]bool{}
	}
	p.answered[target] = p.answered[target] || answered
	if !answered {
		p.timeouts++
	}
}

// AwaitLate waits until all requests since the mark that have no response have had twice the time for it.
func (s *Session) AwaitLate(mark int) {
	for _, p := range unansweredRequests(s.FramesSince(mark)) {
		if !p.frame.OpensStream() {
			wait := 2 * s.patience.wait(p.frame, s.limits.ReplyTimeout)
			s.Wait(mark, time.Until(s.TimeOf(p.frame).Add(wait)), p.isAnsweredBy)
		}
	}
}

// requestTarget is what a request asks for: its method, and the name or URI in its params.
func requestTarget(request *Frame) string {
	if request == nil {
		return ""
	}
	params, _ := request.JSON()["params"].(M)
	name, _ := nameHeaderOf(request.Method, params)
	return request.Method + " " + name
}
