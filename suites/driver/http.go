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

// HTTP is the transports over HTTP: Streamable HTTP, where each message is a POST that brings its own answer, and the
// older HTTP+SSE, where one stream brings all of them. It is had from Session.HTTP, with what only it can do.
type HTTP struct {
	s    *Session
	site *Site
	ctx  context.Context // of everything that the session has open
	stop context.CancelCauseFunc
	old  bool     // HTTP+SSE
	host *process // that serves the site; nil: it is not ours

	running sync.WaitGroup // exchanges
	lingers atomic.Bool    // a stream was open for a while after the response

	mu       sync.Mutex
	endpoint string        // where messages go
	issued   []issued      // session ids; the first one is used
	ended    int           // how many of them were, see EndIssued
	turn     chan struct{} // closed once the next message may be sent
	closing  sync.Once
}

func newHTTP(ctx context.Context, site *Site, t Target, old bool) *HTTP {
	s := newSession(ctx, t, site.stderr())
	inner, stop := context.WithCancelCause(ctx)
	s.firstID = site.idBase() // so that an answer that belongs to another session is seen to
	h := &HTTP{
		s: s, site: site, ctx: inner, stop: stop, old: old,
		endpoint: site.URL(), turn: closedChannel(),
	}
	s.link = h
	return h
}

// SharesProcess reports whether another session over HTTP is served by the same process, as far as mcpcheck knows: one
// that it has started itself, and that ended, was started again.
func (s *Session) SharesProcess(other *Session) bool {
	mine, others := s.HTTP(), other.HTTP()
	return mine != nil && others != nil && mine.host == others.host
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// watch ends the session when the process behind the site ends.
func (h *HTTP) watch() {
	select {
	case <-h.host.exited:
		h.died()
	case <-h.ctx.Done():
	}
}

// died records that the process behind the site has ended.
func (h *HTTP) died() {
	h.s.stderr.hear()
	h.lose("the server " + h.host.exit.String())
}

// lose records that the server is gone, and drops every connection to it.
func (h *HTTP) lose(cause string) {
	if h.s.Alive() {
		h.s.crashed(cause)
	}
	h.stop(errors.New(cause))
}

// SessionID is the session id that the server issued; empty when it issued none.
func (h *HTTP) SessionID() string {
	if all := h.issuedIDs(); len(all) > 0 {
		return all[0].id
	}
	return ""
}

// issued is a session id that the server has issued, and the exchange that brought it.
type issued struct {
	id string
	by *Exchange
}

// revision is the one that the server has granted when it issued the id; empty when that is not known.
func (i issued) revision() string {
	welcome := i.by.s.AwaitFor(Pending{ID: i.by.asked}, 0)
	revision, _ := welcome.Result()["protocolVersion"].(string)
	return revision
}

func (h *HTTP) issuedIDs() []issued {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.issued)
}

// learn notes the session id that the server has issued with an answer, if it has.
func (h *HTTP) learn(x *Exchange) {
	a := x.Answer()
	if id := a.Header.Get(sessionHeader); id != "" && a.OK() {
		h.keep(id, x)
	}
}

// keep notes a session id that the server has issued.
func (h *HTTP) keep(id string, by *Exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.issued, func(i issued) bool { return i.id == id }) {
		h.issued = append(h.issued, issued{id, by})
	}
}

// EndIssued ends every session that the server has issued an id for, and waits for it. A server may serve one at a
// time, and no other before that one has ended.
func (h *HTTP) EndIssued() {
	h.mu.Lock()
	begun := slices.Clone(h.issued[h.ended:])
	h.ended = len(h.issued)
	h.mu.Unlock()
	var farewells sync.WaitGroup
	for _, session := range begun {
		farewells.Go(func() { h.delete(session) })
	}
	farewells.Wait()
}

// delete ends a session of the server. The server has a moment to confirm it.
func (h *HTTP) delete(session issued) {
	const moment = time.Second
	f := &Frame{Side: FromClient, Ended: true}
	x := h.exchange(http.MethodDelete, h.site.URL(), f)
	x.Header.Set(sessionHeader, session.id)
	if revision := session.revision(); revision != "" {
		x.Header.Set(revisionHeader, revision)
	}
	h.s.put(f)
	h.performFor(x, moment)
}

