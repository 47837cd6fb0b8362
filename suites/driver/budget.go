package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Budget bounds what the sessions of one run keep of their wires together, so that a server that floods each of its
// sessions cannot make the harness grow. What is being read counts as well. A nil Budget bounds nothing.
type Budget struct {
	limit   int64
	kept    atomic.Int64
	decoded atomic.Int64 // bytes of the texts whose frames keep what they say
}

const (
	frameCost    = 200       // bytes that a frame takes beside its text
	ownShare     = 1 << 20   // bytes that a session may keep whatever the others do
	unaskedShare = 256 << 10 // the same, of a server that sends what nobody asked for
)

// NewBudget makes a budget of that many bytes.
func NewBudget(bytes int) *Budget { return &Budget{limit: int64(bytes)} }

func (b *Budget) add(bytes int) {
	if b != nil {
		b.kept.Add(int64(bytes))
	}
}

// mostDecoded is how many bytes of texts are kept decoded as well, which takes several times their room unless they are
// alike. What does not belong to them is decoded for each check that reads it.
const mostDecoded = 8 << 20

// mayDecode reports whether a frame of so many bytes may keep what it says.
func (b *Budget) mayDecode(bytes int) bool {
	if b == nil || b.decoded.Load()+int64(bytes) > mostDecoded {
		return b == nil
	}
	b.decoded.Add(int64(bytes))
	return true
}

func (b *Budget) exhausted() bool { return b != nil && b.kept.Load() > b.limit }

// intake accounts for one message after the other while it is read.
type intake struct {
	r    *record
	part *partial
	held int
}

// partial is a message that has begun to come and has not ended.
type partial struct {
	bytes int           // of it that were read; 0: no message is incomplete
	last  time.Duration // when the last of them came, since the session opened
}

// grow takes n more bytes of a message in; false when it gets too long.
func (t *intake) grow(n int) bool {
	t.held += n
	t.r.budget.add(n)
	return t.held <= t.r.limits.Message
}

// finish is called when a message is in the record, or was given up.
func (t *intake) finish() {
	t.r.budget.add(-t.held)
	t.held = 0
}

// unended notes, after each read, how many bytes of a message were read that has not ended; 0: no message is
// incomplete.
func (t *intake) unended(bytes int) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if bytes != t.part.bytes { // else nothing came
		*t.part = partial{bytes, time.Since(t.r.opened)}
	}
}

// StillComing reports whether a request that has no answer may have had one on its way when the time of --timeout was
// over: in the last part of it, bytes came of a message that has not ended. Such a server is slow, and not silent.
func (s *Session) StillComing(request *Frame) bool {
	return s.isComing(Pending{ID: request.ID, sent: s.Moment(request), frame: request})
}

func (s *Session) isComing(p Pending) bool {
	const part = 4
	late := p.leftAt().Add(s.limits.Reply - s.limits.Reply/part)
	return slices.ContainsFunc(s.partials(p.ID), func(m partial) bool {
		return m.bytes > 0 && s.opened.Add(m.last).After(late)
	})
}

// partials are the messages that have not ended and may be the answer to the request of that id. Over stdio, that is
// the one line.
func (s *Session) partials(id json.RawMessage) (all []partial) {
	h := s.HTTP()
	sent := h.Exchanges()
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		return []partial{s.partial}
	}
	for _, x := range sent {
		if x.answers(id) || h.old && x.standing {
			all = append(all, x.partial)
		}
	}
	return all
}

// Excess says that mcpcheck itself cut something off that was more than it takes: how the server went on is not known,
// and nothing of it is held against the server.
type Excess struct{ What string }

func (e *Excess) Error() string { return e.What }

// tooLong is that of a message; what names the carrier and its verb: "the body has".
func (l Limits) tooLong(what string) *Excess {
	return &Excess{fmt.Sprintf("%s more than %s, mcpcheck's own limit (--max-message)", what, Size(l.Message))}
}

// ExcessOf is the excess that an error is about; nil when it is about none.
func ExcessOf(err error) *Excess {
	var e *Excess
	errors.As(err, &e)
	return e
}

var tooMuch = &Excess{"mcpcheck does not keep all that came: it is too much"}

// exceed notes what was cut off; nil is nothing.
func (r *record) exceed(e *Excess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.excess == nil {
		r.excess = e
	}
}

// Excess is what mcpcheck cut off in the session, or what of the record since the mark it does not keep; nil when there
// is neither.
func (r *record) Excess(mark int) *Excess { return r.excessAfter(mark, &r.lost) }

// Unheard is Excess for who looks for what the server sends unasked, which is the first that is not kept.
func (r *record) Unheard(mark int) *Excess { return r.excessAfter(mark, &r.lost, &r.unheard) }

// excessAfter is Excess, where something is lost before any of some places.
func (r *record) excessAfter(mark int, lost ...*int) *Excess {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.excess == nil && slices.ContainsFunc(lost, func(before *int) bool { return *before > mark }) {
		return tooMuch
	}
	return r.excess
}
