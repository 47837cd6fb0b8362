package handshake

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// Scenario is how a session is begun. The zero value is the ordinary way.
type Scenario struct {
	version             string // that is asked for; empty: the revision that is judged
	NewerFields         bool   // the client sends fields of later revisions
	RefuseRequests      bool   // it declares roots, sampling and elicitation, and refuses what comes
	UnknownCapabilities bool   // it declares capabilities that no revision knows
	InitializedForm     string // params of initialized: "none", "{}" or "_meta"; empty is none, too

	NoStderrReader bool // nobody reads its stderr
	// the client declares roots, and leaves unanswered what it is asked for, which no client may
	IgnoreRequests        bool
	SilentStart           bool // nothing is said for a while, before all else
	IncompleteInitialize  bool // initialize comes without what it needs, and then once more
	PingFirst             bool // ping comes before initialize
	ListFirst             bool // so do ordinary requests
	CancelInitialize      bool // initialize is cancelled at once, which no client may do
	CloseStdin            bool // initialized and a request follow at once, and stdin ends
	DelayInitialized      bool // initialized comes late, from a client that can be asked for something
	PingBeforeInitialized bool // ping comes between initialize and initialized
	ListBeforeInitialized bool // so do ordinary requests
	NotifyAtEnd           bool // in the end come notifications that any client may send, and then nothing
	DeclareTasks          bool // the client runs what it is asked for as tasks, and can be asked for more afterwards
}

// ScenarioResult is what came of it.
type ScenarioResult struct {
	ConnectParams check.M // what the client said of itself
	// to initialize, by the names of IncompleteConnectParams, as far as that went
	IncompleteReplies  map[string]driver.Reply
	FirstPingReply     driver.Reply // to the ping before initialize
	BeforeInitialize   EarlyRequests
	ConnectReply       driver.Reply
	EarlyPingReply     driver.Reply // to the ping before initialized
	BeforeInitialized  EarlyRequests
	InitializedReplies []*driver.Frame // what looks like a reply to initialized
	NoOpReply          driver.Reply    // to the harmless request after initialized
	ListReply          driver.Reply    // to the ordinary request after that
	ServerRequests     []*driver.Frame // its requests
	// to a harmless request after the client has refused them, or left them unanswered
	LastNoOpReply driver.Reply
}

// sharedScenarios are the ways in which the sessions of a run begin that begin with a handshake. A process is dear, and
// each can be asked for one version, so each tries several things that do not meddle with each other; whatever does not
// pass here is tried once more alone, in a session that is ordinary in everything else. Those without a version ask for
// the others, one each. The first begins with what no client says, and is lent for hostile input then; the second is
// lent to ClientTasks where the server falls back to the revision that is judged.
var sharedScenarios = []Scenario{
	{version: protocol.UnpublishedVersions[0], IncompleteInitialize: true, ListFirst: true, CancelInitialize: true,
		InitializedForm: "{}"},
	{version: protocol.UnpublishedVersions[1], InitializedForm: "_meta", DeclareTasks: true},
	{InitializedForm: "none", NotifyAtEnd: true},
	{NoStderrReader: true, IgnoreRequests: true, PingFirst: true, DelayInitialized: true, ListBeforeInitialized: true},
	{NewerFields: true, UnknownCapabilities: true, SilentStart: true, CloseStdin: true},
}

// clientScenario is the session of a client that can be asked for anything, which others use afterwards. It asks for
// the revision that is judged: there are servers that ask the client for nothing when it has asked for a later one.
var clientScenario = Scenario{RefuseRequests: true, PingBeforeInitialized: true}

// scenariosFor are the manners when a revision is judged.
func scenariosFor(judged string) []Scenario {
	all := append(slices.Clone(sharedScenarios), clientScenario)
	next := 0
	for _, version := range catalogue.LegacyRevisions {
		if version == judged {
			continue
		}
		for all[next].version != "" {
			next++
		}
		all[next].version = version
	}
	return all
}

