package kit

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Echoed is what came of a request whose id matters.
type Echoed struct {
	ID    json.RawMessage
	Reply driver.Reply
	Stray *driver.Frame // a response that answers no request; nil: none
	Stuck bool          // neither it nor a later request was answered
}

// String says what came: the answer, or the response under another id that seems to be it.
func (e Echoed) String() string {
	switch {
	case !e.Reply.Answered() && e.Stray != nil:
		return e.Stray.Raw.Brief()
	case e.Reply.Answered() && !e.Named():
		return e.Reply.Frame.Raw.Brief()
	}
	return Got(e.Reply)
}

// Frames are the request and what came of it.
func (e Echoed) Frames() []*driver.Frame {
	frames := e.Reply.Frames()
	if e.Stray != nil {
		frames = append(frames, e.Stray)
	}
	return frames
}

// Shortly is how much longer than a later request a request is waited for that takes no time.
const Shortly = 500 * time.Millisecond

// Echo sends the session's harmless request under an id.
func Echo(s *driver.Session, id any) Echoed {
	mark := s.Mark()
	return Await(s, mark, HarmlessAs(s, id), Shortly)
}

// Echoes are what came of requests with ids of a kind.
type Echoes struct {
	Usual driver.Reply // that of a request with an id of the session's own
	List  []Echoed     // up to the first without an answer
}

// Served reports whether such ids are as good as the session's own, and are repeated.
func (all Echoes) Served() bool {
	return !slices.ContainsFunc(all.List, func(e Echoed) bool {
		return !e.Named() || all.Usual.Result() != nil && e.Reply.Result() == nil
	})
}

// IntegerIDs are the echoes of integers.
func IntegerIDs(t *T) Echoes { return echoAll(t, "integer ids", 70007, -1, 1<<53-1) }

// StringIDs are the echoes of strings. No other session asks under the numbers that they are.
func StringIDs(t *T) Echoes {
	return echoAll(t, "string ids", "70071", "0070072", "mcpcheck-a b", strings.Repeat("mcpcheck-x", 20))
}

func echoAll(t *T, name string, ids ...any) Echoes {
	return Step(t, name, func(t *T) (all Echoes) {
		s := t.Session()
		all.Usual = AskHarmless(t, s)
		all.List = EchoEach(t, s, ids)
		return all
	})
}

// EchoEach is Echo with one id after the other up to the first without an answer, or in a hurry with all of them.
func EchoEach(t *T, s *driver.Session, ids []any) []Echoed {
	ask := func(id any) driver.Pending { return HarmlessAs(s, id) }
	return echoes(t, s, ids, ask, Shortly)
}

// echoes asks under ids and waits for what comes of it.
func echoes(
	t *T, s *driver.Session, ids []any, ask func(id any) driver.Pending, patience time.Duration,
) (all []Echoed) {
	mark, sent := s.Mark(), map[any]driver.Pending{}
	hurry := SendsAtOnce(t)
	if hurry {
		for _, id := range ids {
			sent[id] = ask(id)
		}
	}
	for _, id := range ids {
		if !hurry {
			mark, sent[id] = s.Mark(), ask(id)
		}
		e := Await(s, mark, sent[id], patience)
		if all = append(all, e); !e.Reply.Answered() {
			break
		}
	}
	return all
}

// TextID is a text as the id of a request or, where strings are not served as ids, nil: the default.
func TextID(t *T, text string) any {
	if !StringIDs(t).Served() {
		return nil
	}
	return text
}

// Await waits for the answer to what was sent after the mark. When none comes at once, it makes sure that a later
// request is answered, and waits a while more.
func Await(s *driver.Session, mark int, p driver.Pending, patience time.Duration) Echoed {
	e := Echoed{ID: p.ID, Reply: s.AwaitFor(p, 250*time.Millisecond)}
	if e.Reply.Answered() || !s.Alive() {
		return e
	}
	if _, err := s.React(mark); err != nil {
		if late := s.AwaitFor(p, 0); late.Answered() {
			e.Reply = late
			return e
		}
		e.Reply.Err, e.Stuck = err, s.Alive()
		return e
	}
	if e.Stray = unasked(s, mark); e.Stray != nil {
		patience = 0
	}
	e.Reply = s.AwaitFor(p, patience)
	return e
}

// NotStuck ends a check whose request was not taken, since the server serves one at a time, or serves nothing any more.
func (e Echoed) NotStuck(t *T) {
	var none *driver.Unanswered
	switch {
	case e.Stuck:
		t.Inconclusive("%v", e.Reply.Err)
	case e.Reply.Busy(), errors.As(e.Reply.Err, &none) && none.HTTP.IsBusy():
		t.Yield("the server is busy with another request")
	}
}

// Named reports whether the answer has the id of the request, which that of HTTP need not have when it is an error.
func (e Echoed) Named() bool {
	return e.Reply.Bare() || e.Reply.Answered() &&
		(driver.SameID(Compact(e.Reply.M()["id"]), e.ID) || NeedsNoID(e.Reply.Frame))
}

// BeAnsweredUnder matches what was answered; id, under which it was asked, is named in the message.
func BeAnsweredUnder(id json.RawMessage) types.GomegaMatcher {
	return That("an answer with id "+driver.Brief(id), func(e Echoed) bool { return e.Reply.Answered() })
}

// BeNamed matches what was answered under the id with which it was asked.
func BeNamed(id json.RawMessage) types.GomegaMatcher {
	return That("an answer with id "+driver.Brief(id), Echoed.Named)
}

// UnknownURI is a resource that no server has.
const UnknownURI = "test://mcpcheck/no-such-resource"

// Cancellation sends the session's harmless request and returns the notification that cancels it, for who sends it at
// once: the one notification that any client may send at any time. Whether the request is answered all the same is for
// the server to decide.
func Cancellation(s *driver.Session) M {
	params := M{"requestId": s.Request(s.Harmless()).ID, "reason": "mcpcheck"}
	return M{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
}

// ExpectAlive wants the session to go on; err is why it does not.
func ExpectAlive(t *T, err error) {
	t.Expect(err == nil).To(Hold("the session to go on", "%v", err))
}

// ExpectNoReply wants no reply to the notification that was sent after the mark. One that comes late is for watches of
// all responses.
func ExpectNoReply(t *T, s *driver.Session, mark int) {
	ObserveLate(t, time.Now())
	replies, noisy := repliesSince(s, mark)
	t.Expect(replies).To(BeEmptyList[*driver.Frame]("no reply to a notification"))
	if noisy {
		t.Yield("the server sends responses without id anyhow")
	}
}

// ExpectIgnored is ExpectNoReply for one kind of notification: that all of them are replied to, another check reports.
func ExpectIgnored(t *T, s *driver.Session, mark int) {
	if replies, _ := repliesSince(s, mark); len(replies) > 0 {
		SkipReplier(t)
	}
	ExpectNoReply(t, s, mark)
}

// SkipReplier ends a check that has seen a reply to a notification if the server replies to a cancellation as well.
func SkipReplier(t *T) {
	if Step(t, "replies to a cancellation", func(t *T) bool {
		s := t.Own()
		cancellation := Cancellation(s)
		mark := s.Mark()
		s.SendJSON(cancellation)
		s.Settle(mark)
		replies, _ := repliesSince(s, mark)
		return len(replies) > 0
	}) {
		t.Yield("the server replies to other notifications, too")
	}
}

// Brief is the beginning of a frame, for messages; empty when there is none.
func Brief(f *driver.Frame) string {
	if f == nil {
		return ""
	}
	return f.Raw.Brief()
}
