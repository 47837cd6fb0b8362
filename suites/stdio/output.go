package stdio

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// outputChecks are the checks of what a server writes to stdout and stderr.
var outputChecks = check.Suite{
	"stdio/stdout-only-messages": check.WatchWithSetup(handshake.StartIdleSession, func(t *check.T, w check.Wire) {
		parts, unversioned := splitMessageLines(w), slices.ContainsFunc(w.Messages().List, lacksVersion)
		t.Judge(w.Lines().Filter("output", isCompleteLine), func(t *check.T, m check.Message) {
			if part := parts[m.Frame]; part != nil {
				if part.isMessage {
					t.Yield("a message that spans several lines")
				}
				t.Fail("nothing but MCP messages on stdout", "JSON over %d lines, and not a message: %s", part.lines,
					driver.Brief(part.text))
			}
			if hasSeveralMessages(m.Frame) {
				t.Yield("several messages on one line")
			}
			if unversioned && areAnswers(m) {
				t.Yield("an answer without jsonrpc, as others are")
			}
			if m.TooDeep && m.LooksLikeMessage() {
				t.NoVerdict(check.Limit, "JSON nested more than %d deep, which mcpcheck does not read: %q",
					driver.MaxDepth, m.Raw.Brief())
			}
			t.Expect(m.Kind != driver.Echo).To(check.BeTrue("nothing but MCP messages on stdout",
				"what the client had sent: %s", m.Raw.Brief()))
			isClean := check.BeTrue("nothing but MCP messages on stdout", "%s", invalidLine(m.Raw.Bytes()))
			if string(bytes.TrimSpace(m.Raw.Bytes())) == "null" { // the answer to a batch of notifications, of some
				isClean = check.ReportedBy("batch/notifications-only", isClean)
			}
			t.Expect(m.LooksLikeMessage()).To(isClean)
		})
	}).WhenConnectRefused().InOwnSession(),

	"stdio/one-message-per-line": check.WatchWithSetup(func(t *check.T) {
		// A server that repeats the name shows whether it escapes line breaks.
		if t.Server.Declares("tools") && check.MayCallUnknown(t) {
			invalid.TryInvalid(t, t.Session(), "tools/call",
				check.M{"name": "mcpcheck no\nsuch tool", "arguments": check.M{}})
		}
	}, func(t *check.T, w check.Wire) {
		parts := splitMessageLines(w)
		t.Judge(w.Lines().Filter("output", isCompleteLine), func(t *check.T, m check.Message) {
			part := parts[m.Frame]
			t.Expect(part == nil || !part.isMessage).To(check.BeTrue("a whole message on one line", "a part of one: %q",
				m.Raw.Brief()))
		})
	}).WhenConnectRefused(),

	"stdio/message-terminated-by-newline": check.WatchWithSetup(func(t *check.T) { unterminatedBytes(t) },
		func(t *check.T, w check.Wire) {
			t.Judge(w.Lines().Filter("output", isCompleteLine), func(t *check.T, m check.Message) {
				t.Expect(!hasSeveralMessages(m.Frame)).To(check.BeTrue("a newline after each message", "%s",
					invalidLine(m.Raw.Bytes())))
			})
			t.Expect(bytesWithoutNewline(t, w)).To(check.BeOneOf(0), "bytes of an answer without a newline after it")
		}),

	"stdio/no-unsolicited-output": check.WatchWithSetup(func(t *check.T) { handshake.FramesWhileIdle(t) },
		func(t *check.T, _ check.Wire) {
			for _, f := range handshake.FramesWhileIdle(t) {
				t.Expect(!f.IsNotification()).To(check.BeTrue("silence without a request or a subscription", "%s", f))
			}
		}).InOwnSession(),

	"stdio/stderr-utf8": check.Watch(func(t *check.T, w check.Wire) {
		var all []stderrOutput
		for _, s := range w.Sessions {
			// Servers may log invalid input.
			if head, _ := s.Stdio().Stderr(); len(head) > 0 && !s.HasInvalidInput() {
				all = append(all, stderrOutput{s.Name(), head})
			}
		}
		if len(all) == 0 {
			t.Skip(check.NotObserved, "the server wrote nothing to stderr")
		}
		check.Each(t, all, stderrOutput.subject, func(t *check.T, l stderrOutput) {
			t.ExpectAdvice(utf8.Valid(l.Head)).To(check.BeTrue("UTF-8 text on stderr", "%q", aroundInvalidUTF8(l.Head)))
		})
	}),

	"stdio/responsive-without-stderr-reader": check.ProcessProbe(func(t *check.T) {
		o := handshake.RunWithoutStderrReader(t)
		t.Expect(o.ConnectReply).To(check.BeResult(), t.Server.ConnectMethod()+", with stderr going nowhere")
		t.Expect(o.ListReply).To(check.BeAnswered(), "a list, with stderr going nowhere")
	}),
}

// bytesWithoutNewline returns the length of a response that came without a newline, of any request.
func bytesWithoutNewline(t *check.T, w check.Wire) int {
	for _, d := range transcript.Transcripts(w) {
		for _, x := range d.Calls {
			if f := transcript.UnterminatedResponse(x); f != nil {
				return len(f.Raw)
			}
		}
	}
	return unterminatedBytes(t)
}

// unterminatedBytes returns how many bytes of a response were received without a newline at the end.
func unterminatedBytes(t *check.T) int {
	return check.Step(t, "a newline", func(t *check.T) int {
		s := t.Session()
		r := s.Await(protocol.SendNoOp(s, 70066))
		if r.Answered() {
			return 0 // the newline was received, too
		}
		check.RequireNotLate(t, r)
		partial := s.Stdio().PartialBytes()
		if partial == 0 {
			t.NoVerdict(check.Undecided, "%v", r.Err)
		}
		return partial
	})
}

func lacksVersion(m check.Message) bool { return !m.HasJSONRPC }

// areAnswers reports whether a line consists of messages that only responses can be, whether or not they have a jsonrpc
// member. The line is one message or a batch.
func areAnswers(m check.Message) bool {
	return !slices.ContainsFunc(m.Messages(), func(f *driver.Frame) bool {
		return f.Kind != driver.Object || f.HasMethod || f.HasResult == f.HasError
	})
}

// invalidLine is a line that is not a message.
type invalidLine []byte

// String quotes the line, with a hint at what it looks like.
func (line invalidLine) String() string {
	text := strconv.Quote(driver.Brief(line))
	if said := driver.StdoutHint(line); said != "" {
		text += "\n" + said
	}
	return text
}

// stderrOutput is the beginning of what a server wrote to stderr in a session.
type stderrOutput struct {
	// Session is the name of the session.
	Session string
	Head    []byte
}

func (l stderrOutput) subject() check.Subject { return check.NamedSubject(l.Session) }

// aroundInvalidUTF8 returns the part of a text around the first byte that is not UTF-8.
func aroundInvalidUTF8(text []byte) []byte {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return text[max(0, at-40):min(len(text), at+40)]
}

// isCompleteLine reports whether a line is complete. The message that a server was writing when it ended is not. Other
// text without a newline is.
func isCompleteLine(m check.Message) bool {
	return m.Complete || !messageStartPattern.Match(m.Raw.Bytes())
}

// messageStartPattern matches the beginning of a message or of an array of messages.
var messageStartPattern = regexp.MustCompile(`^\s*(\[\s*)?(\{|$)`)