// includes reports whether an opening does all that another asks for.
func (o Scenario) includes(other Scenario) bool {
	is := func(mine, wanted bool) bool { return mine || !wanted }
	return is(o.NewerFields, other.NewerFields) && is(o.RefuseRequests,
		other.RefuseRequests) && is(o.UnknownCapabilities, other.UnknownCapabilities) &&
		is(o.NoStderrReader, other.NoStderrReader) && is(o.IgnoreRequests, other.IgnoreRequests) && is(o.SilentStart,
		other.SilentStart) && is(o.IncompleteInitialize, other.IncompleteInitialize) &&
		is(o.PingFirst, other.PingFirst) && is(o.ListFirst, other.ListFirst) && is(o.CancelInitialize,
		other.CancelInitialize) &&
		is(o.CloseStdin, other.CloseStdin) && is(o.DelayInitialized,
		other.DelayInitialized) && is(o.PingBeforeInitialized, other.PingBeforeInitialized) &&
		is(o.ListBeforeInitialized, other.ListBeforeInitialized) && is(o.NotifyAtEnd,
		other.NotifyAtEnd) && is(o.DeclareTasks, other.DeclareTasks) &&
		(other.version == "" || o.version == other.version) && (other.InitializedForm == "" ||
		o.InitializedForm == other.InitializedForm)
}

// RunScenario opens a session in a certain way and tells what came of it. Unless the check is tried alone, it may be a
// session of openings, which does more than was asked for: but not where it is a process that costs less than a wait.
func RunScenario(t *check.T, o Scenario) ScenarioResult {
	if o.version == t.Revision {
		o.version = ""
	}
	if !t.IsModern() && !t.IsConfirmation() && !t.Server.IsSlow() && o != (Scenario{}) {
		all := scenariosFor(t.Revision)
		if i := slices.IndexFunc(all, func(c Scenario) bool { return c.includes(o) }); i >= 0 {
			o = all[i]
			check.NeedsConfirmation(t)
		}
	}
	return check.Step(t, fmt.Sprintf("opening %+v", o),
		func(t *check.T) ScenarioResult { return executeScenario(t, o) })
}

// scenarioRun opens a session step by step.
type scenarioRun struct {
	Scenario
	ScenarioResult
	t         *check.T
	s         *driver.Session
	firstPing driver.Pending // before initialize
}

func executeScenario(t *check.T, o Scenario) ScenarioResult {
	if t.Server.Transport == "http" { // where a server has no way to speak first
		o.SilentStart, o.DelayInitialized = false, false
	}
	p := &scenarioRun{Scenario: o, t: t, s: check.NewProcessWith(t, driver.Options{DiscardStderr: o.NoStderrReader})}
	p.sendBeforeInitialize()
	if o.CloseStdin && p.s.Stdio() != nil {
		p.closeInput()
		return p.ScenarioResult
	}
	if p.initialize(); p.ConnectReply.Result() != nil {
		p.sendBeforeInitialized()
		p.sendInitialized()
		p.finish()
	}
	return p.ScenarioResult
}

// sendBeforeInitialize is what comes before initialize.
func (p *scenarioRun) sendBeforeInitialize() {
	if p.SilentStart {
		p.s.Sleep(check.LateWindow)
	}
	if p.IncompleteInitialize {
		p.initializeIncomplete()
	}
	if p.PingFirst {
		p.firstPing = p.s.Request("ping", nil)
	}
	if p.ListFirst {
		p.BeforeInitialize.sendEarly(p.t, p.s)
	}
}

// initialize sends initialize.
func (p *scenarioRun) initialize() {
	hello := p.connectParams(p.t)
	p.ConnectParams = hello
	if p.s.RefuseServerRequests = p.RefuseRequests || p.DeclareTasks; p.IgnoreRequests {
		p.s.HandleServerRequests(isServerRequest)
	}
	if p.CancelInitialize {
		p.s.MarkInvalidInputFromStart()
		p.s.AfterInitialize = func(sent driver.Pending) driver.Pending { return cancelInitialize(p.s, sent, hello) }
	}
	p.ConnectReply = p.s.Connect(hello)
}

