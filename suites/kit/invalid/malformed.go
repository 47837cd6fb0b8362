package invalid

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// MalformedLines are lines for ExpandLine that are not valid messages, by what is wrong with them. They are sent in
// sessions for invalid input; robust/survives-malformed-json checks that those survive.
var MalformedLines = map[string]string{
	NotJSON:                     `{"mcpcheck" !!}`,
	"a request without jsonrpc": `{"id":70021,$harmless}`,
	"a request of jsonrpc 1.0":  `{"jsonrpc":"1.0","id":70022,$harmless}`,
	NumericMethod:               `{"jsonrpc":"2.0","id":70023,"method":5}`,
	"params that are a string":  `{"jsonrpc":"2.0","id":70031,"method":$method,"params":"x"}`,
	"params that are an array":  `{"jsonrpc":"2.0","id":70032,"method":$method,"params":[1]}`,
	"a request with id null":    `{"jsonrpc":"2.0","id":null,$harmless}`,
	"member names in capitals":  `{"jsonrpc":"2.0","ID":70025,"METHOD":$method,` + paramsWithMeta + `}`,
	EmptyArray:                  `[]`,
	MixedArray:                  `[1,{"jsonrpc":"2.0","id":70061,$harmless}]`,
	NumbersArray:                `[1,2,3]`,
	ArrayWithoutMethod:          `[{"jsonrpc":"2.0","id":70066},{"jsonrpc":"2.0","id":70067,$harmless}]`,
}

// Names in MalformedLines that are used in several places.
const (
	NotJSON            = "a line that is not JSON"
	NumericMethod      = "a method that is a number"
	EmptyArray         = "empty array"
	MixedArray         = "an array with a number"
	NumbersArray       = "an array of numbers"
	ArrayWithoutMethod = "an array with a message that has no method"
)

// RequestWithoutID is a request without an id, which no conforming client sends, for ExpandLine.
const RequestWithoutID = `{"jsonrpc":"2.0",$harmless}`

// UnknownResponses are responses to requests that the server has not made.
var UnknownResponses = []string{
	`{"jsonrpc":"2.0","id":"mcpcheck-nobody-asked","result":{}}`,
	`{"jsonrpc":"2.0","id":70081,"result":{}}`,
	`{"jsonrpc":"2.0","id":"mcpcheck-nobody-asked","error":{"code":-32603,"message":"Internal error"}}`,
	`{"jsonrpc":"2.0","id":70082,"error":{"code":-32603,"message":"Internal error"}}`,
}

// paramsWithMeta are the params of a request that has nothing but the _meta of the session.
const paramsWithMeta = `"params":{"_meta":{$meta"com.example/mcpcheck":1}}`

// MalformedReply is the reply to a malformed line.
type MalformedReply struct {
	// Name is the key of the line in MalformedLines.
	Name string
	// ID is the id in the line; nil when there is none.
	ID json.RawMessage
	// Reply is the response, or why there is none.
	Reply driver.Reply
}

// MalformedReplies sends malformed lines and returns the replies. It leaves out lines that the session does not
// survive, and ends the check when none is left.
func MalformedReplies(t *check.T, names ...string) (all []MalformedReply) {
	for _, name := range names {
		line := MalformedLines[name]
		if p := SendMalformed(t, line); p.SessionErr == nil {
			all = append(all,
				MalformedReply{Name: name, ID: IDInLine(p.Line), Reply: ReplyToMalformed(p, IDInLine(p.Line))})
		}
	}
	if len(all) == 0 {
		t.Yield("the session did not survive it")
	}
	return all
}

var errIgnored = errors.New("no response (a later request was answered)")

// ReplyToMalformed is the reply to a malformed line: the response with this id or, without one, the first response.
func ReplyToMalformed(p MalformedResult, id json.RawMessage) driver.Reply {
	var responses []*driver.Frame
	for _, f := range p.Received {
		for _, m := range f.Messages() {
			if m.MayBeResponseTo(id) {
				responses = append(responses, m)
			}
		}
	}
	i := slices.IndexFunc(responses, func(f *driver.Frame) bool { return driver.SameID(f.RequestID(), id) })
	switch {
	case len(responses) > 0:
		return driver.Reply{Request: p.Sent, Frame: responses[max(i, 0)]}
	case p.HTTPError != nil:
		r := driver.HTTPErrorReply(p.HTTPError)
		r.Request = p.Sent
		return r
	case p.SessionErr != nil:
		return driver.Reply{Request: p.Sent, Err: p.SessionErr}
	}
	return driver.Reply{Request: p.Sent, Err: errIgnored}
}

