package logging

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

const setLevel = "logging/setLevel"

// levels are the checks of the levels that a client may ask for.
var levels = Suite{
	"logging/set-level-works": Probe(func(t *T) {
		s := t.Session()
		level := func(level string) Subject { return Named(level) }
		Each(t, kit.LogLevels, level, func(t *T, level string) {
			r := t.Try(s, setLevel, M{"level": level})
			kit.WantObject(t, r)
			t.Expect(r).To(BeResult())
		})
		t.Try(s, setLevel, M{"level": "info"})
	}),

	"logging/invalid-level": Probe(func(t *T) {
		value := func(value any) Subject { return Named(Show(value)) }
		Each(t, []any{"verbose", "INFO", 3}, value, func(t *T, value any) {
			r := kit.AskAmiss(t, t.Hostile(), setLevel, M{"level": value})
			t.Expect(r).To(BeError(kit.InvalidParams))
		})
	}).InModern(Probe(func(t *T) {
		s := t.Hostile()
		if AskHarmless(t, s).Result() == nil {
			t.Yield("it is not served with any level")
		}
		method, _ := s.Harmless()
		r := kit.AskAmiss(t, s, method, M{"_meta": M{driver.MetaLogLevel: "loud"}})
		t.Expect(r).To(BeError(kit.InvalidParams))
	})),

	"logging/set-level-missing": Probe(func(t *T) {
		t.Expect(kit.AskAmiss(t, t.Hostile(), setLevel, M{})).To(BeError())
	}),

	"logging/level-respected": Probe(func(t *T) {
		for _, c := range callsByLevel(t).at {
			for _, m := range c.logs {
				if kit.LevelOf(m) < 0 {
					t.Yield("it has no known level")
				}
				t.By(m).Expect(kit.LevelOf(m) >= c.level).To(Hold(kit.LogLevels[c.level]+" or above", "%s",
					kit.LogLevels[kit.LevelOf(m)]))
			}
		}
	}),

	"logging/level-per-session": Probe(func(t *T) {
		if t.Server.Sessionless {
			t.Because(NotOffered).Skip(noSessions)
		}
		logger := callsByLevel(t).logger
		s, other := t.Own(), t.Own()
		heard := func() bool {
			setTo(t, s, "debug")
			setTo(t, other, "debug")
			return len(logsOf(t, s, logger, nil)) > 0
		}
		if !heard() {
			t.Inconclusive("%s has logged nothing this time", logger.Tool.Name)
		}
		setTo(t, other, "emergency")
		silenced := len(logsOf(t, s, logger, nil)) == 0
		if silenced && !heard() {
			t.Inconclusive("%s does not log something each time", logger.Tool.Name)
		}
		t.Expect(silenced).To(BeOneOf(false), "silenced by another session that asked for emergency")
	}),
}

const noSessions = "the server has no sessions in which a level could hold"

// byLevel is what a tool logs with different levels.
type byLevel struct {
	logger        kit.ToolCall
	before, after []*driver.Frame // without a handshake: without a level, before and after a call with one
	at            []atLevel
}

// atLevel is what was logged with a level.
type atLevel struct {
	level int // a place in kit.LogLevels
	logs  []*driver.Frame
}

// callsByLevel calls a tool that logs something with one level after the other: debug, error and emergency. It ends a
// check when none logs below emergency.
func callsByLevel(t *T) byLevel {
	if t.Server.Sessionless && !t.Modern() {
		t.Because(NotOffered).Skip(noSessions)
	}
	return Step(t, "log messages by level", func(t *T) (all byLevel) {
		loggers, s := kit.MaybeLoggers(t), t.Session()
		for _, all.logger = range loggers {
			all.before = nil
			if t.Modern() {
				all.before = logsOf(t, s, all.logger, nil)
			}
			if len(all.before) > 0 && t.Site() == nil { // the level of an earlier request may have been kept
				s = t.Own()
				all.before = logsOf(t, s, all.logger, nil)
			}
			if some := logsAt(t, s, all.logger, "debug"); hasLesser(some.logs) {
				all.at = append(all.at, some)
				break
			}
		}
		if len(all.at) == 0 {
			t.Inconclusive("%s has logged nothing below emergency this time", all.logger.Tool.Name)
		}
		if t.Modern() {
			all.after = logsOf(t, s, all.logger, nil)
		}
		for _, level := range []string{"error", "emergency"} {
			all.at = append(all.at, logsAt(t, s, all.logger, level))
		}
		switch {
		case !t.Modern():
			setTo(t, s, "info")
		case t.Site() == nil && !t.Quick():
			s.Idle(kit.Shortly) // what is logged now is late: no other request is under way
		}
		return all
	})
}

// hasLesser reports whether one of some log messages is of a lesser level than the highest.
func hasLesser(logs []*driver.Frame) bool {
	for _, m := range logs {
		if level := kit.LevelOf(m); 0 <= level && level < len(kit.LogLevels)-1 {
			return true
		}
	}
	return false
}

// logsAt is what a call logs when the client wants log messages from a level on.
func logsAt(t *T, s *driver.Session, logger kit.ToolCall, level string) (c atLevel) {
	for kit.LogLevels[c.level] != level {
		c.level++
	}
	meta := M{driver.MetaLogLevel: level}
	if !t.Modern() {
		setTo(t, s, level)
		meta = nil
	}
	c.logs = logsOf(t, s, logger, meta)
	return c
}

// setTo sets the level of a session, and waits until the server has nothing more to say of before.
func setTo(t *T, s *driver.Session, level string) {
	mark := s.Mark()
	if r := t.Ask(s, setLevel, M{"level": level}); r.Result() == nil {
		t.Yield("the level cannot be set")
	}
	Settle(t, s, mark)
}

// logsOf are the log messages that come while a call runs in a session. It ends a check whose call is not served.
func logsOf(t *T, s *driver.Session, c kit.ToolCall, meta M) (logs []*driver.Frame) {
	mark := s.Mark()
	r := Accept(t, s.AwaitCall(c.Again(s, meta)))
	if r.Result() == nil {
		t.Again("%s, which was served before, was answered with %s", c.Tool.Name, Got(r))
	}
	for _, f := range s.Since(mark) {
		if kit.IsLog(f) && !kit.OfOther(f, r.Request) {
			logs = append(logs, f)
		}
	}
	return logs
}
