package driver

import (
	"sync/atomic"
	"time"
)

// Budget bounds what the sessions of one run keep of their wires together, so that a server that floods each of its
// sessions cannot make the harness grow. A nil Budget bounds nothing.
type Budget struct {
	limit int64
	kept  atomic.Int64
	long  chan struct{} // held by the session that reads a long line
}

const (
	frameCost    = 200       // bytes that a frame takes beside its text
	ownShare     = 1 << 20   // bytes that a session may keep whatever the others do
	unaskedShare = 256 << 10 // the same, of a server that sends what nobody asked for
	longLine     = 1 << 20   // bytes from which only one line is read at a time

	// throttle is the time between two reads from a server that floods, for those who wait for an answer in it to see
	// the answer before it is dropped.
	throttle = 10 * time.Millisecond
)

// NewBudget makes a budget of that many bytes.
func NewBudget(bytes int) *Budget {
	return &Budget{limit: int64(bytes), long: make(chan struct{}, 1)}
}

func (b *Budget) add(bytes int) {
	if b != nil {
		b.kept.Add(int64(bytes))
	}
}

func (b *Budget) exhausted() bool { return b != nil && b.kept.Load() > b.limit }

// beginLong waits for the turn of a long line, but not for longer than its process lives. The returned function ends
// the turn.
func (b *Budget) beginLong(exited <-chan struct{}) (end func()) {
	if b == nil {
		return func() {}
	}
	select {
	case b.long <- struct{}{}:
		return func() { <-b.long }
	case <-exited:
		return func() {}
	}
}
