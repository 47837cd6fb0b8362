package logging

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// perRequest are the checks of log messages that each request asks for itself.
var perRequest = Suite{
	"logging/silent-without-level": WatchAfter(callWithoutLevel, func(t *T, w Wire) {
		all := requested(t, w)
		if len(all) == 0 {
			callsByLevel(t) // of which one was made without a level
			return
		}
		Each(t, all, logged.subject, func(t *T, l logged) {
			switch {
			case kit.Tag(l.Frame) != Absent{} || l.of != nil && l.of.Request.IsStanding():
				t.Yield("it is on a subscription")
			case l.late:
				t.Yield("its request was answered before")
			case l.level() != nil:
				return
			case remembers(t):
				t.Yield("the level of an earlier request is kept")
			}
			t.Fail("no log message for requests without a level", "one of level %s", Show(levelIn(l.Frame)))
		})
	}),

	"logging/not-sticky": Probe(func(t *T) {
		c := callsByLevel(t)
		if len(c.before) > 0 {
			t.Yield("it logs without any level")
		}
		t.Expect(c.after).To(BeEmptyList[*driver.Frame](
			"no log message for a call without a level, after one with debug"))
	}),

	"logging/on-own-stream": WatchAfter(lateLogs, func(t *T, w Wire) {
		wanted := slices.DeleteFunc(requested(t, w), func(l logged) bool { return l.level() == nil })
		if len(wanted) == 0 {
			kit.NothingSeen(t, "log message came", kit.ValidCalls(t).Uncalled, kit.AnyTool)
		}
		Each(t, wanted, logged.subject, func(t *T, l logged) {
			t.Expect(l.late).To(BeOneOf(false), "after the answer to the request")
		})
	}),
}

// logged is a log message without a handshake, and the request that it is about.
type logged struct {
	Message
	of   *kit.Asked // nil: none was under way
	late bool       // it was answered before
}

// level is the one that the request asks for; nil when it asks for none.
func (l logged) level() any {
	if l.of == nil {
		return nil
	}
	return kit.WantedLevel(l.of.Request)
}

// levelIn is the level of a log message.
func levelIn(f *driver.Frame) any {
	params, _ := f.JSON()["params"].(M)
	return Member(params, "level")
}

func (l logged) subject() Subject {
	if l.of != nil {
		return Subject{Frames: []*driver.Frame{l.of.Request, l.Frame}}
	}
	return Subject{Frames: []*driver.Frame{l.Frame}}
}

// requested are the log messages of the run, with their requests.
func requested(t *T, w Wire) (all []logged) {
	for _, s := range kit.Established(t, Wire{Sessions: w.Whole()}) {
		kit.EachSaid(s.Record(0), func(m *driver.Frame, asked []*kit.Asked) {
			if kit.IsLog(m) {
				l := logged{Message: Message{Frame: m, Session: s}}
				l.of, l.late = requestOf(m, asked)
				all = append(all, l)
			}
		})
	}
	return all
}

// requestOf is the request that a log message is about: the one on whose stream it came or, on a channel that requests
// share, one under way, best of those that ask for log messages; or the last that did, which was answered before.
func requestOf(m *driver.Frame, asked []*kit.Asked) (of *kit.Asked, late bool) {
	var done *kit.Asked
	for _, a := range slices.Backward(asked) {
		wants := kit.WantedLevel(a.Request) != nil
		switch {
		case m.HTTP != nil && m.HTTP == a.Request.HTTP:
			return a, a.Answer != nil
		case m.HTTP != nil, a.Over, a.Request.IsStanding():
		case a.Answer == nil && wants:
			return a, false
		case a.Answer == nil && of == nil:
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

// remembers reports whether the server keeps the level of a request for those after it.
func remembers(t *T) bool {
	if !t.Server.Declares("logging") || len(t.Server.Tools) == 0 {
		return false
	}
	kept := false
	Deferred(t, func() {
		c := callsByLevel(t)
		kept = len(c.before) == 0 && len(c.after) > 0
	})
	return kept
}

// callWithoutLevel sees to it that a tool which logs is called without a level, too.
func callWithoutLevel(t *T) {
	if t.Server.Declares("logging") {
		callsByLevel(t)
	} else {
		kit.CallTools(t)
	}
}

// lateLogs calls tools, those that log one at a time as well, and has the run wait for what they log late.
func lateLogs(t *T) {
	kit.CallToolsAndLinger(t)
	if t.Server.Declares("logging") {
		Deferred(t, func() { callsByLevel(t) })
	}
}
