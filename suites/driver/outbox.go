package driver

import (
	"errors"
	"sync"
)

var errStdinClosed = errors.New("stdin is closed")

// outbox is what a session has to write, in its order. Messages are taken at once, so that a server that does not read
// cannot block the harness, until too much of them waits.
type outbox struct {
	limit int // bytes that may wait

	mu      sync.Mutex
	waiting [][][]byte // the pieces of messages
	size    int        // bytes of them
	closed  bool
	changed chan struct{} // holds an entry when there is something new
}

func newOutbox(limit int) *outbox { return &outbox{limit: limit, changed: make(chan struct{}, 1)} }

// refuses is why nothing more is taken; nil when it is. That too much waits is an Excess: what mcpcheck did not send,
// no server can answer.
func (o *outbox) refuses() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return errStdinClosed
	case o.size > o.limit:
		return &Excess{"the server leaves more than " + Size(o.limit) + " unread"}
	}
	return nil
}

// put takes a message.
func (o *outbox) put(pieces [][]byte) {
	o.mu.Lock()
	o.waiting = append(o.waiting, pieces)
	o.size += cost(pieces)
	o.mu.Unlock()
	o.wake()
}

// close says that nothing more is to come.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// next waits for the next message; nil when none is to come any more, or stop is closed.
func (o *outbox) next(stop <-chan struct{}) (pieces [][]byte) {
	for {
		pieces, closed := o.take()
		if pieces != nil || closed {
			return pieces
		}
		select {
		case <-o.changed:
		case <-stop:
			return nil
		}
	}
}

func (o *outbox) take() (pieces [][]byte, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return nil, o.closed
	}
	pieces, o.waiting = o.waiting[0], o.waiting[1:]
	o.size -= cost(pieces)
	return pieces, false
}

// cost is about how many bytes a message takes while it waits.
func cost(pieces [][]byte) int {
	total := frameCost
	for _, piece := range pieces {
		total += len(piece)
	}
	return total
}
