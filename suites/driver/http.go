package driver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// RoundTrip is the transports over RoundTrip: Streamable RoundTrip, where each message is a POST that brings its own
// answer, and the older RoundTrip+SSE, where one stream brings all of them. It is had from Session.HTTP, with what only
// it can do.
type HTTP struct {
	s     *Session
	site  *Site
	ctx   context.Context // of everything that the session has open
	stop  context.CancelCauseFunc
	isSSE bool     // HTTP+SSE
	proc  *process // that serves the site; nil: it is not ours

	running           sync.WaitGroup // exchanges
	leavesStreamsOpen atomic.Bool    // a stream was open for a while after the response

	mu           sync.Mutex
	endpoint     string          // where messages go
	issued       []issuedSession // session ids; the first one is used
	deletedCount int             // how many of them were, see DeleteSessions
	turn         chan struct{}   // closed once the next message may be sent
	closeOnce    sync.Once
}

func newHTTP(ctx context.Context, site *Site, t Target, old bool) *HTTP {
	s := newSession(ctx, t, site.stderr())
	inner, stop := context.WithCancelCause(ctx)
	s.idBase = site.nextIDBase() // so that an answer that belongs to another session is seen to
	h := &HTTP{
		s: s, site: site, ctx: inner, stop: stop, isSSE: old,
		endpoint: site.URL(), turn: closedChannel(),
	}
	s.transport = h
	return h
}

// SharesProcess reports whether another session over RoundTrip is served by the same process, as far as mcpcheck knows:
// one that it has started itself, and that ended, was started again.
func (s *Session) SharesProcess(other *Session) bool {
	mine, others := s.HTTP(), other.HTTP()
	return mine != nil && others != nil && mine.proc == others.proc
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// awaitProcessExit ends the session when the process behind the site ends.
func (h *HTTP) awaitProcessExit() {
	select {
	case <-h.proc.exited:
		h.recordExit()
	case <-h.ctx.Done():
	}
}

// recordExit records that the process behind the site has ended.
func (h *HTTP) recordExit() {
	h.s.stderr.awaitEnd()
	h.endByLoss("the server " + h.proc.exit.String())
}

// endByLoss records that the server is gone, and drops every connection to it.
func (h *HTTP) endByLoss(cause string) {
	if h.s.IsAlive() {
		h.s.endByServer(cause)
	}
	h.stop(errors.New(cause))
}

// SessionID is the session id that the server issued; empty when it issued none.
func (h *HTTP) SessionID() string {
	if all := h.issuedSessions(); len(all) > 0 {
		return all[0].id
	}
	return ""
}

// issuedSession is a session id that the server has issued, and the exchange that brought it.
type issuedSession struct {
	id        string
	roundTrip *RoundTrip
}

// revision is the one that the server has granted when it issued the id; empty when that is not known.
func (i issuedSession) revision() string {
	welcome := i.roundTrip.s.AwaitFor(Pending{ID: i.roundTrip.requestID}, 0)
	revision, _ := welcome.Result()["protocolVersion"].(string)
	return revision
}

func (h *HTTP) issuedSessions() []issuedSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.issued)
}

// noteSessionID notes the session id that the server has issued with an answer, if it has.
func (h *HTTP) noteSessionID(x *RoundTrip) {
	a := x.Response()
	if id := a.Header.Get(sessionHeader); id != "" && a.OK() {
		h.addSessionID(id, x)
	}
}

// keep notes a session id that the server has issued.
func (h *HTTP) addSessionID(id string, by *RoundTrip) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.issued, func(i issuedSession) bool { return i.id == id }) {
		h.issued = append(h.issued, issuedSession{id, by})
	}
}

// DeleteSessions ends every session that the server has issued an id for, and waits for it. A server may serve one at a
// time, and no other before that one has ended.
func (h *HTTP) DeleteSessions() {
	h.mu.Lock()
	begun := slices.Clone(h.issued[h.deletedCount:])
	h.deletedCount = len(h.issued)
	h.mu.Unlock()
	var farewells sync.WaitGroup
	for _, session := range begun {
		farewells.Go(func() { h.deleteSession(session) })
	}
	farewells.Wait()
}

// deleteSession ends a session of the server. The server has a moment to confirm it.
func (h *HTTP) deleteSession(session issuedSession) {
	const moment = time.Second
	f := &Frame{Side: FromClient, Complete: true}
	x := h.newRoundTrip(http.MethodDelete, h.site.URL(), f)
	x.Header.Set(sessionHeader, session.id)
	if revision := session.revision(); revision != "" {
		x.Header.Set(revisionHeader, revision)
	}
	h.s.add(f)
	h.performFor(x, moment)
}

// EndpointURL is the URL to which messages are sent.
func (h *HTTP) Endpoint() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endpoint
}

// RoundTrips are the RoundTrip requests of the session, in the order in which they were sent; those made by hand
// included. Over stdio, of a nil RoundTrip, there are none.
func (h *HTTP) RoundTrips() (all []*RoundTrip) {
	if h == nil {
		return nil
	}
	for _, f := range h.s.FramesSince(0) {
		if f.Side == FromClient && f.RoundTrip != nil {
			all = append(all, f.RoundTrip)
		}
	}
	return all
}

