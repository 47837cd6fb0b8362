package suites

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var lifecycle = merged(handshake, operation, shutdown)

// handshake are the checks of initialize and of the window before initialized.
var handshake = Suite{
	"lifecycle/initialize-succeeds": Fresh(func(t *T) {
		r := asked(t, t.Server.Requested)
		if refusesVersion(r) {
			t.Skip("the version was refused: lifecycle/version-fallback")
		}
		switch {
		case t.Server.Transport == "sse" && (r.Bare() || r.Err != nil):
			t.Skip("the transport did not carry it: sse/post-accepted, sse/responses-on-stream")
		case r.Bare():
			t.Skip("the POST was not accepted: http/endpoint-accepts-post")
		}
		t.Expect(r).To(BeResult())
	}).WhenRefused(),

	"lifecycle/initialize-result-fields": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			result := resultOf(m)
			t.Expect(Member(result, "protocolVersion")).To(BeString(), "protocolVersion")
			t.Expect(Member(result, "capabilities")).To(BeObject(), "capabilities")
			t.Expect(Member(result, "serverInfo")).To(BeObject(), "serverInfo")
		})
	}),

	"lifecycle/server-info-fields": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			info, ok := resultOf(m)["serverInfo"].(M)
			if !ok {
				t.Skip("serverInfo is no object: lifecycle/initialize-result-fields")
			}
			for _, name := range []string{"name", "version"} {
				t.Expect(Member(info, name)).To(BeString(), "serverInfo.%s", name)
				t.Warn(info[name]).To(That("a text", func(s string) bool { return s != "" }), "serverInfo.%s", name)
			}
		})
	}),

	"lifecycle/version-echo-supported": Fresh(func(t *T) {
		offered := offeredVersions(t)
		t.Each(versions(offered), func(t *T, version Subject) {
			t.Expect(versionOf(asked(t, version.Name))).To(BeOneOf[any](version.Name), "it was offered in answer to %s", offered[version.Name])
		})
	}),

	"lifecycle/version-fallback": Fresh(func(t *T) {
		ask(t, madeUp)
		t.Each(versions(setOf(madeUp)), func(t *T, version Subject) {
			r := asked(t, version.Name)
			t.Expect(r).To(BeAnswered())
			if refusesVersion(r) {
				t.Warn(r).To(BeResult())
			}
			t.Expect(r).To(BeResult())
			t.Expect(versionOf(r)).NotTo(BeOneOf[any](version.Name), "there is no such version, so it cannot be supported")
		})
	}),

	"lifecycle/version-fallback-latest": Fresh(func(t *T) {
		supported := slices.Sorted(maps.Keys(offeredVersions(t)))
		supported = slices.DeleteFunc(supported, func(v string) bool { return v > Newest })
		if len(supported) == 0 {
			t.Skip("no supported version is known")
		}
		t.Each(versions(setOf(madeUp)), func(t *T, version Subject) {
			offer, ok := versionOf(asked(t, version.Name)).(string)
			if !ok || offer == version.Name || offer > Newest {
				t.Skip("the unknown version was echoed or refused: lifecycle/version-fallback")
			}
			t.Expect(offer).To(BeOneOf(supported[len(supported)-1]))
		})
	}),

	"lifecycle/version-known-date": Watch(func(t *T, w Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *T, m Message) {
			version, ok := resultOf(m)["protocolVersion"].(string)
			switch {
			case !ok:
				t.Skip("protocolVersion is no string: lifecycle/initialize-result-fields")
			case slices.Contains(madeUp, version):
				t.Skip("a made-up version was echoed: lifecycle/version-fallback")
			case isDate(version) && version >= Modern:
				t.Inconclusive("%s is later than what mcpcheck knows", version)
			}
			if strings.HasPrefix(version, "DRAFT") {
				t.Warn(version).To(BeOneOf(Handshake...))
			}
			t.Expect(version).To(BeOneOf(Handshake...))
		})
	}),

	"lifecycle/ping-before-initialized": Fresh(func(t *T) {
		o := begin(t, opening{early: true})
		if o.earlyPong.Result() == nil && o.pong.Result() == nil {
			t.Skip("ping fails after the handshake as well: ping/empty-result")
		}
		t.Expect(o.earlyPong).To(BeResult())
	}),

	"lifecycle/ping-before-initialize": Fresh(func(t *T) {
		o := begin(t, opening{pinged: true})
		t.Expect(o.welcome).To(BeResult(), "initialize after an early ping")
		if o.firstPong.Result() == nil && o.pong.Result() == nil {
			t.Skip("ping fails after the handshake as well: ping/empty-result")
		}
		if f := o.firstPong.Frame; f != nil && f.HTTP != nil && f.HTTP.Refuses() {
			t.Skip("over HTTP a request without a session id may be refused: http/session-missing-400")
		}
		t.Warn(o.firstPong).To(BeResult())
	}),

	"lifecycle/gates-before-initialize": Fresh(func(t *T) {
		skipSessionless(t)
		g := beforeInitialize(t)
		t.Expect(g.again).To(BeResult(), "initialize after the early requests")
		g.judge(t)
		t.Expect(g.lateList.Answered()).To(Hold("an answer to "+g.method+" after the handshake", "%s", Got(g.lateList)))
	}),

	"lifecycle/gates-before-initialized": Fresh(func(t *T) {
		skipSessionless(t)
		g := beforeInitialized(t)
		if !g.earlyList.Answered() {
			t.Skip("no answer before initialized: lifecycle/request-before-initialized-notification")
		}
		g.judge(t)
		t.Expect(g.lateList).To(BeResult(), "%s after initialized", g.method)
	}),

	"lifecycle/request-before-initialized-notification": Fresh(func(t *T) {
		g := beforeInitialized(t)
		t.Expect(g.earlyList).To(BeAnswered(), "%s before initialized", g.method)
		t.Expect(g.lateList).To(BeAnswered(), "%s after initialized", g.method)
	}),

	"lifecycle/no-server-requests-before-initialized": Fresh(func(t *T) {
		o := begin(t, opening{client: true})
		o.wantWelcome(t)
		for _, f := range o.between {
			if f.IsRequest() {
				t.Expect(f.Method).To(BeOneOf("ping"), "a request before initialized")
			}
		}
		for _, f := range o.between {
			if f.IsNotification() {
				t.Inform(f.Method).To(BeOneOf("notifications/message"), "a notification before initialized")
			}
		}
	}),

	"lifecycle/server-does-not-speak-first": Fresh(func(t *T) {
		if t.Server.Transport == "http" {
			t.Skip("over Streamable HTTP a server cannot speak first")
		}
		o := begin(t, opening{idle: true})
		o.wantWelcome(t)
		for _, f := range o.first {
			spoke := f.IsResponse() || f.IsRequest() && f.Method != "ping"
			t.Expect(!spoke).To(Hold("silence until initialize was sent", "%s", Show(f)))
		}
		for _, f := range o.first {
			spoke := f.IsRequest() || f.IsNotification()
			t.Warn(!spoke).To(Hold("silence until initialize was sent", "%s", Show(f)))
		}
	}),

	"lifecycle/initialized-accepted": Fresh(func(t *T) {
		o := begin(t, opening{form: "none"})
		o.wantWelcome(t)
		t.Expect(o.replies).To(BeEmptyList[*driver.Frame]("no reply to the notification"))
		t.Expect(o.pong).To(BeAnswered(), "ping after initialized")
	}),

	"lifecycle/initialized-without-params": Fresh(func(t *T) {
		t.Each([]Subject{{Name: "{}"}, {Name: "_meta"}}, func(t *T, form Subject) {
			o := begin(t, opening{form: form.Name})
			o.wantWelcome(t)
			if plain := begin(t, opening{form: "none"}); !plain.pong.Answered() || len(plain.replies) > 0 {
				t.Skip("the plain form fails as well: lifecycle/initialized-accepted")
			}
			t.Expect(o.replies).To(BeEmptyList[*driver.Frame]("no reply to the notification"))
			t.Expect(o.pong).To(BeAnswered(), "ping after initialized")
			if method, served := listMethod(t); served {
				t.Expect(o.list).To(BeResult(), "%s after initialized", method)
			}
		})
	}),

	"lifecycle/newer-client-fields-tolerated": Fresh(func(t *T) {
		t.Expect(begin(t, opening{newer: true}).welcome).To(BeResult())
	}),

	"lifecycle/initialize-missing-fields": Fresh(func(t *T) {
		s := hostileStart(t)
		t.Each(incompleteHellos(t.Revision), func(t *T, form Subject) {
			if !s.Alive() || s.Revision != "" {
				s = hostileStart(t) // it took the last one for a good one
			}
			r := s.Initialize(form.Value)
			t.Expect(r).To(BeAnswered())
			t.Inform(r).To(BeError())
		})
	}),

	"lifecycle/second-initialize": Probe(func(t *T) {
		s := t.Hostile()
		t.Expect(t.Try(s, "initialize", driver.Hello(t.Revision))).To(BeAnswered())
		t.Expect(t.Try(s, "ping", nil)).To(BeAnswered(), "ping after a second initialize")
	}),
}

