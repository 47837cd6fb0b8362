package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// MemoryBudget limits what all sessions of a run keep in their records together, so that a server that floods each of
// its sessions cannot exhaust memory. Messages that are still being read count as well. A nil MemoryBudget has no
// limit.
type MemoryBudget struct {
	limit int64
	used  atomic.Int64
}

const (
	// frameOverhead is the number of bytes that a frame takes besides its text.
	frameOverhead = 200
	// minSessionBytes is what each session may keep, however much the others keep.
	minSessionBytes = 1 << 20
	// minUnsolicitedBytes is the same limit for a server that sends unsolicited messages.
	minUnsolicitedBytes = 256 << 10
)

// NewMemoryBudget returns a budget of a number of bytes.
func NewMemoryBudget(bytes int) *MemoryBudget { return &MemoryBudget{limit: int64(bytes)} }

func (b *MemoryBudget) add(bytes int) {
	if b != nil {
		b.used.Add(int64(bytes))
	}
}

func (b *MemoryBudget) exhausted() bool { return b != nil && b.used.Load() > b.limit }

// readQuota counts the bytes of one message after the other while they are read.
type readQuota struct {
	record  *record
	partial *partialMessage
	counted int
}

// partialMessage is a message of which only the beginning has been received.
type partialMessage struct {
	// bytes is the number of its bytes that were read; 0 means that no message is incomplete.
	bytes int
	// last is the time at which the last of them were read, since the session opened.
	last time.Duration
}

// grow counts n more bytes of a message. It returns false when the message gets too long.
func (t *readQuota) grow(n int) bool {
	t.counted += n
	t.record.budget.add(n)
	return t.counted <= t.record.limits.MaxMessageBytes
}

// release is called when a message is in the record or was given up.
func (t *readQuota) release() {
	t.record.budget.add(-t.counted)
	t.counted = 0
}

// notePartial notes after each read how many bytes of an incomplete message were received; 0 means that no message is
// incomplete.
func (t *readQuota) notePartial(bytes int) {
	t.record.mu.Lock()
	defer t.record.mu.Unlock()
	if bytes != t.partial.bytes { // otherwise nothing was read
		*t.partial = partialMessage{bytes, time.Since(t.record.opened)}
	}
}

// IsReceiving reports whether the response to an unanswered request may have been on its way when the reply timeout
// ended: bytes of an incomplete message arrived in its last quarter. Such a server is slow, not silent.
func (s *Session) IsReceiving(request *Frame) bool {
	return s.isReceiving(Pending{ID: request.ID, sent: s.TimeOf(request), frame: request})
}

func (s *Session) isReceiving(p Pending) bool {
	const part = 4
	wait := s.Patience(p.frame)
	late := p.sentAt().Add(wait - wait/part)
	return slices.ContainsFunc(s.partials(p.ID), func(m partialMessage) bool {
		return m.bytes > 0 && s.opened.Add(m.last).After(late)
	})
}

// partials returns the incomplete messages that may be the response to the request with this id. Over stdio, that is
// the one incomplete line.
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

// LimitError says that mcpcheck itself cut something off that exceeded one of its limits. What the server sent after
// that is not known, so nothing of it counts as a failure of the server.
type LimitError struct{ Reason string }

func (e *LimitError) Error() string { return e.Reason }

// tooLong returns the error for a message that is too long. what is the beginning of its text, such as "the body has".
func (l Limits) tooLong(what string) *LimitError {
	return &LimitError{fmt.Sprintf("%s more than %s, mcpcheck's own limit (--max-message)", what,
		text.Size(l.MaxMessageBytes))}
}

// AsLimitError returns the LimitError that err wraps, or nil if it wraps none.
func AsLimitError(err error) *LimitError {
	var e *LimitError
	errors.As(err, &e)
	return e
}

var errRecordTruncated = &LimitError{"mcpcheck does not keep all that came: it is too much"}

// setLimitErr notes the first thing that was cut off; nil is ignored.
func (r *record) setLimitErr(e *LimitError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limitErr == nil {
		r.limitErr = e
	}
}

// LimitErr returns what mcpcheck cut off in the session, or that the record since the mark is not complete. It returns
// nil if neither is the case.
func (r *record) LimitErr(mark int) *LimitError { return r.limitErrAfter(mark, &r.lostBefore) }

// UnsolicitedLimitErr is LimitErr for a check of unsolicited messages, which are the first to be dropped from the
// record.
func (r *record) UnsolicitedLimitErr(mark int) *LimitError {
	return r.limitErrAfter(mark, &r.lostBefore, &r.unsolicitedLostBefore)
}

// limitErrAfter is LimitErr for a record in which frames before the given indexes are missing.
func (r *record) limitErrAfter(mark int, lost ...*int) *LimitError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limitErr == nil && slices.ContainsFunc(lost, func(before *int) bool { return *before > mark }) {
		return errRecordTruncated
	}
	return r.limitErr
}
