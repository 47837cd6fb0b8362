package driver

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"
)

// record is everything that was said in a session, by both sides and in its order, and how it ended. Any goroutine may
// read it. Whatever changes wakes all who wait for something in it.
type record struct {
	ctx    context.Context // of the run
	opened time.Time
	limits Limits
	budget *MemoryBudget
	stderr *stderrBuffer // of the server's process; nil when it is not ours

	mu                    sync.Mutex // also guards what the session and its exchanges learn
	frames                []*Frame
	firstIndex            int // absolute index of frames[0]; greater than 0 once old frames were dropped
	size                  int // bytes kept
	changed               chan struct{}
	flooding              bool           // the server sends more unasked than is kept
	lostBefore            int            // what was dropped stood before this absolute index
	unsolicitedLostBefore int            // the same of what the server sent unasked
	partial               partialMessage // over stdio: the line that is not complete yet
	openRequests          int            // messages of the client that may still be answered
	lastAnsweredAt        time.Time      // when the last answer to one of them came
	hasInvalidInput       bool
	user                  string        // who uses the session
	previousUser          string        // who did before
	shutdown              bool          // the server was asked to end
	shutdownAt            time.Duration // when it was
	closed                bool          // it can say no more
	cause                 string        // why the session is over
	endFrame              *Frame        // that says so
	limitErr              *LimitError   // what mcpcheck itself cut off first; nil: nothing
}

// wake tells all waiters that the record has changed. The caller holds mu.
func (r *record) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// add keeps a frame. Once the record is too big, what the server sends unasked is not kept any more, and for anything
// else the oldest frames are dropped.
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
	f.keepDecoded = f.Side == FromServer && r.budget.mayDecode(len(f.Raw))
	f.At, f.Position = time.Since(r.opened), Position{r, r.firstIndex + len(r.frames)}
	f.AfterInvalidInput, f.AfterShutdown, f.User, f.PreviousUser = r.hasInvalidInput, r.shutdown, r.user, r.previousUser
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

// countResponse notes when the server answers the client. More answers than there were messages do not count, for they
// could come for ever, and neither does what is said to the client's own answers. The caller holds mu.
func (r *record) countResponse(f *Frame) {
	switch {
	case f.Side == FromClient && !f.IsResponse():
		r.openRequests += len(f.Messages())
	case f.isAnswer() && r.openRequests > 0 && !(f.RoundTrip != nil && f.RoundTrip.isResponse):
		r.openRequests--
		r.lastAnsweredAt = time.Now()
	}
}

// addEvent keeps something that happened beside the messages.
func (r *record) addEvent(text string) { r.add(newSessionEvent(text)) }

func newSessionEvent(text string) *Frame {
	return &Frame{Side: SessionEvent, Raw: Text(text), Complete: true}
}

// keep accounts for bytes of the record. The caller holds mu.
func (r *record) account(bytes int) {
	r.size += bytes
	r.budget.add(bytes)
}

// isOverLimit reports whether the record is over a limit: its own or, when all of them together are over theirs, a
// share of it. The caller holds mu.
func (r *record) isOverLimit(share int) bool {
	return r.size > r.limits.MaxWireBytes || r.size > share && r.budget.exhausted()
}

// SetUser says who uses the session from now on, which its frames tell. It returns who did before.
func (r *record) SetUser(user string) (before string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before = r.user; before != user {
		r.user, r.previousUser = user, before
	}
	return before
}

// Hostile marks the session: what follows was provoked by input that no conforming client sends.
func (r *record) MarkInvalidInput() {
	r.mu.Lock()
	r.hasInvalidInput = true
	r.mu.Unlock()
}

// MarkInvalidInputFromStart marks the session from its beginning.
func (r *record) MarkInvalidInputFromStart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasInvalidInput = true
	for _, f := range r.frames {
		f.AfterInvalidInput = true
	}
}

// MarkManualSoFar takes out of the session what was asked so far, and what was answered to that. What the server said
// beside stays in it.
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

// HasInvalidInput reports whether the session was marked as hostile.
func (r *record) HasInvalidInput() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasInvalidInput
}

// markShutdown notes that what comes now belongs to the shutdown, unless the session is over already.
func (r *record) markShutdown() {
	r.mu.Lock()
	if !r.shutdown && !r.closed {
		r.shutdown, r.shutdownAt = true, time.Since(r.opened)
	}
	r.mu.Unlock()
}