// headers are those of an ordinary request in the session, which carries a frame.
func (h *HTTP) headers(method string, f *Frame) http.Header {
	header := h.site.header.Clone()
	header.Set("User-Agent", "mcpcheck")
	header.Set("Accept-Encoding", "identity") // without the header, any encoding would be allowed
	switch {
	case method == http.MethodPost:
		header.Set("Content-Type", "application/json")
		header.Set("Accept", "application/json, text/event-stream")
	case method == http.MethodGet:
		header.Set("Accept", "text/event-stream")
	}
	if !h.isSSE { // which knows no headers of the protocol
		h.s.Era().setHeaders(h, header, f)
	}
	return header
}

const (
	// headStart is how long a request is given to reach the server before the next message is sent, on another
	// connection.
	headStart = 20 * time.Millisecond
	// acceptTimeout is how long a server has over RoundTrip+SSE to say that it has taken a message that wants no
	// answer.
	acceptTimeout = time.Second
)

// exchange prepares the RoundTrip request that carries a frame of the client, and has the frame know it.
func (h *HTTP) newRoundTrip(method, url string, f *Frame) *RoundTrip {
	f.RoundTrip = &RoundTrip{
		Method: method, URL: url, Header: h.headers(method, f), Body: f.Raw.Bytes(),
		s: h.s, requestFrame: f,
		requestID: requestIDIn(f), batchIDs: batchIDsIn(f), isResponse: f.IsResponse(), isListening: f.opensStream,
		isAnsweredOnStream: h.isSSE,
		stop:               func() {},
	}
	for _, id := range append(f.RoundTrip.batchIDs, f.RoundTrip.requestID) {
		h.s.noteRequest(id)
	}
	return f.RoundTrip
}

// send posts a message. Messages are sent in their order: what wants no answer is taken by the server before the next
// one is sent, and a request is given a moment.
func (h *HTTP) send(f *Frame, _ [][]byte) {
	x := h.newRoundTrip(http.MethodPost, h.Endpoint(), f)
	h.s.add(f)
	h.enqueue(x, h.turnTimeout(f))
}

// turnTimeout is how long the next message waits for an answer to this one.
func (h *HTTP) turnTimeout(f *Frame) time.Duration {
	switch {
	case f.IsRequest():
		return headStart
	case h.isSSE:
		return min(acceptTimeout, h.s.limits.ReplyTimeout)
	}
	return h.s.limits.ReplyTimeout
}

// enqueue performs an exchange when its turn has come. The next one waits until it has its headers, or its end if
// nothing more is to come, but not for longer than patience.
func (h *HTTP) enqueue(x *RoundTrip, patience time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, taken := h.turn, make(chan struct{})
	h.turn = taken
	h.running.Go(func() {
		select {
		case <-before:
		case <-h.ctx.Done():
		}
		give := sync.OnceFunc(func() { close(taken) })
		timer := time.AfterFunc(patience, give)
		defer timer.Stop()
		defer give()
		h.perform(x, give)
	})
}

// finish gives an exchange that has brought an answer a moment to end: a server may serve one request at a time. Where
// that was not enough once, the streams of the session are left open, and nothing more is waited for.
func (h *HTTP) awaitStreamEnd(x *RoundTrip) {
	const moment = 100 * time.Millisecond
	if x.requestID != nil && !x.isAnsweredOnStream && !h.leavesStreamsOpen.Load() && !x.AwaitEndFor(moment).Ended {
		h.leavesStreamsOpen.Store(true)
	}
}

// awaitDelivery waits until each message since the mark has had its RoundTrip answer. A stream may stay open after the
// response.
func (h *HTTP) awaitDelivery(mark int) {
	var sent []*RoundTrip
	for _, f := range h.s.FramesSince(mark) {
		if f.Side == FromClient && f.RoundTrip != nil && !f.Manual && !f.RoundTrip.isListening {
			sent = append(sent, f.RoundTrip)
		}
	}
	if len(sent) == 0 {
		return
	}
	h.s.until(sent[len(sent)-1].deadline, func() bool {
		return !slices.ContainsFunc(sent, (*RoundTrip).isOpen)
	})
}

func (h *HTTP) closeInput() { h.s.markShutdown() }

func (h *HTTP) kill() {
	h.s.markShutdown()
	h.stop(errors.New("the session was closed"))
}

// close takes leave of the server, and drops every connection.
func (h *HTTP) close() {
	h.closeOnce.Do(func() {
		h.s.markShutdown()
		if h.s.IsAlive() {
			h.s.Era().closeSession(h.s)
		}
		h.kill()
	})
	h.running.Wait()
	if h.s.IsAlive() {
		h.s.endWith("the session was closed")
	}
	if h.proc != nil && slices.ContainsFunc(h.RoundTrips(), func(x *RoundTrip) bool { return x.Response().IsStream }) {
		h.site.awaitExitAfterStream(h.proc)
	}
}
