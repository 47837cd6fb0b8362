package http

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// markerPattern matches a marker: a text in a request that no other request has. Markers resemble each other as little
// as possible, since servers may suggest values that are similar to one that they do not know.
var markerPattern = regexp.MustCompile(`[0-9a-f]{20}-mcp`)

// placeholder stands for the marker in params that are not sent yet.
const placeholder = "00000000000000000000-mcp"

// newMarker is the marker of the nth marked request of a session.
func newMarker(s *driver.Session, n int) string {
	return fmt.Sprintf("%.10x-mcp", sha256.Sum256(fmt.Appendf(nil, "request %d of session %d", n, s.Number())))
}

// markedRequests are requests whose params have the placeholder. None of them is meant for other clients: a tool that
// changes something may be there to write to all of them, so that only tools are among them that do not.
func markedRequests(t *check.T) (all []roundtrip.ManualRequest) {
	const most = 3 // of each method
	counts := map[string]int{}
	add := func(method string, params check.M) {
		if counts[method]++; counts[method] <= most {
			all = append(all, roundtrip.ManualRequest{Method: method, Params: params})
		}
	}
	for _, r := range requests.Refused(t) {
		add(r.Method, withName(r.Params))
	}
	if len(t.Server.Tools) > 0 {
		for _, call := range toolcall.RepeatableCalls(toolcall.ValidCalls(t)) {
			if !t.Server.IsSlow() && check.SavesRequests(t, call.Reply) {
				continue
			}
			if arguments := markedArguments(t, call); arguments != nil {
				add("tools/call", check.M{"name": call.Tool.Name, "arguments": arguments})
			}
		}
	}
	for _, prompt := range toolcall.ListedPrompts(t) {
		arguments := check.M{}
		for _, name := range toolcall.RequiredArguments(prompt) {
			arguments[name] = placeholder
		}
		if len(arguments) > 0 {
			add("prompts/get", check.M{"name": prompt.Name, "arguments": arguments})
		}
	}
	for _, template := range toolcall.Templates(t) {
		values := map[string]string{}
		for _, name := range template.Varnames() {
			values[name] = placeholder
		}
		if uri, err := toolcall.ExpandTemplate(template, values); err == nil {
			add("resources/read", check.M{"uri": uri})
		}
	}
	if t.Server.Declares("completions") {
		for _, argument := range toolcall.CompletionArguments(t) {
			add("completion/complete", argument.Params(placeholder))
		}
	}
	return all
}

// withName are the params of a request with the placeholder as the name, or in the URI.
func withName(params check.M) check.M {
	params = maps.Clone(params)
	for member := range params {
		switch member {
		case "name":
			params[member] = placeholder
		case "uri":
			params[member] = "test://" + placeholder
		case "ref":
			params[member] = toolcall.PromptRef(placeholder)
		}
	}
	return params
}

// markedArguments are the arguments of a call with the placeholder in each of them that may be any text; nil when there
// is none, or the tool does not say that it reads only.
func markedArguments(t *check.T, call toolcall.ToolCall) (arguments map[string]any) {
	schema, err := schemas.Compile(call.Tool.Value["inputSchema"], t.Revision)
	if err != nil || !report.IsReadOnly(call.Tool.Value) || toolcall.CheckMayVary(t, call.Tool) != nil {
		return nil
	}
	changed := maps.Clone(call.Arguments)
	for name, value := range call.Arguments {
		if _, isText := value.(string); isText {
			if changed[name] = placeholder; schema.Validate(changed) == nil {
				arguments = changed
			} else {
				changed[name] = value
			}
		}
	}
	return arguments
}

// markedParams are params with a marker in place of the placeholder, and as the progress token. In modern revisions
// they ask for all log messages.
func markedParams(t *check.T, params check.M, marker string) check.M {
	meta := check.M{"progressToken": marker}
	if t.IsModern() {
		meta[driver.MetaLogLevel] = "debug"
	}
	marked := bytes.ReplaceAll(text.CompactJSON(params), []byte(placeholder), []byte(marker))
	params, _ = driver.Decode(marked).(check.M)
	return requests.Request{Params: toolcall.WithAllCapabilities(t, params)}.With(meta)
}

