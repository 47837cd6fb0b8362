package logging

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// perRequestChecks are the checks of the log level of each request in the modern revisions.
var perRequestChecks = check.Suite{
	"logging/silent-without-level": check.WatchWithSetup(callWithoutLevel, func(t *check.T, w check.Wire) {
		all := requestLogs(t, w)
		if len(all) == 0 {
			callAtLevels(t) // this includes a call without a level
			return
		}
		check.Each(t, all, requestLog.subject, func(t *check.T, l requestLog) {
			switch {
			case transcript.SubscriptionIDOf(l.Frame) != check.Absent{} || l.request != nil &&
				l.request.Request.OpensStream():
				t.Yield("it is on a subscription")
			case l.isLate:
				t.Yield("its request was answered before")
			case l.level() != nil:
				return
			}
			isSilent := check.BeTrue("no log message for requests without a level", "one of level %s",
				check.Show(levelIn(l.Frame)))
			t.DecidedBy(l.Frame).Expect(false).To(
				check.ReportedBy("logging/on-own-stream", check.ReportedBy("logging/not-sticky", isSilent)))
		})
	}),

	"logging/not-sticky": check.Probe(func(t *check.T) {
		c := callAtLevels(t)
		if len(c.before) > 0 {
			t.Skip(check.NotApplicable, "it logs without any level")
		}
		t.Expect(c.after).To(check.BeEmptyList[*driver.Frame](
			"no log message for a call without a level, after one with debug"))
	}),

	"logging/on-own-stream": check.WatchWithSetup(callForLateLogs, func(t *check.T, w check.Wire) {
		wanted := slices.DeleteFunc(requestLogs(t, w), func(l requestLog) bool { return l.level() == nil })
		if len(wanted) == 0 {
			toolcall.SkipNotObserved(t, "log message came", toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
		}
		check.Each(t, wanted, requestLog.subject, func(t *check.T, l requestLog) {
			t.Expect(l.isLate).To(check.BeOneOf(false), "after the answer to the request")
		})
	}),
}

// requestLog is a log message in a modern revision, with the request that it belongs to.
type requestLog struct {
	check.Message
	// request is nil if no request was running.
	request *transcript.TrackedRequest
	// isLate reports that the request had been answered before.
	isLate bool
}

// level returns the level that the request asks for; nil if it asks for none.
func (l requestLog) level() any {
	if l.request == nil {
		return nil
	}
	return requestedLogLevel(l.request.Request)
}

// levelIn returns the level of a log message.
func levelIn(f *driver.Frame) any {
	params, _ := f.JSON()["params"].(check.M)
	return check.Member(params, "level")
}

func (l requestLog) subject() check.Subject {
	if l.request != nil {
		return check.Subject{Frames: []*driver.Frame{l.request.Request, l.Frame}}
	}
	return check.Subject{Frames: []*driver.Frame{l.Frame}}
}

// requestLogs returns the log messages of the run with their requests.
func requestLogs(t *check.T, w check.Wire) (all []requestLog) {
	for _, s := range transcript.EstablishedSessions(t, check.Wire{Sessions: w.CompleteSessions()}) {
		transcript.EachServerMessage(s.FramesSince(0), func(m *driver.Frame, asked []*transcript.TrackedRequest) {
			if isLogMessage(m) {
				l := requestLog{Message: check.Message{Frame: m, Session: s}}
				l.request, l.isLate = requestOf(m, asked)
				all = append(all, l)
			}
		})
	}
	return all
}

// requestOf returns the request that a log message belongs to: the request on whose stream it was received. On a shared
// channel it is a running request, preferably one with a log level, or one that was cancelled; otherwise the last
// answered one with a level.
func requestOf(m *driver.Frame, asked []*transcript.TrackedRequest) (of *transcript.TrackedRequest, late bool) {
	var done *transcript.TrackedRequest
	for _, a := range slices.Backward(asked) {
		wants := requestedLogLevel(a.Request) != nil
		switch {
		case m.RoundTrip != nil && m.RoundTrip == a.Request.RoundTrip:
			return a, a.Response != nil
		case m.RoundTrip != nil, a.Request.OpensStream():
		case a.Cancelled:
			if wants && of == nil && done == nil { // the cancellation may have crossed the message
				of = a
			}
		case a.Response == nil && wants:
			return a, false
		case a.Response == nil && of == nil:
			of = a
		case wants && done == nil:
			done = a
		}
	}
	if of == nil && done != nil {
		return done, true
	}
	return of, false
}

// callWithoutLevel makes sure that there is a request of each method without a level, and that a tool that logs is
// called without one.
func callWithoutLevel(t *check.T) {
	requests.Valid(t)
	if t.Server.Declares("logging") {
		callAtLevels(t)
	} else {
		toolcall.CallTools(t)
	}
}

// callForLateLogs calls tools and has the run observe late log messages. Tools that log are also called alone.
func callForLateLogs(t *check.T) {
	toolcall.CallToolsAndObserveLate(t)
	if t.Server.Declares("logging") {
		check.Deferred(t, func() { callAtLevels(t) })
	}
}

// expectLevelsServed requires a request to be served with each level.
func expectLevelsServed(t *check.T) {
	all := requests.Valid(t)
	if len(all) == 0 || check.SavesRequests(t) {
		return
	}
	s := t.Session()
	for _, level := range protocol.LogLevels {
		r := all[0].SendWith(t, s, check.M{driver.MetaLogLevel: level})
		t.Expect(r).To(check.BeResult(), "%s with the level %q", all[0].Method, level)
	}
}

// expectReadsRespectLevel requires what is logged while a resource is read, or a prompt is got, to be at or above the
// requested level. On a shared channel the messages may be of other requests, so that it counts what comes again.
func expectReadsRespectLevel(t *check.T) {
	const level, tries = "emergency", 2
	s := t.Session()
	valid := slices.DeleteFunc(slices.Clone(requests.Valid(t)), func(r requests.Request) bool {
		return r.Method != "resources/read" && r.Method != "prompts/get"
	})
	if len(valid) == 0 || !setReadLevel(t, s, level) {
		return
	}
	defer setReadLevel(t, s, "info")
	for _, r := range valid {
		var below *driver.Frame
		for n := range tries {
			if n > 0 && t.Site() == nil {
				s = t.Session(check.Exclusive)
				setReadLevel(t, s, level)
			}
			mark := s.Mark()
			reply := t.Send(s, r.Method, r.With(check.M{driver.MetaLogLevel: level}), check.AllowSilence)
			came := slices.DeleteFunc(s.ReceivedSince(mark), func(f *driver.Frame) bool {
				return !isLogMessage(f) || transcript.IsOnOtherStream(f, reply.Request) || logLevelIndex(f) < 0 ||
					levelIn(f) == level
			})
			if below = nil; len(came) == 0 {
				break
			}
			below = came[0]
		}
		if below != nil {
			t.DecidedBy(below).Fail(level+" alone, which "+r.Method+" asked for", "%s", check.Show(levelIn(below)))
		}
	}
}

// setReadLevel sets the level of a legacy session, and reports whether it could. In modern revisions each request has
// its own.
func setReadLevel(t *check.T, s *driver.Session, level string) bool {
	return t.IsModern() || t.Send(s, setLevelMethod, check.M{"level": level}, check.AllowSilence).Result() != nil
}
