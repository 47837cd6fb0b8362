package suites

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Stimuli are what several checks judge: each is tried once, whichever check
// needs it first.

// provoked is what came of one message that a conforming client does not send.
type provoked struct {
	Came    []*driver.Frame // what the server said, up to the answer to a later request
	Refused *driver.Frame   // over HTTP: the error status that it was answered with, if that has no message
	Fatal   error           // why the session did not survive; nil when it did
}

// provoke sends a line that breaks the protocol in an established session, and
// returns what the server makes of it.
func provoke(t *T, line string) provoked {
	return Shared(t, "line "+line, func(t *T) provoked {
		p, used := provokeIn(t.Hostile(), line)
		if p.Fatal != nil && used { // something before it may have been the cause
			s := t.Own()
			s.Hostile()
			p, _ = provokeIn(s, line)
		}
		return p
	})
}

// provokeIn also tells whether the session had been given such input before.
func provokeIn(s *driver.Session, line string) (p provoked, used bool) {
	used = s.Used > 0 || s.Provoked
	s.Provoked = true
	mark := s.Mark()
	sent := s.Send([]byte(line))
	p.Came, p.Fatal = s.React(mark)
	for _, f := range s.Record(mark) {
		if f.Side == driver.Status && f.HTTP == sent.HTTP && f.HTTP.Answer().Status >= 400 {
			p.Refused = f
		}
	}
	return p, used
}

// unknownTool is the name of a tool that no server has, and the answer to a call
// of it.
func unknownTool(t *T) (name string, r driver.Reply) {
	name = unknownName(t)
	if !t.MayCallUnknown() {
		t.Inconclusive("tools are not called (--calls none)")
	}
	return name, Shared(t, "unknown tool", func(t *T) driver.Reply {
		return t.Try(t.Session(), "tools/call", M{"name": name, "arguments": M{}})
	})
}

func unknownName(t *T) string {
	return fmt.Sprintf("mcpcheck_no_such_tool_%06x", rand.New(rand.NewPCG(uint64(t.Seed), 1)).IntN(1<<24))
}

// toolCall is one call of a listed tool.
type toolCall struct {
	Tool      Subject
	Arguments M
	Broken    *schemas.Counterexample // what is wrong with the arguments; nil: nothing
	Reply     driver.Reply
	Took      time.Duration
	Long      bool // it ran for so long that a ping could be tried meanwhile
	PingFirst bool // that ping was answered before the call

	session *driver.Session
	pending driver.Pending
	begin   time.Time
}

// toolCalls are calls of the run, and what they did to the lists.
type toolCalls struct {
	List     []toolCall
	Refused  []refusal // tools that were not called
	Before   []string  // names of the tools before the calls and after them, sorted
	After    []string
	Notified bool // notifications/tools/list_changed came meanwhile
}

// refusal is a tool that was not called.
type refusal struct {
	Tool Subject
	Why  string
}

func (r refusal) String() string { return r.Tool.Name + ": " + r.Why }

// Of is the call of a tool.
func (c toolCalls) Of(tool Subject) toolCall {
	i := slices.IndexFunc(c.List, func(x toolCall) bool { return x.Tool.Name == tool.Name })
	return c.List[i]
}

// mostTools is how many tools of a server are called in one way.
const mostTools = 30

