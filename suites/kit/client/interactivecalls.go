package client

import (
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// InteractiveCalls is what the tools that may be called have asked a client for that can be asked for everything.
type InteractiveCalls struct {
	List     []*InteractiveCall // that asked for something
	Uncalled []toolcall.Uncalled
}

// CollectServerRequests sees to it that the tools have asked that ask: what they ask for is what some watches judge.
func CollectServerRequests(t *check.T) { CallInteractively(t) }

// Inquiries calls the tools that may be called, each once as far as there is time, as a willing client that has
// declared all that a server of the revision can ask for. Where there is a handshake that takes a session of such a
// client: servers ask only where that was declared, and some list tools for such clients that others do not see.
// Without one, ValidCalls are such calls.
func CallInteractively(t *check.T) InteractiveCalls {
	if !t.Server.Declares("tools") {
		return InteractiveCalls{}
	}
	if t.IsModern() {
		return callsWithInputRequests(toolcall.ValidCalls(t))
	}
	return check.Step(t, "client that can be asked", func(t *check.T) (a InteractiveCalls) {
		r := &interactiveCaller{t: t, calls: &toolcall.ToolCalls{IsRepetition: true}, isCalled: map[string]bool{},
			budget: toolcall.NewCallBudget()}
		if !t.IsConfirmation() {
			handshake.RunScenario(t, handshake.Scenario{RefuseRequests: true}) // in its session, if there is one
		}
		r.client = ReusedClient(t, protocol.AllCapabilities(t.Revision), AcceptAll(t))
		for tools := r.remainingTools(); len(tools) > 0; tools = r.remainingTools() {
			a.List = append(a.List, r.callTools(tools)...)
			if !r.hasNewTools() {
				break
			}
		}
		a.Uncalled = r.calls.Uncalled
		return a
	})
}

// interactiveCaller is the calls that Inquiries makes in sessions of the handshake.
type interactiveCaller struct {
	t        *check.T
	client   *Client
	calls    *toolcall.ToolCalls
	isCalled map[string]bool
	budget   *toolcall.CallBudget
	mark     int // in the session of the client, where its tools were listed
}

// call calls tools side by side, those first that may ask, and returns what they asked.
func (r *interactiveCaller) callTools(tools []check.Subject) (all []*InteractiveCall) {
	for queue := r.calls.NewValidCalls(r.t, tools); len(queue) > 0; {
		r.ensureSession()
		f := &toolcall.CallGroup{T: r.t, Session: r.client.Session, Budget: r.budget}
		begin := f.Session.Mark()
		queue = r.calls.RunCalls(f, queue)
		f.CancelUnanswered()
		all = append(all, r.interactiveCallsOf(f, ServerRequestsIn(f.Session, f.Session.FramesSince(begin)))...)
	}
	return all
}

// ensureSession has another session begin when the last one has not survived a call.
func (r *interactiveCaller) ensureSession() {
	if !r.client.Session.IsUsable() {
		r.client = NewClient(r.t, r.client.Capabilities)
		r.mark = r.client.Session.Mark()
	}
}

// hasNewTools reports whether the server has said that it has other tools than before the calls.
func (r *interactiveCaller) hasNewTools() bool {
	return r.client.Session.IsUsable() && slices.ContainsFunc(r.client.Session.ReceivedSince(r.mark),
		func(f *driver.Frame) bool {
			return f.Method == "notifications/tools/list_changed"
		})
}

// remainingTools are the tools that the server lists to the client and that were not called yet, those first that may
// ask.
func (r *interactiveCaller) remainingTools() (tools []check.Subject) {
	s := r.client.Session
	check.RequestNoOp(r.t, s) // what the server does once the session is established, it has done then
	r.mark = s.Mark()
	var listed []check.M
	check.FollowPages(r.t, s, "tools/list", "tools",
		func(page check.M) { listed = append(listed, protocol.ObjectsIn(page["tools"])...) })
	for _, tool := range toolcall.SortForCalls(r.t, protocol.NamedSubjects(listed)) {
		if !r.isCalled[tool.Name] {
			r.isCalled[tool.Name] = true
			tools = append(tools, tool)
		}
	}
	known := toolcall.ListedTools(r.t)
	slices.SortStableFunc(tools,
		func(x, y check.Subject) int { return likelihoodToAsk(known, y) - likelihoodToAsk(known, x) })
	return tools
}

// interactions are the calls of a flight that have asked, each with what it asked beside others, and alone.
type interactions map[*toolcall.ToolCall][]*InteractiveCall

// interactiveCallsOf are the calls of a flight that have asked. Where several may have asked a question, they are made
// once more.
func (r *interactiveCaller) interactiveCallsOf(
	f *toolcall.CallGroup, questions []ServerRequest,
) (all []*InteractiveCall) {
	asked, again := interactions{}, map[*toolcall.ToolCall]bool{nil: true}
	for _, q := range questions {
		call := callOf(f, q.ClientRequest)
		if call == nil {
			continue
		}
		if asked[call] == nil {
			asked.add(call, &InteractiveCall{
				Tool: call.Tool, Arguments: call.Arguments, ClientCapabilities: r.client.Capabilities,
				Reply: call.Reply,
			})
		}
		asked[call][0].ServerRequests = append(asked[call][0].ServerRequests, q)
	}
	for _, q := range questions {
		r.repeatCandidates(q, f, asked, again)
	}
	for _, call := range f.Calls {
		all = append(all, asked[call]...)
	}
	return all
}

// repeatCandidates makes the calls once more that may have asked a question, each alone, the last of them first, until
// one asks it, be it one that is known to have asked something else.
func (r *interactiveCaller) repeatCandidates(
	q ServerRequest, f *toolcall.CallGroup, asked interactions, again map[*toolcall.ToolCall]bool,
) {
	for _, request := range slices.Backward(q.Candidates) {
		call := callOf(f, request)
		if asked.asksFor(call, q.Method) {
			return
		}
		if again[call] {
			continue
		}
		again[call] = true
		r.ensureSession()
		i := r.client.CallTool(r.t, call.Tool, call.Arguments, AcceptAll(r.t))
		if len(i.ServerRequests) > 0 {
			asked.add(call, i)
		}
		if i.AsksFor(q.Method) {
			return
		}
	}
}

// asksFor reports whether a call is known to ask for a method.
func (a interactions) asksFor(call *toolcall.ToolCall, method string) bool {
	return slices.ContainsFunc(a[call], func(i *InteractiveCall) bool { return i.AsksFor(method) })
}

// add notes what a call has asked. What it asked before gives way to that, unless there was more.
func (a interactions) add(call *toolcall.ToolCall, i *InteractiveCall) {
	a[call] = append(slices.DeleteFunc(a[call], i.covers), i)
}

// covers reports whether it asks for every method that another one asks for.
func (i *InteractiveCall) covers(other *InteractiveCall) bool {
	return !slices.ContainsFunc(other.ServerRequests, func(q ServerRequest) bool { return !i.AsksFor(q.Method) })
}

// callOf is the call that a request has made; nil when it has made none.
func callOf(f *toolcall.CallGroup, request *driver.Frame) *toolcall.ToolCall {
	for _, call := range f.Calls {
		if request != nil && driver.SameID(call.Pending.ID, request.ID) {
			return call
		}
	}
	return nil
}

// callsWithInputRequests are the calls that asked for input by their results.
func callsWithInputRequests(calls toolcall.ToolCalls) (a InteractiveCalls) {
	for _, call := range slices.Concat(calls.List, calls.UnfinishedLoops) {
		i := &InteractiveCall{
			Tool: call.Tool, Arguments: call.Arguments, ClientCapabilities: protocol.AllModernCapabilities,
			Reply:       call.Reply,
			AbortReason: call.InputLoop.AbortReason,
		}
		for _, r := range call.InputLoop.InputReplies {
			i.ServerRequests = append(i.ServerRequests, inputRequestsIn(call.Session, r.Request, r.Frame)...)
		}
		if len(i.ServerRequests) > 0 {
			a.List = append(a.List, i)
		}
	}
	a.Uncalled = calls.Uncalled
	return a
}

// What tools may be called, and how described, that ask.
var (
	askingName        = regexp.MustCompile(`(?i)elicit|sampl|roots|ask|confirm|prompt|client`)
	askingDescription = regexp.MustCompile(
		`(?i)\belicit|\bsampling|\broots\b|\bconfirm|\basks? (for|the (user|client))`)
)

// likelihoodToAsk is how likely a tool asks: one that other clients do not see may need what they lack.
func likelihoodToAsk(known []check.Subject, tool check.Subject) int {
	description, _ := tool.Value["description"].(string)
	switch {
	case !slices.ContainsFunc(known, func(k check.Subject) bool { return k.Name == tool.Name }):
		return 3
	case askingName.MatchString(tool.Name):
		return 2
	case askingDescription.MatchString(description):
		return 1
	}
	return 0
}

// RequireInteractiveCalls are the calls in which a server asked for something by a method, for checks that cannot do
// without one.
func RequireInteractiveCalls(t *check.T, method string) []*InteractiveCall {
	a := CallInteractively(t)
	all := slices.DeleteFunc(slices.Clone(a.List), func(i *InteractiveCall) bool { return !i.AsksFor(method) })
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, "tool that asks for "+method+" was called", a.Uncalled, toolcall.AnyTool)
	}
	return all
}

// EachInteractiveCall tries a check on calls. What fails is named by its tool.
func EachInteractiveCall(t *check.T, all []*InteractiveCall, run func(*check.T, *InteractiveCall)) {
	check.Each(t, all, (*InteractiveCall).Subject, run)
}
