package kit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// CallToolsAndLinger is CallTools for who judges what comes late as well.
func CallToolsAndLinger(t *T) {
	if len(t.Server.Tools) > 0 {
		ObserveLate(t, ValidCalls(t).Ended)
	}
}

// ToolCall is one call of a listed tool.
type ToolCall struct {
	Tool      Subject
	Arguments M
	Broken    *schemas.Counterexample // what is wrong with the arguments; nil: nothing
	Client    M                       // what the client declares, where each request says so; nil: Able
	Input     *Conversation           // what it was asked for before its reply, which is the final one
	Reply     driver.Reply
	Took      time.Duration
	Long      bool // it ran for so long that a ping could be tried meanwhile
	PingFirst bool // that ping was answered before the call

	Session  *driver.Session
	pending  driver.Pending
	begin    time.Time
	overdue  bool // it had no answer in time
	again    bool // it was made once more
	hastened bool // with the least numbers, since it took too long
	roomless bool // there was no room left for its answer
}

// ToolCalls are calls of the run, and what they did to the lists.
type ToolCalls struct {
	List     []ToolCall
	Ended    time.Time // when the last of them was over
	Uncalled []Uncalled
	Endless  []ToolCall // that asked for input, and did not come to an end; they are among the uncalled ones
	Before   []string   // names of the tools before the calls and after them, sorted
	After    []string
	Notified bool           // notifications/tools/list_changed came meanwhile
	Unheard  *driver.Excess // why it may have come and was not kept; nil: it was not
	Deaf     bool           // there was no stream on which it could come

	Changes []ListChange // of the other lists
	Watched []Watched    // resources whose updates were asked for

	again   bool                // the tools have been called before, and need not all be called
	watched []Watched           // in the session of now
	others  map[string][]string // what else was listed before them whose changes the server announces, by family
}

// Uncalled is a call of a tool that was not made, or not served for a reason of its own.
type Uncalled struct {
	Tool    Subject
	Keyword string // of the schema that its arguments were to break; empty: none, or any
	Why     string
	Barred  bool // it may not be called, which the operator knows
	Mute    bool // it was called, or was not since others were in vain, and no tool has answered
	Tasked  bool // it only runs as a task: what comes of that is for the area tasks
}

// String says which tool was not called, and why.
func (u Uncalled) String() string { return u.Tool.Name + ": " + u.Why }

// Reason is what it is for a check that wants the call.
func (u Uncalled) Reason() Reason {
	switch {
	case u.Barred:
		return CallsOff
	case u.Mute:
		return Silent
	}
	return Undecided
}

// Allowance is what calls of one kind may take together: so much that tools that answer quickly, and briefly, are all
// tried. Its time begins with the first question whether any is left, so that what is done before the calls, such as
// the start of a process, does not count.
type Allowance struct {
	used  time.Duration // until it was stopped
	since time.Time     // when it began to run; zero while it does not
	room  int           // bytes
}

// NewAllowance is a whole one.
func NewAllowance() *Allowance { return &Allowance{room: mostBytes} }

// What an allowance bounds.
const (
	mostTime  = 10 * time.Second
	mostBytes = 8 << 20
	readBytes = 2 << 10 // to keep the messages of a call as they were read
	mostCalls = mostBytes / readBytes
)

const (
	noTime = "the time for tool calls was used up"
	noRoom = "there was no room left for more answers"
)

// Spend notes a call that was made, with what it takes to keep its messages as they were read, and reports whether
// there is room for that.
func (a *Allowance) Spend(r driver.Reply) (kept bool) {
	a.room -= readBytes
	for _, f := range []*driver.Frame{r.Request, r.Frame} {
		if f != nil {
			a.room -= f.Raw.Len()
		}
	}
	return a.room >= 0
}

// Spent is why no more calls are made; empty when they are.
func (a *Allowance) Spent() string {
	if a.since.IsZero() {
		a.since = time.Now()
	}
	switch {
	case a.room < 0:
		return noRoom
	case a.used+time.Since(a.since) > mostTime:
		return noTime
	}
	return ""
}

