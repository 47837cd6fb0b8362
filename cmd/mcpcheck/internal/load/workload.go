package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Workload is what the clients send: the messages of a quiet session.
type Workload struct {
	// connect are the messages that a session begins with: none where every request may be the first one.
	connect []*message
	// requests are valid requests that were answered with a result.
	requests []*request
	// changesState says that a tool among them may change something, so that what calls, reads and prompts are answered
	// with may depend on what other clients have done.
	changesState bool
}

// message is a message of the quiet session, as it was sent.
type message struct {
	// before and after are the text around the id; after is empty for a notification.
	before, after []byte
	// header holds the headers of the POST; nil over stdio.
	header http.Header
}

// request is a request of the quiet session, with what was answered.
type request struct {
	message
	method string
	// name is the tool, the prompt or the resource that it names; empty for a list.
	name string
	// weight is the share of the requests that are of its kind.
	weight float64
	quiet  answer
	// dependsOnState says that a result of another kind, or an error, may be right under load.
	dependsOnState bool
	// hasMarkedHeader says that the marker is in a header too, such as Mcp-Param-Name. It has to be what the body says,
	// so that clients send both as they are.
	hasMarkedHeader bool
}

// marker is a text in the arguments of a call that the server's answer repeats. Each client sends one of its own, of
// the same length. secondMarker shows that the answer does not have those of earlier calls, too.
const (
	marker       = "mcpcheck-load-000000"
	secondMarker = "mcpcheck-load-999999"
)

// markerOf is the marker of a client.
func markerOf(client int) string { return fmt.Sprintf("mcpcheck-load-%06d", client+1) }

// isMarked reports whether each client sends a marker of its own, which the answer repeats.
func (r *request) isMarked() bool { return r.quiet.marked && !r.hasMarkedHeader }

// text returns the message with an id, and with the marker of a client.
func (m *message) text(dst []byte, id int64, mark string) []byte {
	dst = append(dst[:0], m.before...)
	if m.after == nil {
		return dst
	}
	dst = fmt.Appendf(dst, "%d", id)
	dst = append(dst, m.after...)
	if mark == "" {
		return dst
	}
	for rest := dst; ; {
		at := bytes.Index(rest, []byte(marker))
		if at < 0 {
			return dst
		}
		rest = rest[at+copy(rest[at:], mark):]
	}
}

// errNothingToSend says that the server answered no request of the mix.
var errNothingToSend = errors.New("the server answered none of the requests of the mix with a result")

// prepare makes the workload in a session in which nothing else is sent.
func prepare(s *driver.Session, server *check.Server, o Options) (*Workload, error) {
	w := &Workload{}
	if !catalogue.IsModern(server.Revision) {
		w.connect = connectMessages(s)
	}
	for _, c := range candidates(server, o) {
		weight := o.Mix.weight(c.method)
		if weight == 0 || len(w.of(c.method)) >= maxPerMethod {
			continue
		}
		// What differs between two quiet responses is not held against the server under load: a tool may fail when it
		// is called again with the same arguments, or answer in several ways.
		first, second := s.Call(c.method, c.params), s.Call(c.method, c.withSecondMarker())
		if !isUsable(first) || !isUsable(second) {
			continue
		}
		r := newRequest(c, weight, first)
		again := newAnswer(second.Frame.Raw.Bytes(), second.Request.ID)
		r.quiet.varies = !slices.Equal(r.quiet.members, again.members) || !slices.Equal(r.quiet.kinds, again.kinds)
		r.quiet.marked = repeatsMarker(first, second)
		w.requests = append(w.requests, r)
		w.changesState = w.changesState || c.changesState
	}
	if len(w.requests) == 0 {
		return nil, errNothingToSend
	}
	for _, r := range w.requests {
		r.weight /= float64(len(w.of(r.method)))
		r.dependsOnState = w.changesState && slices.Contains(stateMethods, r.method)
	}
	return w, nil
}

// repeatsMarker reports whether each reply has the marker of its own request, and not that of the other one.
func repeatsMarker(first, second driver.Reply) bool {
	has := func(f *driver.Frame, mark string) bool { return bytes.Contains(f.Raw.Bytes(), []byte(mark)) }
	return has(first.Request, marker) && has(first.Frame, marker) && !has(first.Frame, secondMarker) &&
		has(second.Request, secondMarker) && has(second.Frame, secondMarker) && !has(second.Frame, marker)
}

// isUsable reports whether a reply is a result that can be expected again.
func isUsable(r driver.Reply) bool {
	return r.Result() != nil && !r.IsFailure() && r.Result()["resultType"] != "input_required"
}

// stateMethods are the methods whose results may depend on what tools have changed.
var stateMethods = []string{"tools/call", "resources/read", "prompts/get"}

// maxPerMethod is how many tools, prompts or resources are among the requests.
const maxPerMethod = 8

// of returns the requests of a method.
func (w *Workload) of(method string) (all []*request) {
	for _, r := range w.requests {
		if r.method == method {
			all = append(all, r)
		}
	}
	return all
}

