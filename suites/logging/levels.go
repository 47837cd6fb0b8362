package logging

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

const setLevelMethod = "logging/setLevel"

// levelChecks are the checks of the log levels that clients request.
var levelChecks = check.Suite{
	"logging/set-level-works": check.Probe(func(t *check.T) {
		s := t.Session()
		level := func(level string) check.Subject { return check.NamedSubject(level) }
		check.Each(t, protocol.LogLevels, level, func(t *check.T, level string) {
			r := t.Send(s, setLevelMethod, check.M{"level": level}, check.AllowSilence)
			protocol.SkipUnlessObject(t, r)
			t.Expect(r).To(check.BeResult())
		})
		t.Send(s, setLevelMethod, check.M{"level": "info"}, check.AllowSilence)
	}),

	"logging/invalid-level": check.Probe(func(t *check.T) {
		check.Each(t, invalidLevels(t), invalidLevel.subject, func(t *check.T, l invalidLevel) {
			t.Expect(l.reply).To(check.BeError(errcode.InvalidParams))
		})
	}).InModern(check.Probe(func(t *check.T) {
		if check.RequestNoOp(t, t.Session(check.ForInvalidInput)).Result() == nil {
			t.Yield("it is not served with any level")
		}
		levels := []string{"loud", "INFO"}
		valid := requests.Affordable(t, requests.Valid(t), len(levels))
		check.Each(t, valid, requests.Request.Subject, func(t *check.T, request requests.Request) {
			for _, level := range levels {
				params := request.With(check.M{driver.MetaLogLevel: level})
				r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), request.Method, params)
				t.Expect(r).To(check.BeError(errcode.InvalidParams), level)
			}
		})
	})),

	"logging/set-level-missing": check.Probe(func(t *check.T) {
		levels := invalidLevels(t)
		r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), setLevelMethod, check.M{})
		isRefused := func(l invalidLevel) bool { return l.reply.Result() == nil }
		if r.Result() != nil && !slices.ContainsFunc(levels, isRefused) {
			t.Yield("any level is taken")
		}
		t.Expect(r).To(check.BeError())
	}),

	"logging/level-respected": check.Probe(func(t *check.T) {
		if t.IsModern() {
			expectLevelsServed(t)
		}
		// A server over HTTP may have one level for all sessions.
		if t.IsModern() || t.Site() == nil && !check.SavesRequests(t) {
			expectReadsRespectLevel(t)
		}
		all := callAtLevels(t)
		expectLoweredLevel(t, all)
		if all.isPartial {
			t.Caveat("not all calls that log were made at all levels within %v", maxLevels)
		}
		for _, c := range all.levels {
			for _, m := range c.logs {
				if logLevelIndex(m) < 0 {
					t.Yield("it has no known level")
				}
				isWanted := check.BeTrue(protocol.LogLevels[c.level]+" or above", "%s",
					protocol.LogLevels[logLevelIndex(m)])
				t.DecidedBy(m).Expect(logLevelIndex(m) >= c.level).
					To(check.ReportedBy("logging/on-own-stream", isWanted)) // it may be late, of a request before
			}
		}
	}),

	"logging/level-per-session": check.Probe(func(t *check.T) {
		if t.Server.Sessionless {
			t.Skip(check.NotOffered, noSessionsReason)
		}
		found := findLogger(t)
		logger, lowest := found.logger, lowestLevel(found.levels[0].logs)
		s, other := t.Session(check.Exclusive), t.Session(check.Exclusive)
		// Other checks set levels at the same time, which a server that shares them does not tell apart.
		const tries = 3
		isEverSilent := func(levelOfOther string) bool {
			for range tries {
				setSessionLevel(t, s, "debug")
				// Without a barrier, since other checks may set theirs meanwhile.
				t.Send(other, setLevelMethod, check.M{"level": levelOfOther})
				if lowestLevel(logsOf(t, s, logger, nil)) > lowest {
					return true
				}
			}
			return false
		}
		silenced := isEverSilent("emergency")
		if silenced && isEverSilent("debug") {
			t.Retry(check.Undecided, "%s does not log something each time", logger.Tool.Name)
		}
		t.Expect(silenced).To(check.BeOneOf(false), "silenced by another session that asked for emergency")
	}),
}

