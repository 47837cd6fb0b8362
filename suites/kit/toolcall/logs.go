package toolcall

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// LogLevels are the levels of log messages, the least one first.
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// IsLogMessage reports whether a message is one that is logged.
func IsLogMessage(f *driver.Frame) bool { return f.Method == "notifications/message" }

// LogLevelIndex is the level of a log message as a place in LogLevels; -1 when it is none of them.
func LogLevelIndex(f *driver.Frame) int {
	params, _ := f.JSON()["params"].(check.M)
	level, _ := params["level"].(string)
	return slices.Index(LogLevels, level)
}

// RequestedLogLevel is the level from which on a request wants log messages; nil when it does not say so.
func RequestedLogLevel(request *driver.Frame) any {
	params, _ := request.JSON()["params"].(check.M)
	return protocol.MetaOf(params)[driver.MetaLogLevel]
}

// enableLogging asks for all that is logged in a session, where a session is asked.
func enableLogging(t *check.T, s *driver.Session) {
	const method = "logging/setLevel"
	if !t.IsModern() && s.Capabilities["logging"] != nil && check.KnownUnanswered(t, method) == nil {
		t.TryRequest(s, method, check.M{"level": LogLevels[0]})
	}
}

// LoggingCalls are calls of tools that may be made again, the quickest ones first, while which something was logged,
// be it by another one that ran beside it. It ends a check that finds none.
func LoggingCalls(t *check.T) []ToolCall {
	const most = 5
	calls := ValidCalls(t)
	loggers := slices.DeleteFunc(slices.Clone(calls.List), func(c ToolCall) bool {
		return !c.IsDirectSuccess() || !slices.ContainsFunc(c.messagesDuring(), IsLogMessage)
	})
	if len(loggers) == 0 {
		SkipNotObserved(t, "log message came", calls.Uncalled, AnyTool)
	}
	slices.SortStableFunc(loggers, CompareBySpeed)
	return loggers[:min(len(loggers), most)]
}

// messagesDuring are the messages of the server that came while the call was under way: where each has a stream of its
// own, not those on that of another one.
func (c ToolCall) messagesDuring() (came []*driver.Frame) {
	began := false
	for _, f := range c.Session.FramesSince(0) {
		switch {
		case f == c.Reply.Request:
			began = true
		case f == c.Reply.Frame:
			return came
		case began && f.Side == driver.FromServer && !transcript.IsOnOtherStream(f, c.Reply.Request):
			came = append(came, f)
		}
	}
	return came
}