// operation are the checks of what a server sends while it serves.
var operation = Suite{
	"lifecycle/operation-matches-negotiated-version": Watch(func(t *T, w Wire) {
		messages := w.Messages().Established(t.Revision).Filter("message but the handshake", func(m Message) bool {
			return m.Request == nil || m.Request.Method != "initialize"
		})
		t.Judge(messages, func(t *T, m Message) {
			if m.HasMethod {
				since, known := schemas.MethodSince(m.Method)
				t.Expect(!known || since <= t.Revision).To(Hold("a method of "+t.Revision, "%s, which is of %s", m.Method, since))
			}
			for tag, since := range unionTags(m) {
				t.Expect(since <= t.Revision).To(Hold("a form of "+t.Revision, "%s, which is of %s", tag, since))
			}
		})
	}),

	"lifecycle/no-undeclared-client-features": Watch(func(t *T, w Wire) {
		t.Judge(w.Requests(), func(t *T, m Message) {
			feature := clientFeatures[m.Method]
			if m.Method == "roots/list" && t.Revision < "2025-06-18" {
				t.Skip("roots/list is judged by roots/requires-capability")
			}
			declared, _ := m.Session.Hello["capabilities"].(M)
			t.Expect(feature == "" || declared[feature] != nil).To(Hold("no request of a feature that the client did not declare", "%s", m.Method))
		})
	}),

	"lifecycle/no-undeclared-notifications": Watch(func(t *T, w Wire) {
		bound := w.Notifications().Filter("notification that is bound to a capability", func(m Message) bool {
			_, ok := notificationFlags[m.Method]
			return ok && m.Session.Welcome != nil
		})
		t.Judge(bound, func(t *T, m Message) {
			flag := notificationFlags[m.Method]
			capability, _ := m.Session.Capabilities[flag[0]].(M)
			t.Expect(Member(capability, flag[1])).To(BeOneOf[any](true), "%s was sent; capability %s.%s", m.Method, flag[0], flag[1])
		})
	}),

	"lifecycle/list-changed-flag-honest": Watch(func(t *T, w Wire) {
		if t.Server.Sessionless {
			t.Skip("the server has no sessions: there is no stream on which it could announce a change")
		}
		var changes []Subject
		announced := map[string]bool{}
		for _, s := range w.Sessions {
			for _, c := range listChanges(s) {
				name := c.family + ": " + c.what
				changes = append(changes, Subject{Name: name})
				announced[name] = c.announced
			}
		}
		if len(changes) == 0 {
			t.Skip("no list of a family that declares listChanged has changed")
		}
		t.Each(changes, func(t *T, change Subject) {
			t.Expect(announced[change.Name]).To(Hold("a list_changed notification", "none although the list has changed"))
		})
	}),
}

