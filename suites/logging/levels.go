package logging

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

const setLevelMethod = "logging/setLevel"

// levelChecks are the checks of the levels that a client may ask for.
var levelChecks = check.Suite{
	"logging/set-level-works": check.Probe(func(t *check.T) {
		s := t.Session()
		level := func(level string) check.Subject { return check.NamedSubject(level) }
		check.Each(t, toolcall.LogLevels, level, func(t *check.T, level string) {
			r := t.TryRequest(s, setLevelMethod, check.M{"level": level})
			protocol.SkipUnlessObject(t, r)
			t.Expect(r).To(check.BeResult())
		})
		t.TryRequest(s, setLevelMethod, check.M{"level": "info"})
	}),

	"logging/invalid-level": check.Probe(func(t *check.T) {
		value := func(value any) check.Subject { return check.NamedSubject(check.Show(value)) }
		check.Each(t, []any{"verbose", "INFO", 3}, value, func(t *check.T, value any) {
			r := invalid.RequestInvalid(t, t.SessionForInvalidInput(), setLevelMethod, check.M{"level": value})
			t.Expect(r).To(check.BeError(errcode.InvalidParams))
		})
	}).InModern(check.Probe(func(t *check.T) {
		s := t.SessionForInvalidInput()
		if check.RequestNoOp(t, s).Result() == nil {
			t.Yield("it is not served with any level")
		}
		method, _ := s.NoOp()
		r := invalid.RequestInvalid(t, s, method, check.M{"_meta": check.M{driver.MetaLogLevel: "loud"}})
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	})),

	"logging/set-level-missing": check.Probe(func(t *check.T) {
		t.Expect(invalid.RequestInvalid(t, t.SessionForInvalidInput(), setLevelMethod, check.M{})).To(check.BeError())
	}),

	"logging/level-respected": check.Probe(func(t *check.T) {
		for _, c := range callAtLevels(t).levels {
			for _, m := range c.logs {
				if toolcall.LogLevelIndex(m) < 0 {
					t.Yield("it has no known level")
				}
				t.DecidedBy(m).Expect(toolcall.LogLevelIndex(m) >= c.level).
					To(check.BeTrue(toolcall.LogLevels[c.level]+" or above",
						"%s",
						toolcall.LogLevels[toolcall.LogLevelIndex(m)]))
			}
		}
	}),

	"logging/level-per-session": check.Probe(func(t *check.T) {
		if t.Server.Sessionless {
			t.WithReason(check.NotOffered).Skip(noSessionsReason)
		}
		logger := callAtLevels(t).logger
		s, other := t.ExclusiveSession(), t.ExclusiveSession()
		heard := func() bool {
			setSessionLevel(t, s, "debug")
			setSessionLevel(t, other, "debug")
			return len(logsOf(t, s, logger, nil)) > 0
		}
		if !heard() {
			t.Inconclusive("%s has logged nothing this time", logger.Tool.Name)
		}
		setSessionLevel(t, other, "emergency")
		silenced := len(logsOf(t, s, logger, nil)) == 0
		if silenced && !heard() {
			t.Inconclusive("%s does not log something each time", logger.Tool.Name)
		}
		t.Expect(silenced).To(check.BeOneOf(false), "silenced by another session that asked for emergency")
	}),
}

const noSessionsReason = "the server has no sessions in which a level could hold"

// logsByLevel is what a tool logs with different levels.
type logsByLevel struct {
	logger        toolcall.ToolCall
	before, after []*driver.Frame // without a handshake: without a level, before and after a call with one
	levels        []levelLogs
}

// levelLogs is what was logged with a level.
type levelLogs struct {
	level int // a place in kit.LogLevels
	logs  []*driver.Frame
}

// callAtLevels calls a tool that logs something with one level after the other: debug, error and emergency. It ends a
// check when none logs below emergency.
func callAtLevels(t *check.T) logsByLevel {
	if t.Server.Sessionless && !t.IsModern() {
		t.WithReason(check.NotOffered).Skip(noSessionsReason)
	}
	return check.Step(t, "log messages by level", func(t *check.T) (all logsByLevel) {
		loggers, s := toolcall.LoggingCalls(t), t.Session()
		for _, all.logger = range loggers {
			all.before = nil
			if t.IsModern() {
				all.before = logsOf(t, s, all.logger, nil)
			}
			if len(all.before) > 0 && t.Site() == nil { // the level of an earlier request may have been kept
				s = t.ExclusiveSession()
				all.before = logsOf(t, s, all.logger, nil)
			}
			if some := logsAt(t, s, all.logger, "debug"); hasLowerLevel(some.logs) {
				all.levels = append(all.levels, some)
				break
			}
		}
		if len(all.levels) == 0 {
			t.Inconclusive("%s has logged nothing below emergency this time", all.logger.Tool.Name)
		}
		if t.IsModern() {
			all.after = logsOf(t, s, all.logger, nil)
		}
		for _, level := range []string{"error", "emergency"} {
			all.levels = append(all.levels, logsAt(t, s, all.logger, level))
		}
		switch {
		case !t.IsModern():
			setSessionLevel(t, s, "info")
		case t.Site() == nil && !t.IsQuick():
			s.Sleep(protocol.ShortWait) // what is logged now is late: no other request is under way
		}
		return all
	})
}

// hasLowerLevel reports whether one of some log messages is of a lesser level than the highest.
func hasLowerLevel(logs []*driver.Frame) bool {
	for _, m := range logs {
		if level := toolcall.LogLevelIndex(m); 0 <= level && level < len(toolcall.LogLevels)-1 {
			return true
		}
	}
	return false
}

// logsAt is what a call logs when the client wants log messages from a level on.
func logsAt(t *check.T, s *driver.Session, logger toolcall.ToolCall, level string) (c levelLogs) {
	for toolcall.LogLevels[c.level] != level {
		c.level++
	}
	meta := check.M{driver.MetaLogLevel: level}
	if !t.IsModern() {
		setSessionLevel(t, s, level)
		meta = nil
	}
	c.logs = logsOf(t, s, logger, meta)
	return c
}

// setSessionLevel sets the level of a session, and waits until the server has nothing more to say of before.
func setSessionLevel(t *check.T, s *driver.Session, level string) {
	mark := s.Mark()
	if r := t.Request(s, setLevelMethod, check.M{"level": level}); r.Result() == nil {
		t.Yield("the level cannot be set")
	}
	check.Barrier(t, s, mark)
}

// logsOf are the log messages that come while a call runs in a session. It ends a check whose call is not served.
func logsOf(t *check.T, s *driver.Session, c toolcall.ToolCall, meta check.M) (logs []*driver.Frame) {
	mark := s.Mark()
	r := check.RequireServerReply(t, s.AwaitLongRunning(c.Repeat(s, meta)))
	if r.Result() == nil {
		t.Retry("%s, which was served before, was answered with %s", c.Tool.Name, check.Got(r))
	}
	for _, f := range s.ReceivedSince(mark) {
		if toolcall.IsLogMessage(f) && !transcript.IsOnOtherStream(f, r.Request) {
			logs = append(logs, f)
		}
	}
	return logs
}
