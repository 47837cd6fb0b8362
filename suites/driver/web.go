package driver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// web is the transports over HTTP: Streamable HTTP, where each message is a POST
// that brings its own answer, and the older HTTP+SSE, where one stream brings all
// of them.
type web struct {
	s    *Session
	site *Site
	ctx  context.Context // of everything that the session has open
	stop context.CancelCauseFunc
	old  bool     // HTTP+SSE
	host *process // that serves the site; nil: it is not ours

	running sync.WaitGroup // exchanges

	mu       sync.Mutex
	endpoint string        // where messages go
	ids      []string      // session ids that the server has issued; the first one is used
	turn     chan struct{} // closed once the next message may be sent
	open     int           // messages without an end of their exchange
	closing  sync.Once
}

const (
	// headStart is how long a request is given to reach the server before the next
	// message is sent, on another connection.
	headStart = 20 * time.Millisecond
	// standing is how long the standing stream is given to open.
	standing = 50 * time.Millisecond
	// mostOpen is how many messages may be on their way.
	mostOpen = 256
	// farewell is how long a server is given to confirm the end of a session.
	farewell = time.Second
)

func newWeb(ctx context.Context, site *Site, t Target) *web {
	s := newSession(ctx, t, site.stderr())
	inner, stop := context.WithCancelCause(ctx)
	s.nextID = site.idBase() // so that an answer that belongs to another session is seen to
	w := &web{s: s, site: site, ctx: inner, stop: stop, old: site.Transport() == "sse", endpoint: site.URL(), turn: closedChannel()}
	s.link = w
	return w
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// watch ends the session when the process behind the site ends.
func (w *web) watch() {
	select {
	case <-w.host.exited:
		w.lose("the server " + w.host.exit.String())
	case <-w.ctx.Done():
	}
}

// lose records that the server is gone, and drops every connection to it.
func (w *web) lose(cause string) {
	if w.s.Alive() {
		w.s.over(cause)
	}
	w.stop(errors.New(cause))
}

// headers are those of an ordinary request in the session.
func (w *web) headers(method string) http.Header {
	h := w.site.header.Clone()
	h.Set("User-Agent", "mcpcheck")
	h.Set("Accept-Encoding", "identity") // without the header, any encoding would be allowed
	switch {
	case method == http.MethodPost:
		h.Set("Content-Type", "application/json")
		h.Set("Accept", "application/json, text/event-stream")
	case method == http.MethodGet:
		h.Set("Accept", "text/event-stream")
	}
	if w.old {
		return h
	}
	if id := w.sessionID(); id != "" {
		h.Set("Mcp-Session-Id", id)
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.s.Revision != "" { // as SDKs do in every revision: without a session, nothing else tells it
		h.Set("Mcp-Protocol-Version", w.s.Revision)
	}
	return h
}

func (w *web) sessionID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ids) == 0 {
		return ""
	}
	return w.ids[0]
}

func (w *web) messageURL() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.endpoint
}

// exchange prepares an HTTP request.
func (w *web) exchange(method, url string, body []byte) *Exchange {
	return &Exchange{
		Method: method, URL: url, Header: w.headers(method), Body: body,
		s: w.s, asked: askedBy(body), batch: batchIn(body), elsewhere: w.old, stop: func() {},
	}
}

// send posts a message. Messages are sent in their order: what wants no answer is
// taken by the server before the next one is sent, and a request is given a moment.
func (w *web) send(f *Frame, _ [][]byte) {
	x := w.exchange(http.MethodPost, w.messageURL(), f.Raw)
	f.HTTP = x
	w.s.put(f)
	x.At = f.At
	w.enqueue(x, w.patience(f))
}

// patience is how long the next message waits for an answer to this one.
func (w *web) patience(f *Frame) time.Duration {
	if w.old || f.IsRequest() && f.Method != "initialize" {
		return headStart
	}
	return w.s.limits.Reply
}

// enqueue performs an exchange when its turn has come. The next one waits until it
// has its headers, or its end if nothing more is to come, but not for longer than
// patience.
func (w *web) enqueue(x *Exchange, patience time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open >= mostOpen {
		w.s.fail(x, errors.New("it was not sent: too many messages have no answer yet"))
		return
	}
	w.open++
	before, taken := w.turn, make(chan struct{})
	w.turn = taken
	w.running.Go(func() {
		defer w.done()
		select {
		case <-before:
		case <-w.ctx.Done():
		}
		give := sync.OnceFunc(func() { close(taken) })
		timer := time.AfterFunc(patience, give)
		defer timer.Stop()
		defer give()
		w.perform(x, give)
	})
}

