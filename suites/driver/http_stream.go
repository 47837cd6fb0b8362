package driver

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// standingStart is how long the standing stream is given to open.
const standingStart = 50 * time.Millisecond

// stand opens the standing stream, on which the server may speak first. Over HTTP+SSE there is one from the beginning.
func (h *HTTP) stand() {
	if !h.old {
		h.enqueue(h.listen(), standingStart)
	}
}

// listen prepares the request for a stream of what the server says by itself.
func (h *HTTP) listen() *Exchange {
	f := &Frame{Side: FromClient, Ended: true, standing: true}
	x := h.exchange(http.MethodGet, h.site.URL(), f)
	h.s.put(f)
	return x
}

// Standing is the stream that the session opened for what the server says by itself; nil when there is none.
func (h *HTTP) Standing() *Exchange {
	for _, x := range h.Exchanges() {
		if x.standing {
			return x
		}
	}
	return nil
}

// mostEvents is how many events of a stream are kept.
const mostEvents = 1024

// readStream hands the events of a stream on until it ends. If it ended before the answer came, and can be resumed, it
// is.
func (h *HTTP) readStream(x *Exchange, body io.Reader) {
	answered, came := false, false
	taken := &intake{r: &h.s.record, part: &x.partial}
	cut, err := readEvents(body, taken, func(e StreamEvent) {
		h.keepEvent(x, e)
		if f := h.receiveEvent(x, e); f != nil {
			came, answered = true, answered || Pending{ID: x.asked}.answeredBy(f)
		}
	}, x.keepComment)
	if err != nil {
		err = plainError(err)
	}
	unanswered := x.asked != nil && !answered
	goesOn := (unanswered && x.misnamed == nil || x.standing) && h.resumable(x)
	h.s.mu.Lock()
	x.answer.Cut, x.goesOn = cut, goesOn
	h.s.mu.Unlock()
	if unanswered && !goesOn || x.apart && x.Method == http.MethodGet {
		h.broke(x, err)
	}
	if unanswered && !goesOn || !unanswered && !came {
		h.status(x, err)
	}
	h.end(x, err)
	if goesOn {
		h.resume(x)
	}
}

// keepComment notes a comment on the stream.
func (x *Exchange) keepComment() {
	x.s.mu.Lock()
	x.answer.Comments++
	x.s.mu.Unlock()
}

// receiveEvent hands the message of an event on; nil when it has none.
func (h *HTTP) receiveEvent(x *Exchange, e StreamEvent) *Frame {
	f := &Frame{Raw: e.Data, Ended: true, HTTP: x, Event: &e, Apart: x.apart}
	f.parse()
	if !e.Dispatched() || !e.isMessage() && !f.HasVersion {
		return nil
	}
	h.s.take(f)
	answers := f.IsResponse() || f.Shape == Array
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.replied = x.replied || answers
	if f.IsResponse() && !f.Strayed && h.s.questionOf(f.Answers()) == nil {
		x.misnamed = f // the right one may follow
	}
	return f
}

// keepEvent adds an event to the answer of an exchange, of which the last ones are kept.
func (h *HTTP) keepEvent(x *Exchange, e StreamEvent) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.answer.Events = append(x.answer.Events, e)
	h.s.keep(e.cost())
	if n := len(x.answer.Events); n > mostEvents || n > 1 && h.s.full(ownShare) {
		x.forget(max(1, n/2))
	}
	h.s.wake()
}

// forget drops the first events of an answer. Who made the request by hand looks for them there. The caller holds the
// lock of the record.
func (x *Exchange) forget(n int) {
	for _, e := range x.answer.Events[:n] {
		x.s.keep(-e.cost())
	}
	x.answer.Events = slices.Clone(x.answer.Events[n:])
	x.answer.Lost += n
}

// mostResumed is how often one stream is resumed.
const mostResumed = 5

// resumable reports whether the server has given a way to ask for the rest of a stream. What was made by hand is not
// resumed.
func (h *HTTP) resumable(x *Exchange) bool {
	if h.old || x.apart || x.resumed >= mostResumed || h.ctx.Err() != nil || !h.s.Era().resumes() {
		return false
	}
	id, _ := resumption(x.Answer().Events)
	again := x.resumed > 0 && !x.emptied // one stream may come to nothing
	return id != "" || x.standing || again
}

// resume asks for the rest of a stream, after the time that the server wants, unless the session ends before.
func (h *HTTP) resume(x *Exchange) {
	id, wait := resumption(x.Answer().Events)
	if !h.sleep(wait) {
		h.s.mu.Lock()
		x.goesOn = false
		h.s.mu.Unlock()
		return
	}
	f := &Frame{Side: FromClient, Ended: true, standing: x.standing}
	next := h.exchange(http.MethodGet, x.URL, f)
	next.asked, next.resumed, next.emptied = x.asked, x.resumed+1, id == ""
	if id = cmp.Or(id, x.Header.Get("Last-Event-ID")); id != "" {
		next.Header.Set("Last-Event-ID", id)
	}
	h.s.mu.Lock()
	x.rest = next
	h.s.mu.Unlock()
	h.s.put(f)
	h.perform(next, func() {})
}

// resumption is the id of the last event that has one, and the time to wait before a stream is resumed.
func resumption(events []StreamEvent) (id string, wait time.Duration) {
	const usual, most = 100 * time.Millisecond, 3 * time.Second
	wait = usual
	for _, e := range events {
		if e.HasID {
			id = e.ID
		}
		if ms, err := strconv.Atoi(e.Retry); err == nil {
			wait = min(time.Duration(ms)*time.Millisecond, most)
		}
	}
	return id, wait
}

func (h *HTTP) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}