// Endpoint is the URL to which messages are sent.
func (h *HTTP) Endpoint() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endpoint
}

// Exchanges are the HTTP requests of the session, in the order in which they were sent; those made by hand included.
// Over stdio, of a nil HTTP, there are none.
func (h *HTTP) Exchanges() (all []*Exchange) {
	if h == nil {
		return nil
	}
	for _, f := range h.s.Record(0) {
		if f.Side == FromClient && f.HTTP != nil {
			all = append(all, f.HTTP)
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
	if !h.old { // which knows no headers of the protocol
		h.s.Era().header(h, header, f)
	}
	return header
}

const (
	// headStart is how long a request is given to reach the server before the next message is sent, on another
	// connection.
	headStart = 20 * time.Millisecond
	// toTake is how long a server has over HTTP+SSE to say that it has taken a message that wants no answer.
	toTake = time.Second
)

// exchange prepares the HTTP request that carries a frame of the client, and has the frame know it.
func (h *HTTP) exchange(method, url string, f *Frame) *Exchange {
	f.HTTP = &Exchange{
		Method: method, URL: url, Header: h.headers(method, f), Body: f.Raw.Bytes(),
		s: h.s, message: f,
		asked: askedBy(f), batch: batchIn(f), reply: f.IsResponse(), standing: f.standing, elsewhere: h.old,
		stop: func() {},
	}
	for _, id := range append(f.HTTP.batch, f.HTTP.asked) {
		h.s.ask(id)
	}
	return f.HTTP
}

// send posts a message. Messages are sent in their order: what wants no answer is taken by the server before the next
// one is sent, and a request is given a moment.
func (h *HTTP) send(f *Frame, _ [][]byte) {
	x := h.exchange(http.MethodPost, h.Endpoint(), f)
	h.s.put(f)
	h.enqueue(x, h.patience(f))
}

// patience is how long the next message waits for an answer to this one.
func (h *HTTP) patience(f *Frame) time.Duration {
	switch {
	case f.IsRequest():
		return headStart
	case h.old:
		return min(toTake, h.s.limits.Reply)
	}
	return h.s.limits.Reply
}

// enqueue performs an exchange when its turn has come. The next one waits until it has its headers, or its end if
// nothing more is to come, but not for longer than patience.
func (h *HTTP) enqueue(x *Exchange, patience time.Duration) {
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
func (h *HTTP) finish(x *Exchange) {
	const moment = 100 * time.Millisecond
	if x.asked != nil && !x.elsewhere && !h.lingers.Load() && !x.EndFor(moment).Ended {
		h.lingers.Store(true)
	}
}

// settle waits until each message since the mark has had its HTTP answer. A stream may stay open after the response.
func (h *HTTP) settle(mark int) {
	var sent []*Exchange
	for _, f := range h.s.Record(mark) {
		if f.Side == FromClient && f.HTTP != nil && !f.Apart && !f.HTTP.standing {
			sent = append(sent, f.HTTP)
		}
	}
	if len(sent) == 0 {
		return
	}
	h.s.until(sent[len(sent)-1].due, func() bool {
		return !slices.ContainsFunc(sent, (*Exchange).isOpen)
	})
}

func (h *HTTP) closeInput() { h.s.ending() }

func (h *HTTP) kill() {
	h.s.ending()
	h.stop(errors.New("the session was closed"))
}

// close takes leave of the server, and drops every connection.
func (h *HTTP) close() {
	h.closing.Do(func() {
		h.s.ending()
		if h.s.Alive() {
			h.s.Era().leave(h.s)
		}
		h.kill()
	})
	h.running.Wait()
	if h.s.Alive() {
		h.s.over("the session was closed")
	}
	if h.host != nil && slices.ContainsFunc(h.Exchanges(), func(x *Exchange) bool { return x.Answer().IsStream }) {
		h.site.awaitParting(h.host)
	}
}
