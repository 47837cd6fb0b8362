package cancellation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// inFlightChecks are the checks of cancellations of running requests.
var inFlightChecks = check.Suite{
	"cancellation/race-safe": check.Probe(func(t *check.T) {
		s := t.Session()
		mark := s.Mark()
		ids := cancelImmediately(t, s)
		r := check.TryNoOp(t, s)
		requireNotBusy(t, r)
		t.Expect(r).To(check.BeAnswered(), "the request after those that were cancelled")
		came, _ := s.Barrier(mark)
		if countResponses(t, r.Request.ID, came) > 1 {
			t.NoVerdict(check.Undecided, "a request that was not cancelled has several answers, too")
		}
		for _, id := range ids {
			n := countResponses(t, id, came)
			t.Expect(n <= 1).To(reportedByNotification(check.BeTrue("one answer at most to each of them", "%d", n)))
		}
	}),

	"cancellation/no-response-after-cancel": check.Probe(func(t *check.T) {
		skipUnlessCancelledByNotification(t)
		r := cancelSubscription(t)
		isSilent := check.BeTrue("no response to a subscription that was cancelled", "%s", r)
		t.DecidedBy(r).Expect(!r.Answered()).To(isSilent)
		x := cancelSlowCall(t)
		var namedReply driver.Reply
		check.Deferred(t, func() { namedReply = cancelOneOfTwo(t).namedReply }) // this check does without it, too
		t.Expect(x.nextReply).To(check.BeAnswered(), "the request after the one that was cancelled")
		if x.endsByString {
			t.Fail("no response to a request that was cancelled, as under a string id", "%s", x.reply)
		}
		x.requireEffect(t)
		if x.reply.Answered() {
			t.Fail("no response to a request that was cancelled", "%s", x.reply)
		}
		if x.laterReply.Answered() {
			t.Fail("no response to a request that was cancelled, as to the first one", "%s, three times", x.laterReply)
		}
		if named := invalid.StringIDOrDefault(t, "mcpcheck-cancelled-again"); named != nil && namedReply.Answered() {
			again := cancelCall(t, x.call, named, cancelledToken+"-under-a-string")
			t.DecidedBy(again.reply).ExpectShould(again.isIgnored()).To(check.BeOneOf(false),
				"a response to a request under a string id that was cancelled")
		}
	}),

	"cancellation/others-go-on": check.Probe(func(t *check.T) {
		skipUnlessCancelledByNotification(t)
		x := cancelOneOfTwo(t)
		goesOn := check.BeTrue("the usual answer to a call that was not cancelled", "%s", check.Got(x.otherReply))
		switch {
		case x.otherReply.Error() != nil:
			goesOn = reportedByNotification(goesOn)
		case !x.otherReply.Answered():
			goesOn = check.ReportedBy("cancellation/race-safe",
				check.ReportedBy("cancellation/unknown-id-ignored", goesOn))
		}
		t.DecidedBy(x.otherReply).Expect(x.goesOn).To(goesOn)
	}),

	"cancellation/no-notifications-after-cancel": check.Probe(func(t *check.T) {
		x := cancelSlowCall(t)
		if !x.hadLateProgress {
			t.Skip(check.NotObserved, "nothing was said of %s while it ran for long", x.call.Tool.Name)
		}
		x.requireEffect(t)
		t.Expect(x.lateProgress).To(check.BeEmptyList[*driver.Frame]("nothing more of a request that was cancelled"))
	}),
}

// reportedByNotification is a matcher of what fails as well where a cancellation is answered as if it were a request.
func reportedByNotification(of types.GomegaMatcher) types.GomegaMatcher {
	return check.ReportedBy("jsonrpc/notification-no-response", of)
}

// cancelledOfTwo is what became of two calls at the same time of which one was cancelled.
type cancelledOfTwo struct {
	// namedReply is the reply to the call that was cancelled, if that has a string for its id.
	namedReply driver.Reply
	otherReply driver.Reply
	// goesOn reports whether the other call was answered as a call alone is.
	goesOn bool
}

