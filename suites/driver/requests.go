package driver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Send sends one message as it is, on a line of its own.
func (s *Session) Send(raw []byte) *Frame { return s.Write(append(raw[:len(raw):len(raw)], '\n')) }

// Write sends bytes as they are; the caller does not change them any more. It sends several pieces one after the other
// with a pause between them, in which nothing else is sent.
func (s *Session) Write(pieces ...[]byte) *Frame { return s.write(&Frame{}, pieces) }

// write is Write with a frame in which other fields are set.
func (s *Session) write(f *Frame, pieces [][]byte) *Frame {
	f.Side, f.Complete = FromClient, true
	if f.Raw = pieces[0]; len(pieces) > 1 {
		f.Raw = bytes.Join(pieces, nil)
	}
	f.Raw = bytes.TrimSuffix(f.Raw, []byte("\n"))
	f.parse()
	s.transport.send(f, pieces)
	return f
}

// SendJSON sends a value as one message.
func (s *Session) SendJSON(v any) *Frame { return s.Write(append(encode(v), '\n')) }

// encode returns a value as JSON. It panics on an error, since mcpcheck has built the value itself.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("driver: " + err.Error())
	}
	return raw
}

// Notify sends a notification. With nil params it sends none.
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

// Request sends a request with the next id. With nil params it sends none.
func (s *Session) Request(method string, params M) Pending {
	return s.RequestWithID(s.NextID(), method, params)
}

// NextID returns an id for the next request, a number that no other session of the server uses.
func (s *Session) NextID() int {
	s.idCount++
	return s.idBase + s.idCount
}

// HasCustomIDs reports whether requests since the mark have ids that are not from NextID. The client must not use these
// ids again in the session.
func (s *Session) HasCustomIDs(mark int) bool {
	for _, f := range s.FramesSince(mark) {
		if f.Side == FromClient && slices.ContainsFunc(f.requests(), s.hasCustomID) {
			return true
		}
	}
	return false
}

func (s *Session) hasCustomID(request *Frame) bool {
	n, ok := Integer(json.Number(request.ID))
	return !ok || n <= int64(s.idBase) || n > int64(s.idBase+s.idCount)
}

// RequestWithID sends a request with the given id, any JSON value.
func (s *Session) RequestWithID(id any, method string, params M) Pending {
	p := s.NewPending(id, method)
	p.frame = s.SendJSON(s.NewRequest(id, method, params))
	return p
}

// SendRequest sends the text of a request that NewPending has announced.
func (s *Session) SendRequest(p Pending, raw []byte) Pending {
	p.frame = s.Send(raw)
	return p
}

// OpenStream sends a request whose answer is an open stream. Nothing waits for its response, and the session cancels it
// when it ends.
func (s *Session) OpenStream(method string, params M) Pending {
	return s.OpenStreamWithID(s.NextID(), method, params)
}

// OpenStreamWithID is OpenStream with the given id.
func (s *Session) OpenStreamWithID(id any, method string, params M) Pending {
	return s.openStream(&Frame{opensStream: true}, id, method, params)
}

// openStream is OpenStreamWithID with a frame in which other fields are set.
func (s *Session) openStream(f *Frame, id any, method string, params M) Pending {
	p := s.NewPending(id, method)
	p.frame = s.write(f, [][]byte{append(encode(s.NewRequest(id, method, params)), '\n')})
	s.openStreams = append(s.openStreams, p)
	return p
}

// HasOpenStreams reports whether a request of OpenStream has not been cancelled yet.
func (s *Session) HasOpenStreams() bool { return len(s.openStreams) > 0 }

// CancelStreams cancels the requests of OpenStream.
func (s *Session) CancelStreams(reason string) {
	for _, p := range slices.Clone(s.openStreams) {
		s.Cancel(p, reason)
	}
}

// Cancel cancels a request that the session has sent, in the way of its era and transport.
func (s *Session) Cancel(p Pending, reason string) {
	s.openStreams = slices.DeleteFunc(s.openStreams, func(other Pending) bool { return bytes.Equal(other.ID, p.ID) })
	s.Era().cancel(s, p, reason)
}

