package client

import (
	"regexp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// InteractiveCalls are the calls of tools during which the server requested something of a client with all
// capabilities.
type InteractiveCalls struct {
	// List are the calls with a server request.
	List     []*InteractiveCall
	Uncalled []toolcall.Uncalled
}

// CollectServerRequests runs CallInteractively for watches, which see the server requests.
func CollectServerRequests(t *check.T) { CallInteractively(t) }

// CallInteractively calls each tool that may be called once, as far as time permits, as a client with all capabilities
// of the revision that accepts everything. In legacy revisions this takes a session of such a client: servers send
// requests only for declared capabilities, and some list certain tools only to such clients. In modern ones ValidCalls
// are such calls. To confirm something, it calls only the tools that requested something before.
func CallInteractively(t *check.T) InteractiveCalls {
	if !t.Server.Declares("tools") {
		return InteractiveCalls{}
	}
	if t.IsModern() {
		a := callsWithInputRequests(toolcall.ValidCalls(t))
		a.addLonger(callsWithInputRequests(toolcall.VariedCalls(t)).List)
		return a
	}
	return check.Step(t, "client that can be asked", func(t *check.T) (a InteractiveCalls) {
		r := &interactiveCaller{t: t, calls: &toolcall.ToolCalls{IsRepetition: true}, isCalled: map[string]bool{},
			budget: toolcall.NewCallBudget()}
		asking := check.Memo(t, "tools that ask", func() *[]string { return new([]string) })
		if t.IsConfirmation() {
			r.only = *asking
		}
		r.client = ReusedClient(t, protocol.AllCapabilities(t.Revision), AcceptAll(t))
		for tools := r.remainingTools(); len(tools) > 0; tools = r.remainingTools() {
			a.List = append(a.List, r.callTools(tools)...)
			if !r.hasNewTools() {
				break
			}
		}
		if !t.IsConfirmation() {
			a.addLonger(r.callWithOtherChoices(a.List))
			for _, call := range a.List {
				*asking = append(*asking, call.Tool.Name)
			}
		}
		a.Uncalled = r.calls.Uncalled
		return a
	})
}

// interactiveCaller makes the calls of CallInteractively in legacy sessions.
type interactiveCaller struct {
	t        *check.T
	client   *Client
	calls    *toolcall.ToolCalls
	isCalled map[string]bool
	// only are the names of the tools to call; all of them where it is empty.
	only   []string
	budget *toolcall.CallBudget
	// mark is where in the session of the client the tools were listed.
	mark int
}

// callTools calls tools concurrently, beginning with those that are likely to request something, and returns those that
// did.
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

// callWithOtherChoices calls the tools that requested something with other values of enums and booleans, for watches:
// with these they may request something else.
func (r *interactiveCaller) callWithOtherChoices(asking []*InteractiveCall) (others []*InteractiveCall) {
	if r.t.IsQuick() || check.SavesRequests(r.t) {
		return nil
	}
	tried, begin := map[string]bool{}, time.Now()
	for _, i := range asking {
		if tried[i.Tool.Name] || !toolcall.IsRepeatable(i.Tool) {
			continue
		}
		tried[i.Tool.Name] = true
		for _, arguments := range toolcall.OtherChoices(r.t, i.Tool, i.Arguments) {
			if time.Since(begin) > maxOtherChoices {
				return others
			}
			r.ensureSession()
			other := r.client.CallTool(r.t, i.Tool, arguments, AcceptAll(r.t))
			if other.IsSilent() {
				return others
			}
			others = append(others, other)
		}
	}
	return others
}

// addLonger adds those calls that have several requests of a method, of tools of which no other call has: later
// questions may be handled by different code.
func (a *InteractiveCalls) addLonger(others []*InteractiveCall) {
	const elicit = "elicitation/create"
	for _, other := range others {
		n := len(other.RequestsFor(elicit))
		isAsLong := func(i *InteractiveCall) bool {
			return i.Tool.Name == other.Tool.Name && len(i.RequestsFor(elicit)) >= n
		}
		if n > 1 && other.Reply.Answered() && other.AbortReason == "" && !slices.ContainsFunc(a.List, isAsLong) {
			a.List = append(a.List, other)
		}
	}
}

// maxOtherChoices is how long the calls with other values may take altogether.
const maxOtherChoices = 2 * time.Second

// ensureSession begins another session when the last one did not survive a call.
func (r *interactiveCaller) ensureSession() {
	if !r.client.Session.IsUsable() {
		r.client = NewClient(r.t, r.client.Capabilities, AcceptAll(r.t))
		r.mark = r.client.Session.Mark()
	}
}

// hasNewTools reports whether the server announced a change of its tools during the calls.
func (r *interactiveCaller) hasNewTools() bool {
	return r.client.Session.IsUsable() && slices.ContainsFunc(r.client.Session.ReceivedSince(r.mark),
		func(f *driver.Frame) bool {
			return f.Method == "notifications/tools/list_changed"
		})
}

// remainingTools are the listed tools that were not called yet, beginning with those that are likely to request
// something.
func (r *interactiveCaller) remainingTools() (tools []check.Subject) {
	s := r.client.Session
	check.RequestNoOp(r.t, s) // what the server does after the handshake is done once this is answered
	r.mark = s.Mark()
	var listed []check.M
	check.FollowPages(r.t, s, "tools/list", "tools",
		func(page check.M) { listed = append(listed, protocol.ObjectsIn(page["tools"])...) })
	for _, tool := range toolcall.SortForCalls(r.t, protocol.NamedSubjects(listed)) {
		if !r.isCalled[tool.Name] && (len(r.only) == 0 || slices.Contains(r.only, tool.Name)) {
			r.isCalled[tool.Name] = true
			tools = append(tools, tool)
		}
	}
	known := toolcall.ListedTools(r.t)
	slices.SortStableFunc(tools,
		func(x, y check.Subject) int { return likelihoodToAsk(known, y) - likelihoodToAsk(known, x) })
	return tools
}

// interactions are the calls of a group with server requests: each as one of several at a time and, if it was repeated,
// exclusively.
type interactions map[*toolcall.ToolCall][]*InteractiveCall

// interactiveCallsOf are the calls of a group with server requests. Where a request may belong to several calls, these
// are repeated.
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

// repeatCandidates repeats the calls that a server request may belong to, one at a time and the latest first, until one
// has such a request.
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

// asksFor reports whether a call is known to have server requests of a method.
func (a interactions) asksFor(call *toolcall.ToolCall, method string) bool {
	return slices.ContainsFunc(a[call], func(i *InteractiveCall) bool { return i.AsksFor(method) })
}

// add adds an execution of a call. It replaces earlier ones whose methods it covers.
func (a interactions) add(call *toolcall.ToolCall, i *InteractiveCall) {
	a[call] = append(slices.DeleteFunc(a[call], i.covers), i)
}

// covers reports whether the call has server requests of every method that another one has.
func (i *InteractiveCall) covers(other *InteractiveCall) bool {
	return !slices.ContainsFunc(other.ServerRequests, func(q ServerRequest) bool { return !i.AsksFor(q.Method) })
}

// callOf is the call that a request belongs to; nil when there is none.
func callOf(f *toolcall.CallGroup, request *driver.Frame) *toolcall.ToolCall {
	for _, call := range f.Calls {
		if request != nil && driver.SameID(call.Pending.ID, request.ID) {
			return call
		}
	}
	return nil
}

// callsWithInputRequests are the calls whose results had input requests.
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

// Patterns of names and descriptions of tools that are likely to request something of the client.
var (
	askingName        = regexp.MustCompile(`(?i)elicit|sampl|roots|ask|confirm|prompt|client`)
	askingDescription = regexp.MustCompile(
		`(?i)\belicit|\bsampling|\broots\b|\bconfirm|\basks? (for|the (user|client))`)
)

// likelihoodToAsk ranks how likely a tool requests something of the client. A tool that other clients do not see is
// most likely to need what they lack.
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

// IsLikelyToAsk reports whether a listed tool is likely to request something of the client, by its name and
// description.
func IsLikelyToAsk(tool check.Subject) bool { return likelihoodToAsk([]check.Subject{tool}, tool) > 0 }

// RequireInteractiveCalls are the calls with a server request of a method. It ends a check when there is none.
func RequireInteractiveCalls(t *check.T, method string) []*InteractiveCall {
	a := CallInteractively(t)
	all := slices.DeleteFunc(slices.Clone(a.List), func(i *InteractiveCall) bool { return !i.AsksFor(method) })
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, "tool that asks for "+method+" was called", a.Uncalled, toolcall.AnyTool)
	}
	return all
}
