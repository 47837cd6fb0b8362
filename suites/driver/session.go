package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Session is one connection to the target, with a record of everything that was
// said. One goroutine at a time drives it; any may read its record.
//
// A session hides the era of the protocol: once established, a request is sent
// with Request and its answer comes with Await, whatever the transport and
// whatever a revision wants around it.
type Session struct {
	Hello        M      // params of the initialize request that was sent
	Welcome      M      // result of initialize; nil before it came
	Revision     string // negotiated
	Capabilities M      // the server's, never nil once established
	Fence        string // method of the request that proves order: "ping"
	Refuse       bool   // answer every request of the server but ping with -32601
	Used         int    // how often it was lent and came back
	Provoked     bool   // it was given a line that breaks the protocol

	target   Target
	ctx      context.Context
	link     link
	opened   time.Time
	number   int
	nextID   int
	ordinary bool          // established without client capabilities
	stderr   *stderrKeeper // of the server's process; nil when it is not ours

	mu        sync.Mutex
	frames    []*Frame
	first     int // absolute index of frames[0]; greater than 0 once old frames were dropped
	size      int // bytes kept
	changed   chan struct{}
	client    M    // the capabilities that were declared
	flooding  bool // the server sends more unasked than is kept
	dropped   bool // frames were, since flooded was asked
	partial   int  // bytes of a line that is not complete yet
	closed    bool
	cause     string // why the session is over
	eof       bool   // the server was asked to end
	hostile   bool
	abandoned bool
	silent    bool // a request had no answer in time
}

// link is the transport of a session. It carries what the session says, and hands
// what comes to receive.
type link interface {
	// send hands a message over, piece by piece; it never waits for the server.
	send(f *Frame, pieces [][]byte)
	// settle waits until the transport itself has taken what was sent since the
	// mark, which over HTTP the server says for each message.
	settle(mark int)
	// established is told that the handshake is over.
	established()
	// closeInput says that the client sends nothing more, where a transport can.
	closeInput()
	// close ends the session as a client does, and waits for it.
	close()
	kill()
}

// Name tells the sessions of a run apart.
func (s *Session) Name() string { return fmt.Sprintf("session %d", s.number) }

// Options are what a launch may ask for beyond the target.
type Options struct {
	MuteStderr bool // connect stderr to the null device instead of reading it
	ByHand     bool // over HTTP+SSE: open no stream, all requests are made with Do
}

// wake tells all waiters that the record has changed. The caller holds mu.
func (s *Session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// newSession is a session that has no link yet.
func newSession(ctx context.Context, t Target) *Session {
	return &Session{Fence: "ping", target: t, ctx: ctx, opened: time.Now(), changed: make(chan struct{})}
}

// Start opens a session and says nothing in it: over stdio it launches the target.
func Start(ctx context.Context, t Target, o Options) (*Session, error) {
	t.Limits = t.Limits.withDefaults()
	if t.Site != nil {
		return t.Site.open(ctx, t, o)
	}
	return startProcess(ctx, t, o)
}

// over records why the session is over, and wakes everyone who waits for it.
func (s *Session) over(cause string) {
	s.event(cause)
	s.mu.Lock()
	s.closed, s.cause = true, cause
	s.wake()
	s.mu.Unlock()
}

// ending notes that what comes now belongs to the shutdown.
func (s *Session) ending() {
	s.mu.Lock()
	s.eof = true
	s.mu.Unlock()
}

func (s *Session) setPartial(n int) {
	s.mu.Lock()
	s.partial = n
	s.mu.Unlock()
}

// flooded reports whether frames were dropped since it was last asked.
func (s *Session) flooded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	dropped := s.dropped
	s.dropped = false
	return dropped
}

// receive records a message of the server and answers it when it is a request.
func (s *Session) receive(f *Frame) {
	f.Side = FromServer
	f.parse()
	s.record(f)
	for _, m := range f.Members() {
		if m.IsRequest() {
			s.answer(m)
		}
	}
}