// sendCancelled sends notifications/cancelled for a request, unless it has been answered: the specification allows to
// cancel only requests in flight.
func (s *Session) sendCancelled(p Pending, reason string) {
	if !s.isAnswered(p.ID) {
		s.Notify("notifications/cancelled", M{"requestId": p.ID, "reason": reason})
	}
}

// NewRequest returns the request that RequestWithID would send, for callers that send it in another way.
func (s *Session) NewRequest(id any, method string, params M) M {
	m := newMessage(method, s.Era().withMeta(s, params))
	m["id"] = id
	return m
}

// NewPending returns the pending request for bytes that the caller sends immediately afterwards.
func (s *Session) NewPending(id any, method string) Pending {
	p := Pending{ID: encode(id), Method: method, mark: s.Mark(), sent: time.Now()}
	if s.noteRequest(p.ID); method == "initialize" || method == "server/discover" && s.NegotiatedRevision() == "" {
		s.noteConnect(p.ID)
	}
	return p
}

// Call sends a request and waits for its response. While the server is busy, it tries again.
func (s *Session) Call(method string, params M) (r Reply) {
	if s.isForCalls {
		return s.replayedCall(method, params)
	}
	s.RetryWhileBusy(func() (busy bool) {
		r = s.Await(s.Request(method, params))
		return r.IsBusy()
	})
	return r
}

// RetryWhileBusy calls try, and again a few times while the server is busy: one that handles a single request at a time
// rejects the next one until it has answered the first.
func (s *Session) RetryWhileBusy(try func() (busy bool)) {
	for pause := timing.BusyRetry; try() && pause <= timing.MaxBusyRetry; pause *= 2 {
		s.transport.awaitDelivery(0)
		s.Sleep(pause)
	}
}

// Await waits for the response to a request until its deadline.
func (s *Session) Await(p Pending) Reply {
	r := s.awaitReply(p)
	s.reportReply(r)
	return r
}

// awaitReply is Await without a call of Target.OnReply.
func (s *Session) awaitReply(p Pending) Reply {
	b := s.replyBound()
	if wait := s.Patience(p.frame); wait < b.duration {
		b.shortened = wait
	}
	return s.awaitUntil(p, b, func() time.Time { return s.deadline(p.sentAt(), cmp.Or(b.shortened, b.duration)) })
}

// reportReply calls Target.OnReply. A method that was unanswered counts as answered when a later request with it is:
// only that one request has no response.
func (s *Session) reportReply(r Reply) {
	if r.Answered() {
		s.patience.add(r.Request, true)
		s.mu.Lock()
		s.unansweredMethods = slices.DeleteFunc(s.unansweredMethods,
			func(method string) bool { return method == r.Method })
		s.mu.Unlock()
	}
	if s.onReply != nil && !s.HasInvalidInput() {
		s.onReply(s, r)
	}
}

// reportAnswered is reportReply for a request that may stay unanswered.
func (s *Session) reportAnswered(r Reply) Reply {
	if r.Answered() {
		s.reportReply(r)
	}
	return r
}

// AwaitLongRunning is Await for requests that say nothing about the server as a whole if they stay unanswered, such as
// calls of long-running tools.
func (s *Session) AwaitLongRunning(p Pending) Reply {
	b := s.replyBound()
	b.allowsSilence = true
	return s.reportAnswered(s.awaitUntil(p, b, func() time.Time { return s.deadline(p.sentAt(), b.duration) }))
}

// deadline returns the end of the wait for a request that was sent at a time: the given duration after that or, if
// later, after the server's last answer in this session. So the client does not wait for several requests one after the
// other, and a server that handles one at a time has time for each.
func (s *Session) deadline(sent time.Time, wait time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastAnsweredAt.After(sent) {
		sent = s.lastAnsweredAt
	}
	return sent.Add(wait)
}

// AwaitFirst waits for the response to the first request to a process until the start timeout. If one of the others,
// which were sent with it, is answered, the process has started, and the reply timeout applies.
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

// bound says how long to wait for a response.
type bound struct {
	duration time.Duration
	// flag is the command-line flag that sets the duration; empty if there is none.
	flag string
	// shortened is the duration if it is shorter than the flag says, as a Patience wants it; otherwise zero.
	shortened time.Duration
	// allowsSilence reports whether a missing response says nothing about the session.
	allowsSilence bool
}