// ShutdownAt is when the client has left the session, since that opened: what did not come until then need not come. As
// long as the client has not, that is now.
func (r *record) ShutdownAt() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shutdown {
		return r.shutdownAt
	}
	return time.Since(r.opened)
}

// endByServer is over for a server that has ended the session: its last words stand beside the cause, unless it was
// asked to end.
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

// endWith records why the session is over, and wakes everyone who waits for it.
func (r *record) endWith(cause string) { r.end(newSessionEvent(cause)) }

func (r *record) end(f *Frame) {
	r.add(f)
	r.mu.Lock()
	r.closed, r.cause, r.endFrame = true, f.Raw.String(), f
	r.wake()
	r.mu.Unlock()
}

// IsAlive reports whether the server can still speak.
func (r *record) IsAlive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed
}

// CleanExit is the cause of the end of a session whose server ended by itself, without complaint.
var CleanExit = "the server " + Exit{}.String()

// Death says that the session is over.
type SessionEndError struct {
	Cause    string      // "the server exited with status 3", or CleanExit
	Stdout   []string    // the first lines that it wrote there in place of messages
	Stderr   []string    // the last lines there
	Hint     string      // what it looks like, and what to do about it; empty: nobody knows
	LimitErr *LimitError // what mcpcheck cut off before; nil: nothing

	frame *Frame // of the session, in its record; nil: it is in none
}

func (e *SessionEndError) Error() string { return e.Cause }

// Unwrap is the excess, which may be the cause.
func (e *SessionEndError) Unwrap() error {
	if e.LimitErr == nil {
		return nil
	}
	return e.LimitErr
}

// Death is why the session is over; nil while it is not.
func (r *record) EndErr() error {
	r.mu.Lock()
	death, closed := &SessionEndError{Cause: r.cause, LimitErr: r.limitErr, frame: r.endFrame}, r.closed
	r.mu.Unlock()
	if !closed {
		return nil
	}
	death.Stderr = r.StderrTail()
	return death
}

// StderrTail is the last lines that the server wrote to stderr, as many as are kept.
func (r *record) StderrTail() []string {
	if r.stderr == nil {
		return nil
	}
	return r.stderr.tailLines()
}

// Mark is the place in the record where the next frame will stand.
func (r *record) Mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.firstIndex + len(r.frames)
}

// ReceivedSince is what the server sent since the mark, without what was for another session or for the session itself.
func (r *record) ReceivedSince(mark int) (came []*Frame) {
	for _, f := range r.FramesSince(mark) {
		if f.Side == FromServer && !f.ForOtherSession && !f.Internal {
			came = append(came, f)
		}
	}
	return came
}

// FramesSince is everything since the mark, of both sides; 0 is the beginning.
func (r *record) FramesSince(mark int) []*Frame { return r.FramesBetween(mark, math.MaxInt) }

// FramesBetween is everything of both sides from one mark to another, which is not before it.
func (r *record) FramesBetween(from, to int) []*Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := func(mark int) int { return min(max(mark-r.firstIndex, 0), len(r.frames)) }
	return slices.Clone(r.frames[place(from):place(to)])
}

// HasBeginning reports whether the record still has its beginning.
func (r *record) HasBeginning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.firstIndex == 0
}

// Busy reports whether the session sent something in the time d before a moment. It tells who may have been the cause
// when a server that several sessions share ends.
func (r *record) SentWithin(moment time.Time, d time.Duration) bool {
	for _, f := range r.FramesSince(0) {
		if at := r.TimeOf(f); f.Side == FromClient && !at.After(moment) && at.After(moment.Add(-d)) {
			return true
		}
	}
	return false
}

// TimeOf is when a frame of the session was seen.
func (r *record) TimeOf(f *Frame) time.Time { return r.opened.Add(f.At) }

var errTimeout = errors.New("timeout")

// Wait returns the first frame since from that matches, or an error: *Death once the session is over, errTimeout, or
// the context's.
func (r *record) Wait(from int, d time.Duration, match func(*Frame) bool) (*Frame, error) {
	end := time.Now().Add(d)
	return r.waitUntil(from, func() time.Time { return end }, match)
}

// waitUntil is Wait until an end that may move.
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

// until waits until a condition holds that depends on the record or on an exchange, at most until an end that may move:
// errTimeout, or the context's error. The condition is tried with mu held.
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

// sleep lets time pass while the session goes on.
func (r *record) sleep(d time.Duration) {
	r.Wait(r.Mark(), d, func(*Frame) bool { return false })
}
