package driver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// Send sends one message, as it is, on a line of its own.
func (s *Session) Send(raw []byte) *Frame { return s.Write(append(raw[:len(raw):len(raw)], '\n')) }

// Write sends bytes as they are. Several pieces are written one by one, with a pause between them and nothing else in
// it.
func (s *Session) Write(pieces ...[]byte) *Frame { return s.write(&Frame{}, pieces) }

// write is Write with a frame that says more of them.
func (s *Session) write(f *Frame, pieces [][]byte) *Frame {
	f.Side, f.Ended = FromClient, true
	f.Raw = bytes.TrimSuffix(bytes.Join(pieces, nil), []byte("\n"))
	f.parse()
	s.link.send(f, pieces)
	return f
}

// SendJSON sends a value as one message.
func (s *Session) SendJSON(v any) *Frame { return s.Send(encode(v)) }

// encode writes what the harness has built itself, so that it cannot fail.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("driver: " + err.Error())
	}
	return raw
}

// Notify sends a notification; params nil leaves them out.
func (s *Session) Notify(method string, params M) *Frame { return s.SendJSON(message(method, params)) }

func message(method string, params M) M {
	m := M{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	return m
}

// Request sends a request under the next id; params nil leaves them out.
func (s *Session) Request(method string, params M) Pending {
	return s.RequestID(s.NextID(), method, params)
}

// NextID is an id for the next request, a number that no other session of the server has.
func (s *Session) NextID() int {
	s.ids++
	return s.firstID + s.ids
}

// ChoseIDs reports whether requests were sent since the mark under ids that are not of NextID. The client must not send
// them again in the session.
func (s *Session) ChoseIDs(mark int) bool {
	for _, f := range s.Record(mark) {
		if f.Side == FromClient && slices.ContainsFunc(f.Members(), s.hasChosenID) {
			return true
		}
	}
	return false
}

func (s *Session) hasChosenID(f *Frame) bool {
	n, ok := Integer(json.Number(f.ID))
	return f.IsRequest() && !(ok && int64(s.firstID) < n && n <= int64(s.firstID+s.ids))
}

// RequestID sends a request under the given id, any JSON value.
func (s *Session) RequestID(id any, method string, params M) Pending {
	p := s.Expecting(id, method)
	p.frame = s.SendJSON(s.Message(id, method, params))
	return p
}

// Stand sends a request whose answer is that a stream stays open: it is not waited for, and the session takes the
// request back in the end.
func (s *Session) Stand(method string, params M) Pending {
	return s.StandID(s.NextID(), method, params)
}

// StandID is Stand under the given id.
func (s *Session) StandID(id any, method string, params M) Pending {
	p := s.Expecting(id, method)
	p.frame = s.write(&Frame{standing: true}, [][]byte{append(encode(s.Message(id, method, params)), '\n')})
	s.stands = append(s.stands, p)
	return p
}

// Listens reports whether a request of Stand was not taken back yet.
func (s *Session) Listens() bool { return len(s.stands) > 0 }

// Cancel takes back a request that the session has sent, as its era and transport have it.
func (s *Session) Cancel(p Pending, reason string) {
	s.stands = slices.DeleteFunc(s.stands, func(other Pending) bool { return bytes.Equal(other.ID, p.ID) })
	s.Era().cancel(s, p, reason)
}

// withdraw tells the server that a request is not wanted any more, unless it has answered it: only what is in flight
// may be cancelled.
func (s *Session) withdraw(p Pending, reason string) {
	if !s.isAnswered(p.ID) {
		s.Notify("notifications/cancelled", M{"requestId": p.ID, "reason": reason})
	}
}

// Message is a request as the session sends it, for who sends it in another way.
func (s *Session) Message(id any, method string, params M) M {
	m := message(method, s.Era().dress(s, params))
	m["id"] = id
	return m
}

// Expecting is a pending request whose bytes the caller sends by itself, at once.
func (s *Session) Expecting(id any, method string) Pending {
	p := Pending{ID: encode(id), Method: method, from: s.Mark(), sent: time.Now()}
	if s.ask(p.ID); method == "initialize" || method == "server/discover" && s.Agreed() == "" {
		s.greets(p.ID)
	}
	return p
}

// Exchange sends a request and waits for its answer. It is made in its turn.
func (s *Session) Exchange(method string, params M) (r Reply) {
	s.InTurn(func() (busy bool) {
		r = s.Await(s.Request(method, params))
		return r.Busy()
	})
	return r
}

// InTurn tries something, and again a few times while the server is busy: one that serves a single request at a time
// refuses the next, which may be taken once what was sent before has its answers.
func (s *Session) InTurn(try func() (busy bool)) {
	const first, most = 20 * time.Millisecond, 80 * time.Millisecond
	for pause := first; try() && pause <= most; pause *= 2 {
		s.link.settle(0)
		s.pass(pause)
	}
}

// Await waits for the answer to a request for the reply limit, as due counts it.
func (s *Session) Await(p Pending) Reply {
	r := s.awaitReply(p)
	s.tell(r)
	return r
}

// awaitReply is Await without telling anybody.
func (s *Session) awaitReply(p Pending) Reply {
	return s.awaitUntil(p, s.replyBound(), func() time.Time { return s.due(p.leftAt()) })
}

// tell tells Target.Heard. A method of which a request is answered that came later than one without an answer is no
// silence of the session: it is that one request which has no answer.
func (s *Session) tell(r Reply) {
	if r.Answered() {
		s.mu.Lock()
		s.silent = slices.DeleteFunc(s.silent, func(method string) bool { return method == r.Method })
		s.mu.Unlock()
	}
	if s.heard != nil && !s.IsHostile() {
		s.heard(s, r)
	}
}

// tellAnswer is tell for a request whose silence would tell nothing.
func (s *Session) tellAnswer(r Reply) Reply {
	if r.Answered() {
		s.tell(r)
	}
	return r
}

// AwaitCall is Await for requests that tell nothing of the server as a whole, such as calls of tools that run for long.
func (s *Session) AwaitCall(p Pending) Reply {
	b := s.replyBound()
	b.free = true
	return s.tellAnswer(s.awaitUntil(p, b, func() time.Time { return s.due(p.leftAt()) }))
}

// due is until when a request is waited for that was sent at a time: until the reply limit has passed since then, or
// since the server last answered the client in this session. So requests that were sent together are not waited for one
// after the other, and a server that serves one at a time has time for each.
func (s *Session) due(sent time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered.After(sent) {
		sent = s.answered
	}
	return sent.Add(s.limits.Reply)
}

// AwaitFirst waits for the answer to the first request to a process, as long as a server may take to start. One that
// has answered another request which was sent with it has started: it has as long as for any other answer.
func (s *Session) AwaitFirst(p Pending, others ...Pending) Reply {
	defer s.waits.begin(p, s.isStarting())()
	b := s.startBound()
	end := time.Now().Add(b.d)
	came, err := s.Wait(p.from, b.d, func(f *Frame) bool {
		return p.answeredBy(f) || anyAnswered(others, f)
	})
	if err == nil && anyAnswered(others, came) {
		return s.awaitReply(p)
	}
	r := s.awaitUntil(p, b, func() time.Time { return end })
	if h := s.HTTP(); h != nil && r.Answered() && r.Request != nil {
		h.site.greeted.Store(int64(r.Frame.At - r.Request.At))
	}
	return r
}

// bound is how long an answer is waited for.
type bound struct {
	d    time.Duration
	flag string // that says so; empty: none does
	free bool   // that none comes says nothing of the session
}

// startBound is how long the answer to the first request may take. A server over HTTP that has answered one before has
// started, unless it took long for that.
func (s *Session) startBound() bound {
	if h := s.HTTP(); h != nil {
		if took := time.Duration(h.site.greeted.Load()); took > 0 && 2*took < s.limits.Reply {
			return s.replyBound()
		}
	}
	return bound{d: s.limits.Start, flag: "--start-timeout"}
}

func (s *Session) replyBound() bound { return bound{d: s.limits.Reply, flag: "--timeout"} }

// Patience is how long Await waits.
func (s *Session) Patience() time.Duration { return s.limits.Reply }

// StartPatience is how long AwaitFirst waits.
func (s *Session) StartPatience() time.Duration { return s.limits.Start }

// AwaitFor waits for the answer to a request, at most for d.
func (s *Session) AwaitFor(p Pending, d time.Duration) Reply {
	return s.tellAnswer(s.awaitFor(p, d))
}

// awaitFor is AwaitFor without telling anybody.
func (s *Session) awaitFor(p Pending, d time.Duration) Reply {
	end := time.Now().Add(d)
	return s.awaitUntil(p, bound{d: d}, func() time.Time { return end })
}

// awaitUntil waits for the answer to a request, or to one of others that do as well, until an end that may move; the
// bound is what it is said to be.
func (s *Session) awaitUntil(p Pending, b bound, end func() time.Time, others ...Pending) Reply {
	if p.ID == nil {
		return Reply{Err: errors.New("it was not asked")}
	}
	defer s.waits.begin(p, s.isStarting())()
	f, err := s.waitUntil(p.from, end, func(f *Frame) bool { return p.answeredBy(f) || anyAnswered(others, f) })
	silent := errors.Is(err, errTimeout)
	if silent {
		err = s.silence(p, b)
	}
	if err != nil {
		r := Reply{Method: p.Method, Request: p.frame, Err: err}
		if silent && b.d >= s.limits.Reply {
			r.late = func(within time.Duration) (bool, error) { return s.late(p, within) }
		}
		return r
	}
	for _, other := range others {
		if other.answeredBy(f) {
			p = other
		}
	}
	r := p.reply(f)
	if h := s.HTTP(); h != nil {
		h.finish(f.HTTP)
	}
	if none := (*Unanswered)(nil); errors.As(r.Err, &none) && none.HTTP.brokeOff() {
		if death := s.Death(); death != nil {
			r.Err = death // which is why
		}
	}
	return r
}

// sentWith is the message of the client, or the batch, with the request of an id; nil when there is none.
func (s *Session) sentWith(id json.RawMessage) *Frame {
	for _, f := range slices.Backward(s.Record(0)) {
		asks := func(m *Frame) bool { return m.IsRequest() && SameID(m.ID, id) }
		if f.Side == FromClient && slices.ContainsFunc(f.Members(), asks) {
			return f
		}
	}
	return nil
}

// silence is the error of a request that had no answer within its bound.
func (s *Session) silence(p Pending, b bound) error {
	s.mu.Lock()
	if b.d >= s.limits.Reply && !b.free {
		s.silent = append(s.silent, cmp.Or(s.longestOpen(), p.Method))
	}
	after := b.d
	if after == 0 && !p.sent.IsZero() { // a look: none has come until now
		after = time.Since(p.sent).Round(100 * time.Millisecond)
	}
	err := &Silence{
		Method: p.Method, After: after, Limit: b.flag, Partial: s.partial.bytes, Stray: s.stray(p.from),
	}
	s.mu.Unlock()
	if err.request = p.frame; p.frame == nil {
		err.request = s.sentWith(p.ID)
	}
	err.Coming = s.isComing(p)
	return err
}

// stray is the id of a response since a mark that answers nothing; nil when there is none. The caller holds mu.
func (s *Session) stray(mark int) json.RawMessage {
	for _, f := range s.frames[max(0, min(mark-s.first, len(s.frames))):] {
		if f.Side == FromServer && f.IsResponse() && f.ID != nil && s.questionOf(f.Answers()) == nil {
			return f.ID
		}
	}
	return nil
}

// longestOpen is the method of the request that has had no answer for the longest time: those after it may have had to
// wait for it. Empty when there is none. The caller holds mu.
func (s *Session) longestOpen() string {
	open := unanswered(s.frames)
	if len(open) == 0 {
		return ""
	}
	return open[0].Method
}

// Owes reports whether the server has left a request of the client without an answer so far.
func (s *Session) Owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(unanswered(s.frames)) > 0
}