// cancelOneOfTwo makes a slow call twice at the same time, and cancels the first one, requests that are not running,
// and a request whose id has the digits of the second one.
func cancelOneOfTwo(t *check.T) cancelledOfTwo {
	call, _ := slowCall(t)
	named := invalid.StringIDOrDefault(t, "mcpcheck-cancelled-one")
	return check.Step(t, "two calls of which one is cancelled", func(t *check.T) (x cancelledOfTwo) {
		s := t.Session(check.ForInvalidInput)
		repeat := func(id any) driver.Pending {
			if id == nil {
				return call.Repeat(s, nil)
			}
			return call.RepeatWithID(s, id, nil)
		}
		first, second := repeat(named), repeat(nil)
		check.RequestNoOp(t, s)
		if check.RequireServerReply(t, s.AwaitFor(second, 0)).Answered() {
			t.NoVerdict(check.Undecided, "%s was done before another one could be cancelled", call.Tool.Name)
		}
		for _, id := range append(slices.Clone(unknownIDs), string(second.ID)) {
			s.SendJSON(check.M{"jsonrpc": "2.0", "method": cancelledMethod, "params": check.M{"requestId": id}})
		}
		s.Cancel(first, "mcpcheck wants the other one")
		answer := func(p driver.Pending) driver.Reply { return check.RequireServerReply(t, s.AwaitLongRunning(p)) }
		isUsual := func(r driver.Reply) bool { return r.Answered() && protocol.SameKind(r, call.Reply) }
		x.otherReply = answer(second)
		if named != nil {
			x.namedReply = s.AwaitFor(first, call.Duration/4) // it began a little earlier
		}
		if x.goesOn = isUsual(x.otherReply); x.goesOn {
			return x
		}
		one, two := repeat(nil), repeat(nil)
		if !isUsual(answer(one)) || !isUsual(answer(two)) {
			if alone := answer(repeat(nil)); alone.Answered() {
				t.NoVerdict(check.Undecided, "of two calls of %s at a time, not both are answered as one is",
					call.Tool.Name)
			}
		}
		if !x.otherReply.Answered() && s.AwaitFor(second, s.ReplyTimeout()).Answered() {
			t.NoVerdict(check.Silent, "%s was answered after the --timeout", call.Tool.Name)
		}
		return x
	})
}

// countResponses counts the responses to a request. Copies on a GET stream do not count.
func countResponses(t *check.T, id []byte, came []*driver.Frame) (n int) {
	for _, f := range came {
		if f.IsResponse() && driver.SameID(f.RequestID(), id) && !transcript.IsOnGETStream(t, f) {
			n++
		}
	}
	return n
}

// cancelCount returns the number of requests that are cancelled at the same time: few of a server that takes its time.
func cancelCount(t *check.T) int {
	const some, few = 20, 5
	if check.SavesRequests(t) {
		return few
	}
	return some
}

// cancelImmediately sends harmless requests, cancels them immediately, and returns their ids.
func cancelImmediately(t *check.T, s *driver.Session) (ids [][]byte) {
	method, params := s.NoOp()
	for range cancelCount(t) {
		if t.IsModern() && t.Site() != nil {
			roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Params: params}).Abort()
			continue
		}
		note := invalid.NewCancellation(s)
		s.SendJSON(note)
		ids = append(ids, text.CompactJSON(note["params"].(check.M)["requestId"]))
	}
	return ids
}

// requireNotBusy ends the check if the server, which left a request after cancelled ones unanswered, does the same
// after as many requests that were not cancelled: it is busy with them.
func requireNotBusy(t *check.T, silent driver.Reply) {
	if !errors.As(silent.Err, new(*driver.TimeoutError)) {
		return
	}
	s := t.Session(check.Exclusive)
	for range cancelCount(t) {
		s.Request(s.NoOp())
	}
	if !check.TryNoOp(t, s).Answered() {
		t.NoVerdict(check.Silent, "%v, nor after as many requests that were not cancelled", silent.Err)
	}
}