// validCalls calls the tools that may be called, each once with arguments that
// its schema allows. They have a session of their own, so that nothing has to be
// confirmed alone: calling tools twice would do twice what they do.
func validCalls(t *T) toolCalls {
	return Shared(t, "valid calls", func(t *T) (calls toolCalls) {
		s, mark := calls.begin(t, t.Own())
		for _, tool := range listedTools(t) {
			if len(calls.List) == mostTools {
				break
			}
			args, why := validArguments(t, tool)
			if why != "" {
				calls.Refused = append(calls.Refused, refusal{tool, why})
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
func (c *toolCalls) begin(t *T, s *driver.Session) (*driver.Session, int) {
	if t.Server.Transport == "http" {
		get(s, nil) // a second stream, so that http/no-broadcast sees what comes on both
	}
	mark := s.Mark()
	c.Before = sorted(listNames(t, s))
	return s, mark
}

// end notes what the calls did to the list. A server may collect changes for a
// while before it announces them.
func (c *toolCalls) end(t *T, s *driver.Session, mark int) {
	const patience = 5 * time.Second
	c.After = sorted(listNames(t, s))
	if slices.Equal(c.Before, c.After) || t.Server.Sessionless { // which has no way to announce anything
		return
	}
	_, err := s.Wait(mark, patience, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/tools/list_changed"
	})
	c.Notified = err == nil
}

// validArguments are arguments for a tool that may be called with valid ones; why
// says why there are none.
func validArguments(t *T, tool Subject) (args M, why string) {
	if why := Uncallable(tool.Value); why != "" {
		return nil, why
	}
	if p := t.MayCall(tool); !p.Valid {
		return nil, p.Why
	}
	if example := t.Example(tool.Name); example != nil {
		return example, ""
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil, err.Error()
	}
	args, err = schemas.Valid(schema, t.Seed)
	if err != nil {
		return nil, err.Error()
	}
	return args, ""
}

// params are those of the call. As clients do, they ask for progress; each tool has
// a token of its own.
func (c toolCall) params() M {
	return M{"name": c.Tool.Name, "arguments": c.Arguments, "_meta": M{"progressToken": "mcpcheck-" + c.Tool.Name}}
}

// callAndPing calls a tool. If it runs for long, a ping is tried meanwhile; when
// that is answered, the call is left to run and its result is collected later.
func callAndPing(s *driver.Session, tool Subject, args M) toolCall {
	const patience = 300 * time.Millisecond
	c := toolCall{Tool: tool, Arguments: args, session: s, begin: time.Now()}
	c.pending = s.Request("tools/call", c.params())
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

// longestCall is how long the result of a tool is waited for, so that one slow
// tool does not make the whole run slow.
const longestCall = time.Second

// collect takes the result of a call that was left to run. One that does not end
// is cancelled, and its session is given up.
func (c *toolCall) collect() {
	if c.Reply.Answered() || !c.session.Alive() {
		return
	}
	c.Reply = c.session.AwaitFor(c.pending, max(0, longestCall-time.Since(c.begin)))
	c.Took = time.Since(c.begin)
	if !c.Reply.Answered() {
		c.session.Notify("notifications/cancelled", M{"requestId": c.pending.ID, "reason": "mcpcheck waits no longer"})
		c.session.Abandon()
	}
}

// invalidCalls calls tools with arguments that their schemas forbid: for each
// broken keyword a few tools, read-only ones first.
func invalidCalls(t *T) toolCalls {
	return Shared(t, "invalid calls", func(t *T) (calls toolCalls) {
		s := t.Session()
		tried := map[string]int{}
		for _, tool := range readOnlyFirst(listedTools(t)) {
			broken, why := counterexamples(t, tool)
			if why != "" {
				calls.Refused = append(calls.Refused, refusal{tool, why})
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
				calls.List = append(calls.List, toolCall{Tool: tool, Arguments: b.Arguments, Broken: &b, Reply: r, Took: time.Since(begin), session: s})
			}
		}
		return calls
	})
}

// mostBroken is how many tools are tried for one broken keyword.
const mostBroken = 5

// counterexamples are arguments for a tool that may be called with invalid ones;
// why says why there are none.
func counterexamples(t *T, tool Subject) (broken []schemas.Counterexample, why string) {
	if why := Uncallable(tool.Value); why != "" {
		return nil, why
	}
	p := t.MayCall(tool)
	if !p.Invalid {
		return nil, p.Why
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil, err.Error()
	}
	valid := t.Example(tool.Name)
	if valid == nil {
		if valid, err = schemas.Valid(schema, t.Seed); err != nil {
			return nil, err.Error()
		}
	}
	broken = schemas.Counterexamples(schema, valid, t.Seed)
	if !p.Valid { // many servers take these for good, and do what the arguments say
		broken = slices.DeleteFunc(broken, func(b schemas.Counterexample) bool {
			return b.Keyword == "additionalProperties" || slices.Contains(bounds, b.Keyword)
		})
	}
	return broken, ""
}

// Uncallable says why a tool cannot be called plainly; empty when it can.
func Uncallable(tool M) string {
	execution, _ := tool["execution"].(M)
	switch _, named := tool["name"].(string); {
	case !named:
		return "it has no name"
	case execution["taskSupport"] == "required":
		return "it only runs as a task"
	}
	return ""
}

// listedTools are the tools that discovery found.
func listedTools(t *T) []Subject { return toolSubjects(t.Server.Tools) }

// toolSubjects names tools; one without a name is known by its place.
func toolSubjects(tools []M) (subjects []Subject) {
	for i, tool := range tools {
		name, ok := tool["name"].(string)
		if !ok {
			name = fmt.Sprintf("#%d", i+1)
		}
		subjects = append(subjects, Subject{Name: name, Value: tool})
	}
	return subjects
}

func readOnlyFirst(tools []Subject) []Subject {
	sorted := slices.Clone(tools)
	rank := func(tool Subject) int {
		if hints, _ := tool.Value["annotations"].(M); hints["readOnlyHint"] == true {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(sorted, func(a, b Subject) int { return rank(a) - rank(b) })
	return sorted
}
