package toolcall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// CallTools runs ValidCalls for watches, which see what the server sends meanwhile.
func CallTools(t *check.T) {
	if len(t.Server.Tools) > 0 {
		ValidCalls(t)
	}
}

// CallToolsAndObserveLate is CallTools for watches that also judge late messages.
func CallToolsAndObserveLate(t *check.T) {
	if len(t.Server.Tools) > 0 {
		check.ObserveLate(t, ValidCalls(t).EndTime)
	}
}

// ToolCall is one call of a listed tool.
type ToolCall struct {
	Tool      check.Subject
	Arguments check.M
	// Counterexample says how the arguments violate the schema; nil when they are valid.
	Counterexample *schemas.Counterexample
	// ClientCapabilities are the capabilities that a modern request declares; nil is protocol.AllModernCapabilities.
	ClientCapabilities check.M
	// InputLoop are the input requests before the final reply.
	InputLoop *InputLoop
	Reply     driver.Reply
	Duration  time.Duration
	// IsLong reports whether the call ran for so long that a ping was sent meanwhile.
	IsLong bool
	// PingAnsweredFirst reports whether that ping was answered before the call.
	PingAnsweredFirst bool
	// HeldPing reports whether that ping was answered after the call: by chance, or since it had to wait for it.
	HeldPing bool
	// PingReply is the reply to that ping.
	PingReply driver.Reply

	Session   *driver.Session
	Pending   driver.Pending
	startTime time.Time
	// timedOut reports whether there was no response in time.
	timedOut bool
	// isRetried reports whether the call was repeated in another session.
	isRetried bool
	// overBudget reports whether there was no space left to keep the response.
	overBudget bool
}

// ToolCalls are calls of the run, with the changes of lists that they caused.
type ToolCalls struct {
	List []ToolCall
	// EndTime is when the last of them ended.
	EndTime  time.Time
	Uncalled []Uncalled
	// UnfinishedLoops are calls whose input loop was aborted. They are in Uncalled as well.
	UnfinishedLoops []ToolCall
	// ListChanges are what became of the lists, in each session that survived its calls: of the tools, and of the lists
	// whose changes the server announces.
	ListChanges []ListChange
	// SubscribedResources are the resources with subscriptions.
	SubscribedResources []SubscribedResource
	// ForOtherChanges are further calls of tools that announce changes, by which others may change.
	ForOtherChanges []ToolCall

	// IsRepetition reports whether the tools were called before, so that not all of them have to be called.
	IsRepetition bool
	// currentResources are the resources with subscriptions in the current session.
	currentResources []SubscribedResource
	// listsBefore are the keys of the items before the calls in the current session, by the name of the list.
	listsBefore map[string][]string
}

// Uncalled is a call of a tool that was not made, or was made but cannot be judged.
type Uncalled struct {
	Tool check.Subject
	// Keyword is the keyword that the arguments were to violate; empty is none, or any.
	Keyword string
	// Detail says why, for messages.
	Detail string
	// Forbidden reports whether the tool may not be called, which the user knows.
	Forbidden bool
	// Unanswered reports whether the tool was left out because no tool has answered, or did not answer itself.
	Unanswered bool
	// TaskOnly reports whether the tool runs only as a task, which the area tasks checks.
	TaskOnly bool
}

// String names the tool and the reason.
func (u Uncalled) String() string { return u.Tool.Name + ": " + u.Detail }

// Reason is the reason for a check that needs the call.
func (u Uncalled) Reason() report.Reason {
	switch {
	case u.Forbidden:
		return check.CallsOff
	case u.Unanswered:
		return check.Silent
	}
	return check.Undecided
}

// ValidCallsName is the name of the step ValidCalls in the records of its sessions.
const ValidCallsName = "valid calls"