// answer does what a client owes: ping and the features that it declared are
// served, anything else is refused with -32601.
func (s *Session) answer(f *Frame) {
	reply := M{"jsonrpc": "2.0", "id": f.ID}
	if result, ok := s.serve(f.Method); ok {
		reply["result"] = result
	} else {
		reply["error"] = M{"code": -32601, "message": "Method not found"}
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		return // an id that is no JSON is no request that could be answered
	}
	s.Send(raw)
}

func (s *Session) serve(method string) (result M, ok bool) {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	declared := func(name string) bool { return client[name] != nil && !s.Refuse }
	switch {
	case method == "ping":
		return M{}, true
	case method == "roots/list" && declared("roots"):
		return M{"roots": []any{}}, true
	case method == "elicitation/create" && declared("elicitation"):
		return M{"action": "decline"}, true
	case method == "sampling/createMessage" && declared("sampling"):
		return M{"role": "assistant", "content": M{"type": "text", "text": "mcpcheck"}, "model": "mcpcheck", "stopReason": "endTurn"}, true
	}
	return nil, false
}

func (s *Session) event(text string) { s.record(&Frame{Side: Event, Raw: []byte(text), Ended: true}) }

// record keeps a frame. Once the record is too big, what the server sends unasked
// is not kept any more, and for anything else the oldest frames are dropped.
func (s *Session) record(f *Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.unasked() && s.full(unaskedShare) {
		if s.dropped = true; s.flooding {
			return
		}
		s.flooding = true
		f = &Frame{Side: Event, Raw: []byte("from here on, what the server sends unasked is not kept: it is too much"), Ended: true}
	}
	f.At = time.Since(s.opened)
	f.Hostile, f.AfterEOF = s.hostile, s.eof
	s.frames = append(s.frames, f)
	s.keep(f.cost())
	for s.full(ownShare) && len(s.frames) > 1 {
		s.keep(-s.frames[0].cost())
		s.frames[0] = nil
		s.frames = s.frames[1:]
		s.first++
		s.dropped = s.dropped || f.Side == FromServer && !f.IsResponse() // long answers that were asked for are no flood
	}
	s.wake()
}

// keep accounts for bytes of the record. The caller holds mu.
func (s *Session) keep(bytes int) {
	s.size += bytes
	s.target.Budget.add(bytes)
}

// full reports whether the record is over a limit: its own or, when all of them
// together are over theirs, a share of it. The caller holds mu.
func (s *Session) full(share int) bool {
	return s.size > s.target.Limits.Wire || s.size > share && s.target.Budget.exhausted()
}

// Send sends one message, as it is, on a line of its own.
func (s *Session) Send(raw []byte) *Frame { return s.Write(append(raw[:len(raw):len(raw)], '\n')) }

// Write sends bytes as they are. Several pieces are written one by one, with a
// pause between them and nothing else in it.
func (s *Session) Write(pieces ...[]byte) *Frame {
	f := &Frame{Side: FromClient, Raw: bytes.TrimSuffix(bytes.Join(pieces, nil), []byte("\n")), Ended: true}
	f.parse()
	s.link.send(f, pieces)
	return f
}

// SendJSON sends a value as one message.
func (s *Session) SendJSON(v any) *Frame {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("driver: " + err.Error()) // the harness builds its messages itself
	}
	return s.Send(raw)
}

// Hostile marks the session: what follows was provoked by input that no
// conforming client sends.
func (s *Session) Hostile() {
	s.mu.Lock()
	s.hostile = true
	s.mu.Unlock()
}

// IsHostile reports whether the session was marked as hostile.
func (s *Session) IsHostile() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hostile
}

// Notify sends a notification; params nil leaves them out.
func (s *Session) Notify(method string, params M) {
	s.SendJSON(message(method, params))
}

