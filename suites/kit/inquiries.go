package kit

import (
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Inquired is what the tools that may be called have asked a client for that can be asked for everything.
type Inquired struct {
	Inquiries []*Inquiry // that asked for something
	Uncalled  []Uncalled
}

// LetInquire sees to it that the tools have asked that ask: what they ask for is what some watches judge.
func LetInquire(t *T) { Inquiries(t) }

// Inquiries calls the tools that may be called, each once as far as there is time, as a willing client that has
// declared all that a server of the revision can ask for. Where there is a handshake that takes a session of such a
// client: servers ask only where that was declared, and some list tools for such clients that others do not see.
// Without one, ValidCalls are such calls.
func Inquiries(t *T) Inquired {
	if !t.Server.Declares("tools") {
		return Inquired{}
	}
	if t.Modern() {
		return askedByResults(ValidCalls(t))
	}
	return Step(t, "client that can be asked", func(t *T) (a Inquired) {
		r := &round{t: t, calls: &ToolCalls{again: true}, called: map[string]bool{}, allowance: NewAllowance()}
		if !t.Alone() {
			Begin(t, Opening{Client: true}) // in its session, if there is one
		}
		r.client = ClientAgain(t, AbleIn(t.Revision), Willingly(t))
		for tools := r.uncalled(); len(tools) > 0; tools = r.uncalled() {
			a.Inquiries = append(a.Inquiries, r.call(tools)...)
			if !r.grew() {
				break
			}
		}
		a.Uncalled = r.calls.Uncalled
		return a
	})
}

// round is the calls that Inquiries makes in sessions of the handshake.
type round struct {
	t         *T
	client    *Client
	calls     *ToolCalls
	called    map[string]bool
	allowance *Allowance
	mark      int // in the session of the client, where its tools were listed
}

// call calls tools side by side, those first that may ask, and returns what they asked.
func (r *round) call(tools []Subject) (all []*Inquiry) {
	for queue := r.calls.valid(r.t, tools); len(queue) > 0; {
		r.renew()
		f := &flight{t: r.t, session: r.client.Session, allowance: r.allowance}
		begin := f.session.Mark()
		queue = r.calls.make(f, queue)
		f.end()
		all = append(all, r.inquiriesOf(f, questionsIn(f.session, f.session.Record(begin)))...)
	}
	return all
}

// renew has another session begin when the last one has not survived a call.
func (r *round) renew() {
	if !r.client.Session.Usable() {
		r.client = NewClient(r.t, r.client.Declared)
		r.mark = r.client.Session.Mark()
	}
}

// grew reports whether the server has said that it has other tools than before the calls.
func (r *round) grew() bool {
	return r.client.Session.Usable() && slices.ContainsFunc(r.client.Session.Since(r.mark), func(f *driver.Frame) bool {
		return f.Method == "notifications/tools/list_changed"
	})
}

// uncalled are the tools that the server lists to the client and that were not called yet, those first that may ask.
func (r *round) uncalled() (tools []Subject) {
	s := r.client.Session
	AskHarmless(r.t, s) // what the server does once the session is established, it has done then
	r.mark = s.Mark()
	var listed []M
	FollowPages(r.t, s, "tools/list", "tools", func(page M) { listed = append(listed, ObjectsIn(page["tools"])...) })
	for _, tool := range inOrder(r.t, namedSubjects(listed)) {
		if !r.called[tool.Name] {
			r.called[tool.Name] = true
			tools = append(tools, tool)
		}
	}
	known := ListedTools(r.t)
	slices.SortStableFunc(tools, func(x, y Subject) int { return promise(known, y) - promise(known, x) })
	return tools
}

// askers are the calls of a flight that have asked, each with what it asked beside others, and alone.
type askers map[*ToolCall][]*Inquiry

// inquiriesOf are the calls of a flight that have asked. Where several may have asked a question, they are made once
// more.
func (r *round) inquiriesOf(f *flight, questions []Question) (all []*Inquiry) {
	asked, again := askers{}, map[*ToolCall]bool{nil: true}
	for _, q := range questions {
		call := f.callOf(q.Request)
		if call == nil {
			continue
		}
		if asked[call] == nil {
			asked.add(call, &Inquiry{
				Tool: call.Tool, Arguments: call.Arguments, Client: r.client.Declared, Reply: call.Reply,
			})
		}
		asked[call][0].Questions = append(asked[call][0].Questions, q)
	}
	for _, q := range questions {
		r.lookFor(q, f, asked, again)
	}
	for _, call := range f.calls {
		all = append(all, asked[call]...)
	}
	return all
}

// lookFor makes the calls once more that may have asked a question, each alone, the last of them first, until one asks
// it, be it one that is known to have asked something else.
func (r *round) lookFor(q Question, f *flight, asked askers, again map[*ToolCall]bool) {
	for _, request := range slices.Backward(q.among) {
		call := f.callOf(request)
		if asked.ask(call, q.Method) {
			return
		}
		if again[call] {
			continue
		}
		again[call] = true
		r.renew()
		i := r.client.Call(r.t, call.Tool, call.Arguments, Willingly(r.t))
		if len(i.Questions) > 0 {
			asked.add(call, i)
		}
		if i.Asks(q.Method) {
			return
		}
	}
}

// ask reports whether a call is known to ask for a method.
func (a askers) ask(call *ToolCall, method string) bool {
	return slices.ContainsFunc(a[call], func(i *Inquiry) bool { return i.Asks(method) })
}

// add notes what a call has asked. What it asked before gives way to that, unless there was more.
func (a askers) add(call *ToolCall, i *Inquiry) {
	a[call] = append(slices.DeleteFunc(a[call], i.covers), i)
}

// covers reports whether it asks for every method that another one asks for.
func (i *Inquiry) covers(other *Inquiry) bool {
	return !slices.ContainsFunc(other.Questions, func(q Question) bool { return !i.Asks(q.Method) })
}

// callOf is the call that a request has made; nil when it has made none.
func (f *flight) callOf(request *driver.Frame) *ToolCall {
	for _, call := range f.calls {
		if request != nil && driver.SameID(call.pending.ID, request.ID) {
			return call
		}
	}
	return nil
}

// askedByResults are the calls that asked for input by their results.
func askedByResults(calls ToolCalls) (a Inquired) {
	for _, call := range slices.Concat(calls.List, calls.Endless) {
		i := &Inquiry{
			Tool: call.Tool, Arguments: call.Arguments, Client: Able, Reply: call.Reply, GivenUp: call.Input.GivenUp,
		}
		for _, r := range call.Input.Asked {
			i.Questions = append(i.Questions, inputsIn(call.Session, r.Request, r.Frame)...)
		}
		if len(i.Questions) > 0 {
			a.Inquiries = append(a.Inquiries, i)
		}
	}
	a.Uncalled = calls.Uncalled
	return a
}

// What tools may be called, and how described, that ask.
var (
	likelyName        = regexp.MustCompile(`(?i)elicit|sampl|roots|ask|confirm|prompt|client`)
	likelyDescription = regexp.MustCompile(
		`(?i)\belicit|\bsampling|\broots\b|\bconfirm|\basks? (for|the (user|client))`)
)

// promise is how likely a tool asks: one that other clients do not see may need what they lack.
func promise(known []Subject, tool Subject) int {
	description, _ := tool.Value["description"].(string)
	switch {
	case !slices.ContainsFunc(known, func(k Subject) bool { return k.Name == tool.Name }):
		return 3
	case likelyName.MatchString(tool.Name):
		return 2
	case likelyDescription.MatchString(description):
		return 1
	}
	return 0
}

// WantInquiries are the calls in which a server asked for something by a method, for checks that cannot do without one.
func WantInquiries(t *T, method string) []*Inquiry {
	a := Inquiries(t)
	all := slices.DeleteFunc(slices.Clone(a.Inquiries), func(i *Inquiry) bool { return !i.Asks(method) })
	if len(all) == 0 {
		NothingSeen(t, "tool that asks for "+method+" was called", a.Uncalled, AnyTool)
	}
	return all
}

// EachInquiry tries a check on calls. What fails is named by its tool.
func EachInquiry(t *T, all []*Inquiry, run func(*T, *Inquiry)) { Each(t, all, (*Inquiry).Subject, run) }