// IDInLine is the id in a line; nil when there is none.
func IDInLine(line string) json.RawMessage {
	m, _ := driver.Decode([]byte(line)).(check.M)
	if !check.HasMember(m, "id") {
		return nil
	}
	return text.CompactJSON(m["id"])
}

// HaveNoID matches frames whose id is absent or null.
func HaveNoID() types.GomegaMatcher {
	return check.Satisfy("no id, or null", func(f *driver.Frame) bool { return protocol.IsMissingID(f.ID) })
}

// BeAnswerFor matches replies of any kind; what names the request in the message.
func BeAnswerFor(what string) types.GomegaMatcher {
	return check.Satisfy("an answer to "+what, driver.Reply.Answered)
}

// MalformedResult is the outcome of a message that no conforming client sends.
type MalformedResult struct {
	// Line is the line as it was sent.
	Line string
	// Session is the session in which it was sent, and Sent is the line in its transcript.
	Session *driver.Session
	Sent    *driver.Frame
	// Received are the messages of the server up to the response to a later request.
	Received []*driver.Frame
	// HTTPError is the HTTP error status without a message that answered the line; nil when there is none.
	HTTPError *driver.Frame
	// SessionErr is why the session did not survive or serves less than before; nil when it serves as before.
	SessionErr error
}

// SendMalformed sends a line, expanded by ExpandLine, that breaks the protocol in an established session, and returns
// the outcome. Each line is sent once, by whichever check needs it first.
func SendMalformed(t *check.T, line string) MalformedResult {
	return check.Step(t, "line "+line, func(t *check.T) MalformedResult {
		s := t.Session(check.ForInvalidInput)
		used := s.UseCount > 0 || s.SentMalformed
		p := sendMalformedIn(t, s, line)
		if p.SessionErr != nil && used { // something sent before it may be the cause
			p = sendMalformedIn(t, exclusiveInvalidSession(t), line)
		}
		return p
	})
}

// SkipIfUnsolicitedResponses ends a check that would take a response without an id for the answer to invalid input,
// when the server sends such responses to a conforming client, too.
func SkipIfUnsolicitedResponses(t *check.T, r driver.Reply) {
	if !r.Answered() || r.IsStatusOnly() || !protocol.IsMissingID(r.Frame.ID) {
		return
	}
	noisy := check.Step(t, "unsolicited responses", func(t *check.T) bool {
		s := t.Session()
		mark := s.Mark()
		check.RequestNoOp(t, s)
		lacksID := func(f *driver.Frame) bool { return f.IsResponse() && protocol.IsMissingID(f.ID) }
		return slices.ContainsFunc(check.Barrier(t, s, mark), lacksID)
	})
	if noisy {
		t.Yield("the server sends responses without id anyhow")
	}
}

func exclusiveInvalidSession(t *check.T) *driver.Session {
	s := t.Session(check.Exclusive)
	s.MarkInvalidInput()
	return s
}

func sendMalformedIn(t *check.T, s *driver.Session, line string) (p MalformedResult) {
	isDecisive, sent := t.IsConfirmation() || s.UseCount == 0, time.Now()
	p.Session = s
	s.SentMalformed = true
	p.Line = protocol.ExpandLine(s, line)
	mark := s.Mark()
	p.Sent = s.Send([]byte(p.Line))
	p.Received, p.SessionErr = s.AwaitReaction(mark)
	for _, f := range s.FramesSince(mark) {
		if f.Side == driver.StatusOnly && f.RoundTrip == p.Sent.RoundTrip && f.RoundTrip.Response().StatusCode >= 400 {
			p.HTTPError = f
		}
	}
	if p.SessionErr == nil {
		p.SessionErr = checkServes(t, s)
	}
	if p.SessionErr == nil {
		p.SessionErr = lostNoOp(t, s, p.Sent)
	}
	if id := IDInLine(p.Line); id != nil && len(p.Received) == 0 { // the no-op may have overtaken it
		p.Received = responsesTo(s.ReceivedSince(mark), id)
	}
	if len(p.Received) == 0 && p.SessionErr == nil && t.Server.Transport != "http" {
		p.Received = lateResponse(t, silentLine{s, mark, sent, IDInLine(p.Line), p.Sent.Kind}, isDecisive)
	}
	p.Received = WithoutStreamCopies(t, p.Received, p.Sent)
	return p
}

// silentLine is a malformed line that had no response before later requests had theirs.
type silentLine struct {
	s    *driver.Session
	mark int
	sent time.Time
	// id is the id in the line; nil if the line has no id.
	id json.RawMessage
	// kind tells a batch, whose members a server may serve on their own, from other lines.
	kind driver.JSONKind
}