func message(method string, params M) M {
	m := M{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	return m
}

// Pending is a request that was sent.
type Pending struct {
	ID     json.RawMessage
	Method string
	from   int    // where in the record its answer may begin
	frame  *Frame // nil when the caller has sent it
}

// Request sends a request under the next id; params nil leaves them out.
func (s *Session) Request(method string, params M) Pending {
	s.nextID++
	return s.RequestID(s.nextID, method, params)
}

// RequestID sends a request under the given id, any JSON value.
func (s *Session) RequestID(id any, method string, params M) Pending {
	m := message(method, params)
	m["id"] = id
	raw, err := json.Marshal(id)
	if err != nil {
		panic("driver: " + err.Error())
	}
	p := Pending{ID: raw, Method: method, from: s.Mark()}
	p.frame = s.SendJSON(m)
	return p
}

// Expecting is a pending request whose bytes the caller sends by itself.
func (s *Session) Expecting(id any, method string) Pending {
	raw, err := json.Marshal(id)
	if err != nil {
		panic("driver: " + err.Error())
	}
	return Pending{ID: raw, Method: method, from: s.Mark()}
}

// Reply is the answer to a request, or the reason why none came.
type Reply struct {
	Method  string
	Request *Frame // nil when the caller has sent it
	Frame   *Frame // nil: none came
	Err     error  // why none came
	M       M      // the message
}

// Answered reports whether an answer came.
func (r Reply) Answered() bool { return r.Frame != nil }

// Bare reports whether the answer is an HTTP error without a JSON-RPC one. It
// counts as an error without a code.
func (r Reply) Bare() bool { return r.Frame != nil && r.Frame.Side == Status }

// Result is the result object; nil when the answer has none.
func (r Reply) Result() M {
	m, _ := r.M["result"].(M)
	return m
}

// Error is the error object; nil when the answer has none.
func (r Reply) Error() M {
	m, _ := r.M["error"].(M)
	return m
}

// Code is the error code.
func (r Reply) Code() (code int, ok bool) {
	n, ok := r.Error()["code"].(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil
}

// Refused is the reply that an HTTP error is when it carries no JSON-RPC error.
func Refused(f *Frame) Reply { return Reply{Frame: f, M: refusal(f)} }

// refusal is the error that an HTTP error stands for: the one in its body, if that
// is one, or one without a code.
func refusal(f *Frame) M {
	body, _ := Decode(f.HTTP.Answer().Body).(M)
	if _, ok := body["error"].(M); ok {
		return body
	}
	return M{"error": M{"message": string(f.Raw)}}
}

// Silence says that an answer did not come although the session is alive.
type Silence struct {
	Method  string
	After   time.Duration
	Partial int // bytes that came without a newline
}

func (e *Silence) Error() string {
	text := fmt.Sprintf("no answer to %s within %v", e.Method, e.After)
	if e.Partial > 0 {
		text += fmt.Sprintf(" (%d bytes came without a newline)", e.Partial)
	}
	return text
}

// Unanswered says that the transport brought no answer to a request, and none will
// come: an HTTP exchange that ended without one.
type Unanswered struct {
	Method string
	Cause  string // "HTTP 202 Accepted with no body"
	HTTP   *Exchange
}

func (e *Unanswered) Error() string { return "no answer to " + e.Method + ": " + e.Cause }

// Unwrap is the error of the connection, if that was the cause.
func (e *Unanswered) Unwrap() error {
	if e.HTTP == nil {
		return nil
	}
	return e.HTTP.Answer().Err
}

// Death says that the session is over.
type Death struct {
	Cause  string   // "the server exited with status 3"
	Stderr []string // its last lines
}

func (e *Death) Error() string { return e.Cause }

// Await waits for the answer to a request, at most for the reply limit.
func (s *Session) Await(p Pending) Reply { return s.AwaitFor(p, s.target.Limits.Reply) }

// AwaitFirst waits for the answer to the first request to a process, as long as a
// server may take to start.
func (s *Session) AwaitFirst(p Pending) Reply { return s.AwaitFor(p, s.target.Limits.Start) }

// Patience is how long Await waits.
func (s *Session) Patience() time.Duration { return s.target.Limits.Reply }

// StartPatience is how long AwaitFirst waits.
func (s *Session) StartPatience() time.Duration { return s.target.Limits.Start }

// AwaitFor waits for the answer to a request, at most for d.
func (s *Session) AwaitFor(p Pending, d time.Duration) Reply {
	if p.ID == nil {
		return Reply{Err: errors.New("it was not asked")}
	}
	f, err := s.Wait(p.from, d, p.answeredBy)
	if errors.Is(err, errTimeout) {
		s.mu.Lock()
		s.silent = s.silent || d >= s.target.Limits.Reply
		err = &Silence{Method: p.Method, After: d, Partial: s.partial}
		s.mu.Unlock()
	}
	if err != nil {
		return Reply{Method: p.Method, Request: p.frame, Err: err}
	}
	r := p.reply(f)
	if none := (*Unanswered)(nil); errors.As(r.Err, &none) && none.HTTP.Answer().Status == 0 {
		if death := s.Death(); death != nil {
			r.Err = death // which is why
		}
	}
	return r
}

// reply reads the answer out of the frame that has it.
func (p Pending) reply(f *Frame) Reply {
	r := Reply{Method: p.Method, Request: p.frame, Frame: f, M: f.JSON()}
	ownID := f.IsResponse() && SameID(f.ID, p.ID)
	switch {
	case f.HTTP != nil && f.HTTP.failed() && f.HTTP.batched(p.ID) && !ownID: // the batch was refused
		r.Frame, r.M, r.Err = nil, nil, &Unanswered{Method: p.Method, Cause: f.HTTP.Answer().String(), HTTP: f.HTTP}
	case f.Side == Status && f.HTTP.failed() && f.HTTP.resumed == 0:
		r.M = refusal(f)
	case f.Side == Status:
		r.Frame, r.Err = nil, &Unanswered{Method: p.Method, Cause: string(f.Raw), HTTP: f.HTTP}
	default:
		for _, m := range f.Members() {
			if p.answeredBy(m) {
				r.M = m.JSON()
			}
		}
	}
	return r
}

func (p Pending) answeredBy(f *Frame) bool {
	if f.Side == Status && f.HTTP.answers(p.ID) || f.refusesFor(p.ID) && f.IsResponse() {
		return true
	}
	if f.Side != FromServer {
		return false
	}
	for _, m := range f.Members() {
		if m.IsResponse() && SameID(m.ID, p.ID) {
			return true
		}
	}
	return false
}

// Exchange sends a request and waits for its answer.
func (s *Session) Exchange(method string, params M) Reply { return s.Await(s.Request(method, params)) }

var errTimeout = errors.New("timeout")

// Wait returns the first frame since from that matches, or an error: *Death once
// the session is over, errTimeout, or the context's.
func (s *Session) Wait(from int, d time.Duration, match func(*Frame) bool) (*Frame, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		s.mu.Lock()
		for ; from < s.first+len(s.frames); from++ {
			if i := from - s.first; i >= 0 && match(s.frames[i]) {
				f := s.frames[i]
				s.mu.Unlock()
				return f, nil
			}
		}
		closed, changed := s.closed, s.changed
		s.mu.Unlock()
		if closed {
			return nil, s.Death()
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil, errTimeout
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
	}
}

// until waits until a condition holds that depends on the record or on an exchange,
// at most for d. The condition is tried with mu held.
func (s *Session) until(d time.Duration, holds func() bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-s.ctx.Done():
			return false
		}
	}
}