// ValidCalls calls each tool that may be called once with valid arguments. It uses exclusive sessions, so that nothing
// has to be confirmed: a second call of each tool would have its effects twice.
func ValidCalls(t *check.T) ToolCalls {
	if !t.Server.Declares("tools") {
		return ToolCalls{}
	}
	if responses, recorded := check.RecordedResponses(t, "tools/call"); recorded {
		return recordedCalls(t, responses)
	}
	if !t.IsModern() && !t.IsConfirmation() && !t.IsQuick() && !t.Server.IsSlow() && t.Site() == nil {
		handshake.PrepareUnusedSession(t) // the calls are made in its session
	}
	return check.Step(t, ValidCallsName, func(t *check.T) (calls ToolCalls) {
		s, mark := calls.prepareSession(t, t.Session(check.ExclusiveUnlessQuick))
		limits := detectRateLimit(t, s)
		queue, budget := calls.NewValidCalls(t, ToolsInCallOrder(t)), NewCallBudget()
		for ; ; s, mark = calls.prepareSession(t, t.Session(check.Exclusive)) {
			f := &CallGroup{T: t, Session: s, Budget: budget}
			queue = calls.RunCalls(f, queue)
			if f.isHealthy() {
				calls.recordChanges(t, s, mark)
				calls.dropRateLimited(limits(s))
				calls.callForOtherChanges(f, mark)
			}
			if f.CancelUnanswered(); len(queue) == 0 {
				calls.markUnanswered()
				calls.EndTime = time.Now()
				check.ReportUncalledTools(t, calls.uncalledTools())
				return calls
			}
		}
	})
}

// CallsWithCapabilities calls tools as ValidCalls does, but in a session of the caller, and in modern revisions with
// these capabilities.
func CallsWithCapabilities(
	t *check.T, s *driver.Session, capabilities check.M, tools []check.Subject,
) (calls ToolCalls) {
	f := &CallGroup{T: t, Session: s, Budget: NewCallBudget()}
	queue := calls.NewValidCalls(t, tools)
	for _, call := range queue {
		call.ClientCapabilities = capabilities
	}
	for _, call := range calls.RunCalls(f, queue) {
		calls.addUncalled(*call, "the session did not last until it was called")
	}
	f.CancelUnanswered()
	calls.markUnanswered()
	return calls
}

// uncalledTools are the tools that were not called with valid arguments, each with its first reason.
func (c *ToolCalls) uncalledTools() (tools []report.UncalledTool) {
	for _, u := range c.Uncalled {
		called := func(call ToolCall) bool { return call.Tool.Name == u.Tool.Name }
		if !slices.ContainsFunc(c.List, called) {
			tools = append(tools, report.UncalledTool{Name: u.Tool.Name, Reason: u.Detail, Forbidden: u.Forbidden})
		}
	}
	slices.SortStableFunc(tools, func(a, b report.UncalledTool) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b report.UncalledTool) bool { return a.Name == b.Name })
}

// markUnanswered sets Unanswered where no call was answered at all.
func (c *ToolCalls) markUnanswered() {
	anyAnswered := len(AnsweredCalls(c.List)) > 0
	for i, u := range c.Uncalled {
		called := func(call ToolCall) bool { return call.Tool.Name == u.Tool.Name }
		c.Uncalled[i].Unanswered = !anyAnswered && (u.Unanswered || slices.ContainsFunc(c.List, called))
	}
}

// NewValidCalls are calls of tools to make with valid arguments.
func (c *ToolCalls) NewValidCalls(t *check.T, tools []check.Subject) (calls []*ToolCall) {
	for _, tool := range tools {
		if args, not := ValidArguments(t, tool); not != nil {
			c.Uncalled = append(c.Uncalled, *not)
		} else {
			calls = append(calls, &ToolCall{Tool: tool, Arguments: args})
		}
	}
	return calls
}

// RunCalls makes calls concurrently, and returns those to make in another session.
func (c *ToolCalls) RunCalls(f *CallGroup, queue []*ToolCall) (rest []*ToolCall) {
	defer f.Budget.Pause()
	for len(queue) > 0 && (f.Calls == nil || f.isHealthy()) {
		call := queue[0]
		queue = queue[1:]
		switch unanswered, exhausted := check.KnownUnanswered(f.T, "tools/call"), f.Budget.ExhaustedReason(); {
		case unanswered != nil:
			c.addUncalled(*call, "no call was answered: "+unanswered.Error())
			c.Uncalled[len(c.Uncalled)-1].Unanswered = true
		case exhausted == reasonNoBytes, exhausted == reasonNoTime && !c.mustCall(f, call.Tool):
			c.addUncalled(*call, exhausted)
		case c.hasUnansweredCall(f, call):
			c.addUncalled(*call, "it has left another call unanswered")
		default:
			f.start(call)
		}
	}
	f.waitAll()
	if slices.ContainsFunc(f.Calls, func(call *ToolCall) bool { return call.PingReply.Error() != nil }) {
		f.Session.Call(f.Session.NoOp()) // ping/during-long-request compares its response
	}
	again := f.callsToRepeat()
	for _, call := range f.Calls {
		switch {
		case slices.Contains(again, call):
			continue
		case call.overBudget && call.Counterexample != nil: // only valid calls are worth keeping without space
			c.addUncalled(*call, reasonNoBytes)
			continue
		case call.InputLoop.AbortReason != "":
			c.UnfinishedLoops = append(c.UnfinishedLoops, *call)
			c.addUncalled(*call, call.InputLoop.AbortReason)
			continue
		}
		if c.List = append(c.List, *call); call.isRunning() {
			c.addUncalled(*call, check.Explain(call.Reply.Err).Error())
		}
	}
	return append(queue, again...)
}

