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
	budget *Budget
	stderr *stderrKeeper // of the server's process; nil when it is not ours

	mu       sync.Mutex // also guards what the session and its exchanges learn
	frames   []*Frame
	first    int // absolute index of frames[0]; greater than 0 once old frames were dropped
	size     int // bytes kept
	changed  chan struct{}
	flooding bool      // the server sends more unasked than is kept
	lost     int       // what was dropped stood before this absolute index
	unheard  int       // the same of what the server sent unasked
	partial  partial   // over stdio: the line that is not complete yet
	owed     int       // messages of the client that may still be answered
	answered time.Time // when the last answer to one of them came
	hostile  bool
	user     string        // who uses the session
	earlier  string        // who did before
	eof      bool          // the server was asked to end
	left     time.Duration // when it was
	closed   bool          // it can say no more
	cause    string        // why the session is over
	last     *Frame        // that says so
	excess   *Excess       // what mcpcheck itself cut off first; nil: nothing
}

// wake tells all waiters that the record has changed. The caller holds mu.
func (r *record) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// put keeps a frame. Once the record is too big, what the server sends unasked is not kept any more, and for anything
// else the oldest frames are dropped.
func (r *record) put(f *Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.unasked() && r.full(unaskedShare) {
		r.unheard = r.first + len(r.frames) + 1
		if r.flooding {
			return
		}
		r.flooding = true
		f = newEvent("from here on, what the server sends unasked is not kept: it is too much")
	}
	f.keeps = f.Side == FromServer && r.budget.mayDecode(len(f.Raw))
	f.At, f.Place = time.Since(r.opened), Place{r, r.first + len(r.frames)}
	f.Hostile, f.AfterEOF, f.User, f.Earlier = r.hostile, r.eof, r.user, r.earlier
	r.owe(f)
	if f.Side == FromClient && f.HTTP != nil {
		f.HTTP.At = f.At
	}
	r.frames = append(r.frames, f)
	r.keep(f.cost())
	for r.full(ownShare) && len(r.frames) > 1 {
		r.keep(-r.frames[0].cost())
		r.frames[0] = nil
		r.frames = r.frames[1:]
		r.first++
		r.lost = max(r.lost, r.first)
	}
	r.wake()
}

// owe notes when the server answers the client. More answers than there were messages do not count, for they could come
// for ever, and neither does what is said to the client's own answers. The caller holds mu.
func (r *record) owe(f *Frame) {
	switch {
	case f.Side == FromClient && !f.IsResponse():
		r.owed += len(f.Members())
	case f.answers() && r.owed > 0 && !(f.HTTP != nil && f.HTTP.reply):
		r.owed--
		r.answered = time.Now()
	}
}

// event keeps something that happened beside the messages.
func (r *record) event(text string) { r.put(newEvent(text)) }

func newEvent(text string) *Frame { return &Frame{Side: Event, Raw: Text(text), Ended: true} }

// keep accounts for bytes of the record. The caller holds mu.
func (r *record) keep(bytes int) {
	r.size += bytes
	r.budget.add(bytes)
}

// full reports whether the record is over a limit: its own or, when all of them together are over theirs, a share of
// it. The caller holds mu.
func (r *record) full(share int) bool {
	return r.size > r.limits.Wire || r.size > share && r.budget.exhausted()
}

// UsedBy says who uses the session from now on, which its frames tell. It returns who did before.
func (r *record) UsedBy(user string) (before string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before = r.user; before != user {
		r.user, r.earlier = user, before
	}
	return before
}

// Hostile marks the session: what follows was provoked by input that no conforming client sends.
func (r *record) Hostile() {
	r.mu.Lock()
	r.hostile = true
	r.mu.Unlock()
}

// HostileThroughout marks the session from its beginning.
func (r *record) HostileThroughout() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hostile = true
	for _, f := range r.frames {
		f.Hostile = true
	}
}

// ApartSoFar takes out of the session what was asked so far, and what was answered to that. What the server said beside
// stays in it.
func (r *record) ApartSoFar() {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := map[string]bool{}
	for _, f := range r.frames {
		switch {
		case f.Side == FromClient:
			f.Apart, asked[IDKey(f.ID)] = true, f.IsRequest()
		case f.Side == FromServer && f.IsResponse():
			f.Apart = asked[IDKey(f.Answers())]
		}
	}
}

