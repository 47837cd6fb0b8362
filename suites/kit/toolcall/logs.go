package toolcall

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// LogLevels are the levels of log messages, the lowest first (RFC 5424, section 6.2.1).
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// IsLogMessage reports whether a frame is a log message.
func IsLogMessage(f *driver.Frame) bool { return f.Method == "notifications/message" }

// LogLevelIndex is the index in LogLevels of the level of a log message; -1 when it is not one of these.
func LogLevelIndex(f *driver.Frame) int {
	params, _ := f.JSON()["params"].(check.M)
	level, _ := params["level"].(string)
	return slices.Index(LogLevels, level)
}

// RequestedLogLevel is the log level that a modern request asks for; nil when it asks for none.
func RequestedLogLevel(request *driver.Frame) any {
	params, _ := request.JSON()["params"].(check.M)
	return protocol.MetaOf(params)[driver.MetaLogLevel]
}

// enableLogging asks for all log messages in a legacy session.
func enableLogging(t *check.T, s *driver.Session) {
	const method = "logging/setLevel"
	if !t.IsModern() && s.Capabilities["logging"] != nil && check.KnownUnanswered(t, method) == nil {
		t.Send(s, method, check.M{"level": LogLevels[0]}, check.AllowSilence)
	}
}

// LoggingCalls are calls of tools that may be repeated, the quickest first, during which a log message came, possibly
// of another call. It ends a check when there is none.
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

// messagesDuring are the messages of the server that came during the call. Messages on the streams of other calls are
// left out.
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