// Settle proves that the server has nothing more to say to what it was sent
// before: a later request is answered, and the grace after it has passed. It
// returns what came since the mark, without the answer to that request.
func (s *Session) Settle(mark int) ([]*Frame, error) {
	s.link.settle(mark)
	p := s.Request(s.Fence, nil)
	r := s.Await(p)
	if r.Err != nil {
		return s.Since(mark), r.Err
	}
	return s.linger(mark, s.grace(r), p)
}

// React waits for what the server makes of what it was sent since the mark: a
// response other than the answer to a later request or, when there is none, until
// the session has settled. It returns what came.
func (s *Session) React(mark int) ([]*Frame, error) {
	s.link.settle(mark)
	p := s.Request(s.Fence, nil)
	r := s.Await(p)
	if r.Err != nil {
		return s.Since(mark), r.Err
	}
	came := without(s.Since(mark), p)
	for _, f := range came {
		if f.Shape == Array || f.IsResponse() {
			return came, nil
		}
	}
	return s.linger(mark, s.grace(r), p)
}

// Idle waits for a moment and returns what the server has said so far.
func (s *Session) Idle() []*Frame {
	s.pass(20 * time.Millisecond)
	return s.Since(0)
}

// grace is how long something may still be on its way once a later request was
// answered: ten times what that answer took, so that a busy machine has more.
func (s *Session) grace(answer Reply) time.Duration {
	const least = 5 * time.Millisecond
	return min(max(10*(answer.Frame.At-answer.Request.At), least), s.target.Limits.Grace)
}

