package driver

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// record is everything that both sides sent in a session, in order, and how the session ended. Any goroutine may read
// it. Each change wakes all goroutines that wait for something in it.
type record struct {
	// ctx is the context of the run.
	ctx    context.Context
	opened time.Time
	limits Limits
	// isReplayed reports whether the session was recorded, and so has no server.
	isReplayed bool
	// isForCalls reports whether Recorded has returned the session for calls: what comes later is not known.
	isForCalls bool
	budget     *MemoryBudget
	// stderr is that of the server's process; nil if this run did not start it.
	stderr *stderrBuffer

	// mu also guards some fields of the session and of its round trips.
	mu     sync.Mutex
	frames []*Frame
	// firstIndex is the absolute index of frames[0]; it is greater than 0 after old frames were dropped.
	firstIndex int
	size       int
	// changed is closed at the next change.
	changed chan struct{}
	// flooding reports whether the server has sent more unsolicited messages than are kept.
	flooding bool
	// lostBefore is an absolute index; all frames that were dropped are before it.
	lostBefore int
	// unsolicitedLostBefore is the same for unsolicited messages of the server.
	unsolicitedLostBefore int
	// partial is the incomplete line, over stdio.
	partial partialMessage
	// openRequests is the number of the client's messages that may still be answered.
	openRequests int
	// lastAnsweredAt is the time of the last answer to one of them.
	lastAnsweredAt time.Time
	// hasInvalidInput reports whether the server has received invalid input.
	hasInvalidInput atomic.Bool
	user            string
	previousUser    string
	shutdown        bool
	// shutdownAt is when it did, since the session opened.
	shutdownAt time.Duration
	// closed reports whether the session is over, so that the server can send nothing more.
	closed   bool
	cause    string
	endFrame *Frame
	// limitErr is the first thing that mcpcheck cut off; nil if there is none.
	limitErr *LimitError
}

// wake wakes all waiting goroutines. The caller holds mu.
func (r *record) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// add records a frame. When the record is too big, unsolicited messages of the server are no longer kept, and for any
// other frame the oldest ones are dropped.
func (r *record) add(f *Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.isUnsolicited() && r.isOverLimit(minUnsolicitedBytes) {
		r.unsolicitedLostBefore = r.firstIndex + len(r.frames) + 1
		if r.flooding {
			return
		}
		r.flooding = true
		f = newSessionEvent("from here on, what the server sends unasked is not kept: it is too much")
	}
	f.At, f.Position = time.Since(r.opened), Position{r, r.firstIndex + len(r.frames)}
	f.AfterInvalidInput, f.AfterShutdown = r.hasInvalidInput.Load(), r.shutdown
	f.User, f.PreviousUser = r.user, r.previousUser
	r.countResponse(f)
	if f.Side == FromClient && f.RoundTrip != nil {
		f.RoundTrip.At = f.At
	}
	r.frames = append(r.frames, f)
	r.account(f.cost())
	for r.isOverLimit(minSessionBytes) && len(r.frames) > 1 {
		r.account(-r.frames[0].cost())
		r.frames[0] = nil
		r.frames = r.frames[1:]
		r.firstIndex++
		r.lostBefore = max(r.lostBefore, r.firstIndex)
	}
	r.wake()
}

// countResponse notes when the server answers the client. It ignores more answers than there were messages, because a
// server could send them without end, what the server sends for the client's own responses, and the end of what the
// client has cancelled. The caller holds mu.
func (r *record) countResponse(f *Frame) {
	switch {
	case f.Side == FromClient && !f.IsResponse():
		r.openRequests += len(f.Messages())
	case f.RoundTrip != nil && (f.RoundTrip.isResponse || f.RoundTrip.IsCancelled()): // no answer of the server
	case f.isAnswer() && r.openRequests > 0:
		r.openRequests--
		r.lastAnsweredAt = time.Now()
	}
}

func (r *record) addEvent(text string) { r.add(newSessionEvent(text)) }

func newSessionEvent(text string) *Frame {
	return &Frame{Side: SessionEvent, Raw: Text(text), Complete: true}
}

// account counts bytes of the record. The caller holds mu.
func (r *record) account(bytes int) {
	r.size += bytes
	r.budget.add(bytes)
}

