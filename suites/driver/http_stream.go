package driver

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// openListeningStream opens the stream for the server's own messages. HTTP+SSE has one from the beginning.
func (h *HTTP) openListeningStream() {
	if !h.isSSE && !h.site.IsCrowded() {
		h.enqueue(h.newListeningStream(), timing.ListeningStart)
	}
}

// Listen opens another stream for the server's own messages, for a check that needs one.
func (h *HTTP) Listen() *RoundTrip {
	x := h.newListeningStream()
	x.isOptional = false
	h.enqueue(x, timing.ListeningStart)
	return x
}

// newListeningStream prepares the GET for a stream of the server's own messages.
func (h *HTTP) newListeningStream() *RoundTrip {
	f := &Frame{Side: FromClient, Complete: true, opensStream: true, isOptional: !h.isSSE}
	x := h.newRoundTrip(http.MethodGet, h.site.URL(), f)
	h.addRequest(f)
	return x
}

// ListeningStream returns the stream that the session opened for the server's own messages, or nil if there is none.
func (h *HTTP) ListeningStream() *RoundTrip {
	for _, x := range h.RoundTrips() {
		if x.isListening {
			return x
		}
	}
	return nil
}

const maxEvents = 1024

// readStream records the events of a stream until it ends. A stream that ended before the response is resumed if
// possible.
func (h *HTTP) readStream(x *RoundTrip, body io.Reader) {
	answered, came := false, false
	taken := &readQuota{record: &h.s.record, partial: &x.partial}
	cut, err := readEvents(body, taken, func(e StreamEvent) {
		h.site.crowding.receivedEvent()
		isRepeated := h.isRepeated(x, e)
		h.addEvent(x, e)
		if isRepeated {
			return
		}
		if f := h.receiveEvent(x, e); f != nil {
			came, answered = true, answered || Pending{ID: x.requestID}.isAnsweredBy(f)
		}
	}, x.countComment)
	if err != nil {
		err = plainError(err)
	}
	unanswered := x.requestID != nil && !answered
	willResume := (unanswered && x.unknownIDFrame == nil || x.isListening) && h.canResume(x)
	h.s.mu.Lock()
	x.response.Truncated, x.willResume = cut, willResume
	h.s.mu.Unlock()
	if unanswered && !willResume || x.manual && x.Method == http.MethodGet {
		h.noteBroken(x, err)
	}
	if unanswered && !willResume || !unanswered && !came {
		h.recordStatus(x, err)
	}
	h.recordEnd(x, err)
	if willResume {
		h.resume(x)
	}
}

// isRepeated reports whether a resumed stream brings an event that the session has received before. Its message counts
// once: http/resume-replays-own-stream-only judges the events.
func (h *HTTP) isRepeated(x *RoundTrip, e StreamEvent) bool {
	if x.resumeCount == 0 || x.manual || e.ID == "" || !e.IsDispatched() {
		return false
	}
	return slices.ContainsFunc(h.RoundTrips(), func(other *RoundTrip) bool {
		return slices.ContainsFunc(other.Response().Events, func(earlier StreamEvent) bool {
			return earlier.ID == e.ID && earlier.Data.Equal(e.Data)
		})
	})
}

func (x *RoundTrip) countComment() {
	x.s.mu.Lock()
	x.response.Comments++
	x.s.mu.Unlock()
}

// receiveEvent records the message of an event, or returns nil if it has none.
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
		x.unknownIDFrame = f // the response with the right id may follow
	}
	return f
}

// addEvent adds an event to the response of a round trip. Only the last events are kept.
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

// dropEvents drops the first n events of a response. The caller holds the lock of the record.
func (x *RoundTrip) dropEvents(n int) {
	for _, e := range x.response.Events[:n] {
		x.s.account(-e.cost())
	}
	x.response.Events = slices.Clone(x.response.Events[n:])
	x.response.DroppedEvents += n
}

const maxResumes = 5

// canResume reports whether the server allows the client to resume a stream. Streams of Do are not resumed.
func (h *HTTP) canResume(x *RoundTrip) bool {
	closed := x.IsCancelled() || h.ctx.Err() != nil
	if h.isSSE || x.manual || closed || x.resumeCount >= maxResumes || !h.s.Era().resumes() {
		return false
	}
	id, _ := resumePoint(x.Response().Events)
	again := x.resumeCount > 0 && !x.previousEmpty // one resumed stream may be empty
	return id != "" || x.isListening || again
}

// resume requests the rest of a stream after the server's retry time, unless the session ends before.
func (h *HTTP) resume(x *RoundTrip) {
	id, wait := resumePoint(x.Response().Events)
	if sleep(h.ctx, wait); h.ctx.Err() != nil {
		h.s.mu.Lock()
		x.willResume = false
		h.s.mu.Unlock()
		return
	}
	f := &Frame{Side: FromClient, Complete: true, opensStream: x.isListening, isOptional: x.isOptional}
	next := h.newRoundTrip(http.MethodGet, x.URL, f)
	next.requestID, next.resumeCount, next.previousEmpty = x.requestID, x.resumeCount+1, id == ""
	if id = cmp.Or(id, x.Header.Get("Last-Event-ID")); id != "" {
		next.Header.Set("Last-Event-ID", id)
	}
	h.s.mu.Lock()
	x.continuation = next
	h.s.mu.Unlock()
	h.addRequest(f)
	h.perform(next, func() {})
}

// resumePoint returns the id of the last event that has one, and the time to wait before a stream is resumed.
func resumePoint(events []StreamEvent) (id string, wait time.Duration) {
	wait = timing.ResumeWait
	for _, e := range events {
		if e.HasID {
			id = e.ID
		}
		if ms, err := strconv.Atoi(e.Retry); err == nil {
			wait = min(time.Duration(ms)*time.Millisecond, timing.MaxResumeWait)
		}
	}
	return id, wait
}