// startedCalls are all calls so far, with those of a group.
func (c *ToolCalls) startedCalls(f *CallGroup) []*ToolCall {
	all := slices.Clone(f.Calls)
	for i := range c.List {
		all = append(all, &c.List[i])
	}
	return all
}

// mustCall reports whether a tool was not called yet, and so is called even when the time is up. It is not once
// maxRunning calls were left unanswered.
func (c *ToolCalls) mustCall(f *CallGroup, tool check.Subject) bool {
	if c.IsRepetition {
		return false
	}
	unanswered := 0
	for _, made := range c.startedCalls(f) {
		if made.Tool.Name == tool.Name {
			return false
		}
		if made.isUnanswered() {
			unanswered++
		}
	}
	return unanswered < maxRunning
}

// hasUnansweredCall reports whether the tool of a call left another call unanswered.
func (c *ToolCalls) hasUnansweredCall(f *CallGroup, call *ToolCall) bool {
	return slices.ContainsFunc(c.startedCalls(f), func(made *ToolCall) bool {
		return made.Tool.Name == call.Tool.Name && made.isUnanswered()
	})
}

// prepareSession subscribes to what calls may change, and records the lists of a session before calls are made in it.
// It returns the mark since which changes count.
func (c *ToolCalls) prepareSession(t *check.T, s *driver.Session) (*driver.Session, int) {
	if t.Server.Transport == "http" && !t.IsModern() {
		roundtrip.Get(s, nil) // a second stream, so that http/no-broadcast sees what comes on both
		s.Sleep(timing.StreamReplaceWindow)
	}
	openExtraSubscriptions(t, s)
	EnableLogging(t, s)
	c.requestNamed(t, s)
	c.currentResources = subscribeResources(t, s)
	return s, c.recordLists(t, s)
}

// requestNamed reads a resource and gets a prompt in a legacy session over stdio, and records how the lists changed. In
// modern revisions, stateless/list-no-side-effects does so.
func (c *ToolCalls) requestNamed(t *check.T, s *driver.Session) {
	if t.IsModern() || t.Site() != nil || t.IsQuick() || check.SavesRequests(t) || !t.Server.CanNotify() ||
		len(t.Server.Resources)+len(t.Server.Prompts) == 0 {
		return
	}
	mark := c.recordLists(t, s)
	send := func(method string, params check.M) {
		if check.KnownUnanswered(t, method) == nil {
			s.Call(method, params)
		}
	}
	for _, resource := range t.Server.Resources[:min(1, len(t.Server.Resources))] {
		send("resources/read", check.M{"uri": resource["uri"]})
	}
	for _, prompt := range ListedPrompts(t)[:min(1, len(t.Server.Prompts))] {
		arguments := check.M{}
		for _, name := range RequiredArguments(prompt) {
			arguments[name] = Placeholder
		}
		send("prompts/get", check.M{"name": prompt.Name, "arguments": arguments})
	}
	c.recordListChanges(t, s, mark)
}

// recordLists records the lists of a session before calls are made in it, and returns the mark since which changes
// count.
func (c *ToolCalls) recordLists(t *check.T, s *driver.Session) (mark int) {
	mark = s.Mark()
	c.listsBefore = map[string][]string{"tools": listedNames(t, s, "tools")}
	for _, family := range []string{"prompts", "resources"} {
		capability, _ := t.Server.Capabilities[family].(check.M)
		if capability["listChanged"] == true && t.Server.CanNotify() {
			c.listsBefore[family] = listedNames(t, s, family)
		}
	}
	return mark
}

// EnableLogging asks for all log messages in a legacy session.
func EnableLogging(t *check.T, s *driver.Session) {
	const method = "logging/setLevel"
	if !t.IsModern() && s.Capabilities["logging"] != nil && check.KnownUnanswered(t, method) == nil {
		t.Send(s, method, check.M{"level": "debug"}, check.AllowSilence)
	}
}