// Stop stops the time until the next call.
func (a *Allowance) Stop() {
	if !a.since.IsZero() {
		a.used, a.since = a.used+time.Since(a.since), time.Time{}
	}
}

// ValidCallsName is who uses the sessions of ValidCalls, as their records have it.
const ValidCallsName = "valid calls"

// ValidCalls calls the tools that may be called, each once with arguments that its schema allows. They have a session
// of their own, so that nothing has to be confirmed alone: calling tools twice would do twice what they do.
func ValidCalls(t *T) ToolCalls {
	if !t.Server.Declares("tools") {
		return ToolCalls{}
	}
	if !t.Modern() && !t.Alone() && !t.Quick() && !t.Server.Slow() && t.Site() == nil {
		MeetAgain(t) // in the session of which they are made
	}
	return Step(t, ValidCallsName, func(t *T) (calls ToolCalls) {
		s, mark := calls.begin(t, OwnUnlessQuick(t))
		limits := watchLimits(t, s)
		queue, allowance := calls.valid(t, Choice(t)), NewAllowance()
		for ; ; s, mark = calls.begin(t, t.Own()) {
			f := &flight{t: t, session: s, allowance: allowance}
			queue = calls.make(f, queue)
			if f.sound() {
				calls.end(t, s, mark)
				calls.dropLimited(limits(s))
			}
			if f.end(); len(queue) == 0 {
				calls.hear()
				calls.Ended = time.Now()
				NotCalled(t, calls.untried())
				return calls
			}
		}
	})
}

// CallsDeclaring calls tools as ValidCalls does, but in a session that the caller has, and as a client with these
// capabilities where each request says so.
func CallsDeclaring(t *T, s *driver.Session, capabilities M, tools []Subject) (calls ToolCalls) {
	f := &flight{t: t, session: s, allowance: NewAllowance()}
	queue := calls.valid(t, tools)
	for _, call := range queue {
		call.Client = capabilities
	}
	for _, call := range calls.make(f, queue) {
		calls.leave(*call, "the session did not last until it was called")
	}
	f.end()
	calls.hear()
	return calls
}

// untried are the tools that were not called with valid arguments, each with the first reason for that.
func (c *ToolCalls) untried() (tools []UncalledTool) {
	for _, u := range c.Uncalled {
		called := func(call ToolCall) bool { return call.Tool.Name == u.Tool.Name }
		if !slices.ContainsFunc(c.List, called) {
			tools = append(tools, UncalledTool{Name: u.Tool.Name, Why: u.Why, Barred: u.Barred})
		}
	}
	slices.SortStableFunc(tools, func(a, b UncalledTool) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b UncalledTool) bool { return a.Name == b.Name })
}

// hear finds out whether any call was answered.
func (c *ToolCalls) hear() {
	heard := len(Answered(c.List)) > 0
	for i, u := range c.Uncalled {
		called := func(call ToolCall) bool { return call.Tool.Name == u.Tool.Name }
		c.Uncalled[i].Mute = !heard && (u.Mute || slices.ContainsFunc(c.List, called))
	}
}

// valid are calls of tools to be made with arguments that their schemas allow.
func (c *ToolCalls) valid(t *T, tools []Subject) (calls []*ToolCall) {
	for _, tool := range tools {
		if args, not := ValidArguments(t, tool); not != nil {
			c.Uncalled = append(c.Uncalled, *not)
		} else {
			calls = append(calls, &ToolCall{Tool: tool, Arguments: args})
		}
	}
	return calls
}

