// Package logging holds the checks of log messages: the notifications, and the level that a client requests by
// logging/setLevel or, in the modern revisions, by each request.
//
// Most checks watch the log messages of the run. The checks of levels read the step of callAtLevels, which calls a tool
// that logs at several levels.
package logging

import (
	"bytes"
	"encoding/base64"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(levelChecks, perRequestChecks, check.Suite{
	"logging/capability-declared": check.WatchWithSetup(askUndeclared, func(t *check.T, w check.Wire) {
		sent := logMessages(t, w).Filter("log message",
			func(m check.Message) bool { return m.Session.ConnectResult != nil })
		t.Judge(sent, func(t *check.T, m check.Message) {
			handshake.SkipUnlessCapabilities(t, m.Session.ConnectResult)
			t.Expect(check.HasMember(m.Session.Capabilities, "logging")).To(check.BeTrue("the capability logging",
				"a log message without it"))
		})
	}),

	"logging/message-schema": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		t.Judge(logMessages(t, w), func(t *check.T, m check.Message) {
			broken := protocol.Violations(t, "logging/message-schema", "LoggingMessageNotification", m.JSON())
			t.Expect(broken).
				To(check.BeEmptyList[string]("one of the eight levels, data, and a string as logger, or none"))
		})
	}),

	"logging/no-secrets": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		secrets := toolcall.Secrets(t)
		if len(secrets) == 0 {
			t.Skip(check.NotGiven, "the server was given no secret that it could log")
		}
		t.Judge(logMessages(t, w), func(t *check.T, m check.Message) {
			for _, secret := range secrets {
				encoded := base64.RawStdEncoding.EncodeToString([]byte(secret))
				text := m.Raw.Bytes()
				leaks := bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte(encoded))
				t.Expect(!leaks).To(check.BeTrue("no credentials", "one that the server was given"))
			}
		})
	}),

	"logging/rate-limited": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		by := map[*driver.Session][]check.Message{}
		all := logMessages(t, w)
		for _, m := range all.List {
			by[m.Session] = append(by[m.Session], m)
		}
		first := all.Filter(all.Kind, func(m check.Message) bool { return by[m.Session][0].Frame == m.Frame })
		check.Judge(t, first.Kind, first.List, floodSubject, func(t *check.T, m check.Message) {
			n := transcript.PeakPerTwoSeconds(by[m.Session], func(m check.Message) time.Duration { return m.At })
			t.ExpectShould(n <= maxLogs(m.Session)).To(check.BeTrue("about 100 log messages a second at most",
				"%d within two seconds", n))
		})
	}),
})

// askUndeclared calls tools and, where a modern server does not declare logging, repeats requests that ask for log
// messages, which no other check does then.
func askUndeclared(t *check.T) {
	toolcall.CallTools(t)
	if !t.IsModern() || t.Server.Declares("logging") || check.SavesRequests(t) || t.IsQuick() {
		return
	}
	valid := requests.Valid(t)
	check.Step(t, "requests with a log level", func(t *check.T) (none struct{}) {
		const most = 10
		s, meta := t.Session(), check.M{driver.MetaLogLevel: "debug"}
		calls := toolcall.RepeatableCalls(toolcall.ValidCalls(t))
		for _, c := range calls[:min(len(calls), most)] {
			if c.Duration < toolcall.MaxVariedDuration {
				s.AwaitLongRunning(c.Repeat(s, meta))
			}
		}
		for _, r := range valid {
			if r.Method != "tools/call" {
				s.Call(r.Method, r.With(meta))
			}
		}
		return none
	})
}

// floodSubject shows the first message of a flood by its JSON. A frame would make the verdict inconclusive, since not
// all of the stream was kept.
func floodSubject(m check.Message) check.Subject { return check.Subject{Value: m.JSON()} }

// logMessages returns the log messages of the run. Without any, it ends the check as skip.
func logMessages(t *check.T, w check.Wire) check.Messages {
	all := w.Notifications().Negotiated(t.Revision).Filter("log message", func(m check.Message) bool {
		return isLogMessage(m.Frame)
	})
	if len(all.List) == 0 {
		toolcall.SkipNotObserved(t, "log message came", toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	}
	return all
}

// maxLogs returns how many log messages within two seconds are acceptable in a session: 100 a second, as many for each
// of five calls, which the client may make at once, and a few for each other message of the client.
func maxLogs(s *driver.Session) (most int) {
	const aSecond, each, calls = 100, 10, 5
	most, called := 2*aSecond, 0
	for _, f := range s.FramesSince(0) {
		switch {
		case f.Side != driver.FromClient:
		case f.Method == "tools/call" && called < calls:
			called++
			most += aSecond
		default:
			most += each
		}
	}
	return most
}