// sendBeforeInitialized is what comes between initialize and initialized.
func (p *scenarioRun) sendBeforeInitialized() {
	if p.DelayInitialized {
		p.s.Sleep(check.LateWindow)
	}
	if p.PingBeforeInitialized {
		p.EarlyPingReply = p.s.Call("ping", nil)
	}
	if p.ListBeforeInitialized {
		p.BeforeInitialized.sendEarly(p.t, p.s)
	}
}

// sendInitialized sends initialized, and a harmless request after it.
func (p *scenarioRun) sendInitialized() {
	if p.IgnoreRequests {
		p.s.MarkInvalidInput()
	}
	mark := p.s.Mark()
	p.s.FinishConnectWith(p.initializedParams())
	if p.s.Revision == p.t.Revision { // which a server falls back to
		p.s.AcceptRevision()
	}
	pong := protocol.SendNoOp(p.s, 70052)
	p.s.AwaitReaction(mark)
	if p.NoOpReply = p.s.AwaitFor(pong, protocol.ShortWait); p.PingFirst { // answers may come in any order
		p.FirstPingReply = p.s.AwaitFor(p.firstPing, protocol.ShortWait)
	}
	p.InitializedReplies, _ = transcript.NotificationReplies(p.s, mark)
}

// finish is what comes once the session is established.
func (p *scenarioRun) finish() {
	if p.IgnoreRequests {
		p.awaitRequests()
	}
	if p.RefuseRequests {
		p.recordRefusals()
	}
	method, params := protocol.OrdinaryRequest(p.t, p.s)
	p.ListReply = p.t.TryRequest(p.s, method, params)
	if _, served := protocol.ListMethod(p.t); served && p.ListReply.Result() == nil {
		p.s.MarkUnusable() // it serves less than others, and is lent to nobody
	}
	p.BeforeInitialize.sendLate(p.t, p.s, p.ListReply)
	p.BeforeInitialized.sendLate(p.t, p.s, p.ListReply)
	if p.IgnoreRequests {
		if p.ListReply.Answered() {
			p.s.Barrier(p.s.Mark()) // the server may be about to ask
		}
		p.ServerRequests, p.LastNoOpReply = serverRequestFrames(p.s), p.s.Call(p.s.NoOp())
	}
	if p.DeclareTasks {
		p.s.RefuseServerRequests, p.s.ReusableAsClient = false, true
	}
	if p.NotifyAtEnd {
		check.Deferred(p.t, func() { sendNotifications(p.t, p.s) })
		check.KeepIdle(p.t, p.s)
	}
}

// closeInput sends initialize, initialized and a harmless request at once, and ends stdin.
func (p *scenarioRun) closeInput() {
	var pong driver.Pending
	p.s.MarkInvalidInputFromStart() // what it leaves unanswered is judged here alone
	p.s.AfterInitialize = func(sent driver.Pending) driver.Pending {
		p.s.Notify("notifications/initialized", nil)
		pong = protocol.SendNoOp(p.s, 70053) // which is not taken for the answer to initialize under another id
		p.s.Stdio().CloseStdin()
		return sent
	}
	p.ConnectReply = p.s.Connect(p.connectParams(p.t))
	p.NoOpReply = p.s.Await(pong)
}

// IncompleteConnectParams are params of initialize that lack a required member.
func IncompleteConnectParams(revision string) (forms []check.Subject) {
	for _, member := range []string{"protocolVersion", "clientInfo", "capabilities"} {
		hello := driver.ConnectParams(revision)
		delete(hello, member)
		forms = append(forms, check.Subject{Name: "without " + member, Value: hello, FromClient: true})
	}
	return append(forms, check.Subject{Name: "without params"})
}

