package invalid

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// IDProbeResult is what came of a request whose id matters.
type IDProbeResult struct {
	ID                json.RawMessage
	Reply             driver.Reply
	UnknownIDResponse *driver.Frame // a response that answers no request; nil: none
	Blocked           bool          // neither it nor a later request was answered
}

// String says what came: the answer, or the response under another id that seems to be it.
func (e IDProbeResult) String() string {
	switch {
	case !e.Reply.Answered() && e.UnknownIDResponse != nil:
		return e.UnknownIDResponse.Raw.Brief()
	case e.Reply.Answered() && !e.HasRequestID():
		return e.Reply.Frame.Raw.Brief()
	}
	return check.Got(e.Reply)
}

// Frames are the request and what came of it.
func (e IDProbeResult) Frames() []*driver.Frame {
	frames := e.Reply.Frames()
	if e.UnknownIDResponse != nil {
		frames = append(frames, e.UnknownIDResponse)
	}
	return frames
}

// ProbeID sends the session's harmless request under an id.
func ProbeID(s *driver.Session, id any) IDProbeResult {
	mark := s.Mark()
	return AwaitWithBarrier(s, mark, protocol.SendNoOp(s, id), protocol.ShortWait)
}

// IDProbeResults are what came of requests with ids of a kind.
type IDProbeResults struct {
	UsualReply driver.Reply    // that of a request with an id of the session's own
	List       []IDProbeResult // up to the first without an answer
}

// Served reports whether such ids are as good as the session's own, and are repeated.
func (all IDProbeResults) AllServed() bool {
	return !slices.ContainsFunc(all.List, func(e IDProbeResult) bool {
		return !e.HasRequestID() || all.UsualReply.Result() != nil && e.Reply.Result() == nil
	})
}

// IntegerIDs are the echoes of integers.
func IntegerIDs(t *check.T) IDProbeResults {
	return stepOfIDProbes(t, "integer ids", 70007, -1, 1<<53-1)
}

// StringIDs are the echoes of strings. No other session asks under the numbers that they are.
func StringIDs(t *check.T) IDProbeResults {
	return stepOfIDProbes(t, "string ids", "70071", "0070072", "mcpcheck-a b", strings.Repeat("mcpcheck-x", 20))
}

func stepOfIDProbes(t *check.T, name string, ids ...any) IDProbeResults {
	return check.Step(t, name, func(t *check.T) (all IDProbeResults) {
		s := t.Session()
		all.UsualReply = check.RequestNoOp(t, s)
		all.List = ProbeEachID(t, s, ids)
		return all
	})
}

// ProbeEachID is ProbeID with one id after the other up to the first without an answer, or in a hurry with all of them.
func ProbeEachID(t *check.T, s *driver.Session, ids []any) []IDProbeResult {
	ask := func(id any) driver.Pending { return protocol.SendNoOp(s, id) }
	return probeIDsWith(t, s, ids, ask, protocol.ShortWait)
}

// probeIDsWith asks under ids and waits for what comes of it.
func probeIDsWith(
	t *check.T, s *driver.Session, ids []any, ask func(id any) driver.Pending, patience time.Duration,
) (all []IDProbeResult) {
	mark, sent := s.Mark(), map[any]driver.Pending{}
	hurry := check.SendsConcurrently(t)
	if hurry {
		for _, id := range ids {
			sent[id] = ask(id)
		}
	}
	for _, id := range ids {
		if !hurry {
			mark, sent[id] = s.Mark(), ask(id)
		}
		e := AwaitWithBarrier(s, mark, sent[id], patience)
		if all = append(all, e); !e.Reply.Answered() {
			break
		}
	}
	return all
}

// StringIDOrDefault is a text as the id of a request or, where strings are not served as ids, nil: the default.
func StringIDOrDefault(t *check.T, text string) any {
	if !StringIDs(t).AllServed() {
		return nil
	}
	return text
}