// expectLoweredLevel requires that the level debug after a higher one brings again what it brings in a session that had
// no other level. That session logs first, and more, so that a limit on log messages does not explain the difference.
func expectLoweredLevel(t *check.T, all logsByLevel) {
	lowest := lowestLevel(all.levels[0].logs)
	const calls = 2
	countLow := func(s *driver.Session) (n int) {
		for range calls {
			if lowestLevel(logsAt(t, s, all.logger, "debug").logs) <= lowest {
				n++
			}
		}
		return n
	}
	if t.IsModern() || all.isLowered {
		return
	}
	check.NeedsConfirmation(t) // a server may have one level for all sessions, which other checks set meanwhile
	if countLow(t.Session(check.Exclusive)) < calls {
		return
	}
	s := t.Session(check.Exclusive)
	setSessionLevel(t, s, "emergency")
	t.Expect(countLow(s) > 0).To(check.BeTrue(
		"messages of the level "+protocol.LogLevels[lowest]+" again after setLevel emergency and then debug", "none"))
}

// lowestLevel is the lowest level of log messages; that of none is above all levels.
func lowestLevel(logs []*driver.Frame) int {
	lowest := len(protocol.LogLevels)
	for _, f := range logs {
		lowest = min(lowest, logLevelIndex(f))
	}
	return lowest
}

// invalidLevel is the reply to logging/setLevel with a value that is no level.
type invalidLevel struct {
	value any
	reply driver.Reply
}

func (l invalidLevel) subject() check.Subject { return check.NamedSubject(check.Show(l.value)) }

// invalidLevels sets levels that there are not.
func invalidLevels(t *check.T) []invalidLevel {
	return check.Step(t, "levels that there are not", func(t *check.T) (all []invalidLevel) {
		for _, value := range []any{"verbose", "INFO", 3} {
			r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), setLevelMethod, check.M{"level": value})
			all = append(all, invalidLevel{value, r})
		}
		return all
	})
}

const noSessionsReason = "the server has no sessions in which a level could hold"

// logsByLevel holds what a tool logs at several requested levels.
type logsByLevel struct {
	logger toolcall.ToolCall
	// before and after are the logs without a requested level, before and after the call at the level debug. They are
	// empty in the legacy revisions.
	before, after []*driver.Frame
	levels        []levelLogs
	// isLowered reports, in the legacy revisions, whether a last call at the level debug logged as the first one did. A
	// quick run does not make that call.
	isLowered bool
	// isPartial reports whether the time was up before each call was made at all levels.
	isPartial bool
}

// levelLogs holds what was logged at a requested level.
type levelLogs struct {
	// level is an index into protocol.LogLevels.
	level int
	logs  []*driver.Frame
}

// findLogger calls tools at the level debug, up to the first one that logs something below emergency. It ends the check
// when there is none.
func findLogger(t *check.T) logsByLevel {
	if t.Server.Sessionless && !t.IsModern() {
		t.Skip(check.NotOffered, noSessionsReason)
	}
	return check.Step(t, "a tool that logs", func(t *check.T) (all logsByLevel) {
		loggers, s := loggingCalls(t), t.Session()
		for n := range 2 * len(loggers) {
			if n == len(loggers) { // other checks have set levels of the session, which a server may not lower again
				s = t.Session(check.Exclusive)
			}
			all.logger = loggers[n%len(loggers)]
			all.before = nil
			if t.IsModern() {
				all.before = logsOf(t, s, all.logger, nil)
			}
			if len(all.before) > 0 && t.Site() == nil { // the server may have kept the level of an earlier request
				s = t.Session(check.Exclusive)
				all.before = logsOf(t, s, all.logger, nil)
			}
			if some := logsAt(t, s, all.logger, "debug"); hasLowerLevel(some.logs) {
				all.levels = append(all.levels, some)
				if t.IsModern() {
					all.after = logsOf(t, s, all.logger, nil)
				}
				return all
			}
		}
		t.NoVerdict(check.Undecided, "%s has logged nothing below emergency this time", all.logger.Tool.Name)
		return all
	})
}