// initializeIncomplete greets with what lacks something. A server that takes that for good is greeted in a further
// process, and so is one that ends or falls silent, which only a check that is tried alone goes on with.
func (p *scenarioRun) initializeIncomplete() {
	p.IncompleteReplies = map[string]driver.Reply{}
	for _, form := range IncompleteConnectParams(p.t.Revision) {
		p.s.MarkInvalidInputFromStart()
		reply := p.s.Connect(form.Value)
		if p.IncompleteReplies[form.Name] = reply; p.s.IsAlive() && reply.Error() != nil {
			continue
		}
		p.s = p.t.NewProcess()
		if !reply.Answered() && !p.t.IsConfirmation() {
			return
		}
	}
}

// cancelInitialize cancels initialize. Where that is heeded, by an error or since a later request is answered before
// it, initialize comes once more: it returns the one that is to be answered.
func cancelInitialize(s *driver.Session, p driver.Pending, hello check.M) driver.Pending {
	mark := s.Mark()
	s.Notify("notifications/cancelled", check.M{"requestId": p.ID, "reason": "mcpcheck"})
	ping := s.Request("ping", nil)
	s.Wait(mark, s.StartTimeout(), func(f *driver.Frame) bool {
		return f.IsResponse() && (driver.SameID(f.RequestID(), p.ID) || driver.SameID(f.RequestID(), ping.ID))
	})
	if s.AwaitFor(p, protocol.ShortWait).Result() != nil {
		return p
	}
	return s.Request("initialize", hello)
}

// AwaitServerRequests leaves time to a server that may ask the client for what it has declared: some wait a while after
// the handshake. Over HTTP, one without sessions has no way to ask.
func AwaitServerRequests(t *check.T, s *driver.Session) {
	if !t.Server.Sessionless {
		s.Wait(0, check.LateWindow, isServerRequest)
	}
}

// shortRequestWait is how long most servers take at the most that ask a client for something by themselves.
const shortRequestWait = 500 * time.Millisecond

// awaitRequests is AwaitServerRequests, but less patient in a session that others wait for.
func (p *scenarioRun) awaitRequests() {
	if p.t.IsConfirmation() {
		AwaitServerRequests(p.t, p.s)
	} else {
		p.s.Wait(0, shortRequestWait, isServerRequest)
	}
}

// asks reports whether a frame is a request of the server for a feature of the client.
func isServerRequest(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.IsRequest() && f.Method != "ping"
}

// asked are the requests of the server that asks reports.
func serverRequestFrames(s *driver.Session) []*driver.Frame {
	return slices.DeleteFunc(s.ReceivedSince(0), func(f *driver.Frame) bool { return !isServerRequest(f) })
}

// recordRefusals is what came of the requests of a server whose client refuses them.
func (p *scenarioRun) recordRefusals() {
	if AwaitServerRequests(p.t, p.s); p.NoOpReply.Answered() {
		p.s.Barrier(p.s.Mark())
	}
	p.ServerRequests = serverRequestFrames(p.s)
	p.LastNoOpReply = p.s.Call(p.s.NoOp())
	p.s.RefuseServerRequests, p.s.ReusableAsClient = false, true
}

// Plain is what a client declares that can be asked for every feature, and for none of the options of one. Its roots
// may change.
var BasicCapabilities = check.M{"roots": check.M{"listChanged": true}, "sampling": check.M{}, "elicitation": check.M{}}

// CapableConnectParams is the greeting of a client that a server may ask for anything.
func CapableConnectParams(revision string) check.M {
	hello := driver.ConnectParams(revision)
	maps.Copy(hello["capabilities"].(check.M), BasicCapabilities)
	return hello
}

