package driver

import (
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// crowding finds out whether the open streams of this client keep a server from serving its other requests. How many
// requests a server handles at a time, no sentence says, and an open stream is one of them.
//
// A request without headers for half of the reply timeout, in which the server has sent nothing at all, makes the
// client close the streams that its sessions have opened by themselves. If the headers come at once then, and have
// taken far longer than without streams, these streams were in the way, and sessions open none any more.
type crowding struct {
	mu sync.Mutex
	// streams are the open streams that no check has asked for.
	streams []*RoundTrip
	// lastReceived is when the server has last sent headers or an event.
	lastReceived time.Time
	// slowest is the longest time that headers took before the first of these streams was opened.
	slowest time.Duration
	// hasOpened reports whether one was opened.
	hasOpened bool
	// closed is when streams were closed; zero if they never were.
	closed time.Time
	// isProven reports whether that has helped.
	isProven bool
}

func (c *crowding) add(x *RoundTrip) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams, c.hasOpened = append(c.streams, x), true
}

func (c *crowding) remove(x *RoundTrip) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams = slices.DeleteFunc(c.streams, func(other *RoundTrip) bool { return other == x })
}

func (c *crowding) receivedEvent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastReceived = time.Now()
}

// receivedHeaders notes the headers of the response in a round trip. Those of a call prove nothing: a tool may take
// that long.
func (c *crowding) receivedHeaders(x *RoundTrip) {
	sent := x.sentAt()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastReceived = time.Now()
	if !c.hasOpened {
		c.slowest = max(c.slowest, c.lastReceived.Sub(sent))
	}
	waited, isCall := c.closed.Sub(sent), x.requestFrame != nil && x.requestFrame.Method == "tools/call"
	c.isProven = c.isProven || !isCall && waited >= x.s.limits.ReplyTimeout/2 && waited > 2*c.slowest &&
		time.Since(c.closed) < timing.FreedStream
}

// closeStreams closes the streams that no check has asked for, if the server has sent nothing since a time.
func (c *crowding) closeStreams(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastReceived.After(since) || len(c.streams) == 0 {
		return
	}
	c.closed = time.Now()
	for _, x := range c.streams {
		go x.cancel() // which takes the lock of its session
	}
}

// CloseStreams closes the streams that no check has asked for, since they keep the server from serving other requests.
func (site *Site) CloseStreams() {
	site.crowding.closeStreams(time.Now())
	site.crowding.mu.Lock()
	defer site.crowding.mu.Unlock()
	site.crowding.isProven = true
}

// IsCrowded reports whether open streams have kept the server from serving other requests, so that sessions open none
// unless a check asks for it. It is false for a nil Site, that of a target over stdio.
func (site *Site) IsCrowded() bool {
	if site == nil {
		return false
	}
	site.crowding.mu.Lock()
	defer site.crowding.mu.Unlock()
	return site.crowding.isProven
}

// watchHeaders closes the streams of the site if the headers of a request do not come, until the returned function is
// called.
func (h *HTTP) watchHeaders(x *RoundTrip) (stop func()) {
	sent := time.Now()
	timer := time.AfterFunc(h.s.limits.ReplyTimeout/2, func() { h.site.crowding.closeStreams(sent) })
	return func() { timer.Stop() }
}
