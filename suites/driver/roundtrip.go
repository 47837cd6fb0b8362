package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// RoundTrip is one HTTP request of a session with its HTTP response. Its methods may be called by any goroutine at any
// time.
type RoundTrip struct {
	Method string
	URL    string
	// Header holds the headers as they were sent, with the names as on the wire.
	Header http.Header
	// Host is the value of the header Host; empty is the host of the URL.
	Host string
	Body []byte
	// At is when the request was recorded, since the session opened.
	At time.Duration
	// ChangedHeaders are the headers that HTTP.Do was given.
	ChangedHeaders http.Header

	s *Session
	// requestFrame is the request in the record.
	requestFrame *Frame
	// requestID is the id of the one request in the body; nil if there is none.
	requestID json.RawMessage
	// batchIDs holds the ids of the requests in the body if that is an array.
	batchIDs []json.RawMessage
	// isResponse reports whether the body responds to a request of the server.
	isResponse bool
	// manual reports whether the request was made with HTTP.Do.
	manual bool
	// isOtherOrigin reports whether it was sent to another origin than the server's.
	isOtherOrigin bool
	// isListening reports whether this is the stream for the server's own messages, or resumes it.
	isListening bool
	// isOptional reports whether the session has opened this stream by itself, so that no check depends on it.
	isOptional bool
	// isAnsweredOnStream reports whether the response to the message arrives in another round trip.
	isAnsweredOnStream bool
	// resumeCount is the number of streams that this one continues.
	resumeCount int
	// previousEmpty reports whether the stream that this one continues had no event with an id.
	previousEmpty bool
	// bodyReader is sent instead of Body, unless it is nil.
	bodyReader io.Reader
	bodySize   int64
	// isOnNewConnection is OnNewConnection of the HTTPRequest.
	isOnNewConnection bool
	stop              func()

	// The session's lock guards the fields below. The status code and stream do not change once a frame of the round
	// trip is in the record.

	response HTTPResponse
	// partial is the incomplete part of the response: the body or an event.
	partial partialMessage
	// sentTime is when the request was sent; zero while it waits for its turn.
	sentTime time.Time
	// held reports whether the request was refused for the rate of requests, and sent again.
	held   atomic.Bool
	stream bool
	// hasResponse reports whether a JSON-RPC response arrived on the stream.
	hasResponse bool
	// willResume reports whether the stream broke off and is going to be resumed.
	willResume bool
	// cancelled reports whether the client has cancelled the request.
	cancelled atomic.Bool
	// broken reports whether the connection broke, and the client did not close it.
	broken bool
	// unknownIDFrame is a response on the stream whose id no request has.
	unknownIDFrame *Frame
	// continuation resumes this stream; nil if there is none yet.
	continuation *RoundTrip
}

// isOpen reports whether a response may still arrive, on the stream or on one that resumes it. The caller holds the
// lock of the session.
func (x *RoundTrip) isOpen() bool {
	for x.continuation != nil {
		x = x.continuation
	}
	return !x.hasResponse && (x.willResume || !x.response.Ended)
}

// HTTPResponse is what has been received in a round trip so far.
type HTTPResponse struct {
	// StatusCode is 0 if there is no HTTP response.
	StatusCode int
	Header     http.Header
	// Body is empty for an event stream.
	Body     Text
	IsStream bool
	// Events holds the last events of the stream.
	Events []StreamEvent
	// DroppedEvents is the number of events before them that are no longer kept.
	DroppedEvents int
	// Comments is the number of comment lines of the stream.
	Comments int
	// Truncated reports whether the stream ended in the middle of an event.
	Truncated bool
	// Ended reports whether nothing more will be received.
	Ended bool
	// Err is why the response ended; nil if it ended normally.
	Err error
	// HeadersAt and EndedAt are when the headers and the end were received, since the session opened.
	HeadersAt time.Duration
	EndedAt   time.Duration

	roundTrip *RoundTrip
}

// OK reports whether the status code is 2xx.
func (a HTTPResponse) OK() bool { return a.StatusCode >= 200 && a.StatusCode < 300 }