// unanswered are the requests of the client among frames that have no answer there, the oldest first.
func unanswered(frames []*Frame) (open []Pending) {
	for _, f := range frames {
		open = slices.DeleteFunc(open, func(p Pending) bool { return p.answeredBy(f) })
		if f.Side != FromClient || f.Apart {
			continue
		}
		for _, m := range f.Members() {
			if m.IsRequest() {
				open = append(open, Pending{ID: m.ID, Method: m.Method})
			}
		}
	}
	return open
}

// IsIllegible reports whether a request of the client since a mark may have an answer that cannot be read: it has none,
// and a line of the server begins like a message and is no JSON.
func (s *Session) IsIllegible(mark int) bool {
	frames := s.Record(mark)
	return slices.ContainsFunc(frames, (*Frame).IsGarbled) && len(unanswered(frames)) > 0
}

// take records a message of the server and answers it when it is a request.
func (s *Session) take(f *Frame) {
	f.Side = FromServer
	s.attribute(f)
	s.put(f)
	for _, m := range f.Members() {
		if m.IsRequest() {
			s.answer(m)
		}
	}
}

// AnswerBy has requests of the server answered by a function, in place of what the era answers to them: with Reply, at
// once or later. Those that it does not take are answered as ever. It is called by the goroutine that reads, and must
// not wait.
func (s *Session) AnswerBy(answer func(request *Frame) (taken bool)) {
	s.mu.Lock()
	s.answerer = answer
	s.mu.Unlock()
}

// Reply answers a request of the server: members are the result or the error.
func (s *Session) Reply(request *Frame, members M) {
	reply := M{"jsonrpc": "2.0", "id": request.ID}
	maps.Copy(reply, members)
	s.SendJSON(reply)
}

// answer does what the client owes.
func (s *Session) answer(request *Frame) {
	s.mu.Lock()
	by := s.answerer
	s.mu.Unlock()
	if by != nil && by(request) {
		return
	}
	if reply := s.Era().answer(s, request); reply != nil {
		s.SendJSON(reply)
	}
}
