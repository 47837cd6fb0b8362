package driver

import (
	"sync"
	"time"
)

// Some servers over HTTP end with status 0 as soon as the stream of a client does. Who comes meanwhile reaches a
// process that is about to end, so its end is waited for. Whether a server is one of these shows when its clients go.

// parting is what is known of how the process of a server takes the end of a session.
type parting struct {
	mu    sync.Mutex
	hopes int      // how often more its end may be waited for in vain
	ended *process // the last one that has ended with a session
}

// hopeful is how often it may be in vain once a process has ended so: not every session that ends is a client gone.
const hopeful = 5

// wait waits for a moment whether the process ends with a session that has just ended.
func (p *parting) wait(host *process) {
	moment := 100 * time.Millisecond
	p.mu.Lock()
	hopes := p.hopes
	if p.ended != nil {
		moment *= 5
	}
	p.mu.Unlock()
	if hopes == 0 {
		return
	}
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-host.exited:
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !host.gone():
		p.hopes = max(0, p.hopes-1)
	case host.exit == Exit{}:
		p.hopes, p.ended = hopeful, host
	}
}

// seen reports whether the process has ended with a session: it has not died.
func (p *parting) seen(host *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended == host
}
