package driver

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// listeningStart is how long the standing stream is given to open.
const listeningStart = 50 * time.Millisecond

// openListeningStream opens the standing stream, on which the server may speak first. Over RoundTrip+SSE there is one
// from the beginning.
func (h *HTTP) openListeningStream() {
	if !h.isSSE {
		h.enqueue(h.newListeningStream(), listeningStart)
	}
}

// listen prepares the request for a stream of what the server says by itself.
func (h *HTTP) newListeningStream() *RoundTrip {
	f := &Frame{Side: FromClient, Complete: true, opensStream: true}
	x := h.newRoundTrip(http.MethodGet, h.site.URL(), f)
	h.s.add(f)
	return x
}

// ListeningStream is the stream that the session opened for what the server says by itself; nil when there is none.
func (h *HTTP) ListeningStream() *RoundTrip {
	for _, x := range h.RoundTrips() {
		if x.isListening {
			return x
		}
	}
	return nil
}

// maxEvents is how many events of a stream are kept.
const maxEvents = 1024

// readStream hands the events of a stream on until it ends. If it ended before the answer came, and can be resumed, it
// is.
func (h *HTTP) readStream(x *RoundTrip, body io.Reader) {
	answered, came := false, false
	taken := &readQuota{record: &h.s.record, partial: &x.partial}
	cut, err := readEvents(body, taken, func(e StreamEvent) {
		h.addEvent(x, e)
		if f := h.receiveEvent(x, e); f != nil {
			came, answered = true, answered || Pending{ID: x.requestID}.isAnsweredBy(f)
		}
	}, x.countComment)
	if err != nil {
		err = plainError(err)
	}
	unanswered := x.requestID != nil && !answered
	goesOn := (unanswered && x.unknownIDFrame == nil || x.isListening) && h.canResume(x)
	h.s.mu.Lock()
	x.response.Truncated, x.willResume = cut, goesOn
	h.s.mu.Unlock()
	if unanswered && !goesOn || x.manual && x.Method == http.MethodGet {
		h.noteBroken(x, err)
	}
	if unanswered && !goesOn || !unanswered && !came {
		h.recordStatus(x, err)
	}
	h.recordEnd(x, err)
	if goesOn {
		h.resume(x)
	}
}

// countComment notes a comment on the stream.
func (x *RoundTrip) countComment() {
	x.s.mu.Lock()
	x.response.Comments++
	x.s.mu.Unlock()
}

// receiveEvent hands the message of an event on; nil when it has none.
func (h *HTTP) receiveEvent(x *RoundTrip, e StreamEvent) *Frame {
	f := &Frame{Raw: e.Data, Complete: true, RoundTrip: x, Event: &e, Manual: x.manual}
	f.parse()
	if !e.IsDispatched() || !e.hasMessageType() && !f.HasJSONRPC {
		return nil
	}
	h.s.receive(f)
	answers := f.IsResponse() || f.Kind == Array
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.hasResponse = x.hasResponse || answers
	if f.IsResponse() && !f.ForOtherSession && h.s.sentRequestFor(f.RequestID()) == nil {
		x.unknownIDFrame = f // the right one may follow
	}
	return f
}

// addEvent adds an event to the answer of an exchange, of which the last ones are kept.
func (h *HTTP) addEvent(x *RoundTrip, e StreamEvent) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.response.Events = append(x.response.Events, e)
	h.s.account(e.cost())
	if n := len(x.response.Events); n > maxEvents || n > 1 && h.s.isOverLimit(minSessionBytes) {
		x.dropEvents(max(1, n/2))
	}
	h.s.wake()
}

// dropEvents drops the first events of an answer. Who made the request by hand looks for them there. The caller holds
// the lock of the record.
func (x *RoundTrip) dropEvents(n int) {
	for _, e := range x.response.Events[:n] {
		x.s.account(-e.cost())
	}
	x.response.Events = slices.Clone(x.response.Events[n:])
	x.response.DroppedEvents += n
}

// maxResumes is how often one stream is resumed.
const maxResumes = 5

// canResume reports whether the server has given a way to ask for the rest of a stream. What was made by hand is not
// resumed.
func (h *HTTP) canResume(x *RoundTrip) bool {
	if h.isSSE || x.manual || x.resumeCount >= maxResumes || h.ctx.Err() != nil || !h.s.Era().resumes() {
		return false
	}
	id, _ := resumePoint(x.Response().Events)
	again := x.resumeCount > 0 && !x.previousEmpty // one stream may come to nothing
	return id != "" || x.isListening || again
}

// resume asks for the rest of a stream, after the time that the server wants, unless the session ends before.
func (h *HTTP) resume(x *RoundTrip) {
	id, wait := resumePoint(x.Response().Events)
	if !h.sleep(wait) {
		h.s.mu.Lock()
		x.willResume = false
		h.s.mu.Unlock()
		return
	}
	f := &Frame{Side: FromClient, Complete: true, opensStream: x.isListening}
	next := h.newRoundTrip(http.MethodGet, x.URL, f)
	next.requestID, next.resumeCount, next.previousEmpty = x.requestID, x.resumeCount+1, id == ""
	if id = cmp.Or(id, x.Header.Get("Last-Event-ID")); id != "" {
		next.Header.Set("Last-Event-ID", id)
	}
	h.s.mu.Lock()
	x.continuation = next
	h.s.mu.Unlock()
	h.s.add(f)
	h.perform(next, func() {})
}

// resumePoint is the id of the last event that has one, and the time to wait before a stream is resumed.
func resumePoint(events []StreamEvent) (id string, wait time.Duration) {
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
