package driver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Exchange is one RoundTrip request of a session and what came back. Its methods may be called by any goroutine at any
// time.
type RoundTrip struct {
	Method string
	URL    string
	Header http.Header // as sent; names are as they were on the wire
	Host   string      // empty: the host of the URL
	Body   []byte
	At     time.Duration // since the session opened

	s                  *Session
	requestFrame       *Frame            // in the record: the request
	requestID          json.RawMessage   // id of the one request in the body; nil when there is none
	batchIDs           []json.RawMessage // ids of the requests in the body, if that is an array
	isResponse         bool              // the body answers a request of the server
	manual             bool              // made by hand
	isOtherOrigin      bool              // made by hand, to another origin than the server's
	isListening        bool              // the stream on which the server may speak first, or its continuation
	isAnsweredOnStream bool              // the answer to the message comes with another exchange
	resumeCount        int               // how many streams it continues
	previousEmpty      bool              // the one that it continues had nothing new
	changedHeaders     http.Header       // of a request made by hand: what its headers change
	bodyReader         io.Reader         // in place of Body; nil: Body itself
	bodySize           int64             // of sent
	stop               func()            // aborts it

	// Guarded by the session's lock. Status and stream do not change once a frame of the exchange is in the record.
	response       HTTPResponse
	partial        partialMessage // what of it has not ended yet: the body, an event
	sentTime       time.Time      // when it was sent; zero: it waits for its turn
	stream         bool
	hasResponse    bool       // a response came on the stream
	willResume     bool       // it broke off, and its rest is to be asked for
	cancelled      bool       // the client has taken the request back
	broken         bool       // the connection broke, and not by the client's doing
	unknownIDFrame *Frame     // a response on the stream with an id that no request has
	continuation   *RoundTrip // that continues it; nil: there is none yet
}

// isOpen reports whether more may come, on the stream or on what continues it, and no response has. The caller holds
// the lock of the session.
func (x *RoundTrip) isOpen() bool {
	for x.continuation != nil {
		x = x.continuation
	}
	return !x.hasResponse && (x.willResume || !x.response.Ended)
}

// Answer is what has come back of an exchange so far.
type HTTPResponse struct {
	StatusCode    int // 0: no RoundTrip answer
	Header        http.Header
	Body          Text // of an answer that is not an event stream
	IsStream      bool // its media type is text/event-stream
	Events        []StreamEvent
	DroppedEvents int           // events before them that are not kept any more
	Comments      int           // lines of the stream that are comments
	Truncated     bool          // the stream ended in the middle of an event
	Ended         bool          // nothing more will come
	Err           error         // why it ended, unless it simply did
	HeadersAt     time.Duration // when the headers came, and when it ended, since the session opened
	EndedAt       time.Duration

	roundTrip *RoundTrip
}

// OK reports whether the status is one of success.
func (a HTTPResponse) OK() bool { return a.StatusCode >= 200 && a.StatusCode < 300 }