// startBound returns the bound for the first request. A server over HTTP that has quickly answered one before has
// started, so the reply timeout applies.
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

// ReplyTimeout returns how long Await waits, unless a Patience wants less.
func (s *Session) ReplyTimeout() time.Duration { return s.limits.ReplyTimeout }

// Patience returns how long Await waits for the response to a request.
func (s *Session) Patience(request *Frame) time.Duration {
	return s.patience.wait(request, s.limits.ReplyTimeout)
}

// StartTimeout returns how long AwaitFirst waits.
func (s *Session) StartTimeout() time.Duration { return s.limits.StartTimeout }

// AwaitFor waits for the response to a request, at most for d.
func (s *Session) AwaitFor(p Pending, d time.Duration) Reply {
	return s.reportAnswered(s.awaitFor(p, d))
}

// awaitFor is AwaitFor without a call of Target.OnReply.
func (s *Session) awaitFor(p Pending, d time.Duration) Reply {
	now := time.Now()
	return s.awaitUntil(p, bound{duration: d}, func() time.Time {
		if sent := p.sentAt(); sent.After(now) && p.wasHeld() {
			return sent.Add(d)
		}
		return now.Add(d)
	})
}

// awaitUntil waits for the response to a request, or to one of the others, until a time that may change meanwhile. b
// describes the time in errors.
func (s *Session) awaitUntil(p Pending, b bound, end func() time.Time, others ...Pending) Reply {
	if p.ID == nil {
		return Reply{Err: errors.New("it was not asked")}
	}
	defer s.waits.begin(p, s.isStarting())()
	f, err := s.awaitAnswer(p, end, func(f *Frame) bool { return p.isAnsweredBy(f) || isAnyAnsweredBy(others, f) })
	silent := errors.Is(err, errTimeout)
	switch {
	case silent:
		err = s.timeoutError(p, b)
	case errors.Is(err, errUnreadable):
		err = &TimeoutError{Method: p.Method, Unreadable: true, request: p.frame}
	}
	if err != nil {
		r := Reply{Method: p.Method, Request: p.frame, Err: err}
		if silent && b.duration >= s.limits.ReplyTimeout {
			r.awaitLate = func(within time.Duration) (bool, error) {
				if b.shortened > 0 {
					within = min(within, 2*b.shortened)
				}
				return s.awaitLate(p, within)
			}
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
		if endErr := s.EndErr(); endErr != nil {
			r.Err = endErr // the cause of the lost connection
		}
	}
	return r
}

// frameWithRequest returns the client's frame with the request of this id, which may be a batch, or nil if there is
// none.
func (s *Session) frameWithRequest(id json.RawMessage) *Frame {
	for _, f := range slices.Backward(s.FramesSince(0)) {
		asks := func(m *Frame) bool { return SameID(m.ID, id) }
		if f.Side == FromClient && slices.ContainsFunc(f.requests(), asks) {
			return f
		}
	}
	return nil
}

func (s *Session) timeoutError(p Pending, b bound) error {
	s.mu.Lock()
	s.addSilent()
	if b.duration >= s.limits.ReplyTimeout && !b.allowsSilence {
		if s.timedOut == nil {
			s.timedOut = map[*Frame]bool{}
		}
		s.timedOut[p.frame] = true
		s.unansweredMethods = append(s.unansweredMethods, cmp.Or(s.longestUnanswered(), p.Method))
	}
	after := b.duration
	if after == 0 && !p.sent.IsZero() { // the caller only looked whether there is a response
		after = time.Since(p.sent).Round(100 * time.Millisecond)
	}
	err := &TimeoutError{
		Method: p.Method, After: after, Flag: b.flag, Shortened: b.shortened, PartialBytes: s.partial.bytes,
		UnknownID: s.unknownResponseID(p.mark),
	}
	s.mu.Unlock()
	if err.request = p.frame; p.frame == nil {
		err.request = s.frameWithRequest(p.ID)
	}
	err.Receiving = s.isReceiving(p)
	return err
}

// unknownResponseID returns the id of a response since the mark that belongs to no request, or nil if there is none.
// The caller holds mu.
func (s *Session) unknownResponseID(mark int) json.RawMessage {
	for _, f := range s.frames[max(0, min(mark-s.firstIndex, len(s.frames))):] {
		if f.Side == FromServer && f.IsResponse() && f.ID != nil && s.sentRequestFor(f.RequestID()) == nil {
			return f.ID
		}
	}
	return nil
}

// longestUnanswered returns the method of the oldest unanswered request, which may have blocked those after it, or ""
// if there is none. A stream that is open has blocked none of them. The caller holds mu.
func (s *Session) longestUnanswered() string {
	open := unansweredRequests(s.frames)
	i := slices.IndexFunc(open, func(p Pending) bool { return !s.isOpenStream(p.frame) })
	if i < 0 {
		return ""
	}
	return open[i].Method
}

// isOpenStream reports whether a request was sent with OpenStream and the server serves it: over HTTP its stream has
// begun, or a later request was answered. The caller holds mu.
func (s *Session) isOpenStream(request *Frame) bool {
	if !request.opensStream {
		return false
	}
	if request.RoundTrip != nil && request.RoundTrip.stream {
		return true
	}
	later := s.frames[slices.Index(s.frames, request)+1:]
	var asked []Pending
	for _, f := range later {
		if f.Side == FromClient {
			asked = append(asked, Pending{ID: f.ID, Method: f.Method})
		} else if slices.ContainsFunc(asked, func(p Pending) bool { return p.isAnsweredBy(f) }) {
			return true
		}
	}
	return false
}

// HasUnanswered reports whether a request of the client has no response so far.
func (s *Session) HasUnanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(unansweredRequests(s.frames)) > 0
}