// Params are the params of the call in a session. Valid calls ask for progress and log messages, as clients do, with a
// token for each tool in each session. In modern revisions the server may ask for input.
func (c ToolCall) Params(s *driver.Session) check.M {
	params := check.M{"name": c.Tool.Name, "arguments": c.Arguments}
	if c.Counterexample == nil {
		meta := check.M{"progressToken": fmt.Sprintf("mcpcheck-%s-%d-%d", c.Tool.Name, s.Number(), s.Mark())}
		if catalogue.IsModern(s.Revision) && s.Capabilities["logging"] != nil {
			meta[driver.MetaLogLevel] = "debug"
		}
		params["_meta"] = meta
	}
	switch {
	case !catalogue.IsModern(s.Revision):
		return params
	case c.ClientCapabilities != nil:
		return protocol.WithCapabilities(params, c.ClientCapabilities)
	}
	return protocol.WithCapabilities(params, protocol.AllModernCapabilities)
}

// WithAllCapabilities are params with all capabilities of a client in a modern revision. In legacy ones, whose
// handshake declares them, the params are unchanged.
func WithAllCapabilities(t *check.T, params check.M) check.M {
	if t.IsModern() {
		return protocol.WithCapabilities(params, protocol.AllModernCapabilities)
	}
	return params
}

// nextParams returns the params of the next request when the reply to a call requires input. No input is given for a
// call with invalid arguments.
func (c *ToolCall) nextParams(t *check.T, a *CallBudget) (params check.M, again bool) {
	switch why := a.ExhaustedReason(); {
	case !IsInputRequired(t, c.Reply):
	case c.Counterexample != nil:
		c.InputLoop.AbortReason = "it asks for input before it refuses anything"
	case why != "":
		c.InputLoop.AbortReason = why
	default:
		return c.InputLoop.onReply(t, c.Reply)
	}
	c.InputLoop.LastReply = c.Reply
	return nil, false
}

// InvalidCalls calls tools with invalid arguments, as many as time permits: first one for each keyword that can be
// violated, then another one for each, and so on; then each other property that can be wrong, of each tool in turn.
func InvalidCalls(t *check.T) ToolCalls {
	return check.Step(t, "invalid calls", func(t *check.T) (calls ToolCalls) {
		calls.RunInSessions(t, append(calls.newInvalidCalls(t), calls.furtherInvalidCalls(t)...))
		check.ReportInvalidCalls(t, calls.invalidInput(t))
		return calls
	})
}

// RunInSessions makes calls in the session that checks share, and in others where it does not last.
func (c *ToolCalls) RunInSessions(t *check.T, queue []*ToolCall) {
	s := t.Session()
	limits := detectRateLimit(t, s)
	for budget := NewCallBudget(); ; s = t.Session(check.Exclusive) {
		f := &CallGroup{T: t, Session: s, Budget: budget}
		queue = c.RunCalls(f, queue)
		if f.isHealthy() {
			c.dropRateLimited(limits(s))
		}
		if f.CancelUnanswered(); len(queue) == 0 {
			return
		}
	}
}

// newInvalidCalls are calls to make with invalid arguments: first one for each keyword, then a second one for each, and
// so on. Once there are more than a budget allows, the remaining tools are left out.
func (c *ToolCalls) newInvalidCalls(t *check.T) (calls []*ToolCall) {
	var rounds [][]*ToolCall
	times := map[string]int{} // how often a keyword is violated so far
	all := 0
	for _, tool := range ToolsInCallOrder(t) {
		if all > maxCalls {
			c.Uncalled = append(c.Uncalled,
				*cmp.Or(CheckMayCallInvalid(t, tool), &Uncalled{Tool: tool, Detail: reasonNoBytes}))
			continue
		}
		broken, not := counterexamples(t, tool)
		all += len(broken)
		c.Uncalled = append(c.Uncalled, not...)
		for _, b := range broken {
			n := times[b.Keyword]
			times[b.Keyword]++
			if n == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[n] = append(rounds[n], &ToolCall{Tool: tool, Arguments: b.Arguments, Counterexample: &b})
		}
	}
	return slices.Concat(rounds...)
}

// maxFurtherCalls is how many calls with invalid arguments are made besides one for each keyword and tool.
const maxFurtherCalls = 900