// isOverLimit reports whether the record is bigger than its own limit or, while all records together exceed theirs,
// than share bytes. The caller holds mu.
func (r *record) isOverLimit(share int) bool {
	return r.size > r.limits.MaxWireBytes || r.size > share && r.budget.exhausted()
}

// SetUser sets who uses the session from now on; its frames have this name. It returns the previous user.
func (r *record) SetUser(user string) (before string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before = r.user; before != user {
		r.user, r.previousUser = user, before
	}
	return before
}

// MarkInvalidInput marks all later frames: the server is about to receive input that no conforming client sends.
func (r *record) MarkInvalidInput() { r.hasInvalidInput.Store(true) }

// MarkInvalidInputFromStart marks all frames of the session, earlier and later ones.
func (r *record) MarkInvalidInputFromStart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasInvalidInput.Store(true)
	for _, f := range r.frames {
		f.AfterInvalidInput = true
	}
}

// MarkManualSoFar hides from checks the client's messages so far and the responses to them. Other messages of the
// server stay visible.
func (r *record) MarkManualSoFar() {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := map[string]bool{}
	for _, f := range r.frames {
		switch {
		case f.Side == FromClient:
			f.Manual, asked[IDKey(f.ID)] = true, f.IsRequest()
		case f.Side == FromServer && f.IsResponse():
			f.Manual = asked[IDKey(f.RequestID())]
		}
	}
}

// HasInvalidInput reports whether the session was marked with MarkInvalidInput.
func (r *record) HasInvalidInput() bool { return r.hasInvalidInput.Load() }

// markShutdown notes that later frames belong to the shutdown, unless the session is already over.
func (r *record) markShutdown() {
	r.mu.Lock()
	if !r.shutdown && !r.closed {
		r.shutdown, r.shutdownAt = true, time.Since(r.opened)
	}
	r.mu.Unlock()
}

// ShutdownAt returns the time at which the client began to end the session, since the session opened, or the time until
// now if it has not. What the server did not send until then was not required.
func (r *record) ShutdownAt() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shutdown {
		return r.shutdownAt
	}
	return time.Since(r.opened)
}

// endByServer is endWith for a server that has ended the session. Unless the client had begun to end it, the frame has
// the last lines on stderr.
func (r *record) endByServer(cause string) {
	end := newSessionEvent(cause)
	r.mu.Lock()
	asked := r.shutdown
	r.mu.Unlock()
	if !asked {
		end.Stderr = r.StderrTail()
	}
	r.end(end)
}

func (r *record) endWith(cause string) { r.end(newSessionEvent(cause)) }

func (r *record) end(f *Frame) {
	r.add(f)
	r.mu.Lock()
	r.closed, r.cause, r.endFrame = true, f.Raw.String(), f
	r.wake()
	r.mu.Unlock()
}

// IsAlive reports whether the server can still send messages.
func (r *record) IsAlive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed
}

// CleanExit is the cause of a session end when the server exited by itself with status 0.
var CleanExit = "the server " + Exit{}.String()

// RunsOncePrefix begins the message about a server whose later processes all exit at once.
const RunsOncePrefix = "no session could be opened after the first one, as if the server could run only once: "

// SessionEndError says that the session is over.
type SessionEndError struct {
	// Cause is why, such as "the server exited with status 3", or CleanExit.
	Cause string
	// Stdout holds the first lines that the server wrote to stdout instead of messages.
	Stdout []string
	// Stderr holds the last lines that the server wrote to stderr.
	Stderr []string
	// Hint is a guess at the mistake and how to fix it; empty if there is none.
	Hint string
	// LimitErr is what mcpcheck cut off before; nil if nothing.
	LimitErr *LimitError

	// frame records the end in the session; nil if it is in no record.
	frame *Frame
}

func (e *SessionEndError) Error() string { return e.Cause }

// Unwrap returns LimitErr, which may be the cause.
func (e *SessionEndError) Unwrap() error {
	if e.LimitErr == nil {
		return nil
	}
	return e.LimitErr
}

// IsEnd reports whether a frame is the event that the session ended.
func (r *record) IsEnd(f *Frame) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f != nil && f == r.endFrame
}

