package kit

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// AbleIn is what a client of a revision declares that a server may ask for all there is, and whose roots may change.
func AbleIn(revision string) M {
	roots := M{"listChanged": true}
	switch {
	case IsModern(revision):
		return Able
	case revision >= "2025-11-25":
		return M{
			"elicitation": M{"form": M{}, "url": M{}}, "sampling": M{"tools": M{}, "context": M{}}, "roots": roots,
		}
	case revision >= "2025-06-18":
		return M{"elicitation": M{}, "sampling": M{}, "roots": roots}
	}
	return M{"sampling": M{}, "roots": roots}
}

// Answer is what a client answers to a question: a result or an error. The zero value is no answer.
type Answer struct {
	Result M
	Error  M               // only in a session of the handshake: by results a server cannot be told so
	When   <-chan struct{} // it is given once this is closed; nil: at once
}

// Refused is an error for an answer.
func Refused(code int, text string) Answer { return Answer{Error: M{"code": code, "message": text}} }

// Answering says what a client answers to each question for what it has declared. It may be called by any goroutine.
type Answering func(Question) Answer

// Willingly answers as a real client whose user agrees to all: see respond.
func Willingly(t *T) Answering {
	return func(q Question) Answer {
		if result, ok := respond(t, M{"method": q.Method, "params": q.Params}).(M); ok {
			return Answer{Result: result}
		}
		return Refused(methodNotFound, "Method not found")
	}
}

// Always gives one answer to the questions of a method, and is willing otherwise. A server that asks on and on has no
// answer in the end, after MostRounds.
func Always(t *T, method string, answer Answer) Answering {
	var asked atomic.Int32
	others := Willingly(t)
	return func(q Question) Answer {
		switch {
		case q.Method != method:
			return others(q)
		case asked.Add(1) > MostRounds:
			return Answer{}
		}
		return answer
	}
}

// Once gives an answer to the first question of a method, and is willing otherwise.
func Once(t *T, method string, answer Answer) Answering {
	var asked atomic.Bool
	others := Willingly(t)
	return func(q Question) Answer {
		if q.Method != method || asked.Swap(true) {
			return others(q)
		}
		return answer
	}
}

const methodNotFound = -32601

// Client is a client that has declared what it can be asked for, and answers as a check has it. In a session of the
// handshake that is the client of a session of its own; without a handshake, it is one of requests that say so.
type Client struct {
	Session  *driver.Session
	Declared M
	Rounds   int // in which it answers what one call asks for by its results; 0: MostRounds

	mu        sync.Mutex
	answering Answering
}

// NewClient is a willing client with these capabilities.
func NewClient(t *T, capabilities M) *Client {
	return NewClientAnswering(t, capabilities, Willingly(t))
}

// NewClientAnswering is a client with these capabilities that answers so, but for calls that have it otherwise.
func NewClientAnswering(t *T, capabilities M, answering Answering) *Client {
	return newClient(t, capabilities, answering, InvitingSession)
}

// ClientAgain is NewClientAnswering for what may come later in a session of such a client as well as at its beginning.
func ClientAgain(t *T, capabilities M, answering Answering) *Client {
	return newClient(t, capabilities, answering, ClientSession)
}

func newClient(
	t *T, capabilities M, answering Answering, begin func(t *T, hello M, prepare func(*driver.Session)) *driver.Session,
) *Client {
	c := &Client{Declared: capabilities, answering: answering}
	if t.Modern() {
		c.Session = t.Session()
		return c
	}
	hello := driver.Hello(t.Revision)
	hello["capabilities"] = capabilities
	begin(t, hello, func(s *driver.Session) {
		c.Session = s
		s.AnswerBy(c.answer)
	})
	return c
}

// answer answers a request of the server for what the client has declared.
func (c *Client) answer(request *driver.Frame) (taken bool) {
	feature := ClientFeatures[request.Method]
	if feature == "" || c.Declared[feature] == nil {
		return false
	}
	params, _ := request.JSON()["params"].(M)
	q := Question{Method: request.Method, Params: params, Session: c.Session, Frame: request}
	c.mu.Lock()
	answering := c.answering
	c.mu.Unlock()
	a := answering(q)
	if !c.hasMode(q) {
		a = Refused(InvalidParams, "The client has not declared this mode")
	}
	go a.give(request, c.Session)
	return true
}

// ClientFeatures are the requests that a client has to declare a capability for.
var ClientFeatures = map[string]string{
	"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation",
}

// hasMode reports whether the client has declared the mode of a question, if that has one.
func (c *Client) hasMode(q Question) bool {
	return q.Method != "elicitation/create" || HasMode(c.Declared, ModeOf(q.Params))
}

// ModeOf is the mode of an elicitation: "For backwards compatibility, servers MAY omit the mode field for form mode".
func ModeOf(params M) string {
	if !Has(params, "mode") {
		return "form"
	}
	mode, _ := params["mode"].(string)
	return mode
}

