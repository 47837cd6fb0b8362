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
	f.Side, f.Complete = FromClient, true
	f.Raw = bytes.TrimSuffix(bytes.Join(pieces, nil), []byte("\n"))
	f.parse()
	s.transport.send(f, pieces)
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
func (s *Session) Notify(method string, params M) *Frame {
	return s.SendJSON(newMessage(method, params))
}

func newMessage(method string, params M) M {
	m := M{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	return m
}

// Request sends a request under the next id; params nil leaves them out.
func (s *Session) Request(method string, params M) Pending {
	return s.RequestWithID(s.NextID(), method, params)
}

// NextID is an id for the next request, a number that no other session of the server has.
func (s *Session) NextID() int {
	s.idCount++
	return s.idBase + s.idCount
}

// HasCustomIDs reports whether requests were sent since the mark under ids that are not of NextID. The client must not
// send them again in the session.
func (s *Session) HasCustomIDs(mark int) bool {
	for _, f := range s.FramesSince(mark) {
		if f.Side == FromClient && slices.ContainsFunc(f.Messages(), s.hasCustomID) {
			return true
		}
	}
	return false
}

func (s *Session) hasCustomID(f *Frame) bool {
	n, ok := Integer(json.Number(f.ID))
	return f.IsRequest() && !(ok && int64(s.idBase) < n && n <= int64(s.idBase+s.idCount))
}

// RequestWithID sends a request under the given id, any JSON value.
func (s *Session) RequestWithID(id any, method string, params M) Pending {
	p := s.NewPending(id, method)
	p.frame = s.SendJSON(s.NewRequest(id, method, params))
	return p
}

// OpenStream sends a request whose answer is that a stream stays open: it is not waited for, and the session takes the
// request back in the end.
func (s *Session) OpenStream(method string, params M) Pending {
	return s.OpenStreamWithID(s.NextID(), method, params)
}

// OpenStreamWithID is OpenStream under the given id.
func (s *Session) OpenStreamWithID(id any, method string, params M) Pending {
	p := s.NewPending(id, method)
	p.frame = s.write(&Frame{opensStream: true}, [][]byte{append(encode(s.NewRequest(id, method, params)), '\n')})
	s.openStreams = append(s.openStreams, p)
	return p
}

// HasOpenStreams reports whether a request of OpenStream was not taken back yet.
func (s *Session) HasOpenStreams() bool { return len(s.openStreams) > 0 }

// Cancel takes back a request that the session has sent, as its era and transport have it.
func (s *Session) Cancel(p Pending, reason string) {
	s.openStreams = slices.DeleteFunc(s.openStreams, func(other Pending) bool { return bytes.Equal(other.ID, p.ID) })
	s.Era().cancel(s, p, reason)
}

// sendCancelled tells the server that a request is not wanted any more, unless it has answered it: only what is in
// flight may be cancelled.
func (s *Session) sendCancelled(p Pending, reason string) {
	if !s.isAnswered(p.ID) {
		s.Notify("notifications/cancelled", M{"requestId": p.ID, "reason": reason})
	}
}

// Message is a request as the session sends it, for who sends it in another way.
func (s *Session) NewRequest(id any, method string, params M) M {
	m := newMessage(method, s.Era().withMeta(s, params))
	m["id"] = id
	return m
}

// NewPending is a pending request whose bytes the caller sends by itself, at once.
func (s *Session) NewPending(id any, method string) Pending {
	p := Pending{ID: encode(id), Method: method, mark: s.Mark(), sent: time.Now()}
	if s.noteRequest(p.ID); method == "initialize" || method == "server/discover" && s.NegotiatedRevision() == "" {
		s.noteConnect(p.ID)
	}
	return p
}

// Exchange sends a request and waits for its answer. It is made in its turn.
func (s *Session) Call(method string, params M) (r Reply) {
	s.RetryWhileBusy(func() (busy bool) {
		r = s.Await(s.Request(method, params))
		return r.IsBusy()
	})
	return r
}

// RetryWhileBusy tries something, and again a few times while the server is busy: one that serves a single request at a
// time refuses the next, which may be taken once what was sent before has its answers.
func (s *Session) RetryWhileBusy(try func() (busy bool)) {
	const first, most = 20 * time.Millisecond, 80 * time.Millisecond
	for pause := first; try() && pause <= most; pause *= 2 {
		s.transport.awaitDelivery(0)
		s.sleep(pause)
	}
}

// Await waits for the answer to a request for the reply limit, as due counts it.
func (s *Session) Await(p Pending) Reply {
	r := s.awaitReply(p)
	s.reportReply(r)
	return r
}

// awaitReply is Await without telling anybody.
func (s *Session) awaitReply(p Pending) Reply {
	return s.awaitUntil(p, s.replyBound(), func() time.Time { return s.deadline(p.sentAt()) })
}

// reportReply tells RedirectTarget.Heard. A method of which a request is answered that came later than one without an
// answer is no silence of the session: it is that one request which has no answer.
func (s *Session) reportReply(r Reply) {
	if r.Answered() {
		s.mu.Lock()
		s.unansweredMethods = slices.DeleteFunc(s.unansweredMethods,
			func(method string) bool { return method == r.Method })
		s.mu.Unlock()
	}
	if s.onReply != nil && !s.HasInvalidInput() {
		s.onReply(s, r)
	}
}

// reportAnswered is tell for a request whose silence would tell nothing.
func (s *Session) reportAnswered(r Reply) Reply {
	if r.Answered() {
		s.reportReply(r)
	}
	return r
}

// AwaitLongRunning is Await for requests that tell nothing of the server as a whole, such as calls of tools that run
// for long.
func (s *Session) AwaitLongRunning(p Pending) Reply {
	b := s.replyBound()
	b.allowsSilence = true
	return s.reportAnswered(s.awaitUntil(p, b, func() time.Time { return s.deadline(p.sentAt()) }))
}

// deadline is until when a request is waited for that was sent at a time: until the reply limit has passed since then,
// or since the server last answered the client in this session. So requests that were sent together are not waited for
// one after the other, and a server that serves one at a time has time for each.
func (s *Session) deadline(sent time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastAnsweredAt.After(sent) {
		sent = s.lastAnsweredAt
	}
	return sent.Add(s.limits.ReplyTimeout)
}

// AwaitFirst waits for the answer to the first request to a process, as long as a server may take to start. One that
// has answered another request which was sent with it has started: it has as long as for any other answer.
func (s *Session) AwaitFirst(p Pending, others ...Pending) Reply {
	defer s.waits.begin(p, s.isStarting())()
	b := s.startBound()
	end := time.Now().Add(b.duration)
	came, err := s.Wait(p.mark, b.duration, func(f *Frame) bool {
		return p.isAnsweredBy(f) || isAnyAnsweredBy(others, f)
	})
	if err == nil && isAnyAnsweredBy(others, came) {
		return s.awaitReply(p)
	}
	r := s.awaitUntil(p, b, func() time.Time { return end })
	if h := s.HTTP(); h != nil && r.Answered() && r.Request != nil {
		h.site.connectTime.Store(int64(r.Frame.At - r.Request.At))
	}
	return r
}

// bound is how long an answer is waited for.
type bound struct {
	duration      time.Duration
	flag          string // that says so; empty: none does
	allowsSilence bool   // that none comes says nothing of the session
}

// startBound is how long the answer to the first request may take. A server over RoundTrip that has answered one before
// has started, unless it took long for that.
func (s *Session) startBound() bound {
	if h := s.HTTP(); h != nil {
		if took := time.Duration(h.site.connectTime.Load()); took > 0 && 2*took < s.limits.ReplyTimeout {
			return s.replyBound()
		}
	}
	return bound{duration: s.limits.StartTimeout, flag: "--start-timeout"}
}

func (s *Session) replyBound() bound {
	return bound{duration: s.limits.ReplyTimeout, flag: "--timeout"}
}

// ReplyTimeout is how long Await waits.
func (s *Session) ReplyTimeout() time.Duration { return s.limits.ReplyTimeout }

// StartTimeout is how long AwaitFirst waits.
func (s *Session) StartTimeout() time.Duration { return s.limits.StartTimeout }

// AwaitFor waits for the answer to a request, at most for d.
func (s *Session) AwaitFor(p Pending, d time.Duration) Reply {
	return s.reportAnswered(s.awaitFor(p, d))
}

// awaitFor is AwaitFor without telling anybody.
func (s *Session) awaitFor(p Pending, d time.Duration) Reply {
	end := time.Now().Add(d)
	return s.awaitUntil(p, bound{duration: d}, func() time.Time { return end })
}

// awaitUntil waits for the answer to a request, or to one of others that do as well, until an end that may move; the
// bound is what it is said to be.
func (s *Session) awaitUntil(p Pending, b bound, end func() time.Time, others ...Pending) Reply {
	if p.ID == nil {
		return Reply{Err: errors.New("it was not asked")}
	}
	defer s.waits.begin(p, s.isStarting())()
	f, err := s.waitUntil(p.mark, end, func(f *Frame) bool { return p.isAnsweredBy(f) || isAnyAnsweredBy(others, f) })
	silent := errors.Is(err, errTimeout)
	if silent {
		err = s.timeoutError(p, b)
	}
	if err != nil {
		r := Reply{Method: p.Method, Request: p.frame, Err: err}
		if silent && b.duration >= s.limits.ReplyTimeout {
			r.awaitLate = func(within time.Duration) (bool, error) { return s.awaitLate(p, within) }
		}
		return r
	}
	for _, other := range others {
		if other.isAnsweredBy(f) {
			p = other
		}
	}
	r := p.replyFrom(f)
	if h := s.HTTP(); h != nil {
		h.awaitStreamEnd(f.RoundTrip)
	}
	if none := (*NoResponseError)(nil); errors.As(r.Err, &none) && none.RoundTrip.isConnectionLost() {
		if death := s.EndErr(); death != nil {
			r.Err = death // which is why
		}
	}
	return r
}

// frameWithRequest is the message of the client, or the batch, with the request of an id; nil when there is none.
func (s *Session) frameWithRequest(id json.RawMessage) *Frame {
	for _, f := range slices.Backward(s.FramesSince(0)) {
		asks := func(m *Frame) bool { return m.IsRequest() && SameID(m.ID, id) }
		if f.Side == FromClient && slices.ContainsFunc(f.Messages(), asks) {
			return f
		}
	}
	return nil
}

// timeoutError is the error of a request that had no answer within its bound.
func (s *Session) timeoutError(p Pending, b bound) error {
	s.mu.Lock()
	if b.duration >= s.limits.ReplyTimeout && !b.allowsSilence {
		s.unansweredMethods = append(s.unansweredMethods, cmp.Or(s.longestUnanswered(), p.Method))
	}
	after := b.duration
	if after == 0 && !p.sent.IsZero() { // a look: none has come until now
		after = time.Since(p.sent).Round(100 * time.Millisecond)
	}
	err := &TimeoutError{
		Method: p.Method, After: after, Flag: b.flag, PartialBytes: s.partial.bytes,
		UnknownID: s.unknownResponseID(p.mark),
	}
	s.mu.Unlock()
	if err.request = p.frame; p.frame == nil {
		err.request = s.frameWithRequest(p.ID)
	}
	err.Receiving = s.isReceiving(p)
	return err
}

// unknownResponseID is the id of a response since a mark that answers nothing; nil when there is none. The caller holds
// mu.
func (s *Session) unknownResponseID(mark int) json.RawMessage {
	for _, f := range s.frames[max(0, min(mark-s.firstIndex, len(s.frames))):] {
		if f.Side == FromServer && f.IsResponse() && f.ID != nil && s.sentRequestFor(f.RequestID()) == nil {
			return f.ID
		}
	}
	return nil
}

// longestUnanswered is the method of the request that has had no answer for the longest time: those after it may have
// had to wait for it. Empty when there is none. The caller holds mu.
func (s *Session) longestUnanswered() string {
	open := unansweredRequests(s.frames)
	if len(open) == 0 {
		return ""
	}
	return open[0].Method
}

// HasUnanswered reports whether the server has left a request of the client without an answer so far.
func (s *Session) HasUnanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(unansweredRequests(s.frames)) > 0
}

