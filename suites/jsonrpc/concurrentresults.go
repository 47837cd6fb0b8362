package jsonrpc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// maxConcurrent is the number of tools that are called at the same time. maxSequential is the number of tools that are
// called alone to find as many with different results.
const (
	maxConcurrent = 10
	maxSequential = 2 * maxConcurrent
)

// expectOwnResults repeats valid calls of read-only tools, first each alone, then all at the same time. The ids have
// mixed types if the server supports strings. It requires a response under each id, and no response with the result
// that another tool has returned alone. A tool whose results change from call to call proves nothing.
func expectOwnResults(t *check.T, valid []toolcall.ToolCall, named bool) {
	s := t.Session()
	calls, toolOf := distinctCalls(t, s, valid)
	mark := s.Mark()
	var all []driver.Pending
	for i, c := range calls {
		var id any
		if named && i%2 == 0 {
			id = fmt.Sprintf("%s%d-%d", invalid.PipelinedIDPrefix, mark, i)
		}
		all = append(all, resend(s, id, c))
	}
	for i, p := range all {
		c, e := calls[i], invalid.AwaitWithBarrier(s, mark, p, s.ReplyTimeout())
		e.RequireNotBlocked(t)
		yieldIfStreamEnded(t, e)
		expectID(t, driver.Reply{}, e) // errors are allowed, since there may be a rate limit
		other, known := toolOf[resultText(e.Reply)]
		if !known || other == c.Tool.Name {
			continue
		}
		alone := toolOf[resultText(s.Await(resend(s, nil, c)))]
		t.DecidedBy(e).Expect(alone != c.Tool.Name).To(check.BeTrue("the result of "+c.Tool.Name, "that of %s", other))
	}
}

// distinctCalls returns calls of read-only tools that return different results when nothing else is running; toolOf
// maps a result to its tool. Results of earlier calls do not count, since they may have been mixed up already.
func distinctCalls(
	t *check.T, s *driver.Session, valid []toolcall.ToolCall,
) (calls []toolcall.ToolCall, toolOf map[string]string) {
	toolOf = map[string]string{}
	candidates := slices.DeleteFunc(slices.Clone(valid), func(c toolcall.ToolCall) bool {
		return !report.IsReadOnly(c.Tool.Value) || !c.IsDirectSuccess() || c.IsLong
	})
	candidates = candidates[:min(len(candidates), maxSequential)]
	for _, c := range requests.Affordable(t, candidates, 2) {
		if len(calls) == maxConcurrent {
			break
		}
		result := resultText(s.Await(resend(s, nil, c)))
		if _, known := toolOf[result]; result != "" && !known {
			calls, toolOf[result] = append(calls, c), c.Tool.Name
		}
	}
	return calls, toolOf
}

// expectOwnArguments makes two calls of a tool at the same time, of a few tools: twice the same, and one with other
// arguments. Each has to be answered, and with the result that it has alone. The slowest tools come first, since with a
// quick one the second call may arrive when the first one is done.
func expectOwnArguments(t *check.T) {
	const few = 3
	if len(t.Server.Tools) == 0 || t.IsQuick() || check.SavesRequests(t) {
		return
	}
	slow := slices.DeleteFunc(toolcall.RepeatableCalls(toolcall.ValidCalls(t)), func(c toolcall.ToolCall) bool {
		return c.Duration >= timing.LongRequest
	})
	slices.Reverse(slow)
	varied, s := toolcall.VariedCalls(t).List, t.Session()
	for _, c := range slow[:min(few, len(slow))] {
		expectBothAnswered(t, s, c)
		tried := 0
		for _, other := range varied {
			isReadOnly := report.IsReadOnly(c.Tool.Value) // others may leave what both calls return
			if isReadOnly && other.Tool.Name == c.Tool.Name && other.IsDirectSuccess() && tried < few {
				tried++
				expectNotMixedUp(t, s, c, other)
			}
		}
	}
}

// expectBothAnswered requires answers to two equal calls at the same time, if a later one is answered.
func expectBothAnswered(t *check.T, s *driver.Session, c toolcall.ToolCall) {
	first, second := resend(s, nil, c), resend(s, nil, c)
	one, two := s.AwaitLongRunning(first), s.AwaitLongRunning(second)
	if !one.Answered() || !invalid.IsTimeout(two) {
		return
	}
	s.Cancel(second, "mcpcheck waits no longer")
	if s.AwaitLongRunning(resend(s, nil, c)).Answered() {
		t.DecidedBy(two).Fail("an answer to each of two equal calls of "+c.Tool.Name, "one to the first call alone")
	}
}

