package driver

import (
	"maps"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Patience knows how long the sessions of a run wait for a response: the reply timeout or, after two requests that had
// none within twice that time, a second for those that ask the same as one of these and never had a response. A server
// that leaves what it refuses unanswered would otherwise take minutes. Its methods may be called by any goroutine.
type Patience struct {
	mu sync.Mutex
	// silent holds the requests without a response.
	silent map[*Frame]bool
	// answered tells of each request, by requestTarget, that had a response or none whether it ever had one.
	answered map[uint64]bool
}

// maxSilences is after how many requests without a response others are waited for less.
const maxSilences = 2

// wait returns how long the response to a request is waited for, which is timeout at most.
func (p *Patience) wait(request *Frame, timeout time.Duration) time.Duration {
	if p == nil || !hasTarget(request) {
		return timeout
	}
	target := requestTarget(request)
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered, known := p.answered[target]; len(p.silent) < maxSilences || !known || answered {
		return timeout
	}
	return min(timeout, timing.UnansweredBefore)
}

// add notes that a request had a response, possibly late, or none within twice the reply timeout.
func (p *Patience) add(request *Frame, answered bool) {
	if p == nil || !hasTarget(request) {
		return
	}
	target := requestTarget(request)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answered == nil {
		p.answered, p.silent = map[uint64]bool{}, map[*Frame]bool{}
	}
	p.answered[target] = p.answered[target] || answered
	if !answered {
		p.silent[request] = true
	}
}

// addSilent notes those of the session's requests that had no response in time, and still have none after twice the
// time. The caller holds mu.
func (s *Session) addSilent() {
	for _, p := range unansweredRequests(s.frames) {
		if s.timedOut[p.frame] && time.Since(s.TimeOf(p.frame)) >= 2*s.limits.ReplyTimeout {
			s.patience.add(p.frame, false)
		}
	}
}

// AwaitLate waits until all requests since the mark that had no response in time have had twice the time for it.
func (s *Session) AwaitLate(mark int) {
	for _, p := range unansweredRequests(s.FramesSince(mark)) {
		s.mu.Lock()
		timedOut := s.timedOut[p.frame]
		s.mu.Unlock()
		if p.mark, p.sent = mark, s.TimeOf(p.frame); timedOut {
			s.awaitLate(p, 2*s.Patience(p.frame))
		}
	}
}

// hasTarget reports whether a frame, which may be nil, is one request.
func hasTarget(f *Frame) bool { return f != nil && f.IsRequest() }

// requestTarget is what a request asks for: its method, and its params without _meta, which may differ each time.
// The result is a hash, since params may be long.
func requestTarget(request *Frame) uint64 {
	params, _ := request.JSON()["params"].(M)
	params = maps.Clone(params)
	delete(params, "_meta")
	return Fingerprint([]any{request.Method, params})
}
