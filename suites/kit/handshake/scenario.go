package handshake

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Scenario is a way to begin a legacy session. The zero value is the ordinary way.
type Scenario struct {
	// version is the version that the client requests; empty is the tested revision.
	version string
	// NewerFields adds capabilities and fields of later revisions.
	NewerFields bool
	// RefuseRequests declares roots, sampling and elicitation, and refuses the server's requests for them.
	RefuseRequests bool
	// UnknownCapabilities declares capabilities that no revision defines.
	UnknownCapabilities bool
	// InitializedForm is the form of params of the initialized notification: "none", "{}" or "_meta"; empty is none,
	// too.
	InitializedForm string

	// NoStderrReader connects the stderr of the server to the null device.
	NoStderrReader bool
	// IgnoreRequests declares roots and leaves the server's requests unanswered, which no client may do.
	IgnoreRequests bool
	// SilentStart waits before the first message.
	SilentStart bool
	// IncompleteInitialize sends initialize without required members first.
	IncompleteInitialize bool
	// PingFirst sends ping before initialize.
	PingFirst bool
	// ListFirst sends ordinary requests before initialize.
	ListFirst bool
	// CancelInitialize cancels initialize at once, which no client may do.
	CancelInitialize bool
	// CloseStdin sends the initialized notification and a request without waiting, and closes stdin.
	CloseStdin bool
	// DelayInitialized waits before the initialized notification, and declares capabilities of the client.
	DelayInitialized bool
	// PingBeforeInitialized sends ping between initialize and the initialized notification.
	PingBeforeInitialized bool
	// ListBeforeInitialized sends ordinary requests between initialize and the initialized notification.
	ListBeforeInitialized bool
	// NotifyAtEnd sends notifications that any client may send at the end, and nothing after them.
	NotifyAtEnd bool
	// DeclareTasks declares sampling and elicitation as tasks. The session may be used for requests of the server
	// later.
	DeclareTasks bool
}

// ScenarioResult is the outcome of a scenario, as far as it went.
type ScenarioResult struct {
	// ConnectParams are the params of initialize.
	ConnectParams check.M
	// IncompleteReplies are the replies to incomplete initialize requests, by the names of IncompleteConnectParams.
	IncompleteReplies map[string]driver.Reply
	// FirstPingReply is the reply to ping before initialize.
	FirstPingReply driver.Reply
	// BeforeInitialize are the ordinary requests before initialize.
	BeforeInitialize EarlyRequests
	ConnectReply     driver.Reply
	// EarlyPingReply is the reply to ping before the initialized notification.
	EarlyPingReply driver.Reply
	// BeforeInitialized are the ordinary requests before the initialized notification.
	BeforeInitialized EarlyRequests
	// InitializedReplies are messages that look like replies to the initialized notification.
	InitializedReplies []*driver.Frame
	// NoOpReply is the reply to the no-op after the initialized notification.
	NoOpReply driver.Reply
	// ListReply is the reply to the ordinary request after that.
	ListReply driver.Reply
	// ServerRequests are the requests of the server for features of the client.
	ServerRequests []*driver.Frame
	// LastNoOpReply is the reply to a no-op after the client refused or ignored these.
	LastNoOpReply driver.Reply
}

// sharedScenarios are the scenarios that a run of a legacy revision executes. A process is expensive, and can be asked
// for one version only, so each combines several deviations that do not affect each other. What does not pass here is
// confirmed in a session that is ordinary in everything else. Scenarios without a version request the other legacy
// revisions, one each. The first sends invalid input first, so its session serves others for invalid input; that of the
// second serves ClientTasks if the server falls back to the tested revision.
var sharedScenarios = []Scenario{
	{version: protocol.UnpublishedVersions[0], IncompleteInitialize: true, ListFirst: true, CancelInitialize: true,
		InitializedForm: "{}"},
	{version: protocol.UnpublishedVersions[1], InitializedForm: "_meta", DelayInitialized: true, DeclareTasks: true},
	{InitializedForm: "none", NotifyAtEnd: true},
	{NoStderrReader: true, IgnoreRequests: true, PingFirst: true, ListBeforeInitialized: true},
	{NewerFields: true, UnknownCapabilities: true, SilentStart: true, CloseStdin: true},
}