// callAtLevels calls the tool of findLogger at the levels of levelsToTry as well, and then the others that log.
func callAtLevels(t *check.T) logsByLevel {
	found, others := findLogger(t), otherLoggers(t)
	return check.Step(t, "log messages by level", func(t *check.T) logsByLevel {
		all, s, begin := found, t.Session(), time.Now()
		for _, level := range levelsToTry() {
			if (t.IsQuick() || time.Since(begin) > maxLevels) && len(all.levels) > minLevels {
				break
			}
			all.levels = append(all.levels, logsAt(t, s, all.logger, level))
		}
		for _, c := range others { // they may log at levels at which the first one does not
			for _, level := range levelsToTry() {
				if time.Since(begin) < maxLevels {
					all.levels = append(all.levels, logsAt(t, s, c, level))
				}
			}
		}
		all.isPartial = !t.IsQuick() && time.Since(begin) >= maxLevels
		switch {
		case !t.IsModern():
			all.isLowered = t.IsQuick() ||
				lowestLevel(logsAt(t, s, all.logger, "debug").logs) <= lowestLevel(found.levels[0].logs)
			setSessionLevel(t, s, "info")
		case t.Site() == nil && !t.IsQuick():
			s.Sleep(timing.ShortWait) // no other request is running, so that later logs are late
		}
		return all
	})
}

// otherLoggers are calls with other arguments during which a log message came, possibly of another call: first those
// during which messages of the most levels came, since there is no time for all.
func otherLoggers(t *check.T) []toolcall.ToolCall {
	loggers := slices.DeleteFunc(slices.Clone(toolcall.VariedCalls(t).List), func(c toolcall.ToolCall) bool {
		return !c.IsDirectSuccess() || len(levelsDuring(c)) == 0
	})
	slices.SortStableFunc(loggers, func(a, b toolcall.ToolCall) int {
		return cmp.Compare(len(levelsDuring(b)), len(levelsDuring(a)))
	})
	return loggers
}

// levelsDuring are the levels of the log messages that came during a call.
func levelsDuring(c toolcall.ToolCall) map[int]bool {
	levels := map[int]bool{}
	for _, f := range messagesDuring(c) {
		if isLogMessage(f) {
			levels[logLevelIndex(f)] = true
		}
	}
	return levels
}

const (
	// maxLevels is how long the levels may take altogether, after minLevels of them were tried.
	maxLevels = 3 * time.Second
	minLevels = 2
)

// levelsToTry returns the levels above debug in the order in which they are tried: first two that are far from each
// other, then all others, since a server may have any two of them the other way round.
func levelsToTry() []string {
	first := []string{"error", "emergency"}
	others := slices.DeleteFunc(slices.Clone(protocol.LogLevels[1:]), func(level string) bool {
		return slices.Contains(first, level)
	})
	return append(first, others...)
}

// hasLowerLevel reports whether log messages include one below the highest level.
func hasLowerLevel(logs []*driver.Frame) bool {
	for _, m := range logs {
		if level := logLevelIndex(m); 0 <= level && level < len(protocol.LogLevels)-1 {
			return true
		}
	}
	return false
}

// logsAt returns the log messages of a call for which the client has requested a level.
func logsAt(t *check.T, s *driver.Session, logger toolcall.ToolCall, level string) (c levelLogs) {
	for protocol.LogLevels[c.level] != level {
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

// setSessionLevel sets the level of a session, and waits until the server has sent what was logged before.
func setSessionLevel(t *check.T, s *driver.Session, level string) {
	mark := s.Mark()
	if r := t.Send(s, setLevelMethod, check.M{"level": level}); r.Result() == nil {
		t.Yield("the level cannot be set")
	}
	check.Barrier(t, s, mark)
}

// logsOf returns the log messages that are received while a call runs. If the call fails, it ends the check.
func logsOf(t *check.T, s *driver.Session, c toolcall.ToolCall, meta check.M) (logs []*driver.Frame) {
	mark := s.Mark()
	r := check.RequireServerReply(t, s.AwaitLongRunning(c.Repeat(s, meta)))
	if r.Result() == nil {
		t.Retry(check.Undecided, "%s, which was served before, was answered with %s", c.Tool.Name, check.Got(r))
	}
	for _, f := range s.ReceivedSince(mark) {
		if isLogMessage(f) && !transcript.IsOnOtherStream(f, r.Request) {
			logs = append(logs, f)
		}
	}
	return logs
}
