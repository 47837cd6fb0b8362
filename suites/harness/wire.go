package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Wire is what was said in every session of the run.
type Wire struct {
	Sessions []*driver.Session
}

// Whole are the sessions whose record still has its beginning.
func (w Wire) Whole() []*driver.Session {
	return slices.DeleteFunc(slices.Clone(w.Sessions), func(s *driver.Session) bool { return !s.Whole() })
}

// Message is one JSON-RPC message of the server, alone or as a member of an array.
type Message struct {
	*driver.Frame
	Session *driver.Session
	Request *driver.Frame // what a response answers; nil when nothing that was sent, and in Lines

	asked requests // of the session
}

// Subject shows the message by itself and, if there is one, the request.
func (m Message) Subject() Subject { return Subject{Frames: []*driver.Frame{m.Request, m.Frame}} }

// Messages are messages of a kind; What names the kind in reasons.
type Messages struct {
	What string
	List []Message
}

// Filter keeps the messages that match, under a name of their own.
func (m Messages) Filter(what string, keep func(Message) bool) Messages {
	out := Messages{What: what}
	for _, x := range m.List {
		if keep(x) {
			out.List = append(out.List, x)
		}
	}
	return out
}

// IsMeant reports whether the JSON is meant as a message, right or wrong, or as a batch of messages. What a server logs
// may be JSON as well.
func (m Message) IsMeant() bool {
	return !slices.ContainsFunc(m.Members(), func(f *driver.Frame) bool { return !m.asked.mean(f) })
}

// requests are what the client asked in a session, by id.
type requests map[string]*driver.Frame

// note adds those in a frame.
func (r requests) note(f *driver.Frame) {
	if f.Side != driver.FromClient {
		return
	}
	for _, m := range f.Members() {
		if m.IsRequest() {
			r[driver.IDKey(m.ID)] = m
		}
	}
}

// of is the request that a message answers; nil when there is none.
func (r requests) of(m *driver.Frame) *driver.Frame {
	if !m.IsResponse() {
		return nil
	}
	return r[driver.IDKey(m.Answers())]
}

// settled is the request that a message answers first: what comes under its id again does not.
func (r requests) settled(m *driver.Frame) *driver.Frame {
	request := r.of(m)
	if request != nil {
		delete(r, driver.IDKey(request.ID))
	}
	return request
}

// mean reports whether a JSON value is meant as a message: it says so, answers a request, or has a method that servers
// use.
func (r requests) mean(m *driver.Frame) bool {
	return m.Shape == driver.Object && (IsSpoken(m) || r.of(m) != nil)
}

// IsSpoken reports whether a frame is meant as a message, whatever was said before: it says so, or has a method that
// servers use.
func IsSpoken(f *driver.Frame) bool { return f.HasVersion || IsServerMethod(f.Method) }