// HasMode reports whether a client with these capabilities has a mode of elicitation: an empty object is form alone.
func HasMode(capabilities M, mode string) bool {
	modes, declared := capabilities["elicitation"].(M)
	return declared && (Has(modes, mode) || mode == "form" && len(modes) == 0)
}

// give gives the answer to a request of the server in its time.
func (a Answer) give(request *driver.Frame, s *driver.Session) {
	if a.When != nil {
		<-a.When
	}
	switch {
	case a.Error != nil:
		s.Reply(request, M{"error": a.Error})
	case a.Result != nil:
		s.Reply(request, M{"result": a.Result})
	}
}

// Inquiry is a call of a tool, and what its client was asked for until it had its reply.
type Inquiry struct {
	Tool      Subject
	Arguments M
	Client    M          // what the client has declared
	Questions []Question // in the order in which they came
	Reply     driver.Reply
	GivenUp   string // why the call came to no end, of one that asks by its results; empty: it did
}

// Asks reports whether it asks for a method.
func (i *Inquiry) Asks(method string) bool { return len(i.For(method)) > 0 }

// For are the questions of a method.
func (i *Inquiry) For(method string) (all []Question) {
	for _, q := range i.Questions {
		if q.Method == method {
			all = append(all, q)
		}
	}
	return all
}

// Mute reports whether the call has brought nothing at all: others like it need not be waited for.
func (i *Inquiry) Mute() bool { return !i.Reply.Answered() && len(i.Questions) == 0 }

// WantHeard ends a check of a call that has no answer where that may be due to mcpcheck: the call asked for a method
// more often than Always answers, or the server takes so long for each message that a call with questions may not be
// over in the time of one answer.
func (i *Inquiry) WantHeard(t *T, method string) {
	switch asked := len(i.For(method)); {
	case i.Reply.Answered():
	case asked > MostRounds:
		t.Because(Limit).Inconclusive("it asked %d times, and mcpcheck answers no longer", asked)
	case IsSilence(i.Reply) && t.Server.Slow():
		t.Because(Silent).Inconclusive("%v; the server takes %v for each message, and it had questions during the call",
			i.Reply.Err, t.Server.Pace.Round(100*time.Millisecond))
	}
}

// Subject shows the call, the last that it asked and the answer to that, and the reply.
func (i *Inquiry) Subject() Subject {
	frames := []*driver.Frame{i.Reply.Request}
	if n := len(i.Questions); n > 0 {
		frames = append(frames, i.Questions[n-1].Frame, i.Questions[n-1].Answer)
	}
	return Subject{Name: i.Tool.Name, Frames: append(frames, i.Reply.Frame)}
}

// Call calls a tool as the client, which answers so meanwhile. When there is no reply, the session is given up.
func (c *Client) Call(t *T, tool Subject, arguments M, answering Answering) *Inquiry {
	i := &Inquiry{Tool: tool, Arguments: arguments, Client: c.Declared}
	params := M{"name": tool.Name, "arguments": arguments}
	if t.Modern() {
		i.inRounds(t, c, Declaring(params, c.Declared), answering)
		return i
	}
	before := c.answerBy(answering)
	defer func() { c.answerBy(before) }()
	mark := c.Session.Mark()
	p := c.Session.Request("tools/call", params)
	if i.Reply = Accept(t, c.Session.AwaitCall(p)); !i.Reply.Answered() {
		c.Session.Cancel(p, "mcpcheck waits no longer")
		c.Session.Abandon()
	}
	i.Questions = questionsIn(c.Session, c.Session.Record(mark))
	return i
}

// answerBy has the client answer otherwise from now on, and returns how it did.
func (c *Client) answerBy(answering Answering) (before Answering) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.answering = c.answering, answering
	return before
}

// inRounds makes the call as often as it asks by its results, with the answers.
func (i *Inquiry) inRounds(t *T, c *Client, first M, answering Answering) {
	s, params, rounds := c.Session, first, cmp.Or(c.Rounds, MostRounds)
	for range rounds {
		i.Reply = t.Try(s, "tools/call", params)
		if !AsksForInput(t, i.Reply) {
			return
		}
		asked := inputsIn(s, i.Reply.Request, i.Reply.Frame)
		i.Questions = append(i.Questions, asked...)
		responses := M{}
		for _, q := range asked {
			answer := answering(q)
			if answer.Result == nil {
				i.GivenUp = fmt.Sprintf("it asks for %s, to which there is no answer", q.Method)
				return
			}
			responses[q.Key] = answer.Result
		}
		params = Retry(first, i.Reply, responses)
	}
	i.GivenUp = fmt.Sprintf("it still asks for input after %d rounds, mcpcheck's own limit", rounds)
}