// cancelledCall is a call that was cancelled while it ran.
type cancelledCall struct {
	// call is the same call without the cancellation.
	call toolcall.ToolCall
	// hadLateProgress reports that call had progress notifications in the second half of its time.
	hadLateProgress bool
	// reply is the reply to the cancelled call, if one came within twice the time of call.
	reply driver.Reply
	// repeatedReply is the reply to a repeated call that was not cancelled. It is set if the cancelled call was
	// answered in another way than usual.
	repeatedReply driver.Reply
	// endsByString reports that the call was answered as usual, and that the same call under a string id, which was
	// cancelled as well, was not answered.
	endsByString bool
	// laterReply is the reply to the same call if it was cancelled three times more and answered as usual each time.
	laterReply driver.Reply
	// lateProgress are the progress notifications of the cancelled call after the cancellation was handled.
	lateProgress []*driver.Frame
	// nextReply is the reply to a later request.
	nextReply driver.Reply
}

// isIgnored reports whether the call was answered as if it had not been cancelled.
func (x cancelledCall) isIgnored() bool {
	return x.reply.Answered() && protocol.SameKind(x.reply, x.call.Reply) &&
		(isSameText(x.reply, x.call.Reply) || !isSameText(x.repeatedReply, x.call.Reply))
}

func isSameText(a, b driver.Reply) bool { return a.MessageText() == b.MessageText() }

// requireEffect ends the check if the cancellation had no effect, or may have had none.
func (x cancelledCall) requireEffect(t *check.T) {
	if !x.reply.Answered() {
		return
	}
	if x.isIgnored() {
		t.NoVerdict(check.Undecided,
			"%s was answered despite the cancellation, which a server may do if it is too late",
			x.call.Tool.Name)
	}
	if !protocol.SameKind(x.repeatedReply, x.call.Reply) {
		t.NoVerdict(check.Undecided, "%s is not answered in the same way each time", x.call.Tool.Name)
	}
}

// cancelSlowCall cancels a call of the quickest tool that is slow enough. Over HTTP the notification may arrive late: a
// call that was answered nevertheless is made again. A call that was answered as usual is made under a string id, too.
func cancelSlowCall(t *check.T) cancelledCall {
	skipUnlessCancelledByNotification(t)
	byString := invalid.StringIDOrDefault(t, "mcpcheck-cancelled")
	return check.Step(t, "a call that is cancelled", func(t *check.T) cancelledCall {
		call, usual := slowCall(t)
		x := cancelCall(t, call, nil, cancelledToken)
		if t.Site() != nil && x.isIgnored() {
			x = cancelCall(t, call, nil, cancelledToken+"-again")
		}
		if x.isIgnored() && byString != nil &&
			!cancelCall(t, call, byString, cancelledToken+"-by-string").reply.Answered() {
			x.endsByString = cancelCall(t, call, nil, cancelledToken+"-by-number").isIgnored()
		}
		x.hadLateProgress = usual
		if !x.reply.Answered() && x.nextReply.Answered() && call.Duration < timing.LongRequest &&
			!check.SavesRequests(t) && !t.IsQuick() {
			x.laterReply = cancelAgain(t, call)
		}
		return x
	})
}

// cancelAgain cancels a call that the server has cancelled before, up to three times. It returns the last reply if each
// time there was one, as without a cancellation: a single one may have come too late.
func cancelAgain(t *check.T, call toolcall.ToolCall) driver.Reply {
	const times = 3
	var x cancelledCall
	for n := range times {
		x = cancelCall(t, call, nil, fmt.Sprintf("%s-later-%d", cancelledToken, n))
		if !x.isIgnored() {
			return driver.Reply{}
		}
	}
	return x.reply
}