// EndErr returns a *SessionEndError if the session is over, and nil otherwise.
func (r *record) EndErr() error {
	r.mu.Lock()
	ended, closed := &SessionEndError{Cause: r.cause, LimitErr: r.limitErr, frame: r.endFrame}, r.closed
	r.mu.Unlock()
	if !closed {
		return nil
	}
	ended.Stderr = r.StderrTail()
	return ended
}

// StderrTail returns the last lines that the server wrote to stderr, as many as are kept.
func (r *record) StderrTail() []string {
	if r.stderr == nil {
		return nil
	}
	return r.stderr.tailLines()
}

// Mark returns the position in the record at which the next frame will be.
func (r *record) Mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.firstIndex + len(r.frames)
}

// ReceivedSince returns what the server sent since the mark, without responses for other sessions and internal ones.
func (r *record) ReceivedSince(mark int) (received []*Frame) {
	for _, f := range r.FramesSince(mark) {
		if f.Side == FromServer && !f.ForOtherSession && !f.Internal {
			received = append(received, f)
		}
	}
	return received
}

// FramesSince returns the frames of both sides since the mark; 0 is the beginning.
func (r *record) FramesSince(mark int) []*Frame { return r.FramesBetween(mark, math.MaxInt) }

// FramesBetween returns the frames of both sides between two marks.
func (r *record) FramesBetween(from, to int) []*Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := func(mark int) int { return min(max(mark-r.firstIndex, 0), len(r.frames)) }
	return slices.Clone(r.frames[place(from):place(to)])
}

// HasBeginning reports whether no frame has been dropped from the beginning of the record.
func (r *record) HasBeginning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.firstIndex == 0
}

// SentWithin reports whether the client sent something in this session within d before a time. It tells which sessions
// may have been the cause when a server that they share ends.
func (r *record) SentWithin(t time.Time, d time.Duration) bool {
	for _, f := range r.FramesSince(0) {
		if at := r.TimeOf(f); f.Side == FromClient && !at.After(t) && at.After(t.Add(-d)) {
			return true
		}
	}
	return false
}

// TimeOf returns the time at which a frame of the session was sent or received.
func (r *record) TimeOf(f *Frame) time.Time { return r.opened.Add(f.At) }

var errTimeout = errors.New("timeout")

// Wait returns the first frame at or after the mark from that matches. It returns a *SessionEndError when the session
// is over, errTimeout after d, or the error of the run's context.
func (r *record) Wait(from int, d time.Duration, match func(*Frame) bool) (*Frame, error) {
	end := time.Now().Add(d)
	return r.waitUntil(from, func() time.Time { return end }, match)
}

// waitUntil is Wait until a time that may change meanwhile.
func (r *record) waitUntil(from int, end func() time.Time, match func(*Frame) bool) (found *Frame, err error) {
	closed := false
	err = r.until(end, func() bool {
		for from = max(from, r.firstIndex); from < r.firstIndex+len(r.frames); from++ {
			if f := r.frames[from-r.firstIndex]; match(f) {
				found = f
				return true
			}
		}
		closed = r.closed
		return closed
	})
	if closed {
		err = r.EndErr()
	}
	return found, err
}

// until waits until a condition on the record or on a round trip holds. It returns errTimeout at a time that may change
// meanwhile, or the context's error. holds is called with mu held.
func (r *record) until(end func() time.Time, holds func() bool) error {
	timer := time.NewTimer(time.Until(end()))
	defer timer.Stop()
	for {
		r.mu.Lock()
		ok, changed := holds(), r.changed
		r.mu.Unlock()
		if ok {
			return nil
		}
		switch {
		case r.isForCalls:
			panic(NoServer{})
		case r.isReplayed:
			return errTimeout
		}
		select {
		case <-changed:
		case <-timer.C:
			left := time.Until(end())
			if left <= 0 {
				return errTimeout
			}
			timer.Reset(left)
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
}

// Sleep waits for d, during which the client sends nothing, unless the session ends before.
func (r *record) Sleep(d time.Duration) {
	if r.isReplayed {
		return
	}
	r.Wait(r.Mark(), d, func(*Frame) bool { return false })
}
