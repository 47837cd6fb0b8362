package client

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// Answer is what a client answers to a question: a result or an error. The zero value is no answer.
type ClientResponse struct {
	Result check.M
	Error  check.M         // only in a session of the handshake: by results a server cannot be told so
	Ready  <-chan struct{} // it is given once this is closed; nil: at once
}

// Refused is an error for an answer.
func NewErrorResponse(code int, text string) ClientResponse {
	return ClientResponse{Error: check.M{"code": code, "message": text}}
}

// Responder says what a client answers to each question for what it has declared. It may be called by any goroutine.
type Responder func(ServerRequest) ClientResponse

// AcceptAll answers as a real client whose user agrees to all: see respond.
func AcceptAll(t *check.T) Responder {
	return func(q ServerRequest) ClientResponse {
		if result, ok := toolcall.ClientResult(t, check.M{"method": q.Method, "params": q.Params}).(check.M); ok {
			return ClientResponse{Result: result}
		}
		return NewErrorResponse(errcode.MethodNotFound, "Method not found")
	}
}

// RespondTo gives one answer to the questions of a method, and is willing otherwise. A server that asks on and on has
// no answer in the end, after MaxInputRounds.
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

// RespondOnce gives an answer to the first question of a method, and is willing otherwise.
func RespondOnce(t *check.T, method string, answer ClientResponse) Responder {
	var asked atomic.Bool
	others := AcceptAll(t)
	return func(q ServerRequest) ClientResponse {
		if q.Method != method || asked.Swap(true) {
			return others(q)
		}
		return answer
	}
}

// Client is a client that has declared what it can be asked for, and answers as a check has it. In a session of the
// handshake that is the client of a session of its own; without a handshake, it is one of requests that say so.
type Client struct {
	Session      *driver.Session
	Capabilities check.M
	MaxRounds    int // in which it answers what one call asks for by its results; 0: MaxInputRounds

	mu        sync.Mutex
	responder Responder
}

// NewClient is a willing client with these capabilities.
func NewClient(t *check.T, capabilities check.M) *Client {
	return NewRespondingClient(t, capabilities, AcceptAll(t))
}

// NewRespondingClient is a client with these capabilities that answers so, but for calls that have it otherwise.
func NewRespondingClient(t *check.T, capabilities check.M, answering Responder) *Client {
	return newClient(t, capabilities, answering, check.NewSessionWithCapabilities)
}

// ReusedClient is NewRespondingClient for what may come later in a session of such a client as well as at its
// beginning.
func ReusedClient(t *check.T, capabilities check.M, answering Responder) *Client {
	return newClient(t, capabilities, answering, check.SessionWithCapabilities)
}

func newClient(
	t *check.T, capabilities check.M, answering Responder,
	begin func(t *check.T, hello check.M, prepare func(*driver.Session)) *driver.Session,
) *Client {
	c := &Client{Capabilities: capabilities, responder: answering}
	if t.IsModern() {
		c.Session = t.Session()
		return c
	}
	hello := driver.ConnectParams(t.Revision)
	hello["capabilities"] = capabilities
	begin(t, hello, func(s *driver.Session) {
		c.Session = s
		s.HandleServerRequests(c.handleRequest)
	})
	return c
}

// handleRequest answers a request of the server for what the client has declared.
func (c *Client) handleRequest(request *driver.Frame) (taken bool) {
	feature := CapabilityOfRequest[request.Method]
	if feature == "" || c.Capabilities[feature] == nil {
		return false
	}
	params, _ := request.JSON()["params"].(check.M)
	q := ServerRequest{Method: request.Method, Params: params, Session: c.Session, Frame: request}
	c.mu.Lock()
	answering := c.responder
	c.mu.Unlock()
	a := answering(q)
	if !c.hasMode(q) {
		a = NewErrorResponse(errcode.InvalidParams, "The client has not declared this mode")
	}
	go a.send(request, c.Session)
	return true
}

