package client

import (
	"cmp"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// ClientResponse is the response of a client to a server request: a result or an error. The zero value is no response.
type ClientResponse struct {
	// Result is a result; nil when there is none.
	Result check.M
	// Error is an error. Only legacy sessions have it: an input request of a modern server cannot be answered with an
	// error.
	Error check.M
}

// NewErrorResponse is a response with an error.
func NewErrorResponse(code int, text string) ClientResponse {
	return ClientResponse{Error: check.M{"code": code, "message": text}}
}

// Responder says how a client answers a server request. It may be called by any goroutine.
type Responder func(ServerRequest) ClientResponse

// AcceptAll answers like a real client whose user agrees to everything (toolcall.ClientResult).
func AcceptAll(t *check.T) Responder {
	return func(q ServerRequest) ClientResponse {
		if result, ok := toolcall.ClientResult(t, check.M{"method": q.Method, "params": q.Params}).(check.M); ok {
			return ClientResponse{Result: result}
		}
		return NewErrorResponse(errcode.MethodNotFound, "Method not found")
	}
}

// RespondTo gives one response to all requests of a method, and accepts all others. After MaxInputRounds requests it no
// longer responds, since a server may ask forever.
func RespondTo(t *check.T, method string, answer ClientResponse) Responder {
	var asked atomic.Int32
	others := AcceptAll(t)
	return func(q ServerRequest) ClientResponse {
		switch {
		case q.Method != method:
			return others(q)
		case asked.Add(1) > toolcall.MaxInputRounds:
			return ClientResponse{}
		}
		return answer
	}
}

// Client is a client with declared capabilities, which answers as a check needs it. In legacy revisions it has a
// session of its own; in modern ones its capabilities are declared in each request.
type Client struct {
	Session      *driver.Session
	Capabilities check.M
	// MaxRounds is how many rounds of input requests it answers in one call; 0 is MaxInputRounds.
	MaxRounds int

	mu        sync.Mutex
	responder Responder
}

// NewClient is a client with these capabilities that answers by a responder, which CallTool may replace for a call.
func NewClient(t *check.T, capabilities check.M, answering Responder) *Client {
	return newClient(t, capabilities, answering, check.Exclusive)
}

// ReusedClient is NewClient for a check that needs no new session, but can use that of an earlier client with the same
// capabilities, that of the handshake scenario of a client with all capabilities among them.
func ReusedClient(t *check.T, capabilities check.M, answering Responder) *Client {
	if !t.IsModern() && !t.IsConfirmation() && reflect.DeepEqual(capabilities, protocol.AllCapabilities(t.Revision)) {
		handshake.RunScenario(t, handshake.Scenario{RefuseRequests: true})
	}
	return newClient(t, capabilities, answering)
}

func newClient(t *check.T, capabilities check.M, answering Responder, options ...check.SessionOption) *Client {
	c := &Client{Capabilities: capabilities, responder: answering}
	if t.IsModern() {
		c.Session = t.Session()
		return c
	}
	params := driver.ConnectParams(t.Revision)
	params["capabilities"] = capabilities
	t.Session(append(options, check.WithCapabilities(params, func(s *driver.Session) {
		c.Session = s
		s.HandleServerRequests(c.handleRequest)
	}))...)
	return c
}

// handleRequest answers a request of the server for a declared capability.
func (c *Client) handleRequest(request *driver.Frame) (taken bool) {
	feature := CapabilityOfRequest[request.Method]
	if feature == "" || c.Capabilities[feature] == nil {
		return false
	}
	params, _ := request.JSON()["params"].(check.M)
	q := ServerRequest{Method: request.Method, Params: params, Session: c.Session, Frame: request}
	a := NewErrorResponse(errcode.InvalidParams, "The client has not declared this mode")
	if c.hasMode(q) {
		c.mu.Lock()
		answering := c.responder
		c.mu.Unlock()
		a = answering(q)
	}
	go a.send(request, c.Session)
	return true
}

// CapabilityOfRequest is the capability that a client has to declare for a request of the server.
var CapabilityOfRequest = map[string]string{
	"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation",
}

// hasMode reports whether the client declared the mode of an elicitation; requests of other kinds have none.
func (c *Client) hasMode(q ServerRequest) bool {
	return q.Method != "elicitation/create" || HasMode(c.Capabilities, ModeOf(q.Params))
}

// ModeOf is the mode of an elicitation: "For backwards compatibility, servers MAY omit the mode field for form mode".
func ModeOf(params check.M) string {
	if !check.HasMember(params, "mode") {
		return "form"
	}
	mode, _ := params["mode"].(string)
	return mode
}

// HasMode reports whether a client with these capabilities supports a mode of elicitation. An empty object means form
// only.
func HasMode(capabilities check.M, mode string) bool {
	modes, declared := capabilities["elicitation"].(check.M)
	return declared && (check.HasMember(modes, mode) || mode == "form" && len(modes) == 0)
}

// send sends the response to a request of the server.
func (a ClientResponse) send(request *driver.Frame, s *driver.Session) {
	switch {
	case a.Error != nil:
		s.Respond(request, check.M{"error": a.Error})
	case a.Result != nil:
		s.Respond(request, check.M{"result": a.Result})
	}
}

// InteractiveCall is a call of a tool with the server requests during it.
type InteractiveCall struct {
	Tool      check.Subject
	Arguments check.M
	// ClientCapabilities are what the client declared.
	ClientCapabilities check.M
	// ServerRequests are in the order in which they came.
	ServerRequests []ServerRequest
	Reply          driver.Reply
	// AbortReason is why the loop of input requests was not finished; empty when it was.
	AbortReason string
}

// AsksFor reports whether the server sent a request of a method during the call.
func (i *InteractiveCall) AsksFor(method string) bool { return len(i.RequestsFor(method)) > 0 }

// RequestsFor are the server requests of a method.
func (i *InteractiveCall) RequestsFor(method string) (all []ServerRequest) {
	for _, q := range i.ServerRequests {
		if q.Method == method {
			all = append(all, q)
		}
	}
	return all
}

// IsSilent reports whether there was neither a response nor a server request. Other calls like it are not worth a wait.
func (i *InteractiveCall) IsSilent() bool { return !i.Reply.Answered() && len(i.ServerRequests) == 0 }

// RequireAnswered ends a check of a call without a response where mcpcheck may be the reason: the server sent more
// requests than RespondTo answers, or takes so long for each message that a call with requests may not end in time.
func (i *InteractiveCall) RequireAnswered(t *check.T, method string) {
	switch asked := len(i.RequestsFor(method)); {
	case i.Reply.Answered():
	case asked > toolcall.MaxInputRounds:
		t.NoVerdict(check.Limit, "it asked %d times, and mcpcheck answers no longer", asked)
	case invalid.IsTimeout(i.Reply) && t.Server.IsSlow():
		t.NoVerdict(check.Silent, "%v; the server takes %v for each message, and it had questions during the call",
			i.Reply.Err, t.Server.Latency.Round(100*time.Millisecond))
	}
}

// Subject shows the call, the last server request with its response, and the reply.
func (i *InteractiveCall) Subject() check.Subject {
	frames := []*driver.Frame{i.Reply.Request}
	if n := len(i.ServerRequests); n > 0 {
		frames = append(frames, i.ServerRequests[n-1].Frame, i.ServerRequests[n-1].Response)
	}
	return check.Subject{Name: i.Tool.Name, Frames: append(frames, i.Reply.Frame)}
}

// CallTool calls a tool as the client, which answers by this responder meanwhile. When there is no response, the
// session is marked unusable.
func (c *Client) CallTool(t *check.T, tool check.Subject, arguments check.M, answering Responder) *InteractiveCall {
	i := &InteractiveCall{Tool: tool, Arguments: arguments, ClientCapabilities: c.Capabilities}
	params := check.M{"name": tool.Name, "arguments": arguments}
	if t.IsModern() {
		i.runInputLoop(t, c, protocol.WithCapabilities(params, c.Capabilities), answering)
		return i
	}
	before := c.setResponder(answering)
	defer func() { c.setResponder(before) }()
	mark := c.Session.Mark()
	p := c.Session.Request("tools/call", params)
	if i.Reply = check.RequireServerReply(t, c.Session.AwaitLongRunning(p)); !i.Reply.Answered() {
		c.Session.Cancel(p, "mcpcheck waits no longer")
		c.Session.MarkUnusable()
	}
	i.ServerRequests = ServerRequestsIn(c.Session, c.Session.FramesSince(mark))
	return i
}

// setResponder replaces the responder, and returns the one before.
func (c *Client) setResponder(answering Responder) (before Responder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.responder = c.responder, answering
	return before
}

// runInputLoop makes the call of a modern revision again with the responses to its input requests, as often as it has
// some.
func (i *InteractiveCall) runInputLoop(t *check.T, c *Client, first check.M, answering Responder) {
	s, params, rounds := c.Session, first, cmp.Or(c.MaxRounds, toolcall.MaxInputRounds)
	for range rounds {
		i.Reply = t.Send(s, "tools/call", params, check.AllowSilence)
		if !toolcall.IsInputRequired(t, i.Reply) {
			return
		}
		asked := inputRequestsIn(s, i.Reply.Request, i.Reply.Frame)
		i.ServerRequests = append(i.ServerRequests, asked...)
		responses := check.M{}
		for _, q := range asked {
			answer := answering(q)
			if answer.Result == nil {
				i.AbortReason = fmt.Sprintf("it asks for %s, to which there is no answer", q.Method)
				return
			}
			responses[q.InputKey] = answer.Result
		}
		params = toolcall.RetryParams(first, i.Reply, responses)
	}
	i.AbortReason = fmt.Sprintf("it still asks for input after %d rounds, mcpcheck's own limit", rounds)
}
