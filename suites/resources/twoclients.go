package resources

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// lostUpdate is an update of a resource that a client was not told of because of another one.
type lostUpdate struct {
	description string
	subject     check.Subject
}

// updatesForTwoClients lets two clients subscribe to a resource, repeats in each a call that has updated it, has the
// second one unsubscribe, and returns the first update that one client has lost because of the other. A third one,
// which has not subscribed, makes the call as well: watches judge what it is told. Servers may keep resources by
// session, so that nothing is lost where only the client is told that has called the tool.
func updatesForTwoClients(t *check.T) *lostUpdate {
	if t.IsModern() || t.Server.Transport == "stdio" || t.Server.Sessionless || t.Server.OneClient || t.IsQuick() ||
		check.SavesRequests(t) || len(t.Server.Tools) == 0 {
		return nil
	}
	calls := toolcall.ValidCalls(t)
	x := slices.IndexFunc(calls.SubscribedResources, func(x toolcall.SubscribedResource) bool { return x.Notified })
	if x < 0 {
		return nil
	}
	uri := calls.SubscribedResources[x].URI
	return check.Step(t, "updates for two clients", func(t *check.T) *lostUpdate {
		params := check.M{"uri": uri}
		first, second, third := t.Session(check.Exclusive), t.Session(check.Exclusive), t.Session(check.Exclusive)
		defer func() { check.Barrier(t, third, third.Mark()) }()
		if t.Server.Transport == "http" {
			for _, s := range []*driver.Session{first, second, third} {
				roundtrip.ListeningResponse(t, s) // updates come on this stream
			}
		}
		first.Call(subscribeMethod, params)
		all := updatingCalls(calls, uri)
		i := slices.IndexFunc(all, func(c toolcall.ToolCall) bool {
			return isToldAfter(first, c, uri, timing.ShortWait)
		})
		if i < 0 {
			return nil
		}
		call, isTold := all[i], func(s *driver.Session) bool { return isToldAfter(s, all[i], uri, timing.ListChanged) }
		defer func() { third.Call("tools/call", check.M{"name": call.Tool.Name, "arguments": call.Arguments}) }()
		second.Call(subscribeMethod, params)
		for _, pair := range [][2]*driver.Session{{first, second}, {second, first}} {
			mark := pair[1].Mark()
			if isTold(pair[0]) {
				continue
			}
			if update := updateSince(pair[1], mark, uri); update != nil {
				return &lostUpdate{"one for another client that has subscribed, and none for the one that has called " +
					call.Tool.Name, check.Subject{Name: uri, Frames: []*driver.Frame{update}}}
			}
			return nil // not each call is an update
		}
		left := second.Call(unsubscribeMethod, params)
		second.Sleep(grace + grace/10)
		defer func() { check.Barrier(t, second, second.Mark()) }()
		if isTold(first) || first.Call(subscribeMethod, params).Result() == nil || !isTold(first) {
			return nil
		}
		return &lostUpdate{"none once another client had unsubscribed, until the client subscribed again",
			check.Subject{Name: uri, Frames: []*driver.Frame{left.Request, left.Frame}}}
	})
}

// updatingCalls are calls during which an update of a resource came, a few.
func updatingCalls(calls toolcall.ToolCalls, uri string) (all []toolcall.ToolCall) {
	const few = 3
	for _, c := range slices.Concat(calls.List, calls.ForOtherChanges) {
		if !c.IsDirectSuccess() || c.Duration > grace/2 || report.IsReadOnly(c.Tool.Value) || len(all) == few {
			continue
		}
		isDuring := func(f *driver.Frame) bool {
			return f.At >= c.Reply.Request.At && f.At <= c.Reply.Frame.At && isUpdateOf(f, uri) &&
				!transcript.IsOnOtherStream(f, c.Reply.Request)
		}
		if slices.ContainsFunc(c.Session.ReceivedSince(0), isDuring) {
			all = append(all, c)
		}
	}
	return all
}

// isToldAfter repeats a call in a session, and reports whether an update of a resource came.
func isToldAfter(s *driver.Session, c toolcall.ToolCall, uri string, patience time.Duration) bool {
	mark := s.Mark()
	s.Call("tools/call", check.M{"name": c.Tool.Name, "arguments": c.Arguments})
	s.Wait(mark, patience, func(f *driver.Frame) bool { return isUpdateOf(f, uri) })
	return updateSince(s, mark, uri) != nil
}

// updateSince is the first update of a resource that came to a session since the mark; nil without one.
func updateSince(s *driver.Session, mark int, uri string) *driver.Frame {
	came := s.ReceivedSince(mark)
	if i := slices.IndexFunc(came, func(f *driver.Frame) bool { return isUpdateOf(f, uri) }); i >= 0 {
		return came[i]
	}
	return nil
}

// isUpdateOf reports whether a frame of the server is a notification that a resource was updated.
func isUpdateOf(f *driver.Frame, uri string) bool {
	return f.Side == driver.FromServer && f.Method == updatedMethod && paramsOf(f)["uri"] == uri
}
