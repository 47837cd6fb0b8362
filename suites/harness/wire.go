package harness

import (
	"encoding/json"
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Wire is what was said in every session of the run.
type Wire struct {
	Sessions []*driver.Session
}

// Message is one JSON-RPC message of the server, alone or as a member of an array.
type Message struct {
	*driver.Frame
	Session *driver.Session
	Request *driver.Frame // what a response answers; nil when nothing that was sent
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

// Messages are all JSON objects that the server sent in sessions whose client kept the protocol, until it did not.
func (w Wire) Messages() Messages {
	out := Messages{What: "message"}
	for _, s := range w.Sessions {
		requests := map[string]*driver.Frame{}
		for _, f := range s.Record(0) {
			if f.Hostile {
				break
			}
			if f.Apart {
				continue
			}
			for _, m := range f.Members() {
				switch {
				case f.Side == driver.FromClient && m.IsRequest():
					requests[driver.IDKey(m.ID)] = m
				case f.Side == driver.FromServer && m.Shape == driver.Object:
					message := Message{Frame: m, Session: s}
					if m.IsResponse() {
						message.Request = requests[driver.IDKey(m.ID)]
					}
					out.List = append(out.List, message)
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
	out := Messages{What: "output"}
	for _, s := range w.Sessions {
		for _, f := range s.Record(0) {
			if f.Side == driver.FromServer && !f.AfterEOF && !f.Apart {
				out.List = append(out.List, Message{Frame: f, Session: s})
			}
		}
	}
	return out
}

// Established keeps the messages of sessions that negotiated the revision.
func (m Messages) Established(revision string) Messages {
	return m.Filter(m.What, func(x Message) bool { return x.Session.Revision == revision })
}

// longest is how many bytes of a line evidence keeps.
const longest = 2000

func clip(line string) string {
	const tail = 200
	gap := fmt.Sprintf(" … (%d bytes left out) … ", len(line)-longest)
	return text.Shorten(line, text.Bytes, longest-tail, tail, gap)
}

// arrows show which way a frame went.
var arrows = map[driver.Side]string{
	driver.FromClient: "→", driver.FromServer: "←", driver.Event: "·", driver.Status: "←",
}

func lineOf(session string, f *driver.Frame) Line {
	l := Line{Session: session, Seconds: round(f.At.Seconds()), Arrow: arrows[f.Side], Text: clip(string(f.Raw))}
	switch {
	case f.HTTP == nil:
	case f.Side == driver.FromClient:
		l.HTTP = f.HTTP.RequestLine()
	case f.Side == driver.FromServer && f.Event == nil:
		l.HTTP = f.HTTP.StatusLine()
	case f.Side == driver.FromServer:
		l.HTTP = "event"
		if f.Event.HasID {
			l.HTTP += "; id: " + f.Event.ID
		}
	case f.Side == driver.Status:
		l.HTTP, l.Text = f.HTTP.StatusLine(), clip(string(f.HTTP.Answer().Body))
	}
	return l
}

// mostLines is how many lines of evidence a result keeps.
const mostLines = 80

func bound(lines []Line) []Line {
	if len(lines) <= mostLines {
		return lines
	}
	head, tail := mostLines/4, mostLines*3/4
	gap := Line{Arrow: "·", Text: fmt.Sprintf("%d lines left out", len(lines)-head-tail)}
	out := append([]Line{}, lines[:head]...)
	out = append(out, gap)
	return append(out, lines[len(lines)-tail:]...)
}

// ID decodes the id of a frame.
func ID(f *driver.Frame) any {
	if f.ID == nil {
		return Absent{}
	}
	return driver.Decode(json.RawMessage(f.ID))
}