// linger waits for the grace, and for one more request after it, and returns what
// came since the mark without the answers to the harness's own requests.
func (s *Session) linger(mark int, grace time.Duration, own ...Pending) ([]*Frame, error) {
	s.pass(grace)
	p := s.Request(s.Fence, nil)
	r := s.Await(p)
	return without(s.Since(mark), append(own, p)...), r.Err
}

// pass lets time pass while the session goes on.
func (s *Session) pass(d time.Duration) {
	s.Wait(s.Mark(), d, func(*Frame) bool { return false })
}

// without leaves out the answers to the harness's own requests.
func without(frames []*Frame, own ...Pending) (rest []*Frame) {
	for _, f := range frames {
		if !anyAnswered(own, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

func anyAnswered(own []Pending, f *Frame) bool {
	for _, p := range own {
		if p.answeredBy(f) {
			return true
		}
	}
	return false
}

// Mark is the place in the record where the next frame will stand.
func (s *Session) Mark() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first + len(s.frames)
}

// Since is what the server sent since the mark.
func (s *Session) Since(mark int) (came []*Frame) {
	for _, f := range s.Record(mark) {
		if f.Side == FromServer {
			came = append(came, f)
		}
	}
	return came
}

// Record is everything since the mark, of both sides; 0 is the beginning.
func (s *Session) Record(mark int) []*Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := min(max(mark-s.first, 0), len(s.frames))
	return append([]*Frame(nil), s.frames[i:]...)
}

// Alive reports whether the server can still speak.
func (s *Session) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed
}

// Busy reports whether the session sent something in the time d before a moment. It
// tells who may have been the cause when a server that several sessions share ends.
func (s *Session) Busy(moment time.Time, d time.Duration) bool {
	for _, f := range s.Record(0) {
		if at := s.opened.Add(f.At); f.Side == FromClient && !at.After(moment) && at.After(moment.Add(-d)) {
			return true
		}
	}
	return false
}

// Moment is when a frame of the session was seen.
func (s *Session) Moment(f *Frame) time.Time { return s.opened.Add(f.At) }

// Death is why the session is over; nil while it is not.
func (s *Session) Death() error {
	s.mu.Lock()
	cause, closed := s.cause, s.closed
	s.mu.Unlock()
	if !closed {
		return nil
	}
	return &Death{Cause: cause, Stderr: s.StderrTail()}
}

// StderrTail is the last lines that the server wrote to stderr, at most ten.
func (s *Session) StderrTail() []string {
	if s.stderr == nil {
		return nil
	}
	return s.stderr.lines()
}

// Stderr is the beginning of what the server wrote to stderr, and how many bytes
// it wrote in all.
func (s *Session) Stderr() (head []byte, total int) {
	if s.stderr == nil {
		return nil, 0
	}
	return s.stderr.beginning()
}

// Abandon marks a session whose server is still busy with what nobody waits for:
// it is not lent again, and Close kills its server without a wait.
func (s *Session) Abandon() {
	s.mu.Lock()
	s.abandoned = true
	s.mu.Unlock()
}

func (s *Session) isAbandoned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abandoned
}

// Usable reports whether the session can be lent: it is alive and was not
// abandoned.
func (s *Session) Usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && !s.abandoned
}

// Troubled reports whether a request had no answer in time, or the server ended the
// session: a busy machine, or another process of the same server, may have been the
// cause.
func (s *Session) Troubled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent || s.closed && !s.eof
}

// Kill ends the session at once, over stdio with the server's process group.
func (s *Session) Kill() { s.link.kill() }

// Close ends the session as a client does, and waits for it. How a server takes
// that is judged by checks of their own; here it has only a moment for it, since a
// run closes many sessions.
func (s *Session) Close() { s.link.close() }

// Partial is how many bytes came that no newline has ended yet.
func (s *Session) Partial() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partial
}
