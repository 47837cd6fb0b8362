package kit

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Question is something that a server asked its client for: by a request of its own or, where there is no handshake, by
// an input request in a result.
type Question struct {
	Method  string
	Params  M      // nil where they are no object
	Key     string // of the input request; empty: it is a request of its own
	Session *driver.Session
	Frame   *driver.Frame // that asks
	Request *driver.Frame // of the client that was being served meanwhile; nil where that cannot be told
	Answer  *driver.Frame // of the client to a request of the server; nil where it has given none

	among []*driver.Frame // of several requests under way, one of which may be Request
}

// Questions are all that the server asked for by a method in sessions of the revision whose clients kept the protocol.
// What the entries of a task ask for is among them.
func Questions(t *T, w Wire, method string) (all []Question) {
	if t.Modern() {
		for _, m := range Results(t, w).List {
			all = append(all, inputsIn(m.Session, m.Request, m.Frame)...)
		}
	} else {
		for _, s := range Established(t, w) {
			all = append(all, questionsIn(s, s.Record(0))...)
		}
	}
	return slices.DeleteFunc(all, func(q Question) bool { return q.Method != method })
}

// mostQuestions is how many questions a check looks at: more than any run has of a server that does not flood it.
const mostQuestions = 5000

// JudgeQuestions tries a check on questions, each named by the tool that asked. Without any the check ends as
// NothingSeen does.
func JudgeQuestions(t *T, what string, all []Question, run func(*T, Question)) {
	if len(all) == 0 {
		NothingSeen(t, what, Inquiries(t).Uncalled, AnyTool)
	}
	if left := len(all) - mostQuestions; left > 0 {
		t.Partly("%d of %d were not judged: it is a flood", left, len(all))
		all = all[:mostQuestions]
	}
	Each(t, all, Question.Subject, run)
}

// Subject is the question, named by the tool during whose call it came, and by its key.
func (q Question) Subject() Subject {
	name := q.tool()
	if q.Key != "" {
		name += ": " + q.Key
	}
	return Subject{Name: name, Frames: []*driver.Frame{q.Request, q.Frame}}
}

// tool is the name of what was being called, got or read, or the method of another request; empty where that cannot be
// told.
func (q Question) tool() string {
	if q.Request == nil {
		return ""
	}
	params, _ := q.Request.JSON()["params"].(M)
	for _, member := range []string{"name", "uri", "taskId"} {
		if name, isString := params[member].(string); isString {
			return name
		}
	}
	return q.Request.Method
}

// Client is what the client had declared that was asked.
func (q Question) Client() M {
	if !IsModern(q.Session.Agreed()) {
		declared, _ := q.Session.Hello["capabilities"].(M)
		return declared
	}
	params, _ := q.Request.JSON()["params"].(M)
	declared, _ := MetaOf(params)[driver.MetaCapabilities].(M)
	return declared
}

// Value is the request as it was written, to be held against its schema; nil where it is no object.
func (q Question) Value() any {
	if !IsModern(q.Session.Agreed()) {
		return q.Frame.JSON()
	}
	result, _ := q.Frame.JSON()["result"].(M)
	requests, _ := result["inputRequests"].(M)
	return requests[q.Key]
}

// questionsIn are the requests of the server in a part of what was said in a session of the handshake.
func questionsIn(s *driver.Session, frames []*driver.Frame) (all []Question) {
	EachSaid(frames, func(m *driver.Frame, asked []*Asked) {
		if m.IsRequest() && m.Method != "ping" {
			params, _ := m.JSON()["params"].(M)
			q := Question{Method: m.Method, Params: params, Session: s, Frame: m}
			if q.among = servedWhile(m, asked); len(q.among) == 1 {
				q.Request, q.among = q.among[0], nil
			}
			all = append(all, q)
		}
	})
	answers := map[string]*driver.Frame{}
	for _, f := range frames {
		for _, m := range f.Members() {
			if f.Side == driver.FromClient && m.IsResponse() {
				answers[driver.IDKey(m.ID)] = m
			}
		}
	}
	for i, q := range all {
		all[i].Answer = answers[driver.IDKey(q.Frame.ID)]
	}
	return all
}

// servedWhile are the requests of the client that were being served when the server sent a message: the one on whose
// stream it came or, on a channel that requests share, all that were under way.
func servedWhile(m *driver.Frame, asked []*Asked) (requests []*driver.Frame) {
	for _, a := range asked {
		switch {
		case OfRequest(m, a.Request):
			return []*driver.Frame{a.Request}
		case hasOwnStream(m), a.Answer != nil, a.Over, a.Request.IsStanding():
		default:
			requests = append(requests, a.Request)
		}
	}
	return requests
}

// inputsIn are the input requests of a result, in the order of their keys.
func inputsIn(s *driver.Session, request, f *driver.Frame) (all []Question) {
	result, _ := f.JSON()["result"].(M)
	requests, _ := result["inputRequests"].(M)
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		input, _ := requests[key].(M)
		method, _ := input["method"].(string)
		params, _ := input["params"].(M)
		all = append(all, Question{Method: method, Params: params, Key: key, Session: s, Frame: f, Request: request})
	}
	return all
}

// Declined reports whether the last that the client said, before the session ended with the request unanswered, was
// that its user does not agree to something, or an error to what the server asked it for.
func (x *Exchange) Declined() bool {
	var last *driver.Frame
	asked := map[string]bool{} // ids of questions
	for _, f := range x.Session.Record(0) {
		switch {
		case f == x.End:
			return last != nil && last.IsResponse() && asked[driver.IDKey(last.ID)] && disagrees(last)
		case f.Side == driver.FromClient:
			last = f
		case f.Side == driver.FromServer && f.IsRequest() && ClientFeatures[f.Method] != "":
			asked[driver.IDKey(f.ID)] = true
		}
	}
	return false
}

// disagrees reports whether an answer to a question is an error, or that the user does not accept.
func disagrees(answer *driver.Frame) bool {
	message := answer.JSON()
	result, _ := message["result"].(M)
	return message["error"] != nil || Has(result, "action") && result["action"] != "accept"
}
