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

// Exchange is one HTTP request of a session and what came back. Its methods may be called by any goroutine at any time.
type Exchange struct {
	Method string
	URL    string
	Header http.Header // as sent; names are as they were on the wire
	Host   string      // empty: the host of the URL
	Body   []byte
	At     time.Duration // since the session opened

	s         *Session
	message   *Frame            // in the record: the request
	asked     json.RawMessage   // id of the one request in the body; nil when there is none
	batch     []json.RawMessage // ids of the requests in the body, if that is an array
	reply     bool              // the body answers a request of the server
	apart     bool              // made by hand
	foreign   bool              // made by hand, to another origin than the server's
	standing  bool              // the stream on which the server may speak first, or its continuation
	elsewhere bool              // the answer to the message comes with another exchange
	resumed   int               // how many streams it continues
	emptied   bool              // the one that it continues had nothing new
	unusual   http.Header       // of a request made by hand: what its headers change
	sent      io.Reader         // in place of Body; nil: Body itself
	size      int64             // of sent
	stop      func()            // aborts it

	// Guarded by the session's lock. Status and stream do not change once a frame of the exchange is in the record.
	answer   Answer
	partial  partial   // what of it has not ended yet: the body, an event
	left     time.Time // when it was sent; zero: it waits for its turn
	stream   bool
	replied  bool      // a response came on the stream
	goesOn   bool      // it broke off, and its rest is to be asked for
	recalled bool      // the client has taken the request back
	broken   bool      // the connection broke, and not by the client's doing
	misnamed *Frame    // a response on the stream with an id that no request has
	rest     *Exchange // that continues it; nil: there is none yet
}

// isOpen reports whether more may come, on the stream or on what continues it, and no response has. The caller holds
// the lock of the session.
func (x *Exchange) isOpen() bool {
	for x.rest != nil {
		x = x.rest
	}
	return !x.replied && (x.goesOn || !x.answer.Ended)
}

// Answer is what has come back of an exchange so far.
type Answer struct {
	Status   int // 0: no HTTP answer
	Header   http.Header
	Body     Text // of an answer that is not an event stream
	IsStream bool // its media type is text/event-stream
	Events   []StreamEvent
	Lost     int           // events before them that are not kept any more
	Comments int           // lines of the stream that are comments
	Cut      bool          // the stream ended in the middle of an event
	Ended    bool          // nothing more will come
	Err      error         // why it ended, unless it simply did
	HeadAt   time.Duration // when the headers came, and when it ended, since the session opened
	EndAt    time.Duration

	of *Exchange
}