// exchangeMarkers sends the marked requests in two sessions, at the same time and then one after the other: a server
// may mix up clients that it serves at once, and keep for all what it has sent to one.
func exchangeMarkers(t *check.T) {
	marked := requests.Affordable(t, markedRequests(t), 4)
	check.Step(t, "markers of two clients", func(t *check.T) (sent int) {
		a, b := twoSessions(t)
		post := func(s *driver.Session, r roundtrip.ManualRequest) *driver.RoundTrip {
			sent++
			r.Params = markedParams(t, r.Params, newMarker(s, sent))
			return roundtrip.PostRequest(s, r)
		}
		for _, s := range []*driver.Session{a, b} {
			if !t.IsModern() && t.Server.Declares("logging") {
				t.Send(s, "logging/setLevel", check.M{"level": "debug"}, check.AllowSilence)
			}
		}
		for _, r := range marked {
			x, y := post(a, r), post(b, r)
			isAnswered, isOtherAnswered := x.AwaitReply().Answered(), y.AwaitReply().Answered()
			if !isAnswered && !isOtherAnswered {
				continue // nor is it likely to be, one after the other
			}
			post(a, r).AwaitReply()
			post(b, r).AwaitReply()
		}
		for _, s := range []*driver.Session{a, b} {
			check.Barrier(t, s, s.Mark())
		}
		return sent
	})
}

// leakedMarkers are messages to one client with a marker of another one. Servers may keep what clients write for all of
// them, so that a response counts only where it is that to the other client. What comes on a GET stream that belongs to
// no session is for nobody in particular.
func leakedMarkers(t *check.T, w check.Wire) (leaks []leak) {
	owners := markerOwners(w)
	for _, s := range w.Sessions {
		for _, f := range s.ReceivedSince(0) {
			if !t.IsModern() && t.Server.Sessionless && !transcript.HasOwnStream(f) {
				continue
			}
			for _, m := range f.Messages() {
				if o, is := owners.foreignMarker(s, f, m); is {
					what := m.Method
					if m.IsResponse() {
						what = "the response"
					}
					description := fmt.Sprintf("%s in %s with %s, which %s has sent",
						what, s.Name(), o.text, o.session.Name())
					leaks = append(leaks, leak{description, []*driver.Frame{o.request, m}})
				}
			}
		}
	}
	return leaks
}

// marker is a marker with the request that has brought it.
type marker struct {
	text     string
	session  *driver.Session
	request  *driver.Frame
	response *driver.Frame
}

// markers are the markers in a run, in the order of the sessions.
type markers []*marker

// markerOwners are the markers in a run with their requests.
func markerOwners(w check.Wire) (all markers) {
	for _, s := range w.Sessions {
		byRoundTrip := map[*driver.RoundTrip]*marker{}
		for _, f := range s.FramesSince(0) {
			o := byRoundTrip[f.RoundTrip]
			switch {
			case f.Side == driver.FromClient && len(markersIn(f)) > 0:
				o = &marker{text: markersIn(f)[0], session: s, request: f}
				byRoundTrip[f.RoundTrip], all = o, append(all, o)
			case f.Side == driver.FromServer && f.IsResponse() && o != nil:
				o.response = f
			}
		}
	}
	return all
}

func markersIn(f *driver.Frame) []string {
	if !bytes.Contains(f.Raw.Bytes(), []byte("-mcp")) { // cheaper than the pattern
		return nil
	}
	return markerPattern.FindAllString(f.Raw.String(), -1)
}

// foreignMarker is the marker of another client in a message m, which came in the frame f to a session. It is false
// for a message that has the marker of the request that it belongs to as well.
func (all markers) foreignMarker(s *driver.Session, f, m *driver.Frame) (foreign *marker, is bool) {
	texts, isForMarked := markersIn(m), false
	if len(texts) == 0 {
		return nil, false
	}
	for _, o := range all {
		isOwn := o.session == s && f.RoundTrip != nil && o.request.RoundTrip == f.RoundTrip
		isForMarked = isForMarked || isOwn
		switch hasText := slices.Contains(texts, o.text); {
		case hasText && isOwn:
			return nil, false
		case hasText && o.session != s:
			foreign = o
		}
	}
	switch {
	case foreign == nil || m.Method == "notifications/resources/updated":
		return nil, false
	case m.IsResponse():
		return foreign, isForMarked && foreign.response != nil &&
			sameResult(driver.Reply{Frame: foreign.response}, driver.Reply{Frame: m})
	}
	return foreign, true
}