func (w *web) done() {
	w.mu.Lock()
	w.open--
	w.mu.Unlock()
}

// perform carries an exchange out until its end; headed is called when the headers
// of an answer that may take long have come.
func (w *web) perform(x *Exchange, headed func()) {
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	w.s.mu.Lock()
	x.stop = stop
	w.s.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, x.Method, x.URL, bytes.NewReader(x.Body))
	if err != nil {
		w.s.fail(x, err)
		return
	}
	req.Header, req.Host = x.Header, x.Host
	switch {
	case x.sent != nil:
		req.Body, req.ContentLength, req.GetBody = io.NopCloser(x.sent), x.size, nil
	case len(x.Body) == 0:
		req.Body, req.ContentLength = http.NoBody, 0
	}
	resp, err := w.site.client.Do(req)
	if err != nil {
		w.broken(x, err)
		return
	}
	defer resp.Body.Close()
	w.s.head(x, resp)
	w.noteSession(x, resp)
	if x.asked != nil || x.stream {
		headed()
	}
	encoding := resp.Header.Get("Content-Encoding")
	switch {
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		w.s.fail(x, fmt.Errorf("it is encoded as %s, which was not asked for", Brief([]byte(encoding))))
	case x.stream:
		w.readStream(x, resp.Body)
	default:
		w.readBody(x, resp)
	}
}

// broken records an exchange that had no HTTP answer. When nobody listens any more,
// the session is over.
func (w *web) broken(x *Exchange, err error) {
	if x.foreign { // which says nothing of the server
		w.s.fail(x, plainError(err))
		return
	}
	if w.host != nil && w.site.mourns(w.ctx, w.host) {
		w.lose("the server " + w.host.exit.String())
	}
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause
	}
	w.s.fail(x, plainError(err))
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && w.ctx.Err() == nil {
		w.lose("the server cannot be reached any more: " + plainError(err).Error())
	}
}

// head records the headers of an answer.
func (s *Session) head(x *Exchange, resp *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &x.answer
	a.Status, a.Header, a.HeadAt = resp.StatusCode, resp.Header, time.Since(s.opened)
	x.stream = mediaType(resp.Header) == "text/event-stream" && a.OK()
	s.wake()
}

// fail records why an exchange has ended without a whole answer.
func (s *Session) fail(x *Exchange, err error) {
	s.mu.Lock()
	s.silent = s.silent || !x.apart && !s.eof
	s.mu.Unlock()
	s.status(x, err)
	s.end(x, err)
}

// end records that nothing more will come. Whatever stands for the answer is in the
// record before, for those who wait for the end.
func (s *Session) end(x *Exchange, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.answer.Ended, x.answer.Err, x.answer.EndAt = true, err, time.Since(s.opened)
	s.wake()
}

// status records an answer that carries no message, and that ends with an error or
// simply.
func (s *Session) status(x *Exchange, err error) {
	a := x.Answer()
	a.Ended, a.Err = true, err
	s.put(&Frame{Side: Status, Raw: []byte(a.String()), Ended: true, HTTP: x, Apart: x.apart})
}

