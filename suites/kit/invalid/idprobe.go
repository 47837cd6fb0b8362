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
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// IDProbeResult is the outcome of a request whose id is tested.
type IDProbeResult struct {
	// ID is the id of the request.
	ID json.RawMessage
	// Reply is the response under that id, or why there is none.
	Reply driver.Reply
	// UnknownIDResponse is a response that answers no request; nil when there is none.
	UnknownIDResponse *driver.Frame
	// Blocked reports whether neither the request nor a later one was answered.
	Blocked bool
}

// String describes the response, or the response under another id that seems to be it.
func (e IDProbeResult) String() string {
	switch {
	case !e.Reply.Answered() && e.UnknownIDResponse != nil:
		return e.UnknownIDResponse.Raw.Brief()
	case e.Reply.Answered() && !e.HasRequestID():
		return e.Reply.Frame.Raw.Brief()
	}
	return check.Got(e.Reply)
}

// Frames are the request and its response.
func (e IDProbeResult) Frames() []*driver.Frame {
	frames := e.Reply.Frames()
	if e.UnknownIDResponse != nil {
		frames = append(frames, e.UnknownIDResponse)
	}
	return frames
}

// ProbeID sends the no-op of the session with this id.
func ProbeID(s *driver.Session, id any) IDProbeResult {
	mark := s.Mark()
	return AwaitWithBarrier(s, mark, protocol.SendNoOp(s, id), timing.ShortWait)
}

// IDProbeResults are the outcomes of requests whose ids are of one kind.
type IDProbeResults struct {
	// UsualReply is the reply to the same request with an id of the session's own.
	UsualReply driver.Reply
	// List are the outcomes, up to the first request without a response.
	List []IDProbeResult
}

// AllServed reports whether requests with such ids are served like others, with their ids repeated.
func (all IDProbeResults) AllServed() bool {
	return !slices.ContainsFunc(all.List, func(e IDProbeResult) bool {
		return !e.HasRequestID() || all.UsualReply.Result() != nil && e.Reply.Result() == nil
	})
}

// IntegerIDs are the outcomes with integers as ids.
func IntegerIDs(t *check.T) IDProbeResults {
	return stepOfIDProbes(t, "integer ids", 70007, -1, 1<<53-1)
}

// StringIDs are the outcomes with strings as ids. No other session uses the numbers in them as ids.
func StringIDs(t *check.T) IDProbeResults {
	return stepOfIDProbes(t, "string ids", "70071", "0070072", " Mcpcheck-A b ",
		strings.Repeat("mcpcheck-x", longID/len("mcpcheck-x")), "~")
}

func stepOfIDProbes(t *check.T, name string, ids ...any) IDProbeResults {
	return check.Step(t, name, func(t *check.T) (all IDProbeResults) {
		s := t.Session()
		all.UsualReply = check.RequestNoOp(t, s)
		all.List = ProbeEachID(t, s, ids)
		return all
	})
}

// ProbeEachID runs ProbeID with one id after the other up to the first without a response. Where requests may be sent
// concurrently, it sends all of them.
func ProbeEachID(t *check.T, s *driver.Session, ids []any) []IDProbeResult {
	ask := func(id any) driver.Pending { return protocol.SendNoOp(s, id) }
	return ProbeIDsWith(t, s, ids, ask, timing.ShortWait)
}

// ProbeIDsWith sends a request with each id and awaits the outcomes. Patience is how much longer than for a later
// request it waits for a response.
func ProbeIDsWith(
	t *check.T, s *driver.Session, ids []any, ask func(id any) driver.Pending, patience time.Duration,
) (all []IDProbeResult) {
	mark, sent := s.Mark(), map[any]driver.Pending{}
	concurrent := check.SendsConcurrently(t)
	if concurrent {
		for _, id := range ids {
			sent[id] = ask(id)
		}
	}
	for _, id := range ids {
		if !concurrent {
			mark, sent[id] = s.Mark(), ask(id)
		}
		e := AwaitWithBarrier(s, mark, sent[id], patience)
		if all = append(all, e); !e.Reply.Answered() {
			break
		}
	}
	return all
}