// isAnsweredBy reports whether a frame may be the response to the line.
func (l silentLine) isAnsweredBy(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.IsResponse() &&
		(protocol.IsMissingID(f.ID) || driver.SameID(f.RequestID(), l.id))
}

// isFinal reports whether the server has had the time for a late response to the line, and sent none.
func (l silentLine) isFinal() bool {
	return time.Since(l.sent) >= timing.ShortWait && !slices.ContainsFunc(l.s.ReceivedSince(l.mark), l.isAnsweredBy)
}

// silentLines are those of a run.
type silentLines struct {
	mu  sync.Mutex
	all []silentLine
}

// lateResponse returns the response to a malformed line that later requests have overtaken. If the verdict is decided
// by it, it waits for one, unless an earlier line of that kind shows that the server does not answer late.
func lateResponse(t *check.T, line silentLine, isDecisive bool) []*driver.Frame {
	known := check.Memo(t, lateKey{}, func() *silentLines { return &silentLines{} })
	known.mu.Lock()
	isNeverLate := slices.ContainsFunc(known.all, func(l silentLine) bool { return l.kind == line.kind && l.isFinal() })
	known.all = append(known.all, line)
	known.mu.Unlock()
	if isNeverLate || !isDecisive {
		return nil
	}
	if f, err := line.s.Wait(line.mark, timing.ShortWait, line.isAnsweredBy); err == nil {
		return []*driver.Frame{f}
	}
	return nil
}

// lateKey is the key of a memo.
type lateKey struct{}

// responsesTo are the frames that respond to an id.
func responsesTo(frames []*driver.Frame, id json.RawMessage) []*driver.Frame {
	return slices.DeleteFunc(frames, func(f *driver.Frame) bool {
		return !f.IsResponse() || !driver.SameID(f.RequestID(), id)
	})
}

// WithoutStreamCopies leaves out responses over Streamable HTTP that have an id of their own and did not come in the
// response to the POST of sent. http/get-stream-no-responses reports copies on GET streams.
func WithoutStreamCopies(t *check.T, came []*driver.Frame, sent *driver.Frame) (rest []*driver.Frame) {
	for _, f := range came {
		apart := t.Server.Transport == "http" && f.RoundTrip != nil && f.RoundTrip != sent.RoundTrip
		if !apart || !f.IsResponse() || protocol.IsMissingID(f.ID) || driver.SameID(f.RequestID(), sent.ID) {
			rest = append(rest, f)
		}
	}
	return rest
}

// ConnectAfterInvalid establishes a session that began with invalid input, so that others can use it. It does so where
// several checks share a process, and only if the session serves like any other.
func ConnectAfterInvalid(t *check.T, s *driver.Session) {
	if !check.SharesProcess(t) || s.HasFault() {
		return
	}
	if s.Connect(driver.ConnectParams(t.Revision)).Result() != nil && checkServes(t, s) == nil {
		s.FinishConnect()
	}
}

// lostNoOp returns an error if the no-op that was sent after a line is never answered over stdio, and a later one is:
// the server has taken it for a part of the line. It is nil where a server sends its responses in another order.
func lostNoOp(t *check.T, s *driver.Session, line *driver.Frame) error {
	if t.Site() != nil {
		return nil
	}
	method, _ := s.NoOp()
	frames := s.FramesSince(0)
	frames = frames[slices.Index(frames, line)+1:]
	i := slices.IndexFunc(frames, func(f *driver.Frame) bool {
		return f.Side == driver.FromClient && f.IsRequest() && f.Method == method
	})
	isLost := func() bool { return !s.AwaitFor(driver.Pending{ID: frames[i].ID}, 0).Answered() }
	if i < 0 || !isLost() || !check.TryNoOp(t, s).Answered() || !isLost() {
		return nil
	}
	return fmt.Errorf("%s after it was never answered, and a later one was", method)
}

// checkServes requests a list that the server served before, which proves more than a no-op. A session that no longer
// serves it is marked unusable.
func checkServes(t *check.T, s *driver.Session) error {
	method, served := protocol.ListMethod(t)
	if !served {
		return nil
	}
	r := t.Send(s, method, nil, check.AllowSilence)
	if r.Result() != nil {
		return nil
	}
	s.MarkUnusable()
	if r.Answered() {
		return fmt.Errorf("%s, which is served otherwise, was answered with %s", method, check.Got(r))
	}
	return r.Err
}
