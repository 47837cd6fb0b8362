package driver

import (
	"sync"
	"sync/atomic"
	"time"
)

// Budget bounds what the sessions of one run keep of their wires together, so that a server that floods each of its
// sessions cannot make the harness grow. What is being read counts as well. A nil Budget bounds nothing.
type Budget struct {
	limit int64
	kept  atomic.Int64
	long  chan struct{} // held by the session that reads a long message
}

const (
	frameCost    = 200       // bytes that a frame takes beside its text
	ownShare     = 1 << 20   // bytes that a session may keep whatever the others do
	unaskedShare = 256 << 10 // the same, of a server that sends what nobody asked for
	longMessage  = 1 << 20   // bytes from which only one message is read at a time

	// longTurn is how long one message is read while others wait: one that does not come to its end must not hold them
	// up.
	longTurn = 3 * time.Second

	// throttle is the time between two reads from a server that floods, and unthrottled how many bytes it may send
	// before that, unasked and since its last answer.
	throttle    = 10 * time.Millisecond
	unthrottled = 64 << 20
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

// scarce reports whether the sessions have spent the budget twice, so that none may keep its whole share any more.
func (b *Budget) scarce() bool { return b != nil && b.kept.Load() > 2*b.limit }

// intake accounts for one message after the other while it is read.
type intake struct {
	r    *record
	part *partial
	gone <-chan struct{} // closed when there is no use in reading on

	held int
	end  func() // of the turn of a long message; nil: there is none
}

func (r *record) intake(part *partial, gone <-chan struct{}) *intake {
	return &intake{r: r, part: part, gone: gone}
}

// grow takes n more bytes of a message in; false when it gets too long. Of long ones only one is read at a time.
func (t *intake) grow(n int) bool {
	t.held += n
	t.r.budget.add(n)
	if t.held > longMessage && t.end == nil {
		t.end = t.begin()
	}
	return t.held <= t.r.limits.Message
}

// finish is called when a message is in the record, or was given up.
func (t *intake) finish() {
	t.r.budget.add(-t.held)
	t.held = 0
	if t.end != nil {
		t.end()
		t.end = nil
	}
}

// begin waits for the turn of a long message. The returned function ends the turn.
func (t *intake) begin() (end func()) {
	b := t.r.budget
	if b == nil {
		return func() {}
	}
	taken := false
	t.r.hold(func() {
		select {
		case b.long <- struct{}{}:
			taken = true
		case <-t.gone:
		}
	})
	if !taken {
		return func() {}
	}
	giveUp := sync.OnceFunc(func() { <-b.long })
	timer := time.AfterFunc(longTurn, giveUp)
	return func() {
		timer.Stop()
		giveUp()
	}
}