// make makes calls side by side, and returns those that are to be made in another session.
func (c *ToolCalls) make(f *flight, queue []*ToolCall) (rest []*ToolCall) {
	defer f.allowance.Stop()
	for len(queue) > 0 && (f.calls == nil || f.sound()) {
		call := queue[0]
		queue = queue[1:]
		switch mute, spent := KnownUnanswered(f.t, "tools/call"), f.allowance.Spent(); {
		case mute != nil:
			c.leave(*call, "no call was answered: "+mute.Error())
			c.Uncalled[len(c.Uncalled)-1].Mute = true
		case spent == noRoom && !call.hastened, spent == noTime && !call.hastened && !c.owes(f, call.Tool):
			c.leave(*call, spent)
		case c.hangs(f, call):
			c.leave(*call, "it has left another call unanswered")
		default:
			f.start(call)
		}
	}
	f.land()
	again := f.unserved()
	for _, call := range f.calls {
		switch {
		case slices.Contains(again, call):
			continue
		case f.hasten(call):
			again = append(again, call)
			continue
		case call.roomless && call.Broken != nil: // that is kept of a valid call only
			c.leave(*call, noRoom)
			continue
		case call.Input.GivenUp != "":
			c.Endless = append(c.Endless, *call)
			c.leave(*call, call.Input.GivenUp)
			continue
		}
		if c.List = append(c.List, *call); call.running() {
			c.leave(*call, Explain(call.Reply.Err).Error())
		}
	}
	return append(queue, again...)
}

// made are the calls so far, with those of a flight.
func (c *ToolCalls) made(f *flight) []*ToolCall {
	all := slices.Clone(f.calls)
	for i := range c.List {
		all = append(all, &c.List[i])
	}
	return all
}

// owes reports whether a tool has its first call to come, whatever the time: not where as many calls as run side by
// side have had no answer.
func (c *ToolCalls) owes(f *flight, tool Subject) bool {
	if c.again {
		return false
	}
	unanswered := 0
	for _, made := range c.made(f) {
		if made.Tool.Name == tool.Name {
			return false
		}
		if made.isUnanswered() {
			unanswered++
		}
	}
	return unanswered < mostRunning
}

// hangs reports whether the tool of a call has left another one unanswered.
func (c *ToolCalls) hangs(f *flight, call *ToolCall) bool {
	return slices.ContainsFunc(c.made(f), func(made *ToolCall) bool {
		return made.Tool.Name == call.Tool.Name && made.isUnanswered()
	})
}

// begin notes the list of a session in which calls are going to be made.
func (c *ToolCalls) begin(t *T, s *driver.Session) (*driver.Session, int) {
	if t.Server.Transport == "http" && !t.Modern() {
		Get(s, nil) // a second stream, so that http/no-broadcast sees what comes on both
		s.Idle(Rivalry)
	}
	listenBeside(t, s)
	wantLogs(t, s)
	watched := watch(t, s)
	mark := s.Mark()
	c.watched = watched
	c.Before = Sorted(ListNames(t, s, M{}))
	c.others = map[string][]string{}
	for _, family := range []string{"prompts", "resources"} {
		capability, _ := s.Capabilities[family].(M)
		if capability["listChanged"] == true && t.Server.CanAnnounce() {
			c.others[family] = Sorted(listed(s, family))
		}
	}
	return s, mark
}

// listed are the names of a family as a session lists it now, as far as it does.
func listed(s *driver.Session, family string) (names []string) {
	EachPage(s, family+"/list", family, M{}, func(page M) { // what fails with it, its own checks say
		for _, item := range ObjectsIn(page[family]) {
			name, _ := item[ListKeys[family]].(string)
			names = append(names, name)
		}
	})
	return names
}

// ToAnnounce is how long a server may take to announce that a list has changed: it may collect changes for a while.
const ToAnnounce = 5 * time.Second

// ListChange is a change of a list that calls have brought about.
type ListChange struct {
	Family        string
	Before, After []string
	Notified      bool
	Unheard       *driver.Excess // why the notification may have come and was not kept; nil: it was not
	Deaf          bool           // there was no stream on which it could come
}

