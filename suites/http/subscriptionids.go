package http

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// leaksBySubscriptionID are subscriptions of one client that end, or are told nothing more, since another client has
// one under the same id. Two under different ids show that the server has room for both.
func leaksBySubscriptionID(t *check.T) []leak {
	if !t.IsModern() || !t.Server.CanNotify() || check.SavesRequests(t) {
		return nil
	}
	calls := announcingCalls(t)
	return check.Step(t, "equal ids of subscriptions", func(t *check.T) []leak {
		const same, first, second, sameAgain = 70211, 70212, 70213, 70214
		a, b := twoSessions(t)
		s := twoSubscribers{first: a, second: b, calls: calls}
		lost := s.lostUnder(t, same, same)
		if lost == nil || s.lostUnder(t, first, second) != nil || s.lostUnder(t, sameAgain, sameAgain) == nil {
			return nil
		}
		return []leak{*lost}
	})
}

// announcingCalls are a few calls during which a change was announced, maybe of another call.
func announcingCalls(t *check.T) (all []toolcall.ToolCall) {
	if len(t.Server.Tools) == 0 {
		return nil
	}
	const few, tooLong = 8, time.Second
	for _, c := range toolcall.ValidCalls(t).List {
		if !c.IsDirectSuccess() || c.Duration > tooLong || report.IsReadOnly(c.Tool.Value) {
			continue
		}
		if slices.ContainsFunc(c.Session.ReceivedSince(0), func(f *driver.Frame) bool {
			return isChangeMethod(f.Method) && f.At >= c.Reply.Request.At && f.At <= c.Reply.Frame.At+timing.HeadStart
		}) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, toolcall.CompareBySpeed)
	return all[:min(len(all), few)]
}

// isChangeMethod reports whether a method is that of the announcement of a change.
func isChangeMethod(method string) bool {
	return method == "notifications/resources/updated" || strings.HasSuffix(method, "/list_changed")
}

// twoSubscribers are two clients that subscribe to all changes, with calls that have announced some.
type twoSubscribers struct {
	first, second *driver.Session
	calls         []toolcall.ToolCall
}

// lostUnder is what the first client loses because of the second one, where their subscriptions have these ids; nil if
// it loses nothing.
func (c twoSubscribers) lostUnder(t *check.T, first, second int) *leak {
	x, isOpen := openSubscription(t, c.first, first)
	defer closeSubscription(x)
	y, isOtherOpen := openSubscription(t, c.second, second)
	defer closeSubscription(y)
	if !isOpen || !isOtherOpen {
		return nil
	}
	lost := func(what string) *leak {
		return &leak{what + " while another client has one under the same id", x.Frames()}
	}
	check.RequestNoOp(t, c.first)
	if x.Response().Ended {
		return lost("the end of a subscription")
	}
	var told []toolcall.ToolCall
	for _, call := range c.calls {
		of, ofOther := changesOn(x), changesOn(y)
		c.second.Call("tools/call", call.Params(c.second))
		if !isTold(y, ofOther, timing.HeadStart) {
			continue
		}
		if !isTold(x, of, timing.ShortWait) {
			return lost("a subscription that is told nothing")
		}
		told = append(told, call)
	}
	closeSubscription(y)
	check.RequestNoOp(t, c.first)
	if x.Response().Ended {
		return &leak{"the end of a subscription with that of another client under the same id", x.Frames()}
	}
	isToldAgain := func(call toolcall.ToolCall) bool {
		of := changesOn(x)
		c.first.Call("tools/call", call.Params(c.first))
		return isTold(x, of, timing.ShortWait)
	}
	// Not every call has to announce something again: what came before may have been the change of another client.
	if len(told) > 0 && !slices.ContainsFunc(told, isToldAgain) {
		return &leak{"a subscription that is told nothing once another client has ended one under the same id",
			x.Frames()}
	}
	return nil
}

// openSubscription subscribes to all changes by hand. It reports whether that was acknowledged.
func openSubscription(t *check.T, s *driver.Session, id int) (x *driver.RoundTrip, isOpen bool) {
	filter := toolcall.FullFilter(t)
	x = roundtrip.PostRequest(s, roundtrip.ManualRequest{ID: id, Method: transcript.ListenMethod,
		Params: check.M{"notifications": filter}})
	_, isOpen = x.AwaitEvent(func(e driver.StreamEvent) bool {
		return decodeObject(e.Data.Bytes())["method"] == transcript.AcknowledgedMethod
	})
	return x, isOpen
}

func closeSubscription(x *driver.RoundTrip) {
	x.Abort()
	x.AwaitEnd()
}

// changesOn is the number of changes that were announced on a stream.
func changesOn(x *driver.RoundTrip) int { return countChanges(x.Response()) }

func countChanges(a driver.HTTPResponse) (n int) {
	for _, e := range a.Events {
		if method, _ := decodeObject(e.Data.Bytes())["method"].(string); isChangeMethod(method) {
			n++
		}
	}
	return n
}

// isTold reports whether within d a further change is announced on a stream that had n of them.
func isTold(x *driver.RoundTrip, n int, d time.Duration) bool {
	isFurther := func(a driver.HTTPResponse) bool { return countChanges(a) > n }
	return isFurther(awaitCondition(x, d, isFurther))
}