// CapabilityOfRequest are the requests that a client has to declare a capability for.
var CapabilityOfRequest = map[string]string{
	"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation",
}

// hasMode reports whether the client has declared the mode of a question, if that has one.
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

// HasMode reports whether a client with these capabilities has a mode of elicitation: an empty object is form alone.
func HasMode(capabilities check.M, mode string) bool {
	modes, declared := capabilities["elicitation"].(check.M)
	return declared && (check.HasMember(modes, mode) || mode == "form" && len(modes) == 0)
}

// send gives the answer to a request of the server in its time.
func (a ClientResponse) send(request *driver.Frame, s *driver.Session) {
	if a.Ready != nil {
		<-a.Ready
	}
	switch {
	case a.Error != nil:
		s.Respond(request, check.M{"error": a.Error})
	case a.Result != nil:
		s.Respond(request, check.M{"result": a.Result})
	}
}

// InteractiveCall is a call of a tool, and what its client was asked for until it had its reply.
type InteractiveCall struct {
	Tool               check.Subject
	Arguments          check.M
	ClientCapabilities check.M         // what the client has declared
	ServerRequests     []ServerRequest // in the order in which they came
	Reply              driver.Reply
	AbortReason        string // why the call came to no end, of one that asks by its results; empty: it did
}

// AsksFor reports whether it asks for a method.
func (i *InteractiveCall) AsksFor(method string) bool { return len(i.RequestsFor(method)) > 0 }

// RequestsFor are the questions of a method.
func (i *InteractiveCall) RequestsFor(method string) (all []ServerRequest) {
	for _, q := range i.ServerRequests {
		if q.Method == method {
			all = append(all, q)
		}
	}
	return all
}

// Mute reports whether the call has brought nothing at all: others like it need not be waited for.
func (i *InteractiveCall) IsSilent() bool { return !i.Reply.Answered() && len(i.ServerRequests) == 0 }

// RequireAnswered ends a check of a call that has no answer where that may be due to mcpcheck: the call asked for a
// method more often than RespondTo answers, or the server takes so long for each message that a call with questions may
// not be over in the time of one answer.
func (i *InteractiveCall) RequireAnswered(t *check.T, method string) {
	switch asked := len(i.RequestsFor(method)); {
	case i.Reply.Answered():
	case asked > toolcall.MaxInputRounds:
		t.WithReason(check.Limit).Inconclusive("it asked %d times, and mcpcheck answers no longer", asked)
	case invalid.IsTimeout(i.Reply) && t.Server.IsSlow():
		t.WithReason(check.Silent).
			Inconclusive("%v; the server takes %v for each message, and it had questions during the call",
				i.Reply.Err, t.Server.Latency.Round(100*time.Millisecond))
	}
}

// Subject shows the call, the last that it asked and the answer to that, and the reply.
func (i *InteractiveCall) Subject() check.Subject {
	frames := []*driver.Frame{i.Reply.Request}
	if n := len(i.ServerRequests); n > 0 {
		frames = append(frames, i.ServerRequests[n-1].Frame, i.ServerRequests[n-1].Response)
	}
	return check.Subject{Name: i.Tool.Name, Frames: append(frames, i.Reply.Frame)}
}

// Call calls a tool as the client, which answers so meanwhile. When there is no reply, the session is given up.
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

// setResponder has the client answer otherwise from now on, and returns how it did.
func (c *Client) setResponder(answering Responder) (before Responder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.responder = c.responder, answering
	return before
}

// runInputLoop makes the call as often as it asks by its results, with the answers.
func (i *InteractiveCall) runInputLoop(t *check.T, c *Client, first check.M, answering Responder) {
	s, params, rounds := c.Session, first, cmp.Or(c.MaxRounds, toolcall.MaxInputRounds)
	for range rounds {
		i.Reply = t.TryRequest(s, "tools/call", params)
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
