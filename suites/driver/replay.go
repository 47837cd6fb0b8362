package driver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// TraceLine is one line of a recorded session.
type TraceLine struct {
	// At is the time since the session opened.
	At   time.Duration
	Side Side
	// Text is the line without the newline.
	Text []byte

	// These have the meaning of the fields of Frame with the same name; Incomplete is the opposite of Complete.
	Incomplete, AfterShutdown, AfterInvalidInput, Manual, ForOtherSession, Internal bool

	// RoundTrip is the number of the round trip that carried the line, over HTTP; 0 if it is not known.
	RoundTrip int
	// HTTPInfo is what HTTPInfo.String returned for the line.
	HTTPInfo string

	// Truncated reports whether the end of the line is missing.
	Truncated bool
	// AfterGap reports whether lines before this one are missing.
	AfterGap bool
}

// Replay returns a session with the lines of a recorded one. It sends nothing. If the client violated the protocol,
// fault says how, and the frames from there on are marked as after invalid input. The session ends where the trace has
// a gap. whole reports whether the trace has the session's beginning.
func Replay(opened time.Time, transport string, lines []TraceLine, whole bool) (s *Session, fault string) {
	s = newSession(context.Background(), Target{Limits: Limits{ReplyTimeout: timing.ReplayUnanswered}.withDefaults()},
		nil)
	s.opened, s.closed, s.cause, s.isReplayed, s.transport = opened, true, "the record ends", true, noTransport{}
	if !whole {
		s.firstIndex = 1
	}
	c := clientReplay{
		s: s, transport: transport, sent: map[string]*Frame{}, serverRequests: map[string]bool{},
		roundTrips: map[int]*RoundTrip{},
	}
	for i, line := range lines {
		if line.Truncated || line.AfterGap {
			s.limitErr = &LimitError{"the record leaves out what was said"}
			lines, fault = lines[:i], cmp.Or(fault, fmt.Sprintf("line %d of the session: %s", i+1, s.limitErr))
			break
		}
		f := &Frame{
			At: line.At, Side: line.Side, Raw: Text(line.Text), Complete: !line.Incomplete,
			AfterShutdown:     line.AfterShutdown,
			AfterInvalidInput: line.AfterInvalidInput, Manual: line.Manual, ForOtherSession: line.ForOtherSession,
			Internal: line.Internal,
		}
		if f.Side == FromClient || f.Side == FromServer {
			f.parse()
		}
		c.attachRoundTrip(f, line)
		if f.Side == FromClient && f.Raw.Len() > 0 && !s.HasInvalidInput() && !f.AfterInvalidInput && !f.Manual {
			if why := c.addClientLine(f); why != "" {
				s.MarkInvalidInput()
				fault = fmt.Sprintf("line %d of the session: %s", i+1, why)
			}
		}
		if f.Side == FromServer && !f.Manual {
			c.addServerLine(f)
		}
		if f.AfterShutdown && !s.shutdown {
			s.shutdown, s.shutdownAt = true, line.At
		}
		f.AfterInvalidInput = f.AfterInvalidInput || s.HasInvalidInput()
		f.Position = Position{&s.record, s.firstIndex + len(s.frames)}
		s.frames = append(s.frames, f)
	}
	if n := len(lines); n > 0 && !s.shutdown {
		s.shutdownAt = lines[n-1].At
		s.shutdown = true
	}
	return s, fault
}

// NoServer is the value with which a session panics that is to send something and has no server, since it was recorded.
type NoServer struct{}

// Reaction returns what a server did when it was sent a frame: the request that it was sent then, and what it sent
// before it was sent something else, or that it ended the session. isCall says that only the response counts, and that
// the request may have another _meta. It panics with NoServer if nothing is known.
type Reaction func(sent *Frame, isCall bool) (request *Frame, received []*Frame)

// Recorded returns a session without a server and before its handshake, for an era and the transport of a recorded
// session. What is sent in it brings what reaction returns. If it isForCalls, only the responses are known, and over
// HTTP nothing but Call can be used.
func Recorded(s *Session, era Era, isForCalls bool, reaction Reaction) *Session {
	r := newSession(context.Background(), Target{Era: era, Limits: s.limits}, nil)
	r.isReplayed, r.isForCalls, r.reaction, r.transport = true, isForCalls, reaction, replayTransport{r}
	if h := s.HTTP(); h != nil {
		r.replayedHTTP(h.isSSE)
	}
	return r
}

// Resume gives a session of a client without capabilities what a server answered in the handshake of another one.
func (s *Session) Resume(other *Session) {
	s.ConnectParams, s.ConnectResult, s.Revision, s.Capabilities = ConnectParams(other.Revision), other.ConnectResult,
		other.Revision, other.Capabilities
	s.SetEra(other.Era())
}

// replayedCall is Call in a session that Recorded has returned.
func (s *Session) replayedCall(method string, params M) Reply {
	f := &Frame{Side: FromClient, Raw: encode(s.NewRequest(s.NextID(), method, params)), Complete: true}
	f.parse()
	request, received := s.reaction(f, true)
	return NewReply(request, received[0])
}

// requireServer panics with NoServer if the session was recorded.
func (s *Session) requireServer() {
	if s.isReplayed {
		panic(NoServer{})
	}
}

// noTransport is the transport of a recorded session.
type noTransport struct{}

func (noTransport) send(*Frame, [][]byte) { panic(NoServer{}) }

func (noTransport) awaitDelivery(int) { panic(NoServer{}) }