// end notes what the calls did to the lists, and to resources.
func (c *ToolCalls) end(t *T, s *driver.Session, mark int) {
	for _, family := range slices.Sorted(maps.Keys(c.others)) {
		change := ListChange{Family: family, Before: c.others[family], After: Sorted(listed(s, family))}
		if slices.Equal(change.Before, change.After) {
			continue
		}
		change.Deaf = t.Modern() && !hearsOf(s, family+"ListChanged")
		if change.Notified, change.Unheard = announced(s, mark, family), s.Unheard(mark); !change.Notified {
			change.After = Sorted(listed(s, family)) // as it stays
		}
		if change.Notified || !slices.Equal(change.Before, change.After) {
			c.Changes = append(c.Changes, change)
		}
	}
	for _, x := range c.watched {
		c.Watched = append(c.Watched, x.seen(s, mark))
	}
	c.After = Sorted(ListNames(t, s, M{}))
	if slices.Equal(c.Before, c.After) || !t.Server.CanAnnounce() {
		return
	}
	c.Deaf = t.Modern() && !hearsOf(s, "toolsListChanged")
	if c.Notified, c.Unheard = announced(s, mark, "tools"), s.Unheard(mark); !c.Notified {
		c.After = Sorted(ListNames(t, s, M{})) // as it stays
		return
	}
	if t.Modern() && t.Site() != nil && len(SubscriptionsIn(s).List) > 1 {
		s.Idle(Shortly)
		s.Settle(s.Mark()) // its answer tells which subscriptions were not told: subscriptions/concurrent
	}
}

// announced reports whether the server says within ToAnnounce that the list of a family has changed since the mark.
func announced(s *driver.Session, mark int, family string) bool {
	_, err := s.Wait(mark, ToAnnounce, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/"+family+"/list_changed"
	})
	return err == nil
}

// Params are those of the call in a session. As clients do, valid ones ask for progress, and for what is logged; each
// tool has a token of its own in each session. Where servers ask for input by their results, they may.
func (c ToolCall) Params(s *driver.Session) M {
	params := M{"name": c.Tool.Name, "arguments": c.Arguments}
	if c.Broken == nil {
		meta := M{"progressToken": fmt.Sprintf("mcpcheck-%s-%d-%d", c.Tool.Name, s.Number(), s.Mark())}
		if IsModern(s.Revision) && s.Capabilities["logging"] != nil {
			meta[driver.MetaLogLevel] = "debug"
		}
		params["_meta"] = meta
	}
	switch {
	case !IsModern(s.Revision):
		return params
	case c.Client != nil:
		return Declaring(params, c.Client)
	}
	return Declaring(params, Able)
}

// Enabling are params of a client that a server may ask for all there is: where there is a handshake, that says so.
func Enabling(t *T, params M) M {
	if t.Modern() {
		return Declaring(params, Able)
	}
	return params
}

// hear takes the reply to a call, and says with which params it is to be made again. Nothing is made up for a call with
// arguments that its schema forbids.
func (c *ToolCall) hear(t *T, a *Allowance) (params M, again bool) {
	switch why := a.Spent(); {
	case !AsksForInput(t, c.Reply):
	case c.Broken != nil:
		c.Input.GivenUp = "it asks for input before it refuses anything"
	case why != "":
		c.Input.GivenUp = why
	default:
		return c.Input.hear(t, c.Reply)
	}
	c.Input.Last = c.Reply
	return nil, false
}

// InvalidCalls calls tools with arguments that their schemas forbid, as many as there is time for: of each keyword that
// can be broken first one, then another, and so on.
func InvalidCalls(t *T) ToolCalls {
	return Step(t, "invalid calls", func(t *T) (calls ToolCalls) {
		s := t.Session()
		limits := watchLimits(t, s)
		queue, allowance := calls.spoiled(t), NewAllowance()
		for ; ; s = t.Own() {
			f := &flight{t: t, session: s, allowance: allowance}
			queue = calls.make(f, queue)
			if f.sound() {
				calls.dropLimited(limits(s))
			}
			if f.end(); len(queue) == 0 {
				CalledInvalid(t, calls.counted(t))
				return calls
			}
		}
	})
}