// shutdown are the checks of how a session over stdio ends.
var shutdown = Suite{
	"lifecycle/stdio-exit-on-sigterm": Ending(func(t *T) {
		if !driver.HasSIGTERM {
			t.Skip("this system has no SIGTERM")
		}
		s := t.Last()
		s.Terminate()
		_, gone := s.AwaitExit(exitLimit)
		t.Expect(gone).To(Hold("the process gone within 5s of SIGTERM", "a process that still runs"))
	}),

	"lifecycle/stdio-clean-exit": Ending(func(t *T) {
		e := atEOF(t)
		if !e.byItself {
			t.Skip("the process did not exit by itself: stdio/exits-on-eof")
		}
		t.Expect(e.exit.Status).To(BeOneOf(0), "exit status")
		t.Inform(!hasStackTrace(e.stderr)).To(Hold("a quiet end", "a stack trace on stderr"))
	}),

	"lifecycle/in-flight-request-at-eof": Fresh(func(t *T) {
		s := hostileStart(t) // it is cut off: what it leaves unanswered is judged here alone
		hello := s.Expecting(1, "initialize")
		ping := s.Expecting(2, "ping")
		s.SendJSON(M{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": driver.Hello(t.Revision)})
		s.Notify("notifications/initialized", nil)
		s.SendJSON(M{"jsonrpc": "2.0", "id": 2, "method": "ping"})
		s.CloseInput()
		var silence *driver.Silence
		if r := s.AwaitFirst(hello); errors.As(r.Err, &silence) {
			t.Inconclusive("%v", r.Err) // it is slow, and still at it
		}
		s.Await(ping)
		t.Expect(s.AwaitFor(hello, 0)).To(BeAnswered(), "initialize, sent before stdin was closed")
		t.Expect(s.AwaitFor(ping, 0)).To(BeAnswered(), "ping, sent before stdin was closed")
	}),

	"lifecycle/server-shutdown-is-clean": Watch(func(t *T, w Wire) {
		var ended []Subject
		pending := map[string][]string{}
		for _, s := range w.Sessions {
			if methods, unprompted := unpromptedEnd(s); unprompted {
				ended = append(ended, Subject{Name: s.Name()})
				pending[s.Name()] = methods
			}
		}
		if len(ended) == 0 {
			t.Skip("the server ended no session by itself")
		}
		t.Each(ended, func(t *T, session Subject) {
			t.Expect(pending[session.Name]).To(BeEmptyList[string]("an exit between requests"), "requests without an answer")
		})
	}),
}

// madeUp are versions that were never published.
var madeUp = []string{"1999-01-01", "2099-12-31", "2025-01-01"}

// offeredVersions are the versions that the server returned whatever it was asked
// for, each with the version that was asked for. A made-up version that comes back
// is no offer.
func offeredVersions(t *T) map[string]string {
	all := slices.Concat(Handshake, madeUp)
	ask(t, all)
	offered := map[string]string{}
	for _, version := range all {
		if got, ok := versionOf(asked(t, version)).(string); ok && !slices.Contains(madeUp, got) {
			offered[got] = version
		}
	}
	return offered
}

func versionOf(r driver.Reply) any { return Member(r.Result(), "protocolVersion") }

// refusesVersion recognises the error that the page shows in contradiction to
// itself: -32602 with the supported versions.
func refusesVersion(r driver.Reply) bool {
	code, _ := r.Code()
	data, _ := r.Error()["data"].(M)
	return code == -32602 && data["supported"] != nil
}

func setOf(versions []string) map[string]string {
	set := map[string]string{}
	for _, v := range versions {
		set[v] = v
	}
	return set
}

func versions(set map[string]string) (subjects []Subject) {
	for _, v := range slices.Sorted(maps.Keys(set)) {
		subjects = append(subjects, Subject{Name: v})
	}
	return subjects
}

func isDate(version string) bool {
	return len(version) == len(Modern) && strings.Trim(version, "0123456789-") == ""
}

// welcome sends initialize; without a result there is nothing to go on with.
func welcome(t *T, s *driver.Session, hello M) {
	if r := s.Initialize(hello); r.Result() == nil {
		t.Inconclusive("initialize brought %s", Got(r))
	}
}

// hostileStart is a process that is told what no conforming client says.
func hostileStart(t *T) *driver.Session {
	s := t.Start()
	s.Hostile()
	return s
}

// incompleteHellos are params of initialize that lack a required member.
func incompleteHellos(revision string) (forms []Subject) {
	for _, member := range []string{"protocolVersion", "clientInfo", "capabilities"} {
		hello := driver.Hello(revision)
		delete(hello, member)
		forms = append(forms, Subject{Name: "without " + member, Value: hello})
	}
	return append(forms, Subject{Name: "without params"})
}

// gating is what came of ordinary requests at a time when only ping is allowed,
// and of the same requests after the handshake.
type gating struct {
	method              string // of the list that was asked for
	earlyList, lateList driver.Reply
	earlyCall, lateCall driver.Reply
	called              bool         // the calls were made
	again               driver.Reply // initialize after the early requests
}

// judge wants refusals. A request that draws the same error after the handshake
// proves nothing.
// skipSessionless ends a check of what a server remembers of a client.
func skipSessionless(t *T) {
	if t.Server.Sessionless {
		t.Skip("the server has no sessions: it cannot know what a client has done before")
	}
}

func (g gating) judge(t *T) {
	listProves := !sameError(g.earlyList, g.lateList)
	callProves := g.called && !sameError(g.earlyCall, g.lateCall)
	if listProves {
		t.Expect(g.earlyList).To(BeError(), "%s, too early", g.method)
	}
	if callProves {
		t.Expect(g.earlyCall).To(BeError(), "tools/call, too early")
	}
	if !listProves && !callProves {
		t.Inconclusive("the same requests are refused after the handshake as well")
	}
}

func sameError(a, b driver.Reply) bool {
	return a.Error() != nil && b.Error() != nil && string(Compact(a.Error())) == string(Compact(b.Error()))
}

// send sends the list request and a call of an unknown tool.
func (g *gating) send(t *T, s *driver.Session, list, call *driver.Reply) {
	*list = s.AwaitFirst(s.Request(g.method, nil))
	if g.called = t.MayCallUnknown() && t.Server.Declares("tools"); g.called {
		*call = t.Try(s, "tools/call", M{"name": unknownName(t), "arguments": M{}})
	}
}

func beforeInitialize(t *T) gating {
	return Shared(t, "before initialize", func(t *T) (g gating) {
		g.method, _ = listMethod(t)
		s := hostileStart(t)
		g.send(t, s, &g.earlyList, &g.earlyCall)
		if g.again = s.Initialize(driver.Hello(t.Revision)); g.again.Result() != nil {
			s.Confirm()
			g.send(t, s, &g.lateList, &g.lateCall)
		}
		return g
	})
}

func beforeInitialized(t *T) gating {
	return Shared(t, "before initialized", func(t *T) (g gating) {
		g.method, _ = listMethod(t)
		s := t.Start()
		welcome(t, s, driver.Hello(t.Revision))
		s.Hostile()
		g.send(t, s, &g.earlyList, &g.earlyCall)
		s.Confirm()
		g.send(t, s, &g.lateList, &g.lateCall)
		return g
	})
}

// listMethod is the list method of a family that the server declared, and whether
// it served it.
func listMethod(t *T) (method string, served bool) {
	for _, family := range []struct {
		name  string
		items []M
	}{{"tools", t.Server.Tools}, {"prompts", t.Server.Prompts}, {"resources", t.Server.Resources}} {
		if t.Server.Declares(family.name) {
			return family.name + "/list", len(family.items) > 0
		}
	}
	return "tools/list", false
}

// resultOf is the result object of a response; nil when it has none.
func resultOf(m Message) M {
	result, _ := m.JSON()["result"].(M)
	return result
}

// clientFeatures are the requests that a client has to declare a capability for.
var clientFeatures = map[string]string{
	"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation",
}

// notificationFlags are the capability and its flag that a notification needs.
var notificationFlags = map[string][2]string{
	"notifications/tools/list_changed":     {"tools", "listChanged"},
	"notifications/prompts/list_changed":   {"prompts", "listChanged"},
	"notifications/resources/list_changed": {"resources", "listChanged"},
	"notifications/resources/updated":      {"resources", "subscribe"},
}

// contentSince is the revision in which a content type came up.
var contentSince = map[string]string{"audio": "2025-03-26", "resource_link": "2025-06-18", "tool_use": "2025-11-25", "tool_result": "2025-11-25"}

// unionTags are the tags of closed unions in a message that not every revision has,
// with the revision in which they came up. Those of tool results are judged by
// tools/call-content-types.
func unionTags(m Message) map[string]string {
	tags := map[string]string{}
	add := func(content any) {
		block, _ := content.(M)
		if tag, ok := block["type"].(string); ok && contentSince[tag] != "" {
			tags["content of type "+tag] = contentSince[tag]
		}
	}
	switch {
	case m.Request != nil && m.Request.Method == "prompts/get":
		for _, message := range objects(resultOf(m)["messages"]) {
			add(message["content"])
		}
	case m.Method == "sampling/createMessage":
		params, _ := m.JSON()["params"].(M)
		for _, message := range objects(params["messages"]) {
			add(message["content"])
		}
	case m.Method == "elicitation/create":
		params, _ := m.JSON()["params"].(M)
		if params["mode"] == "url" {
			tags["elicitation of mode url"] = "2025-11-25"
		}
	}
	return tags
}

func objects(v any) []M {
	list, _ := v.([]any)
	return Objects(list)
}

// listChange is a list that was not the same when it was asked for again in one
// session.
type listChange struct {
	family, what string
	announced    bool
}

// listChanges compares the successive listings of a session, for the families that
// declare listChanged.
func listChanges(s *driver.Session) (changes []listChange) {
	for family, key := range listKeys {
		capability, _ := s.Capabilities[family].(M)
		if capability["listChanged"] != true {
			continue
		}
		var before []string
		announced := false
		for _, l := range listings(s, family, key) {
			announced = announced || l.announced
			if before != nil && !slices.Equal(before, l.names) {
				changes = append(changes, listChange{family, difference(before, l.names), announced})
				announced = false
			}
			before = l.names
		}
	}
	return changes
}

// listing is a complete list as it was returned, page by page.
type listing struct {
	names     []string // sorted; nil until the first page came
	announced bool     // a list_changed notification came since the listing before
}

// listings are the complete listings of a family in a session.
func listings(s *driver.Session, family, key string) (all []listing) {
	method := family + "/list"
	asked := map[string]bool{} // ids of requests for the list, and whether it is the first page
	l := listing{}
	for _, f := range s.Record(0) {
		switch {
		case f.Hostile:
			return all
		case f.Side == driver.FromClient && f.Method == method:
			params, _ := f.JSON()["params"].(M)
			asked[driver.IDKey(f.ID)] = params["cursor"] == nil
		case f.Method == "notifications/"+family+"/list_changed":
			l.announced = true
		case f.Side == driver.FromServer && f.IsResponse():
			first, ok := asked[driver.IDKey(f.ID)]
			if !ok {
				continue
			}
			result, _ := f.JSON()["result"].(M)
			if first {
				l.names = []string{}
			}
			if l.names == nil {
				continue // the beginning of the list is not on record any more
			}
			for _, item := range objects(result[family]) {
				name, _ := item[key].(string)
				l.names = append(l.names, name)
			}
			if cursor, _ := result["nextCursor"].(string); cursor == "" && result != nil {
				slices.Sort(l.names)
				all = append(all, l)
				l = listing{}
			}
		}
	}
	return all
}

func difference(before, after []string) string {
	for _, name := range after {
		if !slices.Contains(before, name) {
			return name + " came"
		}
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			return name + " went"
		}
	}
	return "another number of items"
}

// unpromptedEnd reports whether a server ended a session that nobody asked it to
// end, and the methods of the requests that it left unanswered.
func unpromptedEnd(s *driver.Session) (pending []string, unprompted bool) {
	if s.Welcome == nil {
		return nil, false // there was no session yet
	}
	open := map[string]string{}
	for _, f := range s.Record(0) {
		switch {
		case f.Hostile || f.AfterEOF:
			return nil, false
		case f.Side == driver.Event && strings.HasPrefix(string(f.Raw), "the server exited"):
			return slices.Sorted(maps.Values(open)), true
		case f.Side == driver.FromClient && f.IsRequest():
			open[driver.IDKey(f.ID)] = f.Method
		case f.Side == driver.FromServer && f.IsResponse():
			delete(open, driver.IDKey(f.ID))
		}
	}
	return nil, false
}

// hasStackTrace recognises the stack traces of a few languages.
func hasStackTrace(text string) bool {
	for _, sign := range []string{"Traceback (most recent call last)", "\ngoroutine ", "\n    at ", "thread 'main' panicked", "Exception in thread"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
