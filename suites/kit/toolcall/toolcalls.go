package toolcall

import (
	"cmp"
	"fmt"
	"maps"
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
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// CallTools sees to it that the tools have been called that may be: what the server says meanwhile is what some watches
// judge.
func CallTools(t *check.T) {
	if len(t.Server.Tools) > 0 {
		ValidCalls(t)
	}
}

// CallToolsAndObserveLate is CallTools for who judges what comes late as well.
func CallToolsAndObserveLate(t *check.T) {
	if len(t.Server.Tools) > 0 {
		check.ObserveLate(t, ValidCalls(t).EndTime)
	}
}

// ToolCall is one call of a listed tool.
type ToolCall struct {
	Tool               check.Subject
	Arguments          check.M
	Counterexample     *schemas.Counterexample // what is wrong with the arguments; nil: nothing
	ClientCapabilities check.M                 // what the client declares, where each request says so; nil: Able
	InputLoop          *InputLoop              // what it was asked for before its reply, which is the final one
	Reply              driver.Reply
	Duration           time.Duration
	IsLong             bool // it ran for so long that a ping could be tried meanwhile
	PingAnsweredFirst  bool // that ping was answered before the call

	Session     *driver.Session
	Pending     driver.Pending
	startTime   time.Time
	timedOut    bool // it had no answer in time
	isRetried   bool // it was made once more
	isMinimized bool // with the least numbers, since it took too long
	overBudget  bool // there was no room left for its answer
}

// ToolCalls are calls of the run, and what they did to the lists.
type ToolCalls struct {
	List            []ToolCall
	EndTime         time.Time // when the last of them was over
	Uncalled        []Uncalled
	UnfinishedLoops []ToolCall // that asked for input, and did not come to an end; they are among the uncalled ones
	ToolsBefore     []string   // names of the tools before the calls and after them, sorted
	ToolsAfter      []string
	Notified        bool               // notifications/tools/list_changed came meanwhile
	LimitErr        *driver.LimitError // why it may have come and was not kept; nil: it was not
	NoStream        bool               // there was no stream on which it could come

	ListChanges         []ListChange         // of the other lists
	SubscribedResources []SubscribedResource // resources whose updates were asked for

	IsRepetition     bool                 // the tools have been called before, and need not all be called
	currentResources []SubscribedResource // in the session of now
	// what else was listed before them whose changes the server announces, by family
	otherLists map[string][]string
}

// Uncalled is a call of a tool that was not made, or not served for a reason of its own.
type Uncalled struct {
	Tool       check.Subject
	Keyword    string // of the schema that its arguments were to break; empty: none, or any
	Detail     string
	Forbidden  bool // it may not be called, which the operator knows
	Unanswered bool // it was called, or was not since others were in vain, and no tool has answered
	TaskOnly   bool // it only runs as a task: what comes of that is for the area tasks
}

// String says which tool was not called, and why.
func (u Uncalled) String() string { return u.Tool.Name + ": " + u.Detail }

// Reason is what it is for a check that wants the call.
func (u Uncalled) Reason() report.Reason {
	switch {
	case u.Forbidden:
		return check.CallsOff
	case u.Unanswered:
		return check.Silent
	}
	return check.Undecided
}

// CallBudget is what calls of one kind may take together: so much that tools that answer quickly, and briefly, are all
// tried. Its time begins with the first question whether any is left, so that what is done before the calls, such as
// the start of a process, does not count.
type CallBudget struct {
	elapsed   time.Duration // until it was stopped
	startTime time.Time     // when it began to run; zero while it does not
	bytesLeft int           // bytes
}

// NewCallBudget is a whole one.
func NewCallBudget() *CallBudget { return &CallBudget{bytesLeft: maxCallsBytes} }

// What an allowance bounds.
const (
	maxCallsTime  = 10 * time.Second
	maxCallsBytes = 8 << 20
	bytesPerCall  = 2 << 10 // to keep the messages of a call as they were read
	maxCalls      = maxCallsBytes / bytesPerCall
)

const (
	reasonNoTime  = "the time for tool calls was used up"
	reasonNoBytes = "there was no room left for more answers"
)

// Charge notes a call that was made, with what it takes to keep its messages as they were read, and reports whether
// there is room for that.
func (a *CallBudget) Charge(r driver.Reply) (kept bool) {
	a.bytesLeft -= bytesPerCall
	for _, f := range []*driver.Frame{r.Request, r.Frame} {
		if f != nil {
			a.bytesLeft -= f.Raw.Len()
		}
	}
	return a.bytesLeft >= 0
}

// ExhaustedReason is why no more calls are made; empty when they are.
func (a *CallBudget) ExhaustedReason() string {
	if a.startTime.IsZero() {
		a.startTime = time.Now()
	}
	switch {
	case a.bytesLeft < 0:
		return reasonNoBytes
	case a.elapsed+time.Since(a.startTime) > maxCallsTime:
		return reasonNoTime
	}
	return ""
}

// Pause stops the time until the next call.
func (a *CallBudget) Pause() {
	if !a.startTime.IsZero() {
		a.elapsed, a.startTime = a.elapsed+time.Since(a.startTime), time.Time{}
	}
}

// ValidCallsName is who uses the sessions of ValidCalls, as their records have it.
const ValidCallsName = "valid calls"

// ValidCalls calls the tools that may be called, each once with arguments that its schema allows. They have a session
// of their own, so that nothing has to be confirmed alone: calling tools twice would do twice what they do.
func ValidCalls(t *check.T) ToolCalls {
	if !t.Server.Declares("tools") {
		return ToolCalls{}
	}
	if !t.IsModern() && !t.IsConfirmation() && !t.IsQuick() && !t.Server.IsSlow() && t.Site() == nil {
		handshake.PrepareUnusedSession(t) // in the session of which they are made
	}
	return check.Step(t, ValidCallsName, func(t *check.T) (calls ToolCalls) {
		s, mark := calls.prepareSession(t, check.ExclusiveUnlessQuick(t))
		limits := detectRateLimit(t, s)
		queue, allowance := calls.NewValidCalls(t, ToolsInCallOrder(t)), NewCallBudget()
		for ; ; s, mark = calls.prepareSession(t, t.ExclusiveSession()) {
			f := &CallGroup{T: t, Session: s, Budget: allowance}
			queue = calls.RunCalls(f, queue)
			if f.isHealthy() {
				calls.recordChanges(t, s, mark)
				calls.dropRateLimited(limits(s))
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

// CallsWithCapabilities calls tools as ValidCalls does, but in a session that the caller has, and as a client with
// these capabilities where each request says so.
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

// uncalledTools are the tools that were not called with valid arguments, each with the first reason for that.
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

// hear finds out whether any call was answered.
func (c *ToolCalls) markUnanswered() {
	heard := len(AnsweredCalls(c.List)) > 0
	for i, u := range c.Uncalled {
		called := func(call ToolCall) bool { return call.Tool.Name == u.Tool.Name }
		c.Uncalled[i].Unanswered = !heard && (u.Unanswered || slices.ContainsFunc(c.List, called))
	}
}

// NewValidCalls are calls of tools to be made with arguments that their schemas allow.
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

// RunCalls makes calls side by side, and returns those that are to be made in another session.
func (c *ToolCalls) RunCalls(f *CallGroup, queue []*ToolCall) (rest []*ToolCall) {
	defer f.Budget.Pause()
	for len(queue) > 0 && (f.Calls == nil || f.isHealthy()) {
		call := queue[0]
		queue = queue[1:]
		switch mute, spent := check.KnownUnanswered(f.T, "tools/call"), f.Budget.ExhaustedReason(); {
		case mute != nil:
			c.addUncalled(*call, "no call was answered: "+mute.Error())
			c.Uncalled[len(c.Uncalled)-1].Unanswered = true
		case spent == reasonNoBytes && !call.isMinimized, spent == reasonNoTime && !call.isMinimized && !c.mustCall(f,
			call.Tool):
			c.addUncalled(*call, spent)
		case c.hasUnansweredCall(f, call):
			c.addUncalled(*call, "it has left another call unanswered")
		default:
			f.start(call)
		}
	}
	f.waitAll()
	again := f.callsToRepeat()
	for _, call := range f.Calls {
		switch {
		case slices.Contains(again, call):
			continue
		case f.retrySmaller(call):
			again = append(again, call)
			continue
		case call.overBudget && call.Counterexample != nil: // that is kept of a valid call only
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

// startedCalls are the calls so far, with those of a flight.
func (c *ToolCalls) startedCalls(f *CallGroup) []*ToolCall {
	all := slices.Clone(f.Calls)
	for i := range c.List {
		all = append(all, &c.List[i])
	}
	return all
}

// mustCall reports whether a tool has its first call to come, whatever the time: not where as many calls as run side by
// side have had no answer.
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

// hasUnansweredCall reports whether the tool of a call has left another one unanswered.
func (c *ToolCalls) hasUnansweredCall(f *CallGroup, call *ToolCall) bool {
	return slices.ContainsFunc(c.startedCalls(f), func(made *ToolCall) bool {
		return made.Tool.Name == call.Tool.Name && made.isUnanswered()
	})
}

// begin notes the list of a session in which calls are going to be made.
func (c *ToolCalls) prepareSession(t *check.T, s *driver.Session) (*driver.Session, int) {
	if t.Server.Transport == "http" && !t.IsModern() {
		roundtrip.Get(s, nil) // a second stream, so that http/no-broadcast sees what comes on both
		s.Sleep(transcript.StreamReplaceWindow)
	}
	transcript.OpenExtraSubscriptions(t, s)
	enableLogging(t, s)
	watched := subscribeResources(t, s)
	mark := s.Mark()
	c.currentResources = watched
	c.ToolsBefore = protocol.Sorted(protocol.ToolNames(t, s, check.M{}))
	c.otherLists = map[string][]string{}
	for _, family := range []string{"prompts", "resources"} {
		capability, _ := s.Capabilities[family].(check.M)
		if capability["listChanged"] == true && t.Server.CanNotify() {
			c.otherLists[family] = protocol.Sorted(currentNames(s, family))
		}
	}
	return s, mark
}

// currentNames are the names of a family as a session lists it now, as far as it does.
func currentNames(s *driver.Session, family string) (names []string) {
	check.EachPage(s, family+"/list", family, check.M{}, func(page check.M) { // what fails with it, its own checks say
		for _, item := range protocol.ObjectsIn(page[family]) {
			name, _ := item[protocol.ListKeys[family]].(string)
			names = append(names, name)
		}
	})
	return names
}

// ListChangedTimeout is how long a server may take to announce that a list has changed: it may collect changes for a
// while.
const ListChangedTimeout = 5 * time.Second

// ListChange is a change of a list that calls have brought about.
type ListChange struct {
	Kind          string
	Before, After []string
	Notified      bool
	LimitErr      *driver.LimitError // why the notification may have come and was not kept; nil: it was not
	NoStream      bool               // there was no stream on which it could come
}

// end notes what the calls did to the lists, and to resources.
func (c *ToolCalls) recordChanges(t *check.T, s *driver.Session, mark int) {
	for _, family := range slices.Sorted(maps.Keys(c.otherLists)) {
		change := ListChange{Kind: family, Before: c.otherLists[family],
			After: protocol.Sorted(currentNames(s, family))}
		if slices.Equal(change.Before, change.After) {
			continue
		}
		change.NoStream = t.IsModern() && !transcript.IsSubscribedToList(s, family+"ListChanged")
		if change.Notified, change.LimitErr = awaitListChanged(s, mark,
			family), s.UnsolicitedLimitErr(mark); !change.Notified {
			change.After = protocol.Sorted(currentNames(s, family)) // as it stays
		}
		if change.Notified || !slices.Equal(change.Before, change.After) {
			c.ListChanges = append(c.ListChanges, change)
		}
	}
	for _, x := range c.currentResources {
		c.SubscribedResources = append(c.SubscribedResources, x.observe(s, mark))
	}
	c.ToolsAfter = protocol.Sorted(protocol.ToolNames(t, s, check.M{}))
	if slices.Equal(c.ToolsBefore, c.ToolsAfter) || !t.Server.CanNotify() {
		return
	}
	c.NoStream = t.IsModern() && !transcript.IsSubscribedToList(s, "toolsListChanged")
	if c.Notified, c.LimitErr = awaitListChanged(s, mark, "tools"), s.UnsolicitedLimitErr(mark); !c.Notified {
		c.ToolsAfter = protocol.Sorted(protocol.ToolNames(t, s, check.M{})) // as it stays
		return
	}
	if t.IsModern() && t.Site() != nil && len(transcript.SessionSubscriptions(s).List) > 1 {
		s.Sleep(protocol.ShortWait)
		s.Barrier(s.Mark()) // its answer tells which subscriptions were not told: subscriptions/concurrent
	}
}

// awaitListChanged reports whether the server says within ListChangedTimeout that the list of a family has changed
// since the mark.
func awaitListChanged(s *driver.Session, mark int, family string) bool {
	_, err := s.Wait(mark, ListChangedTimeout, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/"+family+"/list_changed"
	})
	return err == nil
}

// Params are those of the call in a session. As clients do, valid ones ask for progress, and for what is logged; each
// tool has a token of its own in each session. Where servers ask for input by their results, they may.
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

// WithAllCapabilities are params of a client that a server may ask for all there is: where there is a handshake, that
// says so.
func WithAllCapabilities(t *check.T, params check.M) check.M {
	if t.IsModern() {
		return protocol.WithCapabilities(params, protocol.AllModernCapabilities)
	}
	return params
}

// hear takes the reply to a call, and says with which params it is to be made again. Nothing is made up for a call with
// arguments that its schema forbids.
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

// InvalidCalls calls tools with arguments that their schemas forbid, as many as there is time for: of each keyword that
// can be broken first one, then another, and so on.
func InvalidCalls(t *check.T) ToolCalls {
	return check.Step(t, "invalid calls", func(t *check.T) (calls ToolCalls) {
		s := t.Session()
		limits := detectRateLimit(t, s)
		queue, allowance := calls.newInvalidCalls(t), NewCallBudget()
		for ; ; s = t.ExclusiveSession() {
			f := &CallGroup{T: t, Session: s, Budget: allowance}
			queue = calls.RunCalls(f, queue)
			if f.isHealthy() {
				calls.dropRateLimited(limits(s))
			}
			if f.CancelUnanswered(); len(queue) == 0 {
				check.ReportInvalidCalls(t, calls.invalidInput(t))
				return calls
			}
		}
	})
}

// newInvalidCalls are calls to be made with arguments that schemas forbid: of each keyword the first, then the second
// of each. Once there are more of them than an allowance has room for, the tools that are left are not looked at.
func (c *ToolCalls) newInvalidCalls(t *check.T) (calls []*ToolCall) {
	var rounds [][]*ToolCall
	times := map[string]int{} // that a keyword was broken
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

// invalidInput is how many tools were called with invalid arguments, and how many may not be.
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

// addUncalled notes a call that is not made.
func (c *ToolCalls) addUncalled(call ToolCall, why string) {
	not := Uncalled{Tool: call.Tool, Detail: why}
	if call.Counterexample != nil {
		not.Keyword = call.Counterexample.Keyword
	}
	c.Uncalled = append(c.Uncalled, not)
}

// AnsweredCalls keeps the calls that were.
func AnsweredCalls(calls []ToolCall) (list []ToolCall) {
	for _, c := range calls {
		if c.Reply.Answered() {
			list = append(list, c)
		}
	}
	return list
}

// EachToolCall tries a check on calls. What fails is named by its tool.
func EachToolCall(t *check.T, calls []ToolCall, run func(*check.T, ToolCall)) {
	check.Each(t, calls, ToolCall.Subject, run)
}

// Subject is the call as one of several, named by its tool.
func (c ToolCall) Subject() check.Subject {
	return check.Subject{Name: c.Tool.Name, Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame}}
}

// RequireObserved is for checks of what tools do, n of which were seen. Without any the check ends as SkipNotObserved;
// else its result tells what was left out.
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

// mostCommon is the first of those that were not called for the reason that most of them have.
func mostCommon(uncalled []Uncalled) Uncalled {
	times := map[string]int{}
	for _, u := range uncalled {
		times[u.Detail]++
	}
	return slices.MaxFunc(uncalled, func(a, b Uncalled) int { return times[a.Detail] - times[b.Detail] })
}

// SkipNotObserved ends a check that found nothing to judge. It does not apply, unless a tool that was not called might
// have shown something; one that only runs as a task shows nothing when it is called plainly. The reason is always
// worded alike: reports put equal reasons together.
func SkipNotObserved(t *check.T, what string, uncalled []Uncalled, might func(tool check.M) bool) {
	if i := slices.IndexFunc(uncalled, func(u Uncalled) bool { return u.Unanswered && might(u.Tool.Value) }); i >= 0 {
		check.NoAnswer(t, "no tool that was called has answered (%v)", uncalled[i])
	}
	for _, u := range uncalled {
		if !u.TaskOnly && might(u.Tool.Value) {
			t.Inconclusive("not observed; calls of some tools were not made (%v)", u)
		}
	}
	t.WithReason(check.NotObserved).Skip("no %s", what)
}

// AnyTool is for SkipNotObserved: whatever tool was not called might have shown it.
func AnyTool(check.M) bool { return true }
