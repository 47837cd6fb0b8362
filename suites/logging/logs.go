package logging

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// isLogMessage reports whether a frame is a log message.
func isLogMessage(f *driver.Frame) bool { return f.Method == "notifications/message" }

// logLevelIndex is the index in protocol.LogLevels of the level of a log message; -1 when it is not one of these.
func logLevelIndex(f *driver.Frame) int {
	params, _ := f.JSON()["params"].(check.M)
	level, _ := params["level"].(string)
	return slices.Index(protocol.LogLevels, level)
}

// requestedLogLevel is the log level that a modern request asks for; nil when it asks for none.
func requestedLogLevel(request *driver.Frame) any {
	params, _ := request.JSON()["params"].(check.M)
	return protocol.MetaOf(params)[driver.MetaLogLevel]
}

// loggingCalls are calls of tools that may be repeated, the quickest first, during which a log message came, possibly
// of another call. It ends a check when there is none.
func loggingCalls(t *check.T) []toolcall.ToolCall {
	const most = 5
	calls := toolcall.ValidCalls(t)
	loggers := slices.DeleteFunc(slices.Clone(calls.List), func(c toolcall.ToolCall) bool {
		return !c.IsDirectSuccess() || !slices.ContainsFunc(messagesDuring(c), isLogMessage)
	})
	if len(loggers) == 0 {
		toolcall.SkipNotObserved(t, "log message came", calls.Uncalled, toolcall.AnyTool)
	}
	slices.SortStableFunc(loggers, toolcall.CompareBySpeed)
	return loggers[:min(len(loggers), most)]
}

// messagesDuring are the messages of the server that came during a call. Messages on the streams of other calls are
// left out.
func messagesDuring(c toolcall.ToolCall) (came []*driver.Frame) {
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