// OK reports whether the status is one of success.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Foreign reports whether an answer is not the server's own word on the one request: there were too many of them, or it
// comes from something in front of the server that has nobody to ask. (RFC 9110, section 15.6; RFC 6585, sections 4 and
// 6; 520 to 530 are those of content delivery networks.)
func (a Answer) Foreign() bool {
	switch a.Status {
	case http.StatusTooManyRequests, http.StatusProxyAuthRequired, http.StatusNetworkAuthenticationRequired,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return a.Status >= 520 && a.Status <= 530
}

// IsOtherJSON reports whether the answer is a success with JSON. Where a request had no answer by it, that is not a
// message of JSON-RPC.
func (a Answer) IsOtherJSON() bool {
	return a.OK() && a.Err == nil && a.Body.Len() > 0 && a.MediaType() == "application/json"
}

// MediaType is the media type in lower case, without parameters.
func (a Answer) MediaType() string { return MediaType(a.Header) }

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
func (a Answer) String() string {
	if a.Status == 0 {
		if a.Err == nil {
			return "no HTTP answer"
		}
		return "no HTTP answer: " + a.Err.Error()
	}
	text := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.Status, http.StatusText(a.Status)))
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
		if a.Cut {
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
func (a Answer) Excess() *Excess {
	if a.Lost > 0 {
		return &Excess{fmt.Sprintf("mcpcheck no longer keeps the first %s of the stream", count(a.Lost, "event"))}
	}
	return ExcessOf(a.Err)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ByHand reports whether the exchange was made with HTTP.Do.
func (x *Exchange) ByHand() bool { return x.apart }

// Altered are the names of the headers, in their canonical form, in which a request that was made by hand is not like
// those of the session.
func (x *Exchange) Altered() (names []string) {
	for name := range x.unusual {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	return names
}

// Asked is the id of the one request in the body; nil when there is none.
func (x *Exchange) Asked() json.RawMessage { return x.asked }

// Answer is what has come back so far.
func (x *Exchange) Answer() Answer {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.snapshot()
}

func (x *Exchange) snapshot() Answer {
	a := x.answer
	a.of, a.IsStream = x, x.stream
	a.Events = slices.Clone(a.Events)
	return a
}

// Head waits for the headers of the answer for the reply limit, as the session counts it. Those of a stream may come
// with its first event: of a server that has once left them out for so long, they are given a moment.
func (x *Exchange) Head() Answer {
	site := x.s.HTTP().site
	if x.Method == http.MethodGet && site.holdsBack.Load() {
		return x.awaitFor(site.aMoment(x.s.limits), hasHead)
	}
	return x.HeadInTime()
}

// HeadInTime is Head for the reply limit in any case.
func (x *Exchange) HeadInTime() Answer {
	x.awaitUntil(x.due, hasHead)
	a := x.Answer()
	if x.Method == http.MethodGet && a.Status == 0 && !a.Ended {
		x.s.HTTP().site.holdsBack.Store(true)
	}
	return a
}

func hasHead(a *Answer) bool { return a.Status != 0 }

// End waits for the end of the answer for the reply limit, as the session counts it.
func (x *Exchange) End() Answer {
	x.awaitUntil(x.due, func(*Answer) bool { return false })
	return x.Answer()
}

// due is until when Head, End and Reply wait.
func (x *Exchange) due() time.Time { return x.s.due(x.leftAt()) }

// leftAt is when it was sent: now, as long as it waits for its turn.
func (x *Exchange) leftAt() time.Time {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.left.IsZero() {
		return time.Now()
	}
	return x.left
}

// EndFor waits for the end of the answer, at most for d.
func (x *Exchange) EndFor(d time.Duration) Answer {
	return x.awaitFor(d, func(*Answer) bool { return false })
}

// AwaitEvent waits for an event of the stream that matches, at most for the reply limit from now on.
func (x *Exchange) AwaitEvent(match func(StreamEvent) bool) (e StreamEvent, came bool) {
	return x.AwaitEventFor(x.s.limits.Reply, match)
}

// AwaitEventFor waits for an event of the stream that matches, at most for d.
func (x *Exchange) AwaitEventFor(d time.Duration, match func(StreamEvent) bool) (e StreamEvent, came bool) {
	x.awaitFor(d, func(a *Answer) bool {
		i := slices.IndexFunc(a.Events, match)
		if came = i >= 0; came {
			e = a.Events[i]
		}
		return came
	})
	return e, came
}

func (x *Exchange) awaitFor(d time.Duration, enough func(*Answer) bool) Answer {
	end := time.Now().Add(d)
	x.awaitUntil(func() time.Time { return end }, enough)
	return x.Answer()
}

func (x *Exchange) awaitUntil(end func() time.Time, enough func(*Answer) bool) {
	x.s.until(end, func() bool { return enough(&x.answer) || x.answer.Ended })
}

// Reply waits for the JSON-RPC answer to the request in the body for the reply limit, as the session counts it. It
// comes with this exchange, or over a stream that resumes it.
func (x *Exchange) Reply() Reply { return x.s.awaitReply(x.Pending()) }

// Pending is the request that was made.
func (x *Exchange) Pending() Pending {
	return Pending{ID: x.asked, Method: x.message.Method, sent: x.leftAt()}
}

// Abort drops the connection.
func (x *Exchange) Abort() {
	x.s.mu.Lock()
	stop := x.stop
	x.s.mu.Unlock()
	stop()
}

// recall drops the connection to take the request back, so that the server is not to blame for what does not come.
func (x *Exchange) recall() {
	x.s.mu.Lock()
	x.recalled = true
	x.s.mu.Unlock()
	x.Abort()
}

// Recalled reports whether the client has taken the request back by closing the connection.
func (x *Exchange) Recalled() bool {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.recalled
}

// answers reports whether this exchange is the answer to the request of that id, or the proof that none will come, even
// if it carries no message.
func (x *Exchange) answers(id json.RawMessage) bool {
	return (SameID(x.asked, id) || x.batched(id)) && !(x.elsewhere && x.answer.OK())
}

// batched reports whether the request of that id was in a batch that the body is.
func (x *Exchange) batched(id json.RawMessage) bool {
	return slices.ContainsFunc(x.batch, func(member json.RawMessage) bool { return SameID(member, id) })
}

// IsBusy reports whether the server refuses the request because of another one that it still serves. Over stdio, of a
// nil Exchange, none does.
func (x *Exchange) IsBusy() bool {
	if x == nil {
		return false
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.isBusy()
}

// isBusy is IsBusy for who holds the lock of the session.
func (x *Exchange) isBusy() bool { return x.answer.Status == http.StatusConflict }

// Expels reports whether the server knows the session no more: a request that it serves in any is answered with 404.
func (x *Exchange) Expels() bool {
	harmless, _ := x.s.Harmless()
	return x.outOfSession() && x.message.Method == harmless
}

// outOfSession reports whether what was sent in a session was answered with 404, as by a server that has ended it.
func (x *Exchange) outOfSession() bool {
	return x.Answer().Status == http.StatusNotFound && !x.ByHand() && x.Header.Get(sessionHeader) != ""
}

// Refuses reports whether the status is one of an error, for a message that was to be answered by this exchange.
func (x *Exchange) Refuses() bool { return x.failed() && !x.elsewhere }

// Elsewhere reports whether the answer to the message comes with another exchange: the stream of HTTP+SSE.
func (x *Exchange) Elsewhere() bool { return x.elsewhere && x.asked != nil }

// brokeOff reports whether the connection was lost before the answer, or in the middle of it.
func (x *Exchange) brokeOff() bool {
	a := x.Answer()
	return a.Status == 0 || a.Err != nil
}

// Dropped reports whether the server closed the connection before the answer, or in the middle of one that is not an
// event stream, which it may break off.
func (x *Exchange) Dropped() bool {
	if x == nil {
		return false
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.broken && !x.stream && !x.Elsewhere() && (x.answer.Status == 0 || errors.Is(x.answer.Err, errCutShort))
}

// failed reports whether the status is one of an error.
func (x *Exchange) failed() bool { return x.answer.Status >= 400 }

// SentAt is when a message of the client was sent, since the session opened. Over HTTP messages wait for their turn: as
// long as one does, that is now.
func (f *Frame) SentAt() time.Duration {
	if f.HTTP == nil {
		return f.At
	}
	return f.HTTP.leftAt().Sub(f.HTTP.s.opened)
}

// RequestLine is the request without its body: method and path, and of a request that was made by hand the headers in
// which it is not like the others.
func (x *Exchange) RequestLine() string {
	path := x.URL
	if u, err := url.Parse(x.URL); err == nil && !x.foreign {
		path = u.RequestURI()
	}
	line := x.Method + " " + path
	for _, name := range sortedNames(x.unusual) {
		if len(x.unusual[name]) == 0 {
			line += "; without " + name
		}
		for _, value := range x.unusual[name] {
			line += "; " + name + ": " + value
		}
	}
	if x.Host != "" {
		line += "; Host: " + x.Host
	}
	return line
}

// telling are the headers of answers that StatusLine shows.
var telling = []string{
	"Content-Type", sessionHeader, "Allow", "Location", "Www-Authenticate", "Access-Control-Allow-Origin",
}

// StatusLine is the answer without its body: the status, and the headers that tell most.
func (x *Exchange) StatusLine() string {
	a := x.Answer()
	if a.Status == 0 {
		return a.String()
	}
	line := strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
	for _, name := range telling {
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

// overlay lays headers over others, with the names as they are: a nil value leaves a header out.
func overlay(base, over http.Header) http.Header {
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

// askedBy is the id of the request that a frame is; nil when it is not one.
func askedBy(f *Frame) json.RawMessage {
	if f.IsRequest() {
		return f.ID
	}
	return nil
}

// batchIn are the ids of the requests in a frame that is a batch.
func batchIn(f *Frame) (ids []json.RawMessage) {
	if f.Shape != Array {
		return nil
	}
	for _, m := range f.Members() {
		if m.IsRequest() {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
