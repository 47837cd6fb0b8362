package kit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Malformed are lines, to be filled by Fill, that are not a valid message, by what is wrong with them. They go to
// hostile sessions; that those survive is robust/survives-malformed-json.
var Malformed = map[string]string{
	NotJSON:                     `{"mcpcheck" !!}`,
	"a request without jsonrpc": `{"id":70021,$harmless}`,
	"a request of jsonrpc 1.0":  `{"jsonrpc":"1.0","id":70022,$harmless}`,
	MethodNumber:                `{"jsonrpc":"2.0","id":70023,"method":5}`,
	"params that are a string":  `{"jsonrpc":"2.0","id":70031,"method":$method,"params":"x"}`,
	"params that are an array":  `{"jsonrpc":"2.0","id":70032,"method":$method,"params":[1]}`,
	"a request with id null":    `{"jsonrpc":"2.0","id":null,$harmless}`,
	"member names in capitals":  `{"jsonrpc":"2.0","ID":70025,"METHOD":$method}`,
	EmptyArray:                  `[]`,
	MixedArray:                  `[1,{"jsonrpc":"2.0","id":70061,$harmless}]`,
	NumbersArray:                `[1,2,3]`,
	NoMethodArray:               `[{"jsonrpc":"2.0","id":70066},{"jsonrpc":"2.0","id":70067,$harmless}]`,
}

// Names in Malformed that are used by more than one line of code.
const (
	NotJSON       = "a line that is not JSON"
	MethodNumber  = "a method that is a number"
	EmptyArray    = "empty array"
	MixedArray    = "an array with a number"
	NumbersArray  = "an array of numbers"
	NoMethodArray = "an array with a message that has no method"
)

// Messages that are well formed, but that no client sends.
const (
	RequestWithoutID   = `{"jsonrpc":"2.0",$harmless}`
	NotificationWithID = `{"jsonrpc":"2.0","id":70011,"method":"notifications/initialized"}`
)

// Rejection is what came of a malformed line.
type Rejection struct {
	Name  string
	ID    json.RawMessage // in the line; nil when there is none
	Reply driver.Reply
}

// Rejections sends malformed lines. It leaves out those that the session does not survive, and ends the check when none
// is left.
func Rejections(t *T, names ...string) (all []Rejection) {
	for _, name := range names {
		line := Malformed[name]
		if p := Provoke(t, line); p.Fatal == nil {
			all = append(all, Rejection{Name: name, ID: IDIn(p.Line), Reply: Reaction(p, IDIn(p.Line))})
		}
	}
	if len(all) == 0 {
		t.Yield("the session did not survive it")
	}
	return all
}

var errIgnored = errors.New("no response (a later request was answered)")

// Reaction is the answer to a provocation: the response with the id or, for want of one, the first.
func Reaction(p Provoked, id json.RawMessage) driver.Reply {
	var responses []*driver.Frame
	for _, f := range p.Came {
		for _, m := range f.Members() {
			if m.MayAnswer(id) {
				responses = append(responses, m)
			}
		}
	}
	i := slices.IndexFunc(responses, func(f *driver.Frame) bool { return driver.SameID(f.Answers(), id) })
	switch {
	case len(responses) > 0:
		return driver.Reply{Request: p.Sent, Frame: responses[max(i, 0)]}
	case p.Refused != nil:
		r := driver.Refused(p.Refused)
		r.Request = p.Sent
		return r
	case p.Fatal != nil:
		return driver.Reply{Request: p.Sent, Err: p.Fatal}
	}
	return driver.Reply{Request: p.Sent, Err: errIgnored}
}

// IDIn is the id in a line; nil when it has none.
func IDIn(line string) json.RawMessage {
	m, _ := driver.Decode([]byte(line)).(M)
	if !Has(m, "id") {
		return nil
	}
	return Compact(m["id"])
}

// IsBare reports whether an id says nothing: it is absent or null.
func IsBare(id json.RawMessage) bool { return id == nil || string(id) == "null" }

// NeedsNoID reports whether an error may lack the id: the body of an HTTP error may.
func NeedsNoID(f *driver.Frame) bool {
	return f.HTTP != nil && f.HTTP.Answer().Status >= 400 && IsBare(f.ID)
}

// HaveID matches frames with an id. The body of an HTTP error need not have it.
func HaveID(id json.RawMessage) types.GomegaMatcher {
	return That("id "+driver.Brief(id), func(f *driver.Frame) bool { return driver.SameID(f.ID, id) || NeedsNoID(f) })
}