// expectNotMixedUp requires two calls with different arguments, at the same time, to have the results that they have
// alone. A tool may return any of these by chance, so that only what happens each time counts.
func expectNotMixedUp(t *check.T, s *driver.Session, c, other toolcall.ToolCall) {
	const times = 3
	alone := func(c toolcall.ToolCall) string { return resultText(s.AwaitLongRunning(resend(s, nil, c))) }
	own, foreign := alone(c), alone(other)
	var mixedUp driver.Reply
	for range times {
		if own == "" || foreign == "" || own == foreign || alone(c) != own {
			return
		}
		first, second := resend(s, nil, c), resend(s, nil, other)
		one, two := s.AwaitLongRunning(first), s.AwaitLongRunning(second)
		switch {
		case resultText(one) == foreign:
			mixedUp = one
		case resultText(two) == own:
			mixedUp = two
		default:
			return
		}
	}
	t.DecidedBy(mixedUp).Fail("the result for its own arguments to each of two calls of "+c.Tool.Name,
		"that for the arguments of the other one, %d times", times)
}

// resend repeats a call under an id; nil is the next id of the session.
func resend(s *driver.Session, id any, c toolcall.ToolCall) driver.Pending {
	params := check.M{"name": c.Tool.Name, "arguments": c.Arguments}
	if id == nil {
		return s.Request("tools/call", params)
	}
	return s.RequestWithID(id, "tools/call", params)
}

// resultText returns the result as text; empty if there is none.
func resultText(r driver.Reply) string {
	if r.Result() == nil {
		return ""
	}
	return string(text.CompactJSON(r.Result()))
}

// expectOwnOutcomes sends requests that are served and requests that are refused, all at the same time and in both
// orders. It requires a response under each id, and of the kind that the request has alone: an answer that comes late
// must not get the id of the request that came last.
func expectOwnOutcomes(t *check.T, valid, refused []requests.Request, named bool) {
	s := t.Session()
	for i, r := range refused {
		refused[i].Reply = invalid.TryInvalid(t, s, r.Method, r.Params)
	}
	refused = slices.DeleteFunc(refused, func(r requests.Request) bool { return r.Reply.Error() == nil })
	if len(refused) == 0 || len(valid) == 0 {
		return
	}
	rounds := [][]requests.Request{slices.Concat(refused, valid), slices.Concat(valid, refused)}
	if check.SavesRequests(t) {
		rounds = rounds[:1]
	}
	for round, all := range rounds {
		mark := s.Mark()
		var sent []driver.Pending
		for i, r := range all {
			if named && i%2 == 0 {
				id := fmt.Sprintf("%s%d-%d-%d", invalid.PipelinedIDPrefix, mark, round, i)
				sent = append(sent, s.RequestWithID(id, r.Method, r.Params))
			} else {
				sent = append(sent, s.Request(r.Method, r.Params))
			}
		}
		for i, e := range awaitOutcomes(t, s, mark, sent) {
			e.RequireNotBlocked(t)
			yieldIfStreamEnded(t, e)
			expectID(t, driver.Reply{}, e) // errors are allowed, since there may be a rate limit
			other := otherOutcome(e.Reply, all[i], all)
			t.DecidedBy(e).Expect(other == "").To(check.BeTrue("the answer to "+all[i].Method, "that to %s", other))
		}
	}
}

// yieldIfStreamEnded ends a check where the event stream of a request ended before its response, which other checks
// report.
func yieldIfStreamEnded(t *check.T, e invalid.IDProbeResult) {
	sent := e.Reply.Request
	if e.Reply.Answered() || sent == nil || sent.RoundTrip == nil {
		return
	}
	if a := sent.RoundTrip.Response(); a.IsStream && a.Ended {
		t.Yield("the stream of the response ended without it")
	}
}

// otherOutcome returns the method of another request whose kind of answer a request has got; empty if it may be its
// own.
func otherOutcome(r driver.Reply, request requests.Request, all []requests.Request) string {
	if r.Result() == nil || outcomeKind(r) == outcomeKind(request.Reply) {
		return ""
	}
	for _, other := range all {
		if other.Method != request.Method && outcomeKind(other.Reply) == outcomeKind(r) {
			return other.Method
		}
	}
	return ""
}

// outcomeKind names the members of a result by which results of different methods differ.
func outcomeKind(r driver.Reply) string {
	members := slices.Sorted(maps.Keys(r.Result()))
	return strings.Join(slices.DeleteFunc(members, func(member string) bool {
		return slices.Contains([]string{"_meta", "nextCursor", "resultType", "ttlMs", "cacheScope", "isError",
			"structuredContent", "description"}, member)
	}), " ")
}

// awaitOutcomes returns what was received for requests in flight, up to the first without a response. Where a request
// has two of them, the answer to another one may have its id, which another check reports.
func awaitOutcomes(t *check.T, s *driver.Session, mark int, sent []driver.Pending) (all []invalid.IDProbeResult) {
	for _, p := range sent {
		e := invalid.AwaitWithBarrier(s, mark, p, s.ReplyTimeout())
		if all = append(all, e); !e.Reply.Answered() {
			break
		}
	}
	transcript.SkipIfAnswersTwice(t, s)
	return all
}