// cancelSubscription cancels a subscription in a modern revision over stdio, and returns the reply to it. That is not
// answered in other revisions, and where the server has not begun the subscription or has ended it itself.
func cancelSubscription(t *check.T) (r driver.Reply) {
	if !t.IsModern() {
		return r
	}
	return check.Step(t, "a subscription that is cancelled", func(t *check.T) driver.Reply {
		s := t.Session()
		mark := s.Mark()
		p := toolcall.OpenSubscription(s, s.NextID(), check.M{"notifications": toolcall.FullFilter(t)})
		check.RequestNoOp(t, s)
		isAcknowledged := slices.ContainsFunc(s.ReceivedSince(mark), func(f *driver.Frame) bool {
			return f.Method == transcript.AcknowledgedMethod &&
				driver.SameID(p.ID, text.CompactJSON(transcript.SubscriptionIDOf(f)))
		})
		if !isAcknowledged || s.AwaitFor(p, 0).Answered() {
			return driver.Reply{}
		}
		s.Cancel(p, "mcpcheck has heard enough")
		check.RequestNoOp(t, s)
		check.RequestNoOp(t, s)
		return s.AwaitFor(p, 0)
	})
}

// cancelCall makes a call, under the next id if none is given, and cancels it after a later request was answered, which
// proves that the call is running.
func cancelCall(t *check.T, call toolcall.ToolCall, id any, token string) cancelledCall {
	x := cancelledCall{call: call}
	s := t.Session()
	begin, mark := time.Now(), s.Mark()
	if id == nil {
		id = s.NextID()
	}
	p := x.call.RepeatWithID(s, id, check.M{"progressToken": token})
	check.RequestNoOp(t, s)
	if check.RequireServerReply(t, s.AwaitFor(p, 0)).Answered() {
		t.NoVerdict(check.Undecided, "%s was done before it could be cancelled", x.call.Tool.Name)
	}
	s.Cancel(p, "mcpcheck does not want it any more")
	check.Barrier(t, s, mark)
	mark = s.Mark()
	x.reply = check.RequireServerReply(t, s.AwaitFor(p, time.Until(begin.Add(2*x.call.Duration))))
	x.lateProgress = progressReports(s.ReceivedSince(mark), token)
	x.nextReply = check.TryNoOp(t, s)
	if x.reply.Answered() && !(protocol.SameKind(x.reply, x.call.Reply) && isSameText(x.reply, x.call.Reply)) {
		x.repeatedReply = check.RequireServerReply(t, s.AwaitLongRunning(x.call.Repeat(s, nil)))
	}
	return x
}

// cancelledToken is the progress token of the cancelled call.
const cancelledToken = "mcpcheck-cancelled"

// slowCall returns a call during which a ping was answered, and reports whether it had progress notifications in the
// second half of its time. Calls with such notifications are preferred.
func slowCall(t *check.T) (call toolcall.ToolCall, talks bool) {
	calls := toolcall.ValidCalls(t)
	isSlow := func(c toolcall.ToolCall) bool { return c.PingAnsweredFirst }
	talking := func(c toolcall.ToolCall) bool { return isSlow(c) && hasLateProgress(c) }
	if slices.ContainsFunc(calls.List, func(c toolcall.ToolCall) bool { return c.IsDirectSuccess() && talking(c) }) {
		return toolcall.QuickestCall(t, calls, "tool takes a while", talking), true
	}
	return toolcall.QuickestCall(t, calls, "tool takes a while", isSlow), false
}

// hasLateProgress reports whether a call had progress notifications in the second half of its time.
func hasLateProgress(c toolcall.ToolCall) bool {
	half := c.Reply.Request.At + c.Duration/2 - c.Duration/10
	return slices.ContainsFunc(transcript.ProgressIn(c.Session, c.Session.FramesSince(0)),
		func(r *transcript.ProgressNotification) bool {
			return r.ForRequest != nil && driver.SameID(r.ForRequest.Request.ID, c.Reply.Request.ID) && r.At >= half
		})
}

// progressReports returns the progress notifications for the token among frames.
func progressReports(frames []*driver.Frame, token string) (all []*driver.Frame) {
	for _, f := range frames {
		params, _ := f.JSON()["params"].(check.M)
		if transcript.IsProgress(f) && params["progressToken"] == token {
			all = append(all, f)
		}
	}
	return all
}