// IsHostile reports whether the session was marked as hostile.
func (r *record) IsHostile() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hostile
}

// ending notes that what comes now belongs to the shutdown, unless the session is over already.
func (r *record) ending() {
	r.mu.Lock()
	if !r.eof && !r.closed {
		r.eof, r.left = true, time.Since(r.opened)
	}
	r.mu.Unlock()
}

// LeftAt is when the client has left the session, since that opened: what did not come until then need not come. As
// long as the client has not, that is now.
func (r *record) LeftAt() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.eof {
		return r.left
	}
	return time.Since(r.opened)
}

// crashed is over for a server that has ended the session: its last words stand beside the cause, unless it was asked
// to end.
func (r *record) crashed(cause string) {
	end := newEvent(cause)
	r.mu.Lock()
	asked := r.eof
	r.mu.Unlock()
	if !asked {
		end.Stderr = r.StderrTail()
	}
	r.end(end)
}

// over records why the session is over, and wakes everyone who waits for it.
func (r *record) over(cause string) { r.end(newEvent(cause)) }

func (r *record) end(f *Frame) {
	r.put(f)
	r.mu.Lock()
	r.closed, r.cause, r.last = true, f.Raw.String(), f
	r.wake()
	r.mu.Unlock()
}

// Alive reports whether the server can still speak.
func (r *record) Alive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed
}

// CleanExit is the cause of the end of a session whose server ended by itself, without complaint.
var CleanExit = "the server " + Exit{}.String()

// Death says that the session is over.
type Death struct {
	Cause  string   // "the server exited with status 3", or CleanExit
	Stdout []string // the first lines that it wrote there in place of messages
	Stderr []string // the last lines there
	Hint   string   // what it looks like, and what to do about it; empty: nobody knows
	Excess *Excess  // what mcpcheck cut off before; nil: nothing

	end *Frame // of the session, in its record; nil: it is in none
}

func (e *Death) Error() string { return e.Cause }

// Unwrap is the excess, which may be the cause.
func (e *Death) Unwrap() error {
	if e.Excess == nil {
		return nil
	}
	return e.Excess
}

// Death is why the session is over; nil while it is not.
func (r *record) Death() error {
	r.mu.Lock()
	death, closed := &Death{Cause: r.cause, Excess: r.excess, end: r.last}, r.closed
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
	return r.stderr.lines()
}

// Mark is the place in the record where the next frame will stand.
func (r *record) Mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first + len(r.frames)
}

// Since is what the server sent since the mark, without what was for another session or for the session itself.
func (r *record) Since(mark int) (came []*Frame) {
	for _, f := range r.Record(mark) {
		if f.Side == FromServer && !f.Strayed && !f.Aside {
			came = append(came, f)
		}
	}
	return came
}

// Record is everything since the mark, of both sides; 0 is the beginning.
func (r *record) Record(mark int) []*Frame { return r.Between(mark, math.MaxInt) }

// Between is everything of both sides from one mark to another, which is not before it.
func (r *record) Between(from, to int) []*Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := func(mark int) int { return min(max(mark-r.first, 0), len(r.frames)) }
	return slices.Clone(r.frames[place(from):place(to)])
}

// Whole reports whether the record still has its beginning.
func (r *record) Whole() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first == 0
}

// Busy reports whether the session sent something in the time d before a moment. It tells who may have been the cause
// when a server that several sessions share ends.
func (r *record) Busy(moment time.Time, d time.Duration) bool {
	for _, f := range r.Record(0) {
		if at := r.Moment(f); f.Side == FromClient && !at.After(moment) && at.After(moment.Add(-d)) {
			return true
		}
	}
	return false
}

// Moment is when a frame of the session was seen.
func (r *record) Moment(f *Frame) time.Time { return r.opened.Add(f.At) }

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
		for from = max(from, r.first); from < r.first+len(r.frames); from++ {
			if f := r.frames[from-r.first]; match(f) {
				found = f
				return true
			}
		}
		closed = r.closed
		return closed
	})
	if closed {
		err = r.Death()
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

// pass lets time pass while the session goes on.
func (r *record) pass(d time.Duration) {
	r.Wait(r.Mark(), d, func(*Frame) bool { return false })
}