// HaveNoID matches frames whose id says nothing.
func HaveNoID() types.GomegaMatcher {
	return That("no id, or null", func(f *driver.Frame) bool { return IsBare(f.ID) })
}

// BeAnswerFor matches replies of any kind, and names what they answer.
func BeAnswerFor(what string) types.GomegaMatcher {
	return That("an answer to "+what, driver.Reply.Answered)
}

// Provoked is what came of one message that a conforming client does not send.
type Provoked struct {
	Line    string          // as it was sent
	Sent    *driver.Frame   // the line in the record
	Came    []*driver.Frame // what the server said, up to the answer to a later request
	Refused *driver.Frame   // over HTTP: the error status that it was answered with, if that has no message
	Fatal   error           // why the session did not survive, or serves less than before; nil when it does as before
}

// Provoke sends a line that breaks the protocol in an established session, filled by Fill, and returns what the server
// makes of it. Each line is sent once, whichever check needs it first.
func Provoke(t *T, line string) Provoked {
	return Step(t, "line "+line, func(t *T) Provoked {
		s := t.Hostile()
		used := s.Used > 0 || s.Provoked
		p := provokeIn(t, s, line)
		if p.Fatal != nil && used { // something before it may have been the cause
			p = provokeIn(t, hostileOwn(t), line)
		}
		return p
	})
}

// NotNoise ends a check that would hold a response without id against the server for what was provoked, when the server
// sends such responses to a client that keeps the protocol, too.
func NotNoise(t *T, r driver.Reply) {
	if !r.Answered() || r.Bare() || !IsBare(r.Frame.ID) {
		return
	}
	noisy := Step(t, "noise", func(t *T) bool {
		s := t.Session()
		mark := s.Mark()
		AskHarmless(t, s)
		nameless := func(f *driver.Frame) bool { return f.IsResponse() && IsBare(f.ID) }
		return slices.ContainsFunc(Settle(t, s, mark), nameless)
	})
	if noisy {
		t.Yield("the server sends responses without id anyhow")
	}
}

func hostileOwn(t *T) *driver.Session {
	s := t.Own()
	s.Hostile()
	return s
}

func provokeIn(t *T, s *driver.Session, line string) (p Provoked) {
	s.Provoked = true
	p.Line = Fill(s, line)
	mark := s.Mark()
	p.Sent = s.Send([]byte(p.Line))
	p.Came, p.Fatal = s.React(mark)
	p.Came = WithoutCopies(t, p.Came, p.Sent)
	for _, f := range s.Record(mark) {
		if f.Side == driver.Status && f.HTTP == p.Sent.HTTP && f.HTTP.Answer().Status >= 400 {
			p.Refused = f
		}
	}
	if p.Fatal == nil {
		p.Fatal = stillServes(t, s)
	}
	return p
}

// WithoutCopies leaves out what came over Streamable HTTP under an id of its own, and not as the answer to the POST of
// a message: an answer belongs to its own POST, and http/get-stream-no-responses reports the copies on GET streams.
func WithoutCopies(t *T, came []*driver.Frame, sent *driver.Frame) (rest []*driver.Frame) {
	for _, f := range came {
		apart := t.Server.Transport == "http" && f.HTTP != nil && f.HTTP != sent.HTTP
		if !apart || !f.IsResponse() || IsBare(f.ID) || driver.SameID(f.Answers(), sent.ID) {
			rest = append(rest, f)
		}
	}
	return rest
}

// Listening reports whether a frame came on a GET stream of Streamable HTTP that resumes no answer.
func Listening(t *T, f *driver.Frame) bool {
	return t.Server.Transport == "http" && f.HTTP != nil && f.HTTP.Method == http.MethodGet && f.HTTP.Asked() == nil
}

// Regain establishes a session that began with what no conforming client says, for others to use, if it serves as one
// that did not: where one process shows several things at a time.
func Regain(t *T, s *driver.Session) {
	if !SharesProcess(t) || s.Troubled() {
		return
	}
	if s.Greet(driver.Hello(t.Revision)).Result() != nil && stillServes(t, s) == nil {
		s.Confirm()
	}
}

// stillServes asks for more than what proves that the session lives: a list that the server has served otherwise. A
// session that does not serve it any more is given up.
func stillServes(t *T, s *driver.Session) error {
	method, served := ListMethod(t)
	if !served {
		return nil
	}
	r := t.Try(s, method, nil)
	if r.Result() != nil {
		return nil
	}
	s.Abandon()
	if r.Answered() {
		return fmt.Errorf("%s, which is served otherwise, was answered with %s", method, Got(r))
	}
	return r.Err
}