// cancelled is a message with the headers of a notification: those of notifications/initialized. It is nil where the
// protocol has no handshake, and a client cancels a request over HTTP by closing its stream.
func (w *Workload) cancelled() *message {
	for _, m := range w.connect {
		if m.after == nil {
			return m
		}
	}
	return nil
}

// newRequest returns the request of a reply.
func newRequest(c candidate, weight float64, r driver.Reply) *request {
	out := &request{message: *newMessage(r.Request), method: c.method, name: c.name, weight: weight}
	out.quiet = newAnswer(r.Frame.Raw.Bytes(), r.Request.ID)
	for _, values := range out.header {
		out.hasMarkedHeader = out.hasMarkedHeader || strings.Contains(strings.Join(values, "\n"), marker)
	}
	return out
}

// newMessage returns a message that was sent.
func newMessage(f *driver.Frame) *message {
	m := &message{before: bytes.Clone(f.Raw.Bytes())}
	if f.RoundTrip != nil {
		m.header = f.RoundTrip.Header.Clone()
		m.header.Del(sessionHeader)
	}
	if f.ID != nil {
		id := append([]byte(`"id":`), f.ID...)
		if at := bytes.Index(m.before, id); at >= 0 {
			m.before, m.after = m.before[:at+len(`"id":`)], m.before[at+len(id):]
		}
	}
	return m
}

// sessionHeader is the header with the id of a session.
const sessionHeader = "Mcp-Session-Id"

// connectMessages are the messages that the session began with.
func connectMessages(s *driver.Session) (all []*message) {
	handshake := []string{"initialize", "notifications/initialized"}
	for _, f := range s.FramesSince(0) {
		if f.Side == driver.FromClient && slices.Contains(handshake, f.Method) {
			all = append(all, newMessage(f))
		}
	}
	return all
}

// candidate is a request that the server may serve.
type candidate struct {
	method, name string
	params       check.M
	// changesState says that it calls a tool that may change something.
	changesState bool
}

// withSecondMarker returns its parameters with the second marker in the place of the first one.
func (c candidate) withSecondMarker() check.M {
	text, err := json.Marshal(c.params)
	if err != nil || !bytes.Contains(text, []byte(marker)) {
		return c.params
	}
	params, _ := driver.Decode(bytes.ReplaceAll(text, []byte(marker), []byte(secondMarker))).(check.M)
	return params
}

// candidates are valid requests of the methods that the server declares.
func candidates(server *check.Server, o Options) (all []candidate) {
	noOp := "ping"
	if catalogue.IsModern(server.Revision) {
		noOp = "server/discover"
	}
	all = append(all, candidate{method: noOp})
	for _, list := range []struct{ capability, method string }{
		{"tools", "tools/list"}, {"prompts", "prompts/list"}, {"resources", "resources/list"},
		{"resources", "resources/templates/list"},
	} {
		if server.Declares(list.capability) {
			all = append(all, candidate{method: list.method})
		}
	}
	for _, tool := range server.Tools {
		if args, ok := o.argumentsOf(server, tool); ok {
			name, _ := tool["name"].(string)
			all = append(all, candidate{"tools/call", name, check.M{"name": name, "arguments": args},
				!report.IsReadOnly(tool)})
		}
	}
	for _, resource := range server.Resources {
		uri, _ := resource["uri"].(string)
		all = append(all, candidate{method: "resources/read", name: uri, params: check.M{"uri": uri}})
	}
	for _, prompt := range server.Prompts {
		name, _ := prompt["name"].(string)
		arguments, _ := prompt["arguments"].([]any)
		if len(arguments) == 0 {
			all = append(all, candidate{method: "prompts/get", name: name, params: check.M{"name": name}})
			continue
		}
		argument, _ := arguments[0].(check.M)
		if server.Declares("completions") {
			all = append(all, candidate{method: "completion/complete", name: name, params: check.M{
				"ref":      check.M{"type": "ref/prompt", "name": name},
				"argument": check.M{"name": argument["name"], "value": ""},
			}})
		}
	}
	return all
}

// argumentsOf returns valid arguments of a tool that may be called, with markers in place of free texts.
func (o Options) argumentsOf(server *check.Server, tool check.M) (args check.M, ok bool) {
	name, _ := tool["name"].(string)
	example, given := o.Examples[name]
	if !o.Calls.Permit(tool, given).Valid {
		return nil, false
	}
	if given {
		return example, true
	}
	compiled, err := schemas.Compile(tool["inputSchema"], server.Revision)
	if err != nil {
		return nil, false
	}
	if args, err = schemas.ValidArguments(compiled, o.Seed); err != nil {
		return nil, false
	}
	return withMarkers(compiled, args), true
}

// withMarkers puts a marker in the place of each text that mcpcheck has made up, where the schema accepts it.
func withMarkers(s *schemas.Schema, args check.M) check.M {
	for key, value := range args {
		text, isText := value.(string)
		if !isText || !strings.Contains(text, "mcpcheck") {
			continue
		}
		args[key] = marker
		if s.Validate(jsonOf(args)) != nil {
			args[key] = text
		}
	}
	return args
}

// jsonOf returns a value as it is decoded from JSON.
func jsonOf(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		out = driver.Decode(text)
	}
	return out
}