// IsServerMethod reports whether a method is one that servers use.
func IsServerMethod(method string) bool {
	return slices.Contains([]string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"}, method) ||
		strings.HasPrefix(method, "notifications/") || strings.HasPrefix(method, "tasks/")
}

// Messages are what the server sent that is meant as a message, in sessions whose client kept the protocol, until it
// did not.
func (w Wire) Messages() Messages {
	out := Messages{What: "message"}
	for _, s := range w.Sessions {
		asked := requests{}
		for _, f := range s.Record(0) {
			if f.Hostile {
				break
			}
			if f.Apart || f.Strayed {
				continue
			}
			if asked.note(f); f.Side != driver.FromServer {
				continue
			}
			for _, m := range f.Members() {
				if asked.mean(m) {
					out.List = append(out.List, Message{Frame: m, Session: s, Request: asked.settled(m)})
				}
			}
		}
	}
	return out
}

// Responses are results and errors.
func (w Wire) Responses() Messages {
	return w.Messages().Filter("response", func(m Message) bool { return m.IsResponse() })
}

// Errors are error responses.
func (w Wire) Errors() Messages {
	return w.Messages().Filter("error response", func(m Message) bool { return m.IsResponse() && m.HasError })
}

// Results are success responses.
func (w Wire) Results() Messages {
	return w.Messages().Filter("success response", func(m Message) bool { return m.IsResponse() && m.HasResult })
}

// ResultsOf are the success responses to requests of a method.
func (w Wire) ResultsOf(method string) Messages {
	answers := func(m Message) bool { return m.Request != nil && m.Request.Method == method }
	return w.Results().Filter("result of "+method, answers)
}

// Requests are requests of the server.
func (w Wire) Requests() Messages {
	return w.Messages().Filter("request", func(m Message) bool { return m.IsRequest() })
}

// Notifications are notifications of the server, with an id or not.
func (w Wire) Notifications() Messages {
	return w.Messages().Filter("notification", func(m Message) bool { return m.IsNotification() })
}

// Lines are the lines that the server wrote, of every session and whatever it was sent, until its stdin was closed.
func (w Wire) Lines() Messages {
	return w.lines().Filter("output", func(m Message) bool { return !m.AfterEOF })
}

// LastLines are those that it wrote after that.
func (w Wire) LastLines() Messages {
	return w.lines().Filter("output while shutting down", func(m Message) bool { return m.AfterEOF })
}

func (w Wire) lines() (out Messages) {
	for _, s := range w.Sessions {
		asked := requests{}
		for _, f := range s.Record(0) {
			if asked.note(f); f.Side == driver.FromServer && !f.Apart {
				out.List = append(out.List, Message{Frame: f, Session: s, asked: asked})
			}
		}
	}
	return out
}

// Established keeps the messages of sessions that negotiated the revision.
func (m Messages) Established(revision string) Messages {
	return m.Filter(m.What, func(x Message) bool { return x.Session.Agreed() == revision })
}

// longest is how many bytes of a line evidence keeps.
const longest = 2000

func clip(line []byte) string {
	const tail = 200
	gap := fmt.Sprintf(" … (%d bytes left out) … ", len(line)-longest)
	return text.ShortenBytes(line, longest-tail, tail, gap)
}

// isLong reports whether clip leaves something out.
func isLong(line []byte) bool { return len(line) > longest }

// arrows show which way a line went.
var arrows = map[Direction]string{Sent: "→", Received: "←", Happened: "·"}

// directions are which way frames went.
var directions = map[driver.Side]Direction{
	driver.FromClient: Sent, driver.FromServer: Received, driver.Status: Received, driver.Event: Happened,
}

// newLine is a line of evidence with a text.
func newLine(d Direction, said []byte) Line {
	return Line{Arrow: arrows[d], Direction: d, Text: clip(said), Truncated: isLong(said)}
}

func lineOf(session string, f *driver.Frame) Line {
	said := f.Raw.Bytes()
	if f.HTTP != nil && f.Side == driver.Status {
		said = f.HTTP.Answer().Body.Bytes()
	}
	l := newLine(directions[f.Side], said)
	l.Session, l.Seconds, l.Part = session, round(f.At.Seconds()), f.Part
	last := text.Excerpt(f.Stderr, mostLines)
	l.Truncated = l.Truncated || len(last) < len(f.Stderr)
	for _, said := range last {
		l.Stderr = append(l.Stderr, clip([]byte(said)))
		l.Truncated = l.Truncated || isLong([]byte(said))
	}
	switch {
	case f.HTTP == nil:
	case f.Side == driver.FromClient:
		l.HTTP = f.HTTP.RequestLine()
	case f.Side == driver.Status, f.Side == driver.FromServer && f.Event == nil:
		l.HTTP = f.HTTP.StatusLine()
	case f.Side == driver.FromServer:
		l.HTTP = "event"
		if f.Event.HasID {
			l.HTTP += "; id: " + f.Event.ID
		}
	}
	return l
}

// ID decodes the id of a frame.
func ID(f *driver.Frame) any {
	if f.ID == nil {
		return Absent{}
	}
	return driver.Decode(json.RawMessage(f.ID))
}
