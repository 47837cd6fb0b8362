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

// asked is the answer to initialize with a revision, in a process of its own.
func asked(t *T, revision string) driver.Reply {
	return Shared(t, "initialize "+revision, func(t *T) driver.Reply {
		s := t.Start()
		r := s.Initialize(driver.Hello(revision))
		if s.Revision == t.Revision {
			s.Confirm() // others can use it
		}
		return r
	})
}

// provoked is what came of one message that a conforming client does not send.
type provoked struct {
	Came  []*driver.Frame // what the server said, up to the answer to a later request
	Fatal error           // why the session did not survive; nil when it did
}

// Responses are what looks like an answer.
func (p provoked) Responses() (responses []*driver.Frame) {
	for _, f := range p.Came {
		if f.IsResponse() {
			responses = append(responses, f)
		}
	}
	return responses
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

func provokeIn(s *driver.Session, line string) (p provoked, used bool) {
	mark := s.Mark()
	s.Send([]byte(line))
	p.Came, p.Fatal = s.React(mark)
	return p, s.Used > 0
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
	Refused  []string  // tools that were not called, and why
	Before   []Subject // the tools before the calls and after them
	After    []Subject
	Notified bool // notifications/tools/list_changed came meanwhile
}

// Of is the call of a tool.
func (c toolCalls) Of(tool Subject) toolCall {
	i := slices.IndexFunc(c.List, func(x toolCall) bool { return x.Tool.Name == tool.Name })
	return c.List[i]
}

// mostTools is how many tools of a server are called in one way.
const mostTools = 30

// validCalls calls the tools that may be called, each once with arguments that
// its schema allows.
func validCalls(t *T) toolCalls {
	return Shared(t, "valid calls", func(t *T) (calls toolCalls) {
		s := t.Session()
		mark := s.Mark()
		calls.Before = toolSubjects(Objects(t.List(s, "tools/list", "tools")))
		for _, tool := range listedTools(t) {
			if len(calls.List) == mostTools {
				break
			}
			args, why := validArguments(t, tool)
			if why != "" {
				calls.Refused = append(calls.Refused, tool.Name+": "+why)
				continue
			}
			if !s.Alive() {
				s = t.Own()
				mark = s.Mark()
			}
			calls.List = append(calls.List, callAndPing(s, tool, args))
		}
		for i := range calls.List {
			calls.List[i].collect()
		}
		if s.Alive() {
			calls.After = toolSubjects(Objects(t.List(s, "tools/list", "tools")))
			calls.Notified = slices.ContainsFunc(s.Since(mark), func(f *driver.Frame) bool {
				return f.Method == "notifications/tools/list_changed"
			})
		}
		return calls
	})
}

// validArguments are arguments for a tool that may be called with valid ones; why
// says why there are none.
func validArguments(t *T, tool Subject) (args M, why string) {
	if p := t.MayCall(tool); !p.Valid {
		return nil, p.Why
	}
	if execution, _ := tool.Value["execution"].(M); execution["taskSupport"] == "required" {
		return nil, "it only runs as a task"
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

// callAndPing calls a tool. If it runs for long, a ping is tried meanwhile; when
// that is answered, the call is left to run and its result is collected later.
func callAndPing(s *driver.Session, tool Subject, args M) toolCall {
	const patience = 300 * time.Millisecond
	c := toolCall{Tool: tool, Arguments: args, session: s, begin: time.Now()}
	c.pending = s.Request("tools/call", M{"name": tool.Name, "arguments": args})
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
const longestCall = 2 * time.Second

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
				calls.Refused = append(calls.Refused, tool.Name+": "+why)
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
				calls.List = append(calls.List, toolCall{Tool: tool, Arguments: b.Arguments, Broken: &b, Reply: r, Took: time.Since(begin)})
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
	if p := t.MayCall(tool); !p.Invalid {
		return nil, p.Why
	}
	if execution, _ := tool.Value["execution"].(M); execution["taskSupport"] == "required" {
		return nil, "it only runs as a task"
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
	return schemas.Counterexamples(schema, valid, t.Seed), ""
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
