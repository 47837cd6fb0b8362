package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// MemoryBudget bounds what the sessions of one run keep of their wires together, so that a server that floods each of
// its sessions cannot make the harness grow. What is being read counts as well. A nil MemoryBudget bounds nothing.
type MemoryBudget struct {
	limit   int64
	used    atomic.Int64
	decoded atomic.Int64 // bytes of the texts whose frames keep what they say
}

const (
	frameOverhead       = 200       // bytes that a frame takes beside its text
	minSessionBytes     = 1 << 20   // bytes that a session may keep whatever the others do
	minUnsolicitedBytes = 256 << 10 // the same, of a server that sends what nobody asked for
)

// NewMemoryBudget makes a budget of that many bytes.
func NewMemoryBudget(bytes int) *MemoryBudget { return &MemoryBudget{limit: int64(bytes)} }

func (b *MemoryBudget) add(bytes int) {
	if b != nil {
		b.used.Add(int64(bytes))
	}
}

// maxDecoded is how many bytes of texts are kept decoded as well, which takes several times their room unless they are
// alike. What does not belong to them is decoded for each check that reads it.
const maxDecoded = 8 << 20

// mayDecode reports whether a frame of so many bytes may keep what it says.
func (b *MemoryBudget) mayDecode(bytes int) bool {
	if b == nil || b.decoded.Load()+int64(bytes) > maxDecoded {
		return b == nil
	}
	b.decoded.Add(int64(bytes))
	return true
}

func (b *MemoryBudget) exhausted() bool { return b != nil && b.used.Load() > b.limit }

// readQuota accounts for one message after the other while it is read.
type readQuota struct {
	record  *record
	partial *partialMessage
	counted int
}

// partialMessage is a message that has begun to come and has not ended.
type partialMessage struct {
	bytes int           // of it that were read; 0: no message is incomplete
	last  time.Duration // when the last of them came, since the session opened
}

// grow takes n more bytes of a message in; false when it gets too long.
func (t *readQuota) grow(n int) bool {
	t.counted += n
	t.record.budget.add(n)
	return t.counted <= t.record.limits.MaxMessageBytes
}

// finish is called when a message is in the record, or was given up.
func (t *readQuota) release() {
	t.record.budget.add(-t.counted)
	t.counted = 0
}

// unended notes, after each read, how many bytes of a message were read that has not ended; 0: no message is
// incomplete.
func (t *readQuota) notePartial(bytes int) {
	t.record.mu.Lock()
	defer t.record.mu.Unlock()
	if bytes != t.partial.bytes { // else nothing came
		*t.partial = partialMessage{bytes, time.Since(t.record.opened)}
	}
}

// IsReceiving reports whether a request that has no answer may have had one on its way when the time of --timeout was
// over: in the last part of it, bytes came of a message that has not ended. Such a server is slow, and not silent.
func (s *Session) IsReceiving(request *Frame) bool {
	return s.isReceiving(Pending{ID: request.ID, sent: s.TimeOf(request), frame: request})
}

func (s *Session) isReceiving(p Pending) bool {
	const part = 4
	late := p.sentAt().Add(s.limits.ReplyTimeout - s.limits.ReplyTimeout/part)
	return slices.ContainsFunc(s.partials(p.ID), func(m partialMessage) bool {
		return m.bytes > 0 && s.opened.Add(m.last).After(late)
	})
}

// partials are the messages that have not ended and may be the answer to the request of that id. Over stdio, that is
// the one line.
func (s *Session) partials(id json.RawMessage) (all []partialMessage) {
	h := s.HTTP()
	sent := h.RoundTrips()
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		return []partialMessage{s.partial}
	}
	for _, x := range sent {
		if x.isAnswerTo(id) || h.isSSE && x.isListening {
			all = append(all, x.partial)
		}
	}
	return all
}

// Excess says that mcpcheck itself cut something off that was more than it takes: how the server went on is not known,
// and nothing of it is held against the server.
type LimitError struct{ Reason string }

func (e *LimitError) Error() string { return e.Reason }

// tooLong is that of a message; what names the carrier and its verb: "the body has".
func (l Limits) tooLong(what string) *LimitError {
	return &LimitError{fmt.Sprintf("%s more than %s, mcpcheck's own limit (--max-message)", what,
		FormatSize(l.MaxMessageBytes))}
}

// AsLimitError is the excess that an error is about; nil when it is about none.
func AsLimitError(err error) *LimitError {
	var e *LimitError
	errors.As(err, &e)
	return e
}

var errRecordTruncated = &LimitError{"mcpcheck does not keep all that came: it is too much"}

// setLimitErr notes what was cut off; nil is nothing.
func (r *record) setLimitErr(e *LimitError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limitErr == nil {
		r.limitErr = e
	}
}

// Excess is what mcpcheck cut off in the session, or what of the record since the mark it does not keep; nil when there
// is neither.
func (r *record) LimitErr(mark int) *LimitError { return r.limitErrAfter(mark, &r.lostBefore) }

// UnsolicitedLimitErr is Excess for who looks for what the server sends unasked, which is the first that is not kept.
func (r *record) UnsolicitedLimitErr(mark int) *LimitError {
	return r.limitErrAfter(mark, &r.lostBefore, &r.unsolicitedLostBefore)
}

// limitErrAfter is Excess, where something is lost before any of some places.
func (r *record) limitErrAfter(mark int, lost ...*int) *LimitError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limitErr == nil && slices.ContainsFunc(lost, func(before *int) bool { return *before > mark }) {
		return errRecordTruncated
	}
	return r.limitErr
}