// unansweredRequests returns the requests among frames that have no response there, the oldest first.
func unansweredRequests(frames []*Frame) (open []Pending) {
	for _, f := range frames {
		open = slices.DeleteFunc(open, func(p Pending) bool { return p.isAnsweredBy(f) })
		if f.Side != FromClient || f.Manual {
			continue
		}
		for _, m := range f.requests() {
			open = append(open, Pending{ID: m.ID, Method: m.Method, frame: f})
		}
	}
	return open
}

// HasUnreadableResponse reports whether a request since the mark may have an unreadable response: it has none, and the
// server has written a line that begins like a message and is not JSON, or text for requests without a response alone.
// Text for others is a log.
func (s *Session) HasUnreadableResponse(mark int) bool {
	frames := s.FramesSince(mark)
	open := unansweredRequests(frames)
	var last *Frame
	isText, isLog := false, false
	for _, f := range frames {
		switch {
		case f.Side == FromClient:
			last = f
		case f.isText():
			isOpen := slices.ContainsFunc(open, func(p Pending) bool { return p.frame == last })
			isText, isLog = isText || isOpen, isLog || !isOpen
		}
	}
	return len(open) > 0 && (isText && !isLog || slices.ContainsFunc(frames, (*Frame).IsMalformed))
}

// receive records a message of the server, and responds to it if it is a request.
func (s *Session) receive(f *Frame) {
	f.Side = FromServer
	s.correlate(f)
	s.add(f)
	for _, m := range f.requests() {
		s.respond(m)
	}
}

// HandleServerRequests sets a function that responds to requests of the server, with Respond, at once or later. The era
// responds to those that it does not take. The function is called by the goroutine that reads, and must not block.
func (s *Session) HandleServerRequests(handler func(request *Frame) (taken bool)) {
	s.mu.Lock()
	s.requestHandler = handler
	s.mu.Unlock()
}

// RefuseServerRequests sets whether the session rejects every request of the server except ping with -32601.
func (s *Session) RefuseServerRequests(refuse bool) {
	s.mu.Lock()
	s.refusing = refuse
	s.mu.Unlock()
}

// Respond sends the response to a request of the server. members holds the result or the error.
func (s *Session) Respond(request *Frame, members M) {
	reply := M{"jsonrpc": "2.0", "id": request.ID}
	maps.Copy(reply, members)
	s.SendJSON(reply)
}

// respond sends the response that the client owes for a request.
func (s *Session) respond(request *Frame) {
	s.mu.Lock()
	handler := s.requestHandler
	s.mu.Unlock()
	if handler != nil && handler(request) {
		return
	}
	if reply := s.Era().response(s, request); reply != nil {
		s.SendJSON(reply)
	}
}
