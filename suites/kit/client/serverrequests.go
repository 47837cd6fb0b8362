package client

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// ServerRequest is something that a server asked its client for: by a request of its own or, where there is no
// handshake, by an input request in a result.
type ServerRequest struct {
	Method        string
	Params        check.M // nil where they are no object
	InputKey      string  // of the input request; empty: it is a request of its own
	Session       *driver.Session
	Frame         *driver.Frame // that asks
	ClientRequest *driver.Frame // of the client that was being served meanwhile; nil where that cannot be told
	Response      *driver.Frame // of the client to a request of the server; nil where it has given none

	Candidates []*driver.Frame // of several requests under way, one of which may be Request
}

// ServerRequests are all that the server asked for by a method in sessions of the revision whose clients kept the
// protocol. What the entries of a task ask for is among them.
func ServerRequests(t *check.T, w check.Wire, method string) (all []ServerRequest) {
	if t.IsModern() {
		for _, m := range protocol.ModernResults(t, w).List {
			all = append(all, inputRequestsIn(m.Session, m.Request, m.Frame)...)
		}
	} else {
		for _, s := range transcript.EstablishedSessions(t, w) {
			all = append(all, ServerRequestsIn(s, s.FramesSince(0))...)
		}
	}
	return slices.DeleteFunc(all, func(q ServerRequest) bool { return q.Method != method })
}

// maxJudgedRequests is how many questions a check looks at: more than any run has of a server that does not flood it.
const maxJudgedRequests = 5000

// JudgeServerRequests tries a check on questions, each named by the tool that asked. Without any the check ends as
// SkipNotObserved does.
func JudgeServerRequests(t *check.T, what string, all []ServerRequest, run func(*check.T, ServerRequest)) {
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, what, CallInteractively(t).Uncalled, toolcall.AnyTool)
	}
	if left := len(all) - maxJudgedRequests; left > 0 {
		t.Caveat("%d of %d were not judged: it is a flood", left, len(all))
		all = all[:maxJudgedRequests]
	}
	check.Each(t, all, ServerRequest.Subject, run)
}

// Subject is the question, named by the tool during whose call it came, and by its key.
func (q ServerRequest) Subject() check.Subject {
	name := q.ToolName()
	if q.InputKey != "" {
		name += ": " + q.InputKey
	}
	return check.Subject{Name: name, Frames: []*driver.Frame{q.ClientRequest, q.Frame}}
}

// ToolName is the name of what was being called, got or read, or the method of another request; empty where that cannot
// be told.
func (q ServerRequest) ToolName() string {
	if q.ClientRequest == nil {
		return ""
	}
	params, _ := q.ClientRequest.JSON()["params"].(check.M)
	for _, member := range []string{"name", "uri", "taskId"} {
		if name, isString := params[member].(string); isString {
			return name
		}
	}
	return q.ClientRequest.Method
}

// Client is what the client had declared that was asked.
func (q ServerRequest) ClientCapabilities() check.M {
	if !catalogue.IsModern(q.Session.NegotiatedRevision()) {
		declared, _ := q.Session.ConnectParams["capabilities"].(check.M)
		return declared
	}
	params, _ := q.ClientRequest.JSON()["params"].(check.M)
	declared, _ := protocol.MetaOf(params)[driver.MetaCapabilities].(check.M)
	return declared
}

// Value is the request as it was written, to be held against its schema; nil where it is no object.
func (q ServerRequest) Value() any {
	if !catalogue.IsModern(q.Session.NegotiatedRevision()) {
		return q.Frame.JSON()
	}
	result, _ := q.Frame.JSON()["result"].(check.M)
	requests, _ := result["inputRequests"].(check.M)
	return requests[q.InputKey]
}

// ServerRequestsIn are the requests of the server in a part of what was said in a session of the handshake.
func ServerRequestsIn(s *driver.Session, frames []*driver.Frame) (all []ServerRequest) {
	transcript.EachServerMessage(frames, func(m *driver.Frame, asked []*transcript.TrackedRequest) {
		if m.IsRequest() && m.Method != "ping" {
			params, _ := m.JSON()["params"].(check.M)
			q := ServerRequest{Method: m.Method, Params: params, Session: s, Frame: m}
			if q.Candidates = activeRequests(m, asked); len(q.Candidates) == 1 {
				q.ClientRequest, q.Candidates = q.Candidates[0], nil
			}
			all = append(all, q)
		}
	})
	answers := map[string]*driver.Frame{}
	for _, f := range frames {
		for _, m := range f.Messages() {
			if f.Side == driver.FromClient && m.IsResponse() {
				answers[driver.IDKey(m.ID)] = m
			}
		}
	}
	for i, q := range all {
		all[i].Response = answers[driver.IDKey(q.Frame.ID)]
	}
	return all
}

// activeRequests are the requests of the client that were being served when the server sent a message: the one on whose
// stream it came or, on a channel that requests share, all that were under way.
func activeRequests(m *driver.Frame, asked []*transcript.TrackedRequest) (requests []*driver.Frame) {
	for _, a := range asked {
		switch {
		case transcript.IsOnStreamOf(m, a.Request):
			return []*driver.Frame{a.Request}
		case transcript.HasOwnStream(m), a.Response != nil, a.Cancelled, a.Request.OpensStream():
		default:
			requests = append(requests, a.Request)
		}
	}
	return requests
}

// inputRequestsIn are the input requests of a result, in the order of their keys.
func inputRequestsIn(s *driver.Session, request, f *driver.Frame) (all []ServerRequest) {
	result, _ := f.JSON()["result"].(check.M)
	requests, _ := result["inputRequests"].(check.M)
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		input, _ := requests[key].(check.M)
		method, _ := input["method"].(string)
		params, _ := input["params"].(check.M)
		all = append(all, ServerRequest{Method: method, Params: params, InputKey: key, Session: s, Frame: f,
			ClientRequest: request})
	}
	return all
}

// EndedAfterDecline reports whether the last that the client said, before the session ended with a call unanswered, was
// that its user does not agree to something, or an error to what the server asked it for.
func EndedAfterDecline(x *transcript.Call) bool {
	var last *driver.Frame
	asked := map[string]bool{} // ids of questions
	for _, f := range x.Session.FramesSince(0) {
		switch {
		case f == x.EndFrame:
			return last != nil && last.IsResponse() && asked[driver.IDKey(last.ID)] && isDecline(last)
		case f.Side == driver.FromClient:
			last = f
		case f.Side == driver.FromServer && f.IsRequest() && CapabilityOfRequest[f.Method] != "":
			asked[driver.IDKey(f.ID)] = true
		}
	}
	return false
}

// isDecline reports whether an answer to a question is an error, or that the user does not accept.
func isDecline(answer *driver.Frame) bool {
	message := answer.JSON()
	result, _ := message["result"].(check.M)
	return message["error"] != nil || check.HasMember(result, "action") && result["action"] != "accept"
}