// clientScenario is the scenario of a client with all capabilities, whose session others use afterwards. It requests
// the tested revision, since some servers request nothing of a client that requested a later one.
var clientScenario = Scenario{RefuseRequests: true, PingBeforeInitialized: true}

// scenariosFor are the scenarios of a run that tests a revision.
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

// includes reports whether a scenario does everything that another one does.
func (o Scenario) includes(other Scenario) bool {
	does, wanted := reflect.ValueOf(o), reflect.ValueOf(other)
	for i := range wanted.NumField() {
		if !wanted.Field(i).IsZero() && !wanted.Field(i).Equal(does.Field(i)) {
			return false
		}
	}
	return true
}

// RunScenario begins a session by a scenario and returns the outcome. Unless the check is being confirmed, it may use
// one of sharedScenarios that includes the scenario. For a slow server it does not, since the additional steps would
// cost more than a process of its own.
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

// scenarioRun executes a scenario step by step.
type scenarioRun struct {
	Scenario
	ScenarioResult
	t *check.T
	s *driver.Session
	// firstPing is the ping before initialize.
	firstPing driver.Pending
}

func executeScenario(t *check.T, o Scenario) ScenarioResult {
	if t.Server.Transport == "http" { // a server cannot send anything first
		o.SilentStart, o.DelayInitialized = false, false
	}
	p := &scenarioRun{Scenario: o, t: t,
		s: t.Session(check.ProcessWith(driver.Options{DiscardStderr: o.NoStderrReader}))}
	p.sendBeforeInitialize()
	if o.CloseStdin && t.Server.Transport == "stdio" {
		check.RequireLiveServer(t)
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

// sendBeforeInitialize does what precedes initialize.
func (p *scenarioRun) sendBeforeInitialize() {
	if p.SilentStart {
		p.s.Sleep(timing.LateWindow)
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
	params := p.connectParams(p.t)
	p.ConnectParams = params
	p.s.RefuseServerRequests(p.RefuseRequests || p.DeclareTasks)
	if p.IgnoreRequests {
		p.s.HandleServerRequests(isServerRequest)
	}
	if p.CancelInitialize {
		p.s.MarkInvalidInputFromStart()
		p.s.AfterInitialize = func(sent driver.Pending) driver.Pending { return cancelInitialize(p.s, sent, params) }
	}
	p.ConnectReply = p.s.Connect(params)
}

// sendBeforeInitialized does what comes between initialize and the initialized notification.
func (p *scenarioRun) sendBeforeInitialized() {
	if p.DelayInitialized {
		p.s.Sleep(timing.LateWindow)
	}
	if p.PingBeforeInitialized {
		p.EarlyPingReply = p.s.Call("ping", nil)
	}
	if p.ListBeforeInitialized {
		p.BeforeInitialized.sendEarly(p.t, p.s)
	}
}

// sendInitialized sends the initialized notification and a no-op.
func (p *scenarioRun) sendInitialized() {
	if p.IgnoreRequests {
		p.s.MarkInvalidInput()
	}
	mark := p.s.Mark()
	p.s.FinishConnectWith(p.initializedParams())
	if p.s.Revision == p.t.Revision { // the server fell back to it
		p.s.AcceptRevision()
	}
	pong := protocol.SendNoOp(p.s, 70052)
	p.s.AwaitReaction(mark)
	if p.NoOpReply = p.s.AwaitFor(pong, timing.ShortWait); p.PingFirst { // responses may come in any order
		p.FirstPingReply = p.s.AwaitFor(p.firstPing, timing.ShortWait)
	}
	p.InitializedReplies, _ = transcript.NotificationReplies(p.t, p.s, mark)
}

// finish does what follows once the session is established.
func (p *scenarioRun) finish() {
	switch {
	case !p.IgnoreRequests:
	case p.t.IsConfirmation():
		AwaitServerRequests(p.t, p.s)
	default: // others wait for the session
		p.s.Wait(0, timing.ServerRequest, isServerRequest)
	}
	if p.RefuseRequests {
		p.recordRefusals()
	}
	method, params := protocol.OrdinaryRequest(p.t, p.s)
	p.ListReply = p.t.Send(p.s, method, params, check.AllowSilence)
	if _, served := protocol.ListMethod(p.t); served && p.ListReply.Result() == nil {
		p.s.MarkUnusable() // it serves less than others, so nobody may use it
	}
	p.BeforeInitialize.sendLate(p.t, p.s, p.ListReply)
	p.BeforeInitialized.sendLate(p.t, p.s, p.ListReply)
	if p.IgnoreRequests {
		if p.ListReply.Answered() {
			p.s.Barrier(p.s.Mark()) // the server may be about to send a request
		}
		p.ServerRequests, p.LastNoOpReply = serverRequestFrames(p.s), p.s.Call(p.s.NoOp())
	}
	if p.DeclareTasks {
		p.s.RefuseServerRequests(false)
		p.s.ReusableAsClient = true
	}
	if p.NotifyAtEnd {
		check.Deferred(p.t, func() { sendNotifications(p.t, p.s) })
		check.KeepIdle(p.t, p.s)
	}
}

// closeInput sends initialize, the initialized notification and no-ops without waiting, and closes stdin.
func (p *scenarioRun) closeInput() {
	var pongs []driver.Pending
	p.s.MarkInvalidInputFromStart() // checks of ordinary sessions must not judge what is left unanswered here
	p.s.AfterInitialize = func(sent driver.Pending) driver.Pending {
		p.s.Notify("notifications/initialized", nil)
		for i := range InFlightAtEOF(p.t) {
			pongs = append(pongs, protocol.SendNoOp(p.s, 70053+i)) // not mistaken for the response to initialize
		}
		p.s.Stdio().CloseStdin()
		return sent
	}
	p.ConnectReply = p.s.Connect(p.connectParams(p.t))
	for _, pong := range pongs {
		if p.NoOpReply = p.s.Await(pong); !p.NoOpReply.Answered() {
			break
		}
	}
}

// IncompleteConnectParams are params of initialize that each lack a required member.
func IncompleteConnectParams(revision string) (forms []check.Subject) {
	for _, member := range []string{"protocolVersion", "clientInfo", "capabilities"} {
		params := driver.ConnectParams(revision)
		delete(params, member)
		forms = append(forms, check.Subject{Name: "without " + member, Value: params, FromClient: true})
	}
	return append(forms, check.Subject{Name: "without params"})
}

// initializeIncomplete sends incomplete initialize requests. It continues in a new process after the server accepted
// one. After one that was left unanswered, it continues only in a confirmation.
func (p *scenarioRun) initializeIncomplete() {
	p.IncompleteReplies = map[string]driver.Reply{}
	for _, form := range IncompleteConnectParams(p.t.Revision) {
		p.s.MarkInvalidInputFromStart()
		reply := p.s.Connect(form.Value)
		if p.IncompleteReplies[form.Name] = reply; p.s.IsAlive() && reply.Error() != nil {
			continue
		}
		p.s = p.t.Session(check.Process)
		if !reply.Answered() && !p.t.IsConfirmation() {
			return
		}
	}
}

// cancelInitialize cancels initialize and returns the request that is to be answered: the same one, or a second
// initialize if the server honoured the cancellation, by an error or by answering a later request first.
func cancelInitialize(s *driver.Session, p driver.Pending, params check.M) driver.Pending {
	mark := s.Mark()
	s.Notify("notifications/cancelled", check.M{"requestId": p.ID, "reason": "mcpcheck"})
	ping := s.Request("ping", nil)
	s.Wait(mark, s.StartTimeout(), func(f *driver.Frame) bool {
		return f.IsResponse() && (driver.SameID(f.RequestID(), p.ID) || driver.SameID(f.RequestID(), ping.ID))
	})
	if s.AwaitFor(p, timing.ShortWait).Result() != nil {
		return p
	}
	return s.Request("initialize", params)
}

// AwaitServerRequests gives the server time to request what the client declared: some wait a while after the handshake.
// Over HTTP a server without sessions cannot send requests.
func AwaitServerRequests(t *check.T, s *driver.Session) {
	if !t.Server.Sessionless {
		s.Wait(0, timing.LateWindow, isServerRequest)
	}
}

// isServerRequest reports whether a frame is a request of the server for a feature of the client.
func isServerRequest(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.IsRequest() && f.Method != "ping"
}

// serverRequestFrames are the requests of the server for features of the client.
func serverRequestFrames(s *driver.Session) []*driver.Frame {
	return slices.DeleteFunc(s.ReceivedSince(0), func(f *driver.Frame) bool { return !isServerRequest(f) })
}

// recordRefusals records the requests of a server whose client refuses them, and whether it serves afterwards.
func (p *scenarioRun) recordRefusals() {
	if AwaitServerRequests(p.t, p.s); p.NoOpReply.Answered() {
		p.s.Barrier(p.s.Mark())
	}
	p.ServerRequests = serverRequestFrames(p.s)
	p.LastNoOpReply = p.s.Call(p.s.NoOp())
	p.s.RefuseServerRequests(false)
	p.s.ReusableAsClient = true
}

// BasicCapabilities are the capabilities of a client that supports every feature without options, and whose roots may
// change.
var BasicCapabilities = check.M{"roots": check.M{"listChanged": true}, "sampling": check.M{}, "elicitation": check.M{}}

// CapableConnectParams are the params of initialize of a client with BasicCapabilities.
func CapableConnectParams(revision string) check.M {
	params := driver.ConnectParams(revision)
	maps.Copy(params["capabilities"].(check.M), BasicCapabilities)
	return params
}

func (o Scenario) connectParams(t *check.T) check.M {
	params := driver.ConnectParams(t.Revision)
	if o.version != "" {
		params["protocolVersion"] = o.version
	}
	capabilities := params["capabilities"].(check.M)
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
		addCapabilities(capabilities, protocol.UnknownCapabilities)
	}
	if o.NewerFields {
		addCapabilities(capabilities, check.M{
			"elicitation": check.M{"form": check.M{}, "url": check.M{}},
			"tasks":       check.M{"requests": check.M{}},
			"sampling":    check.M{"tools": check.M{}, "context": check.M{}},
		})
		icon := check.M{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": []any{"48x48"}}
		params["clientInfo"] = check.M{
			"name": "mcpcheck", "version": "1", "title": "mcpcheck", "description": "A client of a later revision",
			"icons": []any{icon}, "websiteUrl": "https://example.com",
		}
	}
	return params
}

// addCapabilities adds capabilities to others, and members to those that are there already.
func addCapabilities(capabilities, further check.M) {
	for name, v := range further {
		both := maps.Clone(v.(check.M))
		before, _ := capabilities[name].(check.M)
		maps.Copy(both, before)
		capabilities[name] = both
	}
}

// initializedParams are the params of the initialized notification.
func (o Scenario) initializedParams() check.M {
	switch o.InitializedForm {
	case "{}":
		return check.M{}
	case "_meta":
		return check.M{"_meta": check.M{"com.example/mcpcheck": true}}
	}
	return nil
}

// ServerSpokeFirst reports whether in some session the server sent a message too early, which
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

// isTooEarly reports whether a frame of the server may not come before initialize.
func isTooEarly(f *driver.Frame) bool { return f.IsResponse() || f.IsRequest() && f.Method != "ping" }

// IsBeforeConnectReply reports whether a message came before the response to initialize.
func IsBeforeConnectReply(m check.Message) bool {
	var request *driver.Frame
	for _, f := range m.Session.FramesSince(0) {
		switch {
		case f == m.Frame:
			return true
		case f.Side == driver.FromClient && f.Method == "initialize":
			request = f
		case request != nil && f.Side == driver.FromServer && driver.SameID(f.RequestID(), request.ID):
			return false
		}
	}
	return false
}

// RequireConnected ends a check that needs an established session. When the check is confirmed, the client requests the
// revision that the server grants.
func (r ScenarioResult) RequireConnected(t *check.T) {
	if r.ConnectReply.Result() == nil {
		t.Retry(check.Undecided, "initialize brought %s", check.Got(r.ConnectReply))
	}
}

// SkipUnlessCapabilities ends a check of undeclared capabilities when the result of initialize does not say what is
// declared.
func SkipUnlessCapabilities(t *check.T, result check.M) {
	if _, ok := result["capabilities"].(check.M); !ok {
		t.Yield("capabilities is not an object")
	}
}

// ConnectReplyFor is the reply to initialize with a version.
func ConnectReplyFor(t *check.T, version string) driver.Reply {
	if version == t.Server.Requested && t.Server.ConnectResult != nil && !t.IsConfirmation() {
		check.NeedsConfirmation(t)
		return t.Server.ConnectReply // discovery has sent this request already
	}
	return RunScenario(t, Scenario{version: version}).ConnectReply
}