// furtherInvalidCalls are calls to make with arguments that are invalid at the other places of the schemas: first one
// of each tool, then a second one of each, and so on. A slow server gets none.
func (c *ToolCalls) furtherInvalidCalls(t *check.T) (calls []*ToolCall) {
	if check.SavesRequests(t) || t.IsQuick() {
		return nil
	}
	var rounds [][]*ToolCall
	for _, tool := range ToolsInCallOrder(t) {
		for n, b := range furtherCounterexamples(t, tool) {
			if n == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[n] = append(rounds[n], &ToolCall{Tool: tool, Arguments: b.Arguments, Counterexample: &b})
		}
	}
	calls = slices.Concat(rounds...)
	for _, call := range calls[min(len(calls), maxFurtherCalls):] {
		c.addUncalled(*call, fmt.Sprintf("only %d places of the schemas are tried", maxFurtherCalls))
	}
	return calls[:min(len(calls), maxFurtherCalls)]
}

// invalidInput counts the tools that were called with invalid arguments, and those that may not be.
func (c *ToolCalls) invalidInput(t *check.T) (n report.InvalidCallCounts) {
	tried := map[string]bool{}
	for _, call := range c.List {
		tried[call.Tool.Name] = true
	}
	n.Tried = len(tried)
	for _, tool := range ListedTools(t) {
		switch not := CheckMayCallInvalid(t, tool); {
		case not == nil:
		case not.Detail == report.MarkedDestructive:
			n.Destructive++
		case not.Detail == report.NotMarkedSafe:
			n.Unmarked++
		}
	}
	return n
}

// addUncalled adds a call that was not made.
func (c *ToolCalls) addUncalled(call ToolCall, why string) {
	not := Uncalled{Tool: call.Tool, Detail: why}
	if call.Counterexample != nil {
		not.Keyword = call.Counterexample.Keyword
	}
	c.Uncalled = append(c.Uncalled, not)
}

// AnsweredCalls are the calls with a response.
func AnsweredCalls(calls []ToolCall) (list []ToolCall) {
	for _, c := range calls {
		if c.Reply.Answered() {
			list = append(list, c)
		}
	}
	return list
}

// EachToolCall runs a check on each call. Failures are reported under the name of the tool.
func EachToolCall(t *check.T, calls []ToolCall, run func(*check.T, ToolCall)) {
	check.Each(t, calls, ToolCall.Subject, run)
}

// Subject shows the call as one of several, named by its tool.
func (c ToolCall) Subject() check.Subject {
	return check.Subject{Name: c.Tool.Name, Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame}}
}

// RequireObserved is for checks of n observations during calls. Without any it ends the check by SkipNotObserved;
// otherwise it adds a caveat for calls that might have shown more.
func RequireObserved(t *check.T, n int, what string, uncalled []Uncalled, might func(tool check.M) bool) {
	if n == 0 {
		SkipNotObserved(t, what, uncalled, might)
	}
	var left []Uncalled
	for _, u := range uncalled {
		if !u.Forbidden && !u.TaskOnly && might(u.Tool.Value) {
			left = append(left, u)
		}
	}
	if len(left) > 0 {
		t.Caveat("tool calls that could not be tested: %d (%v)", len(left), mostCommon(left))
	}
}

// mostCommon is the first call with the most common reason.
func mostCommon(uncalled []Uncalled) Uncalled {
	times := map[string]int{}
	for _, u := range uncalled {
		times[u.Detail]++
	}
	return slices.MaxFunc(uncalled, func(a, b Uncalled) int { return times[a.Detail] - times[b.Detail] })
}

// SkipNotObserved ends a check that found nothing to judge. The check is skipped, unless a tool that was not called
// might have shown something; one that runs only as a task shows nothing in a plain call. The reason is always worded
// alike, since reports merge equal reasons.
func SkipNotObserved(t *check.T, what string, uncalled []Uncalled, might func(tool check.M) bool) {
	if i := slices.IndexFunc(uncalled, func(u Uncalled) bool { return u.Unanswered && might(u.Tool.Value) }); i >= 0 {
		check.NoAnswer(t, "no tool that was called has answered (%v)", uncalled[i])
	}
	for _, u := range uncalled {
		if !u.TaskOnly && might(u.Tool.Value) {
			t.NoVerdict(check.Undecided, "not observed; calls of some tools were not made (%v)", u)
		}
	}
	t.Skip(check.NotObserved, "no %s", what)
}

// AnyTool is the argument for SkipNotObserved when any tool might have shown something.
func AnyTool(check.M) bool { return true }
