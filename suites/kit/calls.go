package kit

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// CallTools sees to it that the tools have been called that may be: what the server says meanwhile is what some watches
// judge.
func CallTools(t *T) {
	if len(t.Server.Tools) > 0 {
		ValidCalls(t)
	}
}

// ToolCall is one call of a listed tool.
type ToolCall struct {
	Tool      Subject
	Arguments M
	Broken    *schemas.Counterexample // what is wrong with the arguments; nil: nothing
	Reply     driver.Reply
	Took      time.Duration
	Long      bool // it ran for so long that a ping could be tried meanwhile
	PingFirst bool // that ping was answered before the call

	Session *driver.Session
	pending driver.Pending
	begin   time.Time
}

// ToolCalls are calls of the run, and what they did to the lists.
type ToolCalls struct {
	List     []ToolCall
	Refused  []Uncalled // tools that were not called
	Before   []string   // names of the tools before the calls and after them, sorted
	After    []string
	Notified bool // notifications/tools/list_changed came meanwhile
}

// Uncalled is a tool that was not called.
type Uncalled struct {
	Tool Subject
	Why  string
}

// String says which tool was not called, and why.
func (r Uncalled) String() string { return r.Tool.Name + ": " + r.Why }

// mostTools is how many tools of a server are called in one way.
const mostTools = 30

// ValidCalls calls the tools that may be called, each once with arguments that its schema allows. They have a session
// of their own, so that nothing has to be confirmed alone: calling tools twice would do twice what they do.
func ValidCalls(t *T) ToolCalls {
	return Shared(t, "valid calls", func(t *T) (calls ToolCalls) {
		s, mark := calls.begin(t, t.Own())
		for _, tool := range ListedTools(t) {
			if len(calls.List) == mostTools {
				break
			}
			args, why := validArguments(t, tool)
			if why != "" {
				calls.Refused = append(calls.Refused, Uncalled{tool, why})
				continue
			}
			if !s.Alive() {
				s, mark = calls.begin(t, t.Own())
			}
			calls.List = append(calls.List, callAndPing(s, tool, args))
		}
		if s.Alive() {
			calls.end(t, s, mark)
		}
		for i := range calls.List {
			calls.List[i].collect()
		}
		return calls
	})
}

// begin notes the list of a session in which calls are going to be made.
func (c *ToolCalls) begin(t *T, s *driver.Session) (*driver.Session, int) {
	if t.Server.Transport == "http" {
		Get(s, nil) // a second stream, so that http/no-broadcast sees what comes on both
	}
	mark := s.Mark()
	c.Before = Sorted(ListNames(t, s))
	return s, mark
}

// end notes what the calls did to the list. A server may collect changes for a while before it announces them.
func (c *ToolCalls) end(t *T, s *driver.Session, mark int) {
	const patience = 5 * time.Second
	c.After = Sorted(ListNames(t, s))
	if slices.Equal(c.Before, c.After) || t.Server.Sessionless { // which has no way to announce anything
		return
	}
	_, err := s.Wait(mark, patience, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/tools/list_changed"
	})
	c.Notified = err == nil
}

// Params are those of the call. As clients do, they ask for progress; each tool has a token of its own.
func (c ToolCall) Params() M {
	return M{"name": c.Tool.Name, "arguments": c.Arguments, "_meta": M{"progressToken": "mcpcheck-" + c.Tool.Name}}
}

// callAndPing calls a tool. If it runs for long, a ping is tried meanwhile; when that is answered, the call is left to
// run and its result is collected later.
func callAndPing(s *driver.Session, tool Subject, args M) ToolCall {
	const patience = 300 * time.Millisecond
	c := ToolCall{Tool: tool, Arguments: args, Session: s, begin: time.Now()}
	c.pending = s.Request("tools/call", c.Params())
	if c.Reply = s.AwaitFor(c.pending, patience); c.Reply.Answered() || !s.Alive() {
		c.Took = time.Since(c.begin)
		return c
	}
	pinged := time.Now()
	pong := s.Exchange("ping", nil)
	waited := time.Since(pinged)
	c.Reply = s.AwaitFor(c.pending, 0)
	c.Took = time.Since(c.begin)
	c.PingFirst = pong.Answered() && (!c.Reply.Answered() || c.Reply.Frame.At > pong.Frame.At)
	c.Long = c.PingFirst || pong.Answered() && waited > 2*time.Second
	return c
}