// IsFromIntermediary reports whether an answer is not the server's own word on the one request: there were too many of
// them, or it comes from something in front of the server that has nobody to ask. (RFC 9110, section 15.6; RFC 6585,
// sections 4 and 6; 520 to 530 are those of content delivery networks.)
func (a HTTPResponse) IsFromIntermediary() bool {
	switch a.StatusCode {
	case http.StatusTooManyRequests, http.StatusProxyAuthRequired, http.StatusNetworkAuthenticationRequired,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return a.StatusCode >= 520 && a.StatusCode <= 530
}

// IsOtherJSON reports whether the answer is a success with JSON. Where a request had no answer by it, that is not a
// message of JSON-RPC.
func (a HTTPResponse) IsOtherJSON() bool {
	return a.OK() && a.Err == nil && a.Body.Len() > 0 && a.MediaType() == "application/json"
}

// MediaType is the media type in lower case, without parameters.
func (a HTTPResponse) MediaType() string { return MediaType(a.Header) }

// MediaType is the media type that headers name, in lower case and without parameters.
func MediaType(h http.Header) string {
	text := h.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(text); err == nil {
		return kind
	}
	kind, _, _ := strings.Cut(text, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// String is the answer in one line: "HTTP 405 Method Not Allowed (text/plain): …".
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

// Excess is what mcpcheck itself left out of the answer; nil when it is whole.
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

// PostRequest reports whether the exchange was made with RoundTrip.Do.
func (x *RoundTrip) IsManual() bool { return x.manual }

// ChangedHeaders are the names of the headers, in their canonical form, in which a request that was made by hand is not
// like those of the session.
func (x *RoundTrip) ChangedHeaders() (names []string) {
	for name := range x.changedHeaders {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	return names
}

// RequestID is the id of the one request in the body; nil when there is none.
func (x *RoundTrip) RequestID() json.RawMessage { return x.requestID }

// Answer is what has come back so far.
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

// AwaitHeaders waits for the headers of the answer for the reply limit, as the session counts it. Those of a stream may
// come with its first event: of a server that has once left them out for so long, they are given a moment.
func (x *RoundTrip) AwaitHeaders() HTTPResponse {
	site := x.s.HTTP().site
	if x.Method == http.MethodGet && site.delaysGETHeaders.Load() {
		return x.awaitFor(site.shortWait(x.s.limits), hasHeaders)
	}
	return x.AwaitHeadersUntilDeadline()
}

// AwaitHeadersUntilDeadline is AwaitHeaders for the reply limit in any case.
func (x *RoundTrip) AwaitHeadersUntilDeadline() HTTPResponse {
	x.awaitUntil(x.deadline, hasHeaders)
	a := x.Response()
	if x.Method == http.MethodGet && a.StatusCode == 0 && !a.Ended {
		x.s.HTTP().site.delaysGETHeaders.Store(true)
	}
	return a
}

func hasHeaders(a *HTTPResponse) bool { return a.StatusCode != 0 }

// AwaitEnd waits for the end of the answer for the reply limit, as the session counts it.
func (x *RoundTrip) AwaitEnd() HTTPResponse {
	x.awaitUntil(x.deadline, func(*HTTPResponse) bool { return false })
	return x.Response()
}

// deadline is until when AwaitHeaders, AwaitEnd and Reply wait.
func (x *RoundTrip) deadline() time.Time { return x.s.deadline(x.sentAt()) }

// sentAt is when it was sent: now, as long as it waits for its turn.
func (x *RoundTrip) sentAt() time.Time {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.sentTime.IsZero() {
		return time.Now()
	}
	return x.sentTime
}

// AwaitEndFor waits for the end of the answer, at most for d.
func (x *RoundTrip) AwaitEndFor(d time.Duration) HTTPResponse {
	return x.awaitFor(d, func(*HTTPResponse) bool { return false })
}

// AwaitEvent waits for an event of the stream that matches, at most for the reply limit from now on.
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

// Reply waits for the JSON-RPC answer to the request in the body for the reply limit, as the session counts it. It
// comes with this exchange, or over a stream that resumes it.
func (x *RoundTrip) AwaitReply() Reply { return x.s.awaitReply(x.Pending()) }

// Pending is the request that was made.
func (x *RoundTrip) Pending() Pending {
	return Pending{ID: x.requestID, Method: x.requestFrame.Method, sent: x.sentAt()}
}

// Abort drops the connection.
func (x *RoundTrip) Abort() {
	x.s.mu.Lock()
	stop := x.stop
	x.s.mu.Unlock()
	stop()
}

// cancel drops the connection to take the request back, so that the server is not to blame for what does not come.
func (x *RoundTrip) cancel() {
	x.s.mu.Lock()
	x.cancelled = true
	x.s.mu.Unlock()
	x.Abort()
}

// IsCancelled reports whether the client has taken the request back by closing the connection.
func (x *RoundTrip) IsCancelled() bool {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.cancelled
}

// answers reports whether this exchange is the answer to the request of that id, or the proof that none will come, even
// if it carries no message.
func (x *RoundTrip) isAnswerTo(id json.RawMessage) bool {
	return (SameID(x.requestID, id) || x.isInBatch(id)) && !(x.isAnsweredOnStream && x.response.OK())
}

// isInBatch reports whether the request of that id was in a batch that the body is.
func (x *RoundTrip) isInBatch(id json.RawMessage) bool {
	return slices.ContainsFunc(x.batchIDs, func(member json.RawMessage) bool { return SameID(member, id) })
}

// IsBusy reports whether the server refuses the request because of another one that it still serves. Over stdio, of a
// nil Exchange, none does.
func (x *RoundTrip) IsBusy() bool {
	if x == nil {
		return false
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.isBusy()
}

// isBusy is IsBusy for who holds the lock of the session.
func (x *RoundTrip) isBusy() bool { return x.response.StatusCode == http.StatusConflict }

// IsSessionTerminated reports whether the server knows the session no more: a request that it serves in any is answered
// with 404.
func (x *RoundTrip) IsSessionTerminated() bool {
	harmless, _ := x.s.NoOp()
	return x.isSessionNotFound() && x.requestFrame.Method == harmless
}

// isSessionNotFound reports whether what was sent in a session was answered with 404, as by a server that has ended it.
func (x *RoundTrip) isSessionNotFound() bool {
	return x.Response().StatusCode == http.StatusNotFound && !x.IsManual() && x.Header.Get(sessionHeader) != ""
}

// Refuses reports whether the status is one of an error, for a message that was to be answered by this exchange.
func (x *RoundTrip) IsRejected() bool { return x.hasErrorStatus() && !x.isAnsweredOnStream }

// Elsewhere reports whether the answer to the message comes with another exchange: the stream of RoundTrip+SSE.
func (x *RoundTrip) IsAnsweredOnStream() bool { return x.isAnsweredOnStream && x.requestID != nil }

// isConnectionLost reports whether the connection was lost before the answer, or in the middle of it.
func (x *RoundTrip) isConnectionLost() bool {
	a := x.Response()
	return a.StatusCode == 0 || a.Err != nil
}

// IsConnectionClosed reports whether the server closed the connection before the answer, or in the middle of one that
// is not an event stream, which it may break off.
func (x *RoundTrip) IsConnectionClosed() bool {
	if x == nil {
		return false
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.broken && !x.stream && !x.IsAnsweredOnStream() && (x.response.StatusCode == 0 ||
		errors.Is(x.response.Err, errBodyTruncated))
}

// failed reports whether the status is one of an error.
func (x *RoundTrip) hasErrorStatus() bool { return x.response.StatusCode >= 400 }

// SentAt is when a message of the client was sent, since the session opened. Over RoundTrip messages wait for their
// turn: as long as one does, that is now.
func (f *Frame) SentAt() time.Duration {
	if f.RoundTrip == nil {
		return f.At
	}
	return f.RoundTrip.sentAt().Sub(f.RoundTrip.s.opened)
}

// RequestLine is the request without its body: method and path, and of a request that was made by hand the headers in
// which it is not like the others.
func (x *RoundTrip) RequestLine() string {
	path := x.URL
	if u, err := url.Parse(x.URL); err == nil && !x.isOtherOrigin {
		path = u.RequestURI()
	}
	line := x.Method + " " + path
	for _, name := range sortedNames(x.changedHeaders) {
		if len(x.changedHeaders[name]) == 0 {
			line += "; without " + name
		}
		for _, value := range x.changedHeaders[name] {
			line += "; " + name + ": " + value
		}
	}
	if x.Host != "" {
		line += "; Host: " + x.Host
	}
	return line
}

// shownHeaders are the headers of answers that StatusLine shows.
var shownHeaders = []string{
	"Content-Type", sessionHeader, "Allow", "Location", "Www-Authenticate", "Access-Control-Allow-Origin",
}

// StatusLine is the answer without its body: the status, and the headers that tell most.
func (x *RoundTrip) StatusLine() string {
	a := x.Response()
	if a.StatusCode == 0 {
		return a.String()
	}
	line := strings.TrimSpace(fmt.Sprintf("%d %s", a.StatusCode, http.StatusText(a.StatusCode)))
	for _, name := range shownHeaders {
		for _, value := range a.Header[name] {
			line += "; " + strings.ToLower(name) + ": " + value
		}
	}
	return line
}

func sortedNames(h http.Header) (names []string) {
	for name := range h {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}

// mergeHeaders lays headers over others, with the names as they are: a nil value leaves a header out.
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

// requestIDIn is the id of the request that a frame is; nil when it is not one.
func requestIDIn(f *Frame) json.RawMessage {
	if f.IsRequest() {
		return f.ID
	}
	return nil
}

// batchIDsIn are the ids of the requests in a frame that is a batch.
func batchIDsIn(f *Frame) (ids []json.RawMessage) {
	if f.Kind != Array {
		return nil
	}
	for _, m := range f.Messages() {
		if m.IsRequest() {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
