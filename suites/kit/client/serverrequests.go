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

// ServerRequest is what a server requests of its client: a request of its own in legacy revisions, an input request in
// a result in modern ones.
type ServerRequest struct {
	Method string
	// Params are the params; nil when they are not an object.
	Params check.M
	// InputKey is the key of an input request; empty for a request of its own.
	InputKey string
	Session  *driver.Session
	// Frame is the message with the request.
	Frame *driver.Frame
	// ClientRequest is the client's request that was being served; nil when that is not known.
	ClientRequest *driver.Frame
	// Response is the response of the client to a request of its own; nil when there is none.
	Response *driver.Frame

	// Candidates are the pending requests of the client if there are several, one of which may be ClientRequest.
	Candidates []*driver.Frame
}

// ServerRequests are the server requests of a method in all sessions of the tested revision, up to the first invalid
// input. Input requests of tasks are included.
func ServerRequests(t *check.T, w check.Wire, method string) (requests []ServerRequest) {
	all := check.MemoOf(t, w, "server requests", func() (all []ServerRequest) {
		if t.IsModern() {
			for _, m := range protocol.ModernResults(t, w).List {
				all = append(all, inputRequestsIn(m.Session, m.Request, m.Frame)...)
			}
			return all
		}
		for _, s := range transcript.EstablishedSessions(t, w) {
			all = append(all, ServerRequestsIn(s, s.FramesSince(0))...)
		}
		return all
	})
	for _, q := range all {
		if q.Method == method {
			requests = append(requests, q)
		}
	}
	return requests
}

// JudgeServerRequests runs a check on each server request, named by the tool. Without any it ends the check by
// SkipNotObserved.
func JudgeServerRequests(t *check.T, what string, all []ServerRequest, run func(*check.T, ServerRequest)) {
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, what, CallInteractively(t).Uncalled, toolcall.AnyTool)
	}
	check.Each(t, check.Cap(t, all), ServerRequest.Subject, run)
}

// Subject shows the request. It is named by the tool that was being called, and by its key.
func (q ServerRequest) Subject() check.Subject {
	name := q.ToolName()
	if q.InputKey != "" {
		name += ": " + q.InputKey
	}
	return check.Subject{Name: name, Frames: []*driver.Frame{q.ClientRequest, q.Frame}}
}

// ToolName is the name of the tool, prompt, resource or task that was being requested, or else the method of that
// request; empty when it is not known.
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

// ClientCapabilities are what the client had declared.
func (q ServerRequest) ClientCapabilities() check.M {
	if !catalogue.IsModern(q.Session.NegotiatedRevision()) {
		declared, _ := q.Session.ConnectParams["capabilities"].(check.M)
		return declared
	}
	params, _ := q.ClientRequest.JSON()["params"].(check.M)
	declared, _ := protocol.MetaOf(params)[driver.MetaCapabilities].(check.M)
	return declared
}

// Value is the request as it was sent, for validation against its schema; nil when it is not an object.
func (q ServerRequest) Value() any {
	if !catalogue.IsModern(q.Session.NegotiatedRevision()) {
		return q.Frame.JSON()
	}
	result, _ := q.Frame.JSON()["result"].(check.M)
	requests, _ := result["inputRequests"].(check.M)
	return requests[q.InputKey]
}

// ServerRequestsIn are the requests of the server in a part of a legacy session.
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

// activeRequests are the requests of the client that the server was serving when it sent a message: the one on whose
// stream it came or, on a shared channel, all that were pending.
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