func (noTransport) closeInput() {}

func (noTransport) close() {}

func (noTransport) kill() {}

// replayTransport is the transport of a session that Recorded has returned.
type replayTransport struct{ s *Session }

func (r replayTransport) send(f *Frame, _ [][]byte) {
	request, received := r.s.reaction(f, false)
	r.s.add(f)
	for _, x := range received {
		if x.Side == SessionEvent {
			r.s.endWith(x.Raw.String())
			continue
		}
		g := &Frame{Raw: x.Raw, Complete: x.Complete}
		if f.ID != nil && SameID(x.ID, request.ID) && !SameID(f.ID, request.ID) {
			message := maps.Clone(x.JSON())
			message["id"] = f.ID
			g.Raw = encode(message)
		}
		g.parse()
		r.s.receive(g)
	}
}

func (replayTransport) awaitDelivery(int) {}

func (replayTransport) closeInput() { panic(NoServer{}) }

func (replayTransport) close() {}

func (replayTransport) kill() {}

// NewReply returns the reply in a frame to the request in another one.
func NewReply(request, f *Frame) Reply {
	return Reply{Method: request.Method, Request: request, Frame: f, messageFrame: f}
}

// clientReplay follows the messages of a recorded session, and whether its client conforms to the protocol.
type clientReplay struct {
	s         *Session
	transport string
	// sent holds the client's requests by id.
	sent map[string]*Frame
	// serverRequests holds the unanswered requests of the server by id.
	serverRequests map[string]bool
	roundTrips     map[int]*RoundTrip
}

// attachRoundTrip sets the round trip of a line over HTTP, if the trace tells it.
func (c *clientReplay) attachRoundTrip(f *Frame, line TraceLine) {
	if line.RoundTrip == 0 {
		return
	}
	h := c.s.HTTP()
	if h == nil {
		h = c.s.replayedHTTP(c.transport == "sse")
	}
	info := ParseHTTPInfo(line.HTTPInfo)
	if f.Side == FromClient {
		f.RoundTrip = c.s.replayedRoundTrip(f, info)
		f.RoundTrip.isAnsweredOnStream, f.opensStream = h.isSSE, f.RoundTrip.isListening
		c.roundTrips[line.RoundTrip] = f.RoundTrip
		return
	}
	x := c.roundTrips[line.RoundTrip]
	if x == nil {
		return
	}
	f.RoundTrip = x
	x.replay(f, info)
	if id := info.Header.Get(sessionHeader); id != "" && x.requestID != nil {
		h.addSessionID(id, x)
	}
}

// addClientLine reads a line of the client. It returns how the line violates the protocol, or "".
func (c *clientReplay) addClientLine(f *Frame) string {
	if f.Kind == Array && c.s.Revision != "2025-03-26" || f.Kind != Array && f.Kind != Object {
		return "the client sent a line that is not a JSON-RPC message"
	}
	for _, m := range f.Messages() {
		object := m.JSON()
		if object == nil || object["jsonrpc"] != "2.0" {
			return "the client sent a message that is not JSON-RPC 2.0"
		}
		key := IDKey(m.ID)
		switch {
		case m.IsResponse():
			if m.HasResult == m.HasError || !c.serverRequests[key] {
				return "the client answered what nobody asked"
			}
			delete(c.serverRequests, key)
		case m.Method == "":
			return "the client sent a message without a method"
		case m.IsRequest():
			if why := c.addRequest(m, object); why != "" {
				return why
			}
		}
	}
	return ""
}

// addRequest reads a request of the client. It returns how the request violates the protocol, or "".
func (c *clientReplay) addRequest(m *Frame, object M) string {
	key := IDKey(m.ID)
	if string(m.ID) == "null" || c.sent[key] != nil {
		return "the client used the id " + string(m.ID) + " as none may be used"
	}
	params, _ := object["params"].(M)
	meta, _ := params["_meta"].(M)
	revision, modern := meta[MetaRevision].(string)
	switch {
	case modern:
		if c.s.Revision == "" || c.s.ConnectResult == nil {
			c.s.Revision, c.s.ConnectParams = revision, M{"clientInfo": meta[MetaClient]}
			c.s.clientCapabilities, _ = meta[MetaCapabilities].(M)
			c.s.era = Modern{Revision: revision}
		}
	case m.Method == "initialize":
		c.s.clientCapabilities, _ = params["capabilities"].(M)
		c.s.ConnectParams, c.s.era = params, Legacy{}
	case m.Method == "ping":
	case c.s.ConnectResult == nil:
		return "the client sent " + m.Method + " before initialize was answered"
	}
	c.sent[key] = m
	c.s.noteRequest(m.ID)
	return ""
}

func (c *clientReplay) addServerLine(f *Frame) {
	c.s.correlate(f)
	for _, m := range f.Messages() {
		switch {
		case m.IsRequest():
			c.serverRequests[IDKey(m.ID)] = true
		case m.IsResponse():
			result, _ := m.JSON()["result"].(M)
			if c.s.ConnectResult == nil && c.sent[IDKey(m.RequestID())] != nil {
				c.addConnectResult(c.sent[IDKey(m.RequestID())].Method, result)
			}
		}
	}
}

func (c *clientReplay) addConnectResult(method string, result M) {
	switch {
	case result == nil:
	case method == "initialize":
		revision, _ := result["protocolVersion"].(string)
		c.s.setConnectResult(result, revision)
	case method == "server/discover":
		c.s.setConnectResult(result, c.s.Revision)
	}
}
