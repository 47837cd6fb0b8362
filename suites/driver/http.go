package driver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// HTTP implements the transports over HTTP: Streamable HTTP, where each message is a POST whose HTTP response carries
// the answer, and the older HTTP+SSE, where one stream carries all messages of the server. Session.HTTP returns it for
// what only this transport can do.
type HTTP struct {
	s    *Session
	site *Site
	// ctx is the context of everything that the session has open.
	ctx   context.Context
	stop  context.CancelCauseFunc
	isSSE bool
	// proc is the process that serves the site; nil if this run did not start it.
	proc *process

	running sync.WaitGroup
	// isTerminated reports whether the client has sent SIGTERM to the process.
	isTerminated atomic.Bool
	// leavesStreamsOpen reports whether a stream was still open some time after its response.
	leavesStreamsOpen atomic.Bool

	mu       sync.Mutex
	endpoint string
	// issued holds the session ids that the server issued. The session uses the first one.
	issued []issuedSession
	// deletedCount is the number of issued ids that DeleteSessions has handled.
	deletedCount int
	// turn is closed when the next message may be sent.
	turn      chan struct{}
	closeOnce sync.Once
}

func newHTTP(ctx context.Context, site *Site, t Target, isSSE bool) *HTTP {
	s := newSession(ctx, t, site.stderr.Load())
	inner, stop := context.WithCancelCause(ctx)
	s.idBase = site.nextIDBase() // so that responses to requests of another session are recognized
	h := &HTTP{
		s: s, site: site, ctx: inner, stop: stop, isSSE: isSSE,
		endpoint: site.URL(), turn: closedChannel(),
	}
	s.transport = h
	return h
}

// SharesProcess reports whether another session over HTTP is served by the same process, as far as mcpcheck knows: a
// process that this run started and that ended has been replaced by a new one.
func (s *Session) SharesProcess(other *Session) bool {
	mine, others := s.HTTP(), other.HTTP()
	return mine != nil && others != nil && mine.proc == others.proc
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// awaitProcessExit ends the session when the process that serves the site ends.
func (h *HTTP) awaitProcessExit() {
	select {
	case <-h.proc.exited:
		if h.isTerminated.Load() {
			h.awaitRoundTrips(timing.LastOutput)
		}
		h.recordExit()
	case <-h.ctx.Done():
	}
}

// awaitRoundTrips waits until the streams of the session have been read to their end, at most for d.
func (h *HTTP) awaitRoundTrips(d time.Duration) {
	ended := make(chan struct{})
	go func() {
		h.running.Wait()
		close(ended)
	}()
	closesWithin(context.Background(), ended, d)
}

// terminate sends SIGTERM to the process that serves the site, and waits for its end, at most for d, and for what it
// has sent before. It returns false if the process still runs.
func (h *HTTP) terminate(d time.Duration) (Exit, bool) {
	h.s.addEvent("SIGTERM sent")
	h.s.markShutdown() // later frames belong to the shutdown
	h.isTerminated.Store(true)
	h.proc.terminate()
	if !closesWithin(h.s.ctx, h.proc.exited, d) {
		return Exit{}, false
	}
	h.awaitRoundTrips(timing.LastOutput)
	return h.proc.exit, true
}

// recordExit records that the process that serves the site has ended.
func (h *HTTP) recordExit() {
	h.s.stderr.awaitEnd()
	h.endByLoss("the server " + h.proc.exit.String())
}

// endByLoss records that the server cannot be reached any longer, and closes every connection to it.
func (h *HTTP) endByLoss(cause string) {
	if h.s.IsAlive() {
		h.s.endByServer(cause)
	}
	h.stop(errors.New(cause))
}

// SessionID returns the session id that the server issued, or "" if it issued none.
func (h *HTTP) SessionID() string {
	if all := h.issuedSessions(); len(all) > 0 {
		return all[0].id
	}
	return ""
}

// issuedSession is a session id that the server issued, and the round trip in which it did.
type issuedSession struct {
	id        string
	roundTrip *RoundTrip
}

// revision returns the revision that the server granted when it issued the id, or "" if that is not known.
func (i issuedSession) revision() string {
	reply := i.roundTrip.s.AwaitFor(Pending{ID: i.roundTrip.requestID}, 0)
	revision, _ := reply.Result()["protocolVersion"].(string)
	return revision
}

func (h *HTTP) issuedSessions() []issuedSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.issued)
}

// noteSessionID notes the session id that a response issues, if it does.
func (h *HTTP) noteSessionID(x *RoundTrip) {
	a := x.Response()
	if id := a.Header.Get(sessionHeader); id != "" && a.OK() {
		h.addSessionID(id, x)
	}
}

