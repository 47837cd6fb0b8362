package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Wire is what was sent and received in every session of the run.
type Wire struct {
	Sessions []*driver.Session
}

// CompleteSessions returns the sessions whose record still has its beginning.
func (w Wire) CompleteSessions() []*driver.Session {
	return slices.DeleteFunc(slices.Clone(w.Sessions), func(s *driver.Session) bool { return !s.HasBeginning() })
}

// Message is one JSON-RPC message of the server, alone or as a member of a batch.
type Message struct {
	*driver.Frame
	Session *driver.Session
	// Request is the request that a response answers; nil when there is none, and in the messages of Lines.
	Request *driver.Frame

	// requests are the requests of the session.
	requests requestsByID
}

// Subject returns a subject that shows the message and, if there is one, its request.
func (m Message) Subject() Subject { return Subject{Frames: []*driver.Frame{m.Request, m.Frame}} }

// Reply returns a response as the reply to its request.
func (m Message) Reply() driver.Reply { return driver.NewReply(m.Request, m.Frame) }

// Messages are messages of one kind; Kind is the name of the kind in reasons.
type Messages struct {
	Kind string
	List []Message
}

// Filter returns the messages for which keep returns true, as a kind of their own.
func (m Messages) Filter(what string, keep func(Message) bool) Messages {
	out := Messages{Kind: what}
	for _, x := range m.List {
		if keep(x) {
			out.List = append(out.List, x)
		}
	}
	return out
}

// LooksLikeMessage reports whether the JSON is meant as a message, valid or not, or as a batch of messages. What a
// server logs may be JSON as well.
func (m Message) LooksLikeMessage() bool {
	return !slices.ContainsFunc(m.Messages(), func(f *driver.Frame) bool { return !m.requests.looksLikeMessage(f) })
}

// requestsByID are the client's requests in a session, by id.
type requestsByID map[string]*driver.Frame

// add adds the requests in a frame.
func (r requestsByID) add(f *driver.Frame) {
	if f.Side != driver.FromClient {
		return
	}
	for _, m := range f.Messages() {
		if m.IsRequest() {
			r[driver.IDKey(m.ID)] = m
		}
	}
}

// requestOf returns the request that a message answers; nil when there is none.
func (r requestsByID) requestOf(m *driver.Frame) *driver.Frame {
	if !m.IsResponse() {
		return nil
	}
	return r[driver.IDKey(m.RequestID())]
}

// takeRequestOf returns and removes the request that a message answers, so that a second response with the same id
// answers none.
func (r requestsByID) takeRequestOf(m *driver.Frame) *driver.Frame {
	request := r.requestOf(m)
	if request != nil {
		delete(r, driver.IDKey(request.ID))
	}
	return request
}

// looksLikeMessage reports whether a JSON value is meant as a message: it has a member jsonrpc, answers a request, or
// has a method that servers use.
func (r requestsByID) looksLikeMessage(m *driver.Frame) bool {
	return m.Kind == driver.Object && (IsMessageByItself(m) || r.requestOf(m) != nil)
}

// IsMessageByItself reports whether a frame is meant as a message even without the messages before it: it has a member
// jsonrpc, or a method that servers use.
func IsMessageByItself(f *driver.Frame) bool { return f.HasJSONRPC || IsServerMethod(f.Method) }

// IsServerMethod reports whether a method is one that servers use.
func IsServerMethod(method string) bool {
	return slices.Contains([]string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"}, method) ||
		strings.HasPrefix(method, "notifications/") || strings.HasPrefix(method, "tasks/")
}

// Messages returns everything the server sent that is meant as a message. In each session it stops where the client
// first sent invalid input.
func (w Wire) Messages() Messages { return w.messages(false) }

// messages is Messages and, if afterInvalidInput is set, what came after invalid input.
func (w Wire) messages(afterInvalidInput bool) Messages {
	out := Messages{Kind: "message"}
	for _, s := range w.Sessions {
		asked := requestsByID{}
		for _, f := range s.FramesSince(0) {
			if f.AfterInvalidInput && !afterInvalidInput {
				break
			}
			if f.Manual || f.ForOtherSession {
				continue
			}
			if asked.add(f); f.Side != driver.FromServer {
				continue
			}
			for _, m := range f.Messages() {
				if asked.looksLikeMessage(m) {
					out.List = append(out.List, Message{Frame: m, Session: s, Request: asked.takeRequestOf(m)})
				}
			}
		}
	}
	return out
}

// Responses returns the server's responses: results and errors.
func (w Wire) Responses() Messages {
	return w.Messages().Filter("response", func(m Message) bool { return m.IsResponse() })
}

// Errors returns the server's error responses.
func (w Wire) Errors() Messages {
	return w.Messages().Filter("error response", func(m Message) bool { return m.IsResponse() && m.HasError })
}

// ErrorsToRequests returns the error responses to requests, among them those that no conforming client sends: they have
// the form of any error.
func (w Wire) ErrorsToRequests() Messages {
	return w.messages(true).Filter("error response", func(m Message) bool {
		return m.Request != nil && m.HasError && !m.HasResult
	})
}

// Results returns the server's success responses.
func (w Wire) Results() Messages {
	return w.Messages().Filter("success response", func(m Message) bool { return m.IsResponse() && m.HasResult })
}

// ResultsOf returns the success responses to requests of a method.
func (w Wire) ResultsOf(method string) Messages {
	answers := func(m Message) bool { return m.Request != nil && m.Request.Method == method }
	return w.Results().Filter("result of "+method, answers)
}

// Requests returns the server's requests.
func (w Wire) Requests() Messages {
	return w.Messages().Filter("request", func(m Message) bool { return m.IsRequest() })
}

// Notifications returns the server's notifications. Those that wrongly have an id are Requests instead.
func (w Wire) Notifications() Messages {
	return w.Messages().Filter("notification", func(m Message) bool { return m.IsNotification() })
}

// Lines returns the lines that the server wrote in any session until its stdin was closed, whatever it was sent before.
func (w Wire) Lines() Messages {
	return w.allLines().Filter("output", func(m Message) bool { return !m.AfterShutdown })
}

// ShutdownLines returns the lines that the server wrote after its stdin was closed.
func (w Wire) ShutdownLines() Messages {
	return w.allLines().Filter("output while shutting down", func(m Message) bool { return m.AfterShutdown })
}

func (w Wire) allLines() (out Messages) {
	for _, s := range w.Sessions {
		asked := requestsByID{}
		for _, f := range s.FramesSince(0) {
			if asked.add(f); f.Side == driver.FromServer && !f.Manual {
				out.List = append(out.List, Message{Frame: f, Session: s, requests: asked})
			}
		}
	}
	return out
}

// Negotiated returns the messages of sessions that negotiated the revision.
func (m Messages) Negotiated(revision string) Messages {
	return m.Filter(m.Kind, func(x Message) bool { return x.Session.NegotiatedRevision() == revision })
}

// FrameID returns the decoded id of a frame; Absent when it has none.
func FrameID(f *driver.Frame) any {
	if f.ID == nil {
		return Absent{}
	}
	return driver.Decode(json.RawMessage(f.ID))
}