// IsForOneClient reports whether a response rejects a request in the way in which the server, as discovery has found
// out, rejects all but one client.
func (a HTTPResponse) IsForOneClient() bool {
	if a.roundTrip == nil || a.StatusCode == 0 {
		return false
	}
	h := a.roundTrip.s.HTTP()
	return h != nil && int64(a.StatusCode) == h.site.oneClientStatus.Load()
}

// IsFromIntermediary reports whether a response is not the server's own answer to this request: a rate limit applied,
// something in front of the server could not reach it (RFC 9110, section 15.6; RFC 6585, sections 4 and 6; content
// delivery networks use 520 to 530), or the server serves another client.
func (a HTTPResponse) IsFromIntermediary() bool {
	if a.IsForOneClient() {
		return true
	}
	switch a.StatusCode {
	case http.StatusTooManyRequests, http.StatusProxyAuthRequired, http.StatusNetworkAuthenticationRequired,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return a.StatusCode >= 520 && a.StatusCode <= 530
}

// IsOtherJSON reports whether the response is a success with JSON. If the request has no response by it, that is not a
// JSON-RPC message.
func (a HTTPResponse) IsOtherJSON() bool {
	return a.OK() && a.Err == nil && a.Body.Len() > 0 && a.MediaType() == "application/json"
}

// MediaType returns the media type in lower case, without parameters.
func (a HTTPResponse) MediaType() string { return MediaType(a.Header) }

// MediaType returns the media type of headers in lower case, without parameters.
func MediaType(h http.Header) string {
	text := h.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(text); err == nil {
		return kind
	}
	kind, _, _ := strings.Cut(text, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// String returns the response on one line: "HTTP 405 Method Not Allowed (text/plain): …".
func (a HTTPResponse) String() string {
	if a.StatusCode == 0 {
		if a.Err == nil {
			return "no HTTP answer"
		}
		return "no HTTP answer: " + a.Err.Error()
	}
	text := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.StatusCode, http.StatusText(a.StatusCode)))
	if kind := a.Header.Get("Content-Type"); kind != "" {
		text += " (" + kind + ")"
	}
	if location := a.Header.Get("Location"); location != "" {
		text += " to " + Brief([]byte(location))
	}
	body := strings.Join(strings.Fields(a.Body.String()), " ")
	switch {
	case a.IsStream && a.Ended:
		text += fmt.Sprintf(": the stream ended after %s", count(len(a.Events), "event"))
		if a.Truncated {
			text += ", in the middle of another"
		}
	case a.IsStream:
	case body != "":
		text += ": " + Brief([]byte(body))
	case a.Ended && a.Err == nil:
		text += " with no body"
	}
	if a.Err != nil {
		text += "; " + a.Err.Error()
	}
	return text
}

// LimitErr returns what mcpcheck left out of the response, or nil if it is complete.
func (a HTTPResponse) LimitErr() *LimitError {
	if a.DroppedEvents > 0 {
		return &LimitError{fmt.Sprintf("mcpcheck no longer keeps the first %s of the stream",
			count(a.DroppedEvents, "event"))}
	}
	return AsLimitError(a.Err)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// IsManual reports whether the request was made with HTTP.Do.
func (x *RoundTrip) IsManual() bool { return x.manual }

// RequestID returns the id of the one request in the body, or nil if there is none.
func (x *RoundTrip) RequestID() json.RawMessage { return x.requestID }

// Response returns what has been received so far.
func (x *RoundTrip) Response() HTTPResponse {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.snapshot()
}

func (x *RoundTrip) snapshot() HTTPResponse {
	a := x.response
	a.roundTrip, a.IsStream = x, x.stream
	a.Events = slices.Clone(a.Events)
	return a
}

// AwaitHeaders waits for the headers of the response until the deadline of the session. A server may send those of a
// stream with its first event. After a GET has once had none until the deadline, AwaitHeaders waits only a short time
// for those of others.
func (x *RoundTrip) AwaitHeaders() HTTPResponse {
	site := x.s.HTTP().site
	if x.Method == http.MethodGet && site.delaysGETHeaders.Load() {
		return x.awaitFor(site.shortWait(x.s.limits), hasHeaders)
	}
	return x.AwaitHeadersUntilDeadline()
}

// AwaitHeadersUntilDeadline is AwaitHeaders that always waits until the deadline.
func (x *RoundTrip) AwaitHeadersUntilDeadline() HTTPResponse {
	x.awaitUntil(x.deadline, hasHeaders)
	a := x.Response()
	if x.Method == http.MethodGet && a.StatusCode == 0 && !a.Ended {
		x.s.HTTP().site.delaysGETHeaders.Store(true)
	}
	return a
}

func hasHeaders(a *HTTPResponse) bool { return a.StatusCode != 0 }

// AwaitEnd waits for the end of the response until the deadline of the session.
func (x *RoundTrip) AwaitEnd() HTTPResponse {
	x.awaitUntil(x.deadline, func(*HTTPResponse) bool { return false })
	return x.Response()
}

// deadline returns until when AwaitHeaders, AwaitEnd and AwaitReply wait.
func (x *RoundTrip) deadline() time.Time { return x.s.deadline(x.sentAt(), x.s.limits.ReplyTimeout) }

// setSent notes when the request was sent. A zero time says that it was refused, and waits to be sent again.
func (x *RoundTrip) setSent(at time.Time) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.sentTime = at; at.IsZero() {
		x.held.Store(true)
	}
}

// wasHeld reports whether the request was refused for the rate of requests, and sent again: its response is later than
// the server took.
func (x *RoundTrip) wasHeld() bool { return x.held.Load() }

// sentAt returns when the request was sent, or the current time while it waits for its turn.
func (x *RoundTrip) sentAt() time.Time {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.sentTime.IsZero() {
		return time.Now()
	}
	return x.sentTime
}

// AwaitEndFor waits for the end of the response, at most for d.
func (x *RoundTrip) AwaitEndFor(d time.Duration) HTTPResponse {
	return x.awaitFor(d, func(*HTTPResponse) bool { return false })
}

// AwaitEvent waits for an event of the stream that matches, at most for the reply timeout from now on.
func (x *RoundTrip) AwaitEvent(match func(StreamEvent) bool) (e StreamEvent, came bool) {
	return x.AwaitEventFor(x.s.limits.ReplyTimeout, match)
}

// AwaitEventFor waits for an event of the stream that matches, at most for d.
func (x *RoundTrip) AwaitEventFor(d time.Duration, match func(StreamEvent) bool) (e StreamEvent, came bool) {
	x.awaitFor(d, func(a *HTTPResponse) bool {
		i := slices.IndexFunc(a.Events, match)
		if came = i >= 0; came {
			e = a.Events[i]
		}
		return came
	})
	return e, came
}

func (x *RoundTrip) awaitFor(d time.Duration, enough func(*HTTPResponse) bool) HTTPResponse {
	end := time.Now().Add(d)
	x.awaitUntil(func() time.Time { return end }, enough)
	return x.Response()
}

func (x *RoundTrip) awaitUntil(end func() time.Time, enough func(*HTTPResponse) bool) {
	x.s.until(end, func() bool { return enough(&x.response) || x.response.Ended })
}

// AwaitReply waits for the JSON-RPC response to the request in the body until the deadline of the session. It arrives
// in this round trip, or on a stream that resumes it.
func (x *RoundTrip) AwaitReply() Reply { return x.s.awaitReply(x.Pending()) }

// Pending returns the request in the body.
func (x *RoundTrip) Pending() Pending {
	return Pending{ID: x.requestID, Method: x.requestFrame.Method, sent: x.sentAt()}
}

// Abort closes the connection.
func (x *RoundTrip) Abort() {
	x.s.mu.Lock()
	stop := x.stop
	x.s.mu.Unlock()
	stop()
}

// cancel closes the connection to cancel the request, so that a missing response is not a failure of the server.
func (x *RoundTrip) cancel() {
	x.cancelled.Store(true)
	x.Abort()
}

// IsCancelled reports whether the client has cancelled the request by closing the connection.
func (x *RoundTrip) IsCancelled() bool { return x.cancelled.Load() }

// isAnswerTo reports whether this round trip brings the response to the request with this id or, if it carries no
// message, shows that there will be none.
func (x *RoundTrip) isAnswerTo(id json.RawMessage) bool {
	return (SameID(x.requestID, id) || x.isInBatch(id)) && !(x.isAnsweredOnStream && x.response.OK())
}

func (x *RoundTrip) isInBatch(id json.RawMessage) bool {
	return slices.ContainsFunc(x.batchIDs, func(member json.RawMessage) bool { return SameID(member, id) })
}

// IsBusy reports whether the server rejected the request because it still handles another one. It is false for a nil
// RoundTrip, that of a session over stdio.
func (x *RoundTrip) IsBusy() bool {
	return x != nil && x.Response().isBusy()
}

func (a HTTPResponse) isBusy() bool { return a.StatusCode == http.StatusConflict || a.IsForOneClient() }

// IsSessionTerminated reports whether the server no longer knows the session: it answered a no-op request with 404.
func (x *RoundTrip) IsSessionTerminated() bool {
	noOp, _ := x.s.NoOp()
	return x.isSessionNotFound() && x.requestFrame.Method == noOp
}

// isSessionNotFound reports whether a message in a session was answered with 404, as by a server that has ended it.
func (x *RoundTrip) isSessionNotFound() bool {
	return x.Response().StatusCode == http.StatusNotFound && !x.IsManual() && x.Header.Get(sessionHeader) != ""
}

// IsRejected reports whether the status code is an error, for a message that this round trip should have answered.
func (x *RoundTrip) IsRejected() bool { return x.hasErrorStatus() && !x.isAnsweredOnStream }

// IsAnsweredOnStream reports whether the response to the request arrives in another round trip, the stream of HTTP+SSE.
func (x *RoundTrip) IsAnsweredOnStream() bool { return x.isAnsweredOnStream && x.requestID != nil }

func (x *RoundTrip) isConnectionLost() bool {
	a := x.Response()
	return a.StatusCode == 0 || a.Err != nil
}

// IsConnectionClosed reports whether the server closed the connection before the response, or in the middle of one that
// is not an event stream; a server may break off a stream.
func (x *RoundTrip) IsConnectionClosed() bool {
	if x == nil {
		return false
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.broken && !x.stream && !x.IsAnsweredOnStream() && (x.response.StatusCode == 0 ||
		errors.Is(x.response.Err, errBodyTruncated))
}

func (x *RoundTrip) hasErrorStatus() bool { return x.response.StatusCode >= 400 }

// SentAt returns when a message of the client was sent, since the session opened. Over HTTP messages wait for their
// turn; until then it is the current time.
func (f *Frame) SentAt() time.Duration {
	if f.RoundTrip == nil {
		return f.At
	}
	return f.RoundTrip.sentAt().Sub(f.RoundTrip.s.opened)
}

// RequestLine returns the request without its body: method and path and, for a request of HTTP.Do, the headers that it
// was given.
func (x *RoundTrip) RequestLine() string {
	path := x.URL
	if u, err := url.Parse(x.URL); err == nil && !x.isOtherOrigin {
		path = u.RequestURI()
	}
	line := x.Method + " " + path
	for _, name := range slices.Sorted(maps.Keys(x.ChangedHeaders)) {
		if len(x.ChangedHeaders[name]) == 0 {
			line += "; without " + name
		}
		for _, value := range x.ChangedHeaders[name] {
			line += "; " + name + ": " + value
		}
	}
	if x.Host != "" {
		line += "; Host: " + x.Host
	}
	return line
}

// StatusLine returns the response without its body: the status and the most informative headers.
func (x *RoundTrip) StatusLine() string {
	a := x.Response()
	if a.StatusCode == 0 {
		return a.String()
	}
	return HTTPInfo{StatusCode: a.StatusCode, Header: a.Header}.String()
}

// mergeHeaders replaces headers of base by those of over, whose names it keeps as they are. A nil value removes a
// header.
func mergeHeaders(base, over http.Header) http.Header {
	out := base.Clone()
	if out == nil {
		out = http.Header{}
	}
	for name, values := range over {
		delete(out, http.CanonicalHeaderKey(name))
		if values != nil {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

func requestIDIn(f *Frame) json.RawMessage {
	if f.IsRequest() {
		return f.ID
	}
	return nil
}

func batchIDsIn(f *Frame) (ids []json.RawMessage) {
	if f.Kind != Array {
		return nil
	}
	for _, m := range f.requests() {
		ids = append(ids, m.ID)
	}
	return ids
}
