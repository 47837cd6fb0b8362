package driver

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Saying is one line of a session that was recorded.
type Saying struct {
	At   time.Duration // since the session opened
	Side Side
	Text []byte // without the newline

	Unended, AfterEOF, Hostile, Apart, Strayed, Aside bool // as Frame has them

	Exchange int    // over HTTP, the one that has carried it: a number of its own in the session; 0: that is not known
	Carriage string // of HTTP, as Carriage has it

	Cut bool // its rest is left out
	Gap bool // lines before it are
}

// replayPatience is for how long an answer may not have come when a recorded session ends: what a client gave up
// sooner, it may just have left.
const replayPatience = time.Minute

// Replay is a session as it was recorded, which says nothing more. From where the client broke the protocol on, the
// session is hostile, and fault says why. Where the record leaves something out, the session ends. It is whole if the
// record has its beginning.
func Replay(opened time.Time, transport string, said []Saying, whole bool) (s *Session, fault string) {
	s = newSession(context.Background(), Target{Limits: Limits{Reply: replayPatience}.withDefaults()}, nil)
	s.opened, s.closed, s.cause = opened, true, "the record ends"
	if !whole {
		s.first = 1
	}
	c := replayedClient{
		s: s, transport: transport, sent: map[string]*Frame{}, asked: map[string]bool{}, exchanges: map[int]*Exchange{},
	}
	for i, line := range said {
		if line.Cut || line.Gap {
			s.excess = &Excess{"the record leaves out what was said"}
			said, fault = said[:i], cmp.Or(fault, fmt.Sprintf("line %d of the session: %s", i+1, s.excess))
			break
		}
		f := &Frame{
			At: line.At, Side: line.Side, Raw: Text(line.Text), Ended: !line.Unended, AfterEOF: line.AfterEOF,
			Hostile: line.Hostile, Apart: line.Apart, Strayed: line.Strayed, Aside: line.Aside,
		}
		if f.Side == FromClient || f.Side == FromServer {
			f.parse()
		}
		c.carry(f, line)
		if f.Side == FromClient && f.Raw.Len() > 0 && !s.hostile && !f.Hostile && !f.Apart {
			if why := c.say(f); why != "" {
				s.hostile, fault = true, fmt.Sprintf("line %d of the session: %s", i+1, why)
			}
		}
		if f.Side == FromServer && !f.Apart {
			c.hear(f)
		}
		if f.AfterEOF && !s.eof {
			s.eof, s.left = true, line.At
		}
		f.Hostile = f.Hostile || s.hostile
		f.Place = Place{&s.record, s.first + len(s.frames)}
		s.frames = append(s.frames, f)
	}
	if n := len(said); n > 0 && !s.eof {
		s.left = said[n-1].At
		s.eof = true
	}
	return s, fault
}

// replayedClient follows what the client of a recorded session says, and whether it keeps the protocol.
type replayedClient struct {
	s         *Session
	transport string
	sent      map[string]*Frame // its requests, by id
	asked     map[string]bool   // requests of the server that are open, by id
	exchanges map[int]*Exchange
}

// carry tells a line over HTTP what has carried it, if the record tells that.
func (c *replayedClient) carry(f *Frame, line Saying) {
	if line.Exchange == 0 {
		return
	}
	h := c.s.HTTP()
	if h == nil {
		h = c.s.replayed(c.transport)
	}
	carriage := ParseCarriage(line.Carriage)
	if f.Side == FromClient {
		f.HTTP = c.s.replayedRequest(f, carriage)
		f.HTTP.elsewhere, f.standing = h.old, f.HTTP.standing
		c.exchanges[line.Exchange] = f.HTTP
		return
	}
	x := c.exchanges[line.Exchange]
	if x == nil {
		return
	}
	f.HTTP = x
	x.replay(f, carriage)
	if id := carriage.Header.Get(sessionHeader); id != "" && x.asked != nil {
		h.keep(id, x)
	}
}

// say takes in a line of the client. It returns how that breaks the protocol; empty when it does not.
func (c *replayedClient) say(f *Frame) string {
	if f.Shape == Array && c.s.Revision != "2025-03-26" || f.Shape != Array && f.Shape != Object {
		return "the client sent a line that is not a JSON-RPC message"
	}
	for _, m := range f.Members() {
		object := m.JSON()
		if object == nil || object["jsonrpc"] != "2.0" {
			return "the client sent a message that is not JSON-RPC 2.0"
		}
		key := IDKey(m.ID)
		switch {
		case m.IsResponse():
			if m.HasResult == m.HasError || !c.asked[key] {
				return "the client answered what nobody asked"
			}
			delete(c.asked, key)
		case m.Method == "":
			return "the client sent a message without a method"
		case m.IsRequest():
			if why := c.ask(m, object); why != "" {
				return why
			}
		}
	}
	return ""
}

// ask takes in a request of the client.
func (c *replayedClient) ask(m *Frame, object M) string {
	key := IDKey(m.ID)
	if string(m.ID) == "null" || c.sent[key] != nil {
		return "the client used the id " + string(m.ID) + " as none may be used"
	}
	params, _ := object["params"].(M)
	meta, _ := params["_meta"].(M)
	revision, modern := meta[MetaRevision].(string)
	switch {
	case modern:
		if c.s.Revision == "" || c.s.Welcome == nil {
			c.s.Revision, c.s.Hello = revision, M{"clientInfo": meta[MetaClient]}
			c.s.client, _ = meta[MetaCapabilities].(M)
			c.s.era = Modern{Revision: revision}
		}
	case m.Method == "initialize":
		c.s.client, _ = params["capabilities"].(M)
		c.s.Hello, c.s.era = params, Handshake{}
	case m.Method == "ping":
	case c.s.Welcome == nil:
		return "the client sent " + m.Method + " before initialize was answered"
	}
	c.sent[key] = m
	c.s.ask(m.ID)
	return ""
}

// hear takes in what the server says.
func (c *replayedClient) hear(f *Frame) {
	c.s.attribute(f)
	for _, m := range f.Members() {
		switch {
		case m.IsRequest():
			c.asked[IDKey(m.ID)] = true
		case m.IsResponse():
			result, _ := m.JSON()["result"].(M)
			if c.s.Welcome == nil && c.sent[IDKey(m.Answers())] != nil {
				c.welcome(c.sent[IDKey(m.Answers())].Method, result)
			}
		}
	}
}

// welcome takes in the result of a greeting.
func (c *replayedClient) welcome(method string, result M) {
	switch {
	case result == nil:
	case method == "initialize":
		revision, _ := result["protocolVersion"].(string)
		c.s.agree(result, revision)
	case method == "server/discover":
		c.s.agree(result, c.s.Revision)
	}
}