func (o Scenario) connectParams(t *check.T) check.M {
	hello := driver.ConnectParams(t.Revision)
	if o.version != "" {
		hello["protocolVersion"] = o.version
	}
	capabilities := hello["capabilities"].(check.M)
	if o.RefuseRequests {
		maps.Copy(capabilities, protocol.AllCapabilities(t.Revision))
	}
	if o.DelayInitialized {
		maps.Copy(capabilities, BasicCapabilities)
	}
	if o.DeclareTasks {
		maps.Copy(capabilities, protocol.TaskCapabilities(t.Revision))
	}
	if o.IgnoreRequests {
		capabilities["roots"] = check.M{"listChanged": true}
	}
	if o.UnknownCapabilities {
		maps.Copy(capabilities, protocol.UnknownCapabilities)
	}
	if o.NewerFields {
		maps.Copy(capabilities, check.M{
			"elicitation": check.M{"form": check.M{}, "url": check.M{}},
			"tasks":       check.M{"requests": check.M{}},
			"sampling":    check.M{"tools": check.M{}, "context": check.M{}},
		})
		icon := check.M{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": []any{"48x48"}}
		hello["clientInfo"] = check.M{
			"name": "mcpcheck", "version": "1", "title": "mcpcheck", "description": "A client of a later revision",
			"icons": []any{icon}, "websiteUrl": "https://example.com",
		}
	}
	return hello
}

// initializedParams of the notification initialized.
func (o Scenario) initializedParams() check.M {
	switch o.InitializedForm {
	case "{}":
		return check.M{}
	case "_meta":
		return check.M{"_meta": check.M{"com.example/mcpcheck": true}}
	}
	return nil
}

// ServerSpokeFirst reports whether the server said in some session, before its client said anything, what
// lifecycle/server-does-not-speak-first reports.
func ServerSpokeFirst(w check.Wire) bool {
	return slices.ContainsFunc(w.CompleteSessions(), func(s *driver.Session) bool {
		for _, f := range s.FramesSince(0) {
			switch {
			case f.Side == driver.FromClient && f.Raw.Len() > 0:
				return false
			case f.Side == driver.FromServer && isTooEarly(f):
				return true
			}
		}
		return false
	})
}

// isTooEarly reports whether a frame of the server is more than may come before initialize.
func isTooEarly(f *driver.Frame) bool { return f.IsResponse() || f.IsRequest() && f.Method != "ping" }

// IsBeforeConnectReply reports whether a message came before the answer to initialize.
func IsBeforeConnectReply(m check.Message) bool {
	var hello *driver.Frame
	for _, f := range m.Session.FramesSince(0) {
		switch {
		case f == m.Frame:
			return true
		case f.Side == driver.FromClient && f.Method == "initialize":
			hello = f
		case hello != nil && f.Side == driver.FromServer && driver.SameID(f.RequestID(), hello.ID):
			return false
		}
	}
	return false
}

// RequireConnected ends a check that has nothing to go on with. Alone, it asks for the revision that the server grants.
func (r ScenarioResult) RequireConnected(t *check.T) {
	if r.ConnectReply.Result() == nil {
		t.Retry("initialize brought %s", check.Got(r.ConnectReply))
	}
}

// SkipUnlessCapabilities ends a check of what a server has not declared when its welcome does not say what it declares.
func SkipUnlessCapabilities(t *check.T, welcome check.M) {
	if _, ok := welcome["capabilities"].(check.M); !ok {
		t.Yield("capabilities is not an object")
	}
}

// ConnectReplyFor is the answer to initialize with a version.
func ConnectReplyFor(t *check.T, version string) driver.Reply {
	if version == t.Server.Requested && t.Server.ConnectResult != nil && !t.IsConfirmation() {
		check.NeedsConfirmation(t)
		return t.Server.ConnectReply // discovery has asked already
	}
	return RunScenario(t, Scenario{version: version}).ConnectReply
}

// InitializeAll asks for several versions at a time; the answers are had from ConnectReplyFor.
func InitializeAll(t *check.T, versions []string) {
	check.Parallel(t, len(versions), func(t *check.T, i int) { ConnectReplyFor(t, versions[i]) })
}