// addSessionID notes a session id that the server issued.
func (h *HTTP) addSessionID(id string, by *RoundTrip) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.issued, func(i issuedSession) bool { return i.id == id }) {
		h.issued = append(h.issued, issuedSession{id, by})
	}
}

// DeleteSessions ends every session for which the server has issued an id, and waits for the responses. A server that
// serves one session at a time serves no other before.
func (h *HTTP) DeleteSessions() {
	h.mu.Lock()
	begun := slices.Clone(h.issued[h.deletedCount:])
	h.deletedCount = len(h.issued)
	h.mu.Unlock()
	var deletes sync.WaitGroup
	for _, session := range begun {
		deletes.Go(func() { h.deleteSession(session) })
	}
	deletes.Wait()
}

// deleteSession sends DELETE for a session and waits up to a second for the response.
func (h *HTTP) deleteSession(session issuedSession) {
	f := &Frame{Side: FromClient, Complete: true}
	x := h.newRoundTrip(http.MethodDelete, h.site.URL(), f)
	x.Header.Set(sessionHeader, session.id)
	if revision := session.revision(); revision != "" {
		x.Header.Set(revisionHeader, revision)
	}
	h.addRequest(f)
	h.performFor(x, timing.DeleteSession)
}

// Endpoint returns the URL to which messages are sent.
func (h *HTTP) Endpoint() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endpoint
}

// RoundTrips returns the HTTP requests of the session in the order in which they were sent, including those of Do. For
// a nil HTTP, that of a session over stdio, it returns none.
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

// HasHeldRequest reports whether a request since the mark was refused for the rate of requests, and sent again. For a
// nil HTTP it reports false.
func (h *HTTP) HasHeldRequest(mark int) bool {
	return h != nil && slices.ContainsFunc(h.s.FramesSince(mark), func(f *Frame) bool {
		return f.Side == FromClient && f.RoundTrip != nil && f.RoundTrip.wasHeld()
	})
}

// headers returns the headers of an ordinary request of the session that carries frame f.
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
	if !h.isSSE { // HTTP+SSE has no headers of the protocol
		h.s.Era().setHeaders(h, header, f)
	}
	return header
}

// newRoundTrip prepares the HTTP request that carries a frame of the client, and stores it in the frame.
func (h *HTTP) newRoundTrip(method, url string, f *Frame) *RoundTrip {
	h.s.requireServer()
	f.RoundTrip = &RoundTrip{
		Method: method, URL: url, Header: h.headers(method, f), Body: f.Raw.Bytes(),
		s: h.s, requestFrame: f,
		requestID: requestIDIn(f), batchIDs: batchIDsIn(f), isResponse: f.IsResponse(), isListening: f.opensStream,
		isOptional:         f.isOptional,
		isAnsweredOnStream: h.isSSE,
		stop:               func() {},
	}
	for _, id := range append(f.RoundTrip.batchIDs, f.RoundTrip.requestID) {
		h.s.noteRequest(id)
	}
	return f.RoundTrip
}

// send posts a message. Messages are sent in order: the server has accepted one that needs no response before the next
// one is sent, and a request has timing.HeadStart to arrive.
func (h *HTTP) send(f *Frame, _ [][]byte) {
	x := h.newRoundTrip(http.MethodPost, h.Endpoint(), f)
	h.addRequest(f)
	h.enqueue(x, h.turnTimeout(f))
}

// addRequest records a frame of the client when its request may be sent.
func (h *HTTP) addRequest(f *Frame) {
	h.site.pacer.await(h.ctx)
	h.s.add(f)
}

// turnTimeout returns how long the next message waits for the HTTP response to this one.
func (h *HTTP) turnTimeout(f *Frame) time.Duration {
	switch {
	case f.IsRequest():
		return timing.HeadStart
	case h.isSSE:
		return min(timing.AcceptMessage, h.s.limits.ReplyTimeout)
	}
	return h.s.limits.ReplyTimeout
}

// enqueue performs a round trip when its turn has come. The next one waits until it has its headers, or its end if
// nothing more is to follow, but at most for timeout.
func (h *HTTP) enqueue(x *RoundTrip, timeout time.Duration) {
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
		timer := time.AfterFunc(timeout, give)
		defer timer.Stop()
		defer give()
		h.perform(x, give)
	})
}

// awaitStreamEnd waits briefly for the end of a round trip that has been answered, because a server may handle one
// request at a time. If the stream stays open once, the session does not wait again.
func (h *HTTP) awaitStreamEnd(x *RoundTrip) {
	if x.requestID != nil && !x.isAnsweredOnStream && !h.leavesStreamsOpen.Load() &&
		!x.AwaitEndFor(timing.StreamEnd).Ended {
		h.leavesStreamsOpen.Store(true)
	}
}

// awaitDelivery waits until each message since the mark has its HTTP response. A stream may stay open after that.
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

// close ends the session of the server and closes every connection.
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
