package harness

import (
	"bytes"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// recognised are the SDKs of which what was said in the sessions shows that the server is written with them.
func recognised(all []SDK, sessions []*driver.Session) (found []SDK) {
	var said [][]byte
	for _, s := range sessions {
		for _, f := range s.Record(0) {
			if text := errorText(f); text != nil {
				said = append(said, text)
			}
		}
	}
	for _, sdk := range all {
		if sdk.Wrote(said...) {
			found = append(found, sdk)
		}
	}
	return found
}

// errorText is what a frame says if it is an error of the server, be it one of the protocol, of a tool or of HTTP. What
// tools return otherwise may quote anything.
func errorText(f *driver.Frame) []byte {
	raw := f.Raw.Bytes()
	switch {
	case f.Side == driver.Status:
		return f.HTTP.Answer().Body.Bytes()
	case f.Side == driver.FromServer && (f.HasError || f.HasResult && bytes.Contains(raw, []byte(`"isError"`))):
		return raw
	}
	return nil
}

// Wrote reports whether these errors can only have been written by the SDK.
func (s SDK) Wrote(said ...[]byte) bool {
	unsaid := func(p Pattern) bool { return !slices.ContainsFunc(said, p.Match) }
	return slices.ContainsFunc(s.Says, func(t Telling) bool { return !slices.ContainsFunc(t, unsaid) })
}

// reveal draws errors from the server that tell its SDK, where a failure may come from one that nothing has told: a run
// of few checks draws none.
func (e *Execution) reveal() {
	told := recognised(e.options.SDKs, e.Sessions())
	isTold := func(d Deviation) bool { return d.of(told) != nil }
	unexplained := func(r Result) bool { return r.Deviations != nil && !slices.ContainsFunc(r.Deviations, isTold) }
	e.mu.Lock()
	wanted := slices.ContainsFunc(e.results, unexplained)
	e.mu.Unlock()
	if !wanted || e.ctx.Err() != nil || e.Problem() != "" {
		return
	}
	s, err := e.pool.Fresh()
	if err != nil {
		return
	}
	defer e.pool.Close(s)
	s.Hostile()
	for _, r := range e.revealing() {
		if !s.Await(s.Request(r.Method, r.Params)).Answered() {
			return
		}
	}
}

// revealing are the requests that SDKs answer in words of their own: for what does not exist, as a task or with a
// number for its name, and, of a tool that may be called so, without its arguments.
func (e *Execution) revealing() (requests []request) {
	requests = []request{{"mcpcheck/no-such-method", M{}}}
	if e.options.Calls == CallsNone {
		return requests
	}
	for _, tool := range e.server.Tools {
		schema, _ := tool["inputSchema"].(M)
		required, _ := schema["required"].([]any)
		if len(required) > 0 && e.options.Calls.Permit(tool, false).Invalid {
			requests = append(requests, request{"tools/call", M{"name": tool["name"], "arguments": M{}}})
			break
		}
	}
	return append(requests, request{"tools/call", M{}}, request{"tools/call", M{"name": 5}},
		request{"tools/call", M{"name": "mcpcheck_no_such_tool", "arguments": M{}, "task": M{}}})
}

// request is a method and its parameters.
type request struct {
	Method string
	Params M
}