// spoiled are calls to be made with arguments that schemas forbid: of each keyword the first, then the second of each.
// Once there are more of them than an allowance has room for, the tools that are left are not looked at.
func (c *ToolCalls) spoiled(t *T) (calls []*ToolCall) {
	var rounds [][]*ToolCall
	times := map[string]int{} // that a keyword was broken
	all := 0
	for _, tool := range Choice(t) {
		if all > mostCalls {
			c.Uncalled = append(c.Uncalled, *cmp.Or(MayBreak(t, tool), &Uncalled{Tool: tool, Why: noRoom}))
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
			rounds[n] = append(rounds[n], &ToolCall{Tool: tool, Arguments: b.Arguments, Broken: &b})
		}
	}
	return slices.Concat(rounds...)
}

// counted is how many tools were called with invalid arguments, and how many may not be.
func (c *ToolCalls) counted(t *T) (n InvalidInput) {
	tried := map[string]bool{}
	for _, call := range c.List {
		tried[call.Tool.Name] = true
	}
	n.Tried = len(tried)
	for _, tool := range ListedTools(t) {
		switch not := MayBreak(t, tool); {
		case not == nil:
		case not.Why == Destructive:
			n.Destructive++
		case not.Why == Unmarked:
			n.Unmarked++
		}
	}
	return n
}

// leave notes a call that is not made.
func (c *ToolCalls) leave(call ToolCall, why string) {
	not := Uncalled{Tool: call.Tool, Why: why}
	if call.Broken != nil {
		not.Keyword = call.Broken.Keyword
	}
	c.Uncalled = append(c.Uncalled, not)
}

// KindOf says how a call was answered: "error -32602", "isError", "success".
func KindOf(r driver.Reply) string {
	switch {
	case r.Member("error") != nil:
		return "error " + Show(Member(r.Error(), "code"))
	case r.Refuses():
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

// Seen is for checks of what tools do, n of which were seen. Without any the check ends as NothingSeen; else its result
// tells what was left out.
func Seen(t *T, n int, what string, uncalled []Uncalled, might func(tool M) bool) {
	if n == 0 {
		NothingSeen(t, what, uncalled, might)
	}
	var left []Uncalled
	for _, u := range uncalled {
		if !u.Barred && !u.Tasked && might(u.Tool.Value) {
			left = append(left, u)
		}
	}
	if len(left) > 0 {
		t.Partly("tool calls that could not be tested: %d (%v)", len(left), commonest(left))
	}
}

// commonest is the first of those that were not called for the reason that most of them have.
func commonest(uncalled []Uncalled) Uncalled {
	times := map[string]int{}
	for _, u := range uncalled {
		times[u.Why]++
	}
	return slices.MaxFunc(uncalled, func(a, b Uncalled) int { return times[a.Why] - times[b.Why] })
}

// NothingSeen ends a check that found nothing to judge. It does not apply, unless a tool that was not called might have
// shown something; one that only runs as a task shows nothing when it is called plainly. The reason is always worded
// alike: reports put equal reasons together.
func NothingSeen(t *T, what string, uncalled []Uncalled, might func(tool M) bool) {
	if i := slices.IndexFunc(uncalled, func(u Uncalled) bool { return u.Mute && might(u.Tool.Value) }); i >= 0 {
		NoAnswer(t, "no tool that was called has answered (%v)", uncalled[i])
	}
	for _, u := range uncalled {
		if !u.Tasked && might(u.Tool.Value) {
			t.Inconclusive("not observed; calls of some tools were not made (%v)", u)
		}
	}
	t.Because(NotObserved).Skip("no %s", what)
}

// AnyTool is for NothingSeen: whatever tool was not called might have shown it.
func AnyTool(M) bool { return true }