// noteSession keeps the session ids that the server issues, and notes when it has
// ended the session.
func (w *web) noteSession(x *Exchange, resp *http.Response) {
	if w.old || x.foreign {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && x.answer.OK() && !slices.Contains(w.ids, id) {
		w.ids = append(w.ids, id)
	}
	if resp.StatusCode == http.StatusNotFound && !x.apart && x.Header.Get("Mcp-Session-Id") != "" {
		w.s.Abandon()
	}
}

// readBody reads an answer that is no event stream: one message or, in a batch,
// several.
func (w *web) readBody(x *Exchange, resp *http.Response) {
	body, err := w.readAll(resp)
	w.s.mu.Lock()
	x.answer.Body = body
	w.s.mu.Unlock()
	defer w.s.end(x, err)
	f := &Frame{Raw: bytes.TrimSpace(body), Ended: true, HTTP: x, Apart: x.apart}
	f.parse()
	if err == nil && w.carries(x, f) {
		w.s.receive(f)
		return
	}
	w.s.status(x, err)
}

// carries reports whether a body is a message. That of an HTTP error may be some
// other JSON.
func (w *web) carries(x *Exchange, f *Frame) bool {
	switch {
	case w.old:
		return false // whatever it is, messages come with the stream
	case x.failed() && x.Method != http.MethodPost:
		return false // what is refused is the stream, not a request
	case x.failed():
		return f.Shape == Object && (f.HasError || f.HasResult) && bytes.Contains(f.Raw, []byte(`"jsonrpc"`))
	}
	return f.Shape == Object || f.Shape == Array
}

// readAll reads a body up to the limit of a message. Of long ones only one is read
// at a time.
func (w *web) readAll(resp *http.Response) (all []byte, err error) {
	limit := w.s.limits.Message
	tooLong := fmt.Errorf("the body has more than %s", size(limit))
	if resp.ContentLength > int64(limit) {
		return nil, tooLong
	}
	var b bytes.Buffer
	if _, err = io.CopyN(&b, resp.Body, longLine); err == nil {
		end := w.s.budget.beginLong(w.ctx.Done())
		defer end()
		b.Grow(limit - longLine + 1 + bytes.MinRead) // at once: to double it again and again takes twice as much
		_, err = io.CopyN(&b, resp.Body, int64(limit-longLine+1))
	}
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return b.Bytes(), nil
	case err != nil:
		return b.Bytes(), fmt.Errorf("the body ended early: %w", plainError(err))
	}
	return nil, tooLong
}

// mostEvents is how many events of a stream are kept, fewEvents while a server floods
// the run.
const (
	mostEvents = 1024
	fewEvents  = 64
)

// readStream hands the events of a stream on until it ends. If it ended before the
// answer came, and can be resumed, it is.
func (w *web) readStream(x *Exchange, body io.Reader) {
	s := w.s
	answered, came := false, false
	turn := func() func() { return s.budget.beginLong(w.ctx.Done()) }
	cut, err := readEvents(throttled{w, body}, s.limits.Message, turn, func(e StreamEvent) {
		s.mu.Lock()
		most := mostEvents
		if s.budget.exhausted() {
			most = fewEvents
		}
		if x.answer.Events = append(x.answer.Events, e); len(x.answer.Events) > most {
			x.answer.Events = slices.Clone(x.answer.Events[len(x.answer.Events)-most/2:])
		}
		s.wake()
		s.mu.Unlock()
		f := &Frame{Raw: []byte(e.Data), Ended: true, HTTP: x, Event: &e, Apart: x.apart}
		f.parse()
		if !e.Dispatched() || !e.isMessage() && !bytes.Contains(f.Raw, []byte(`"jsonrpc"`)) {
			return
		}
		came = true
		answered = answered || x.answeredBy(f)
		s.receive(f)
		s.mu.Lock()
		x.replied = x.replied || f.IsResponse() || f.Shape == Array
		s.mu.Unlock()
	})
	if err != nil {
		err = plainError(err)
	}
	s.mu.Lock()
	x.answer.Cut = cut
	s.mu.Unlock()
	unanswered := x.asked != nil && !answered
	goesOn := (unanswered || x.standing) && w.resumable(x)
	if unanswered && !goesOn || !unanswered && !came {
		s.status(x, err)
	}
	s.end(x, err)
	if goesOn {
		w.resume(x)
	}
}

// throttled reads a stream with pauses while it floods the record.
type throttled struct {
	w    *web
	body io.Reader
}

func (t throttled) Read(p []byte) (int, error) {
	if t.w.s.flooded() {
		t.w.sleep(throttle)
	}
	return t.body.Read(p)
}

func (x *Exchange) answeredBy(f *Frame) bool {
	f.Side = FromServer
	return Pending{ID: x.asked}.answeredBy(f)
}

// mostResumed is how often one stream is resumed.
const mostResumed = 5

// resumable reports whether the server has given a way to ask for the rest of a
// stream. What was made by hand is not resumed.
func (w *web) resumable(x *Exchange) bool {
	id, _ := resumption(x.Answer().Events)
	again := x.resumed > 0 && !x.emptied // one stream may come to nothing
	return (id != "" || x.standing || again) && !x.apart && !w.old && x.resumed < mostResumed && w.ctx.Err() == nil
}

// resume asks for the rest of a stream.
func (w *web) resume(x *Exchange) {
	id, wait := resumption(x.Answer().Events)
	next := w.exchange(http.MethodGet, x.URL, nil)
	next.asked, next.standing, next.resumed = x.asked, x.standing, x.resumed+1
	next.emptied = id == ""
	if id = cmp.Or(id, x.Header.Get("Last-Event-ID")); id != "" {
		next.Header.Set("Last-Event-ID", id)
	}
	w.s.put(&Frame{Side: FromClient, Ended: true, HTTP: next})
	if w.sleep(wait) {
		w.perform(next, func() {})
	}
}

