package driver

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// TraceLine is one line of a session that was recorded.
type TraceLine struct {
	At   time.Duration // since the session opened
	Side Side
	Text []byte // without the newline

	Incomplete, AfterShutdown, AfterInvalidInput, Manual, ForOtherSession, Internal bool // as Frame has them

	// over RoundTrip, the one that has carried it: a number of its own in the session; 0: that is not known
	RoundTrip int
	HTTPInfo  string // of RoundTrip, as HTTPInfo has it

	Truncated bool // its rest is left out
	AfterGap  bool // lines before it are
}

// replayTimeout is for how long an answer may not have come when a recorded session ends: what a client gave up
// sooner, it may just have left.
const replayTimeout = time.Minute

// Replay is a session as it was recorded, which says nothing more. From where the client broke the protocol on, the
// session is hostile, and fault says why. Where the record leaves something out, the session ends. It is whole if the
// record has its beginning.
func Replay(opened time.Time, transport string, said []TraceLine, whole bool) (s *Session, fault string) {
	s = newSession(context.Background(), Target{Limits: Limits{ReplyTimeout: replayTimeout}.withDefaults()}, nil)
	s.opened, s.closed, s.cause = opened, true, "the record ends"
	if !whole {
		s.firstIndex = 1
	}
	c := clientReplay{
		s: s, transport: transport, sent: map[string]*Frame{}, serverRequests: map[string]bool{},
		roundTrips: map[int]*RoundTrip{},
	}
	for i, line := range said {
		if line.Truncated || line.AfterGap {
			s.limitErr = &LimitError{"the record leaves out what was said"}
			said, fault = said[:i], cmp.Or(fault, fmt.Sprintf("line %d of the session: %s", i+1, s.limitErr))
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
		if f.Side == FromClient && f.Raw.Len() > 0 && !s.hasInvalidInput && !f.AfterInvalidInput && !f.Manual {
			if why := c.addClientLine(f); why != "" {
				s.hasInvalidInput, fault = true, fmt.Sprintf("line %d of the session: %s", i+1, why)
			}
		}
		if f.Side == FromServer && !f.Manual {
			c.addServerLine(f)
		}
		if f.AfterShutdown && !s.shutdown {
			s.shutdown, s.shutdownAt = true, line.At
		}
		f.AfterInvalidInput = f.AfterInvalidInput || s.hasInvalidInput
		f.Position = Position{&s.record, s.firstIndex + len(s.frames)}
		s.frames = append(s.frames, f)
	}
	if n := len(said); n > 0 && !s.shutdown {
		s.shutdownAt = said[n-1].At
		s.shutdown = true
	}
	return s, fault
}

// clientReplay follows what the client of a recorded session says, and whether it keeps the protocol.
type clientReplay struct {
	s              *Session
	transport      string
	sent           map[string]*Frame // its requests, by id
	serverRequests map[string]bool   // requests of the server that are open, by id
	roundTrips     map[int]*RoundTrip
}

// attachRoundTrip tells a line over RoundTrip what has carried it, if the record tells that.
func (c *clientReplay) attachRoundTrip(f *Frame, line TraceLine) {
	if line.RoundTrip == 0 {
		return
	}
	h := c.s.HTTP()
	if h == nil {
		h = c.s.replayedHTTP(c.transport)
	}
	carriage := ParseHTTPInfo(line.HTTPInfo)
	if f.Side == FromClient {
		f.RoundTrip = c.s.replayedRoundTrip(f, carriage)
		f.RoundTrip.isAnsweredOnStream, f.opensStream = h.isSSE, f.RoundTrip.isListening
		c.roundTrips[line.RoundTrip] = f.RoundTrip
		return
	}
	x := c.roundTrips[line.RoundTrip]
	if x == nil {
		return
	}
	f.RoundTrip = x
	x.replay(f, carriage)
	if id := carriage.Header.Get(sessionHeader); id != "" && x.requestID != nil {
		h.addSessionID(id, x)
	}
}

// addClientLine takes in a line of the client. It returns how that breaks the protocol; empty when it does not.
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

// ask takes in a request of the client.
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

// hear takes in what the server says.
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

// addConnectResult takes in the result of a greeting.
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