// unanswered are the requests of the client among frames that have no answer there, the oldest first.
func unansweredRequests(frames []*Frame) (open []Pending) {
	for _, f := range frames {
		open = slices.DeleteFunc(open, func(p Pending) bool { return p.isAnsweredBy(f) })
		if f.Side != FromClient || f.Manual {
			continue
		}
		for _, m := range f.Messages() {
			if m.IsRequest() {
				open = append(open, Pending{ID: m.ID, Method: m.Method})
			}
		}
	}
	return open
}

// HasUnreadableResponse reports whether a request of the client since a mark may have an answer that cannot be read: it
// has none, and a line of the server begins like a message and is no JSON.
func (s *Session) HasUnreadableResponse(mark int) bool {
	frames := s.FramesSince(mark)
	return slices.ContainsFunc(frames, (*Frame).IsMalformed) && len(unansweredRequests(frames)) > 0
}

// receive records a message of the server and answers it when it is a request.
func (s *Session) receive(f *Frame) {
	f.Side = FromServer
	s.correlate(f)
	s.add(f)
	for _, m := range f.Messages() {
		if m.IsRequest() {
			s.respond(m)
		}
	}
}

// HandleServerRequests has requests of the server answered by a function, in place of what the era answers to them:
// with Reply, at once or later. Those that it does not take are answered as ever. It is called by the goroutine that
// reads, and must not wait.
func (s *Session) HandleServerRequests(answer func(request *Frame) (taken bool)) {
	s.mu.Lock()
	s.requestHandler = answer
	s.mu.Unlock()
}

// Reply answers a request of the server: members are the result or the error.
func (s *Session) Respond(request *Frame, members M) {
	reply := M{"jsonrpc": "2.0", "id": request.ID}
	maps.Copy(reply, members)
	s.SendJSON(reply)
}

// answer does what the client owes.
func (s *Session) respond(request *Frame) {
	s.mu.Lock()
	by := s.requestHandler
	s.mu.Unlock()
	if by != nil && by(request) {
		return
	}
	if reply := s.Era().response(s, request); reply != nil {
		s.SendJSON(reply)
	}
}