// resumption is the id of the last event that has one, and the time to wait before
// a stream is resumed.
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

func (w *web) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// settle waits until each message since the mark has had its HTTP answer. A stream
// may stay open after the response.
func (w *web) settle(mark int) {
	var sent []*Exchange
	for _, f := range w.s.Record(mark) {
		if f.Side == FromClient && f.HTTP != nil && !f.Apart && !f.HTTP.standing {
			sent = append(sent, f.HTTP)
		}
	}
	w.s.until(w.s.limits.Reply, func() bool {
		return !slices.ContainsFunc(sent, func(x *Exchange) bool { return !x.answer.Ended && !x.replied })
	})
}

// established opens the standing stream, on which the server may speak first.
func (w *web) established() {
	if !w.old {
		w.enqueue(w.listen(), standing)
	}
}

func (w *web) listen() *Exchange {
	x := w.exchange(http.MethodGet, w.site.URL(), nil)
	x.standing = true
	w.s.put(&Frame{Side: FromClient, Ended: true, HTTP: x})
	return x
}

func (w *web) closeInput() { w.s.ending() }

func (w *web) kill() {
	w.s.ending()
	w.stop(errors.New("the session was closed"))
}

// close ends the server's sessions with DELETE, and drops every connection.
func (w *web) close() {
	w.closing.Do(func() {
		w.s.ending()
		if w.s.Usable() && !w.old {
			w.mu.Lock()
			ids := slices.Clone(w.ids)
			w.mu.Unlock()
			var farewells sync.WaitGroup
			for _, id := range ids {
				farewells.Go(func() { w.farewell(id) })
			}
			farewells.Wait()
		}
		w.kill()
	})
	w.running.Wait()
	if w.s.Alive() {
		w.s.over("the session was closed")
	}
}

// farewell ends a session of the server.
func (w *web) farewell(id string) {
	x := w.exchange(http.MethodDelete, w.site.URL(), nil)
	x.Header.Set("Mcp-Session-Id", id)
	w.s.put(&Frame{Side: FromClient, Ended: true, HTTP: x})
	ctx, cancel := context.WithTimeout(w.ctx, farewell)
	defer cancel()
	over := context.AfterFunc(ctx, func() { x.Abort() })
	defer over()
	w.perform(x, func() {})
}

// HTTPRequest is an HTTP request that a check makes by hand. Empty fields are as
// those of the session's own requests.
type HTTPRequest struct {
	Method string      // default POST
	URL    string      // absolute, or a path on the server; default the endpoint
	Header http.Header // laid over the ordinary ones, of which another origin gets none; nil values leave a header out
	Host   string      // of the header Host
	Body   []byte

	// Sent is sent in place of Body, which stands for it in the record: Size bytes, so
	// many that they are better made on the way than kept.
	Sent io.Reader
	Size int64
}

// Do makes an HTTP request by hand, beside the session's messages and at once. What
// comes of it is for the caller alone: checks that watch the wire leave it out.
func (s *Session) Do(r HTTPRequest) *Exchange {
	w := s.link.(*web)
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	target := w.messageURL()
	if base, err := url.Parse(target); err == nil && r.URL != "" {
		if u, err := base.Parse(r.URL); err == nil {
			target = u.String()
		}
	}
	x := w.exchange(r.Method, target, r.Body)
	if x.foreign = !w.ours(target); x.foreign {
		x.Header = http.Header{"User-Agent": x.Header["User-Agent"]}
	}
	x.apart, x.Host, x.unusual = true, r.Host, r.Header
	x.sent, x.size = r.Sent, r.Size
	x.Header = overlay(x.Header, r.Header)
	f := &Frame{Side: FromClient, Raw: r.Body, Ended: true, HTTP: x, Apart: true}
	f.parse()
	s.put(f)
	x.At = f.At
	w.running.Go(func() { w.perform(x, func() {}) })
	return x
}

// ours reports whether a URL is of the server's own origin. To any other one nothing
// goes of what belongs to the operator or to the session.
func (w *web) ours(target string) bool {
	u, err := url.Parse(target)
	return err == nil && slices.ContainsFunc([]string{w.site.URL(), w.messageURL()}, func(own string) bool {
		o, err := url.Parse(own)
		return err == nil && o.Scheme == u.Scheme && o.Host == u.Host
	})
}

