package stdio

import (
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var output = Suite{
	"stdio/stdout-only-messages": WatchAfter(kit.Ignore, func(t *T, w Wire) {
		parts, unversioned := spread(w), slices.ContainsFunc(w.Messages().List, lacksVersion)
		t.Judge(w.Lines().Filter("output", isDone), func(t *T, m Message) {
			if parts[m.Frame] {
				t.Yield("a message that spans several lines")
			}
			if runOn(m.Frame) {
				t.Yield("several messages on one line")
			}
			if unversioned && areAnswers(m) {
				t.Yield("an answer without jsonrpc, as others are")
			}
			if m.Deep && m.IsMeant() {
				t.Because(Limit).Inconclusive("JSON nested more than %d deep, which mcpcheck does not read: %q",
					driver.MaxDepth, m.Raw.Brief())
			}
			t.Expect(m.Shape != driver.Echo).To(Hold("nothing but MCP messages on stdout",
				"what the client had sent: %s", m.Raw.Brief()))
			t.Expect(m.IsMeant()).To(Hold("nothing but MCP messages on stdout", "%s", shown(m.Raw.Bytes())))
		})
	}).WhenRefused(),

	"stdio/one-message-per-line": WatchAfter(func(t *T) {
		// A server that repeats the name shows whether it escapes it.
		if t.Server.Declares("tools") && MayCallUnknown(t) {
			kit.TryAmiss(t, t.Session(), "tools/call", M{"name": "mcpcheck no\nsuch tool", "arguments": M{}})
		}
	}, func(t *T, w Wire) {
		parts := spread(w)
		t.Judge(w.Lines().Filter("output", isDone), func(t *T, m Message) {
			t.Expect(!parts[m.Frame]).To(Hold("a whole message on one line", "a part of one: %q", m.Raw.Brief()))
		})
	}).WhenRefused(),

	"stdio/message-terminated-by-newline": WatchAfter(func(t *T) { unterminated(t) }, func(t *T, w Wire) {
		t.Judge(w.Lines().Filter("output", isDone), func(t *T, m Message) {
			t.Expect(!runOn(m.Frame)).To(Hold("a newline after each message", "%s", shown(m.Raw.Bytes())))
		})
		t.Expect(unterminated(t)).To(BeOneOf(0), "bytes of an answer without a newline after it")
	}),

	"stdio/no-unsolicited-output": WatchAfter(func(t *T) { kit.Idle(t) }, func(t *T, _ Wire) {
		for _, f := range kit.Idle(t) {
			t.Expect(!f.IsNotification()).To(Hold("silence without a request or a subscription", "%s", f))
		}
	}),

	"stdio/stderr-utf8": Watch(func(t *T, w Wire) {
		var all []logged
		for _, s := range w.Sessions {
			if head, _ := s.Stdio().Stderr(); len(head) > 0 && !s.IsHostile() { // servers log what they read
				all = append(all, logged{s.Name(), head})
			}
		}
		if len(all) == 0 {
			t.Because(NotObserved).Skip("the server wrote nothing to stderr")
		}
		Each(t, all, logged.subject, func(t *T, l logged) {
			t.Inform(utf8.Valid(l.Head)).To(Hold("UTF-8 text on stderr", "%q", aroundInvalid(l.Head)))
		})
	}),

	"stdio/responsive-without-stderr-reader": Fresh(func(t *T) {
		o := kit.Muted(t)
		t.Expect(o.Welcome).To(BeResult(), t.Server.Greeting()+", with stderr going nowhere")
		t.Expect(o.List).To(BeAnswered(), "a list, with stderr going nowhere")
	}),
}

// unterminated is how many bytes have come of an answer that no newline ends.
func unterminated(t *T) int {
	return Step(t, "a newline", func(t *T) int {
		s := t.Session()
		r := s.Await(kit.HarmlessAs(s, 70066))
		if r.Answered() {
			return 0 // its newline came with it
		}
		RequireNotLate(t, r)
		partial := s.Stdio().Partial()
		if partial == 0 {
			t.Inconclusive("%v", r.Err)
		}
		return partial
	})
}

func lacksVersion(m Message) bool { return !m.HasVersion }

// areAnswers reports whether a line has what answers have and nothing else has, jsonrpc apart, or is a batch of such.
func areAnswers(m Message) bool {
	return !slices.ContainsFunc(m.Members(), func(f *driver.Frame) bool {
		return f.Shape != driver.Object || f.HasMethod || f.HasResult == f.HasError
	})
}

// shown is a line that is no message. As a text, it says what it looks like.
type shown []byte

func (line shown) String() string {
	text := strconv.Quote(driver.Brief(line))
	if said := driver.DiagnoseOutput(line); said != "" {
		text += "\n" + said
	}
	return text
}

// logged is what a server wrote to stderr in a session, or the head of it.
type logged struct {
	Session string
	Head    []byte
}

func (l logged) subject() Subject { return Named(l.Session) }

// aroundInvalid is the part of a text around the first bytes that are no UTF-8.
func aroundInvalid(text []byte) []byte {
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

// isDone leaves out the message that a server may have been writing when it ended, and keeps any other text without a
// newline.
func isDone(m Message) bool { return m.Ended || !messageBegins.Match(m.Raw.Bytes()) }

// messageBegins matches the beginning of a message, or of an array of them.
var messageBegins = regexp.MustCompile(`^\s*(\[\s*)?(\{|$)`)