// StringIDOrDefault is a string as the id of a request; nil, the default, where the server does not serve strings as
// ids.
func StringIDOrDefault(t *check.T, id string) any {
	if !StringIDs(t).AllServed() {
		return nil
	}
	return id
}

// AwaitWithBarrier waits for the response to p, which was sent after the mark. When none comes at once, it makes sure
// that a later request is answered, and then waits for patience longer.
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

// RequireNotBlocked ends a check whose request the server did not process, since it serves one at a time or nothing at
// all any more.
func (e IDProbeResult) RequireNotBlocked(t *check.T) {
	var none *driver.NoResponseError
	switch {
	case e.Blocked:
		t.NoVerdict(check.Undecided, "%v", e.Reply.Err)
	case e.Reply.IsBusy(), errors.As(e.Reply.Err, &none) && none.RoundTrip.IsBusy():
		t.Yield("the server is busy with another request")
	}
}

// HasRequestID reports whether the response has the id of the request. The body of an HTTP error need not have it.
func (e IDProbeResult) HasRequestID() bool {
	return e.Reply.IsStatusOnly() || e.Reply.Answered() &&
		(driver.SameID(text.CompactJSON(e.Reply.Message()["id"]), e.ID) || protocol.MayLackID(e.Reply.Frame))
}

// HaveRequestID matches probes whose response has the id of the request.
func HaveRequestID(id json.RawMessage) types.GomegaMatcher {
	return check.Satisfy("an answer with id "+driver.Brief(id), IDProbeResult.HasRequestID)
}

// UnknownURI is the URI of a resource that no server has.
const UnknownURI = "test://mcpcheck/no-such-resource"

// NewCancellation sends the no-op of the session and returns the notification that cancels it, to be sent at once. It
// is the one notification that any client may send at any time. The server may answer the request nonetheless.
func NewCancellation(s *driver.Session) check.M {
	params := check.M{"requestId": s.Request(s.NoOp()).ID, "reason": "mcpcheck"}
	return check.M{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
}

// ExpectAlive expects that the session goes on; err is why it does not.
func ExpectAlive(t *check.T, err error) {
	t.Expect(err == nil).To(check.BeTrue("the session to go on", "%v", err))
}

// ExpectNoReply expects no reply to the notification that was sent after the mark. A late one is left to watches, which
// see all responses.
func ExpectNoReply(t *check.T, s *driver.Session, mark int) {
	check.ObserveLate(t, time.Now())
	expectNoReply(t, s, mark, beNoReply())
}

// beNoReply matches an empty list of replies to a notification.
func beNoReply() types.GomegaMatcher {
	return check.BeEmptyList[*driver.Frame]("no reply to a notification")
}

func expectNoReply(t *check.T, s *driver.Session, mark int, isSilent types.GomegaMatcher) {
	replies, isUndecided := transcript.NotificationReplies(t, s, mark)
	t.Expect(replies).To(isSilent)
	if isUndecided {
		t.Yield("the server sends responses without id anyhow")
	}
}

// ExpectIgnored is ExpectNoReply for one kind of notification, whose late replies are not waited for. It skips where
// the server replies to all of them, which another check reports, and yields to reportedBy, about more of them.
func ExpectIgnored(t *check.T, s *driver.Session, mark int, reportedBy string) {
	if replies, _ := transcript.NotificationReplies(t, s, mark); len(replies) > 0 {
		SkipIfRepliesToNotifications(t)
	}
	expectNoReply(t, s, mark, check.ReportedBy(reportedBy, beNoReply()))
}

// SkipIfRepliesToNotifications ends a check that has seen a reply to a notification if the server also replies to a
// cancellation.
func SkipIfRepliesToNotifications(t *check.T) {
	if check.Step(t, "replies to a cancellation", func(t *check.T) bool {
		s := t.Session(check.Exclusive)
		cancellation := NewCancellation(s)
		mark := s.Mark()
		s.SendJSON(cancellation)
		s.Barrier(mark)
		replies, _ := transcript.NotificationReplies(t, s, mark)
		return len(replies) > 0
	}) {
		t.Yield("the server replies to other notifications, too")
	}
}