// SessionID is the session id that the server issued; empty when it issued none.
func (s *Session) SessionID() string {
	if w, ok := s.link.(*web); ok {
		return w.sessionID()
	}
	return ""
}

// Endpoint is the URL to which messages are sent; empty over stdio.
func (s *Session) Endpoint() string {
	if w, ok := s.link.(*web); ok {
		return w.messageURL()
	}
	return ""
}

// Exchanges are the HTTP requests of the session, in the order in which they were
// sent; those made by hand included.
func (s *Session) Exchanges() (all []*Exchange) {
	for _, f := range s.Record(0) {
		if f.Side == FromClient && f.HTTP != nil {
			all = append(all, f.HTTP)
		}
	}
	return all
}

// Standing is the stream that a session opened with GET when its handshake was over;
// nil when there is none.
func (s *Session) Standing() *Exchange {
	for _, x := range s.Exchanges() {
		if x.standing {
			return x
		}
	}
	return nil
}

// ByHand reports whether the exchange was made with Session.Do.
func (x *Exchange) ByHand() bool { return x.apart }

// Asked is the id of the one request in the body; nil when there is none.
func (x *Exchange) Asked() json.RawMessage { return x.asked }

// openStream opens the one stream of HTTP+SSE, and waits until the server has said
// where messages go.
func (w *web) openStream() error {
	x := w.listen()
	w.running.Go(func() {
		w.perform(x, func() {})
		if w.ctx.Err() == nil {
			w.lose("the event stream ended: " + x.Answer().String())
		}
	})
	limits := w.s.limits
	a := x.awaitFor(limits.Start, func(a *Answer) bool { return a.Status != 0 })
	if !a.IsStream {
		a = x.EndFor(unending)
		return &NoEndpoint{fmt.Sprintf("GET %s opened no event stream: %s", w.site.redacted(), a), a.OK() && !a.Ended}
	}
	e, came := x.AwaitEventFor(limits.Reply, StreamEvent.IsEndpoint)
	if !came {
		a = x.Answer()
		return &NoEndpoint{fmt.Sprintf("GET %s brought no endpoint event: %s", w.site.redacted(), a), slices.ContainsFunc(a.Events, StreamEvent.Dispatched)}
	}
	if err := w.post(e.Data); err != nil {
		return &NoEndpoint{err.Error(), true}
	}
	return nil
}

// unending is how long a body goes on that is meant to be a stream.
const unending = 500 * time.Millisecond

// NoEndpoint says that a stream of HTTP+SSE cannot be used, or that there is none.
type NoEndpoint struct {
	Why    string
	Speaks bool // it is HTTP+SSE all the same, with something wrong
}

func (e *NoEndpoint) Error() string { return e.Why }

// IsEndpoint reports whether an event is the one that says where messages go.
func (e StreamEvent) IsEndpoint() bool { return e.Type == "endpoint" }

// post takes the endpoint of HTTP+SSE for the URL of messages.
func (w *web) post(reference string) error {
	u, err := w.site.Endpoint(reference)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.endpoint = u.String()
	w.mu.Unlock()
	return nil
}

// Endpoint is where messages go, by the data of an endpoint event. It fails for
// another origin; one loopback name in place of another is put right.
func (site *Site) Endpoint(reference string) (*url.URL, error) {
	base := site.parsed()
	u, err := ParseEndpoint(base, reference)
	if err != nil {
		return nil, fmt.Errorf("the endpoint event holds no URI: %w", err)
	}
	if IsLoopback(base.Hostname()) && IsLoopback(u.Hostname()) && u.Port() == base.Port() {
		u.Host = base.Host
	}
	if u.Scheme != base.Scheme || u.Host != base.Host {
		return nil, fmt.Errorf("the endpoint event names another origin, %s: nothing is sent there", u.Redacted())
	}
	return u, nil
}

// ParseEndpoint resolves the data of an endpoint event, a URI reference. JSON is
// none, though some servers send it.
func ParseEndpoint(base *url.URL, reference string) (*url.URL, error) {
	switch {
	case reference == "":
		return nil, errors.New("its data is empty")
	case strings.ContainsAny(reference[:1], "\"{["):
		return nil, errors.New("its data is JSON")
	case strings.ContainsFunc(reference, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, errors.New("its data has white space in it")
	}
	return base.Parse(reference)
}