// LongestCall is how long the result of a tool is waited for, so that one slow tool does not make the whole run slow.
const LongestCall = time.Second

// collect takes the result of a call that was left to run. One that does not end is cancelled, and its session is given
// up.
func (c *ToolCall) collect() {
	if c.Reply.Answered() || !c.Session.Alive() {
		return
	}
	c.Reply = c.Session.AwaitFor(c.pending, max(0, LongestCall-time.Since(c.begin)))
	c.Took = time.Since(c.begin)
	if !c.Reply.Answered() {
		c.Session.Notify("notifications/cancelled", M{"requestId": c.pending.ID, "reason": "mcpcheck waits no longer"})
		c.Session.Abandon()
	}
}

// InvalidCalls calls tools with arguments that their schemas forbid: for each broken keyword a few tools, read-only
// ones first.
func InvalidCalls(t *T) ToolCalls {
	return Shared(t, "invalid calls", func(t *T) (calls ToolCalls) {
		s := t.Session()
		tried := map[string]int{}
		for _, tool := range ReadOnlyFirst(ListedTools(t)) {
			broken, why := counterexamples(t, tool)
			if why != "" {
				calls.Refused = append(calls.Refused, Uncalled{tool, why})
				continue
			}
			for _, b := range broken {
				if tried[b.Keyword]++; tried[b.Keyword] > mostBroken {
					continue
				}
				if !s.Alive() {
					s = t.Own()
				}
				begin := time.Now()
				r := t.Try(s, "tools/call", M{"name": tool.Name, "arguments": b.Arguments})
				calls.List = append(calls.List, ToolCall{
					Tool: tool, Arguments: b.Arguments, Broken: &b, Reply: r, Took: time.Since(begin), Session: s,
				})
			}
		}
		return calls
	})
}

// mostBroken is how many tools are tried for one broken keyword.
const mostBroken = 5

// Refused reports whether an answer is an error of either kind.
func Refused(r driver.Reply) bool {
	ok, _ := BeRefused().Match(r)
	return ok
}

// KindOf says how a call was answered: "error -32602", "isError", "success".
func KindOf(r driver.Reply) string {
	switch {
	case r.M["error"] != nil:
		return "error " + Show(Member(r.Error(), "code"))
	case Refused(r):
		return "isError"
	}
	return "success"
}

// Answered keeps the calls that were.
func Answered(calls []ToolCall) (list []ToolCall) {
	for _, c := range calls {
		if c.Reply.Answered() {
			list = append(list, c)
		}
	}
	return list
}

// EachCall tries a check on calls. What fails is named by its tool.
func EachCall(t *T, calls []ToolCall, run func(*T, ToolCall)) {
	Each(t, calls, ToolCall.Subject, run)
}

// Subject is the call as one of several, named by its tool.
func (c ToolCall) Subject() Subject {
	return Subject{Name: c.Tool.Name, Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame}}
}

// NothingSeen ends a check that found nothing to judge. It does not apply, unless a tool that was not called might have
// shown something. The reason is always worded alike: reports put equal reasons together.
func NothingSeen(t *T, what string, refused []Uncalled, might func(tool M) bool) {
	for _, r := range refused {
		if might(r.Tool.Value) {
			t.Inconclusive("nothing of the kind was seen, and not all tools were called (%v)", r)
		}
	}
	t.Skip("no %s", what)
}

// AnyTool is for NothingSeen: whatever tool was not called might have shown it.
func AnyTool(M) bool { return true }