// AwaitWithBarrier waits for the answer to what was sent after the mark. When none comes at once, it makes sure that a
// later request is answered, and waits a while more.
func AwaitWithBarrier(s *driver.Session, mark int, p driver.Pending, patience time.Duration) IDProbeResult {
	e := IDProbeResult{ID: p.ID, Reply: s.AwaitFor(p, 250*time.Millisecond)}
	if e.Reply.Answered() || !s.IsAlive() {
		return e
	}
	if _, err := s.AwaitReaction(mark); err != nil {
		if late := s.AwaitFor(p, 0); late.Answered() {
			e.Reply = late
			return e
		}
		e.Reply.Err, e.Blocked = err, s.IsAlive()
		return e
	}
	if e.UnknownIDResponse = transcript.UnmatchedResponse(s, mark); e.UnknownIDResponse != nil {
		patience = 0
	}
	e.Reply = s.AwaitFor(p, patience)
	return e
}

// RequireNotBlocked ends a check whose request was not taken, since the server serves one at a time, or serves nothing
// any more.
func (e IDProbeResult) RequireNotBlocked(t *check.T) {
	var none *driver.NoResponseError
	switch {
	case e.Blocked:
		t.Inconclusive("%v", e.Reply.Err)
	case e.Reply.IsBusy(), errors.As(e.Reply.Err, &none) && none.RoundTrip.IsBusy():
		t.Yield("the server is busy with another request")
	}
}

// HasRequestID reports whether the answer has the id of the request, which that of HTTP need not have when it is an
// error.
func (e IDProbeResult) HasRequestID() bool {
	return e.Reply.IsStatusOnly() || e.Reply.Answered() &&
		(driver.SameID(text.CompactJSON(e.Reply.Message()["id"]), e.ID) || protocol.MayLackID(e.Reply.Frame))
}

// BeAnsweredUnder matches what was answered; id, under which it was asked, is named in the message.
func BeAnsweredUnder(id json.RawMessage) types.GomegaMatcher {
	return check.Satisfy("an answer with id "+driver.Brief(id),
		func(e IDProbeResult) bool { return e.Reply.Answered() })
}

// HaveRequestID matches what was answered under the id with which it was asked.
func HaveRequestID(id json.RawMessage) types.GomegaMatcher {
	return check.Satisfy("an answer with id "+driver.Brief(id), IDProbeResult.HasRequestID)
}

// UnknownURI is a resource that no server has.
const UnknownURI = "test://mcpcheck/no-such-resource"

// NewCancellation sends the session's harmless request and returns the notification that cancels it, for who sends it
// at once: the one notification that any client may send at any time. Whether the request is answered all the same is
// for the server to decide.
func NewCancellation(s *driver.Session) check.M {
	params := check.M{"requestId": s.Request(s.NoOp()).ID, "reason": "mcpcheck"}
	return check.M{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
}

// ExpectAlive wants the session to go on; err is why it does not.
func ExpectAlive(t *check.T, err error) {
	t.Expect(err == nil).To(check.BeTrue("the session to go on", "%v", err))
}

// ExpectNoReply wants no reply to the notification that was sent after the mark. One that comes late is for watches of
// all responses.
func ExpectNoReply(t *check.T, s *driver.Session, mark int) {
	check.ObserveLate(t, time.Now())
	replies, noisy := transcript.NotificationReplies(s, mark)
	t.Expect(replies).To(check.BeEmptyList[*driver.Frame]("no reply to a notification"))
	if noisy {
		t.Yield("the server sends responses without id anyhow")
	}
}

// ExpectIgnored is ExpectNoReply for one kind of notification: that all of them are replied to, another check reports.
func ExpectIgnored(t *check.T, s *driver.Session, mark int) {
	if replies, _ := transcript.NotificationReplies(s, mark); len(replies) > 0 {
		SkipIfRepliesToNotifications(t)
	}
	ExpectNoReply(t, s, mark)
}

// SkipIfRepliesToNotifications ends a check that has seen a reply to a notification if the server replies to a
// cancellation as well.
func SkipIfRepliesToNotifications(t *check.T) {
	if check.Step(t, "replies to a cancellation", func(t *check.T) bool {
		s := t.ExclusiveSession()
		cancellation := NewCancellation(s)
		mark := s.Mark()
		s.SendJSON(cancellation)
		s.Barrier(mark)
		replies, _ := transcript.NotificationReplies(s, mark)
		return len(replies) > 0
	}) {
		t.Yield("the server replies to other notifications, too")
	}
}

// frameBrief is the beginning of a frame, for messages; empty when there is none.
func frameBrief(f *driver.Frame) string {
	if f == nil {
		return ""
	}
	return f.Raw.Brief()
}
