package check

import (
	"bytes"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// recognisedSDKs are the SDKs of which what was said in the sessions shows that the server is written with them.
func recognisedSDKs(all []catalogue.SDK, sessions []*driver.Session) (found []catalogue.SDK) {
	var said [][]byte
	for _, s := range sessions {
		for _, f := range s.FramesSince(0) {
			if text := errorText(f); text != nil {
				said = append(said, text)
			}
		}
	}
	for _, sdk := range all {
		if sdk.Matches(said...) {
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
	case f.Side == driver.StatusOnly:
		return f.RoundTrip.Response().Body.Bytes()
	case f.Side == driver.FromServer && (f.HasError || f.HasResult && bytes.Contains(raw, []byte(`"isError"`))):
		return raw
	}
	return nil
}

// probeSDK draws errors from the server that tell its SDK, where a failure may come from one that nothing has told: a
// run of few checks draws none.
func (e *Execution) probeSDK() {
	told := recognisedSDKs(e.options.SDKs, e.Sessions())
	isTold := func(d catalogue.Deviation) bool { return d.SdkIn(told) != nil }
	unexplained := func(r report.Result) bool {
		return r.Deviations != nil &&
			!slices.ContainsFunc(r.Deviations, isTold)
	}
	e.mu.Lock()
	wanted := slices.ContainsFunc(e.results, unexplained)
	e.mu.Unlock()
	if !wanted || e.ctx.Err() != nil || e.Problem() != "" {
		return
	}
	s, err := e.pool.GetUnused()
	if err != nil {
		return
	}
	defer e.pool.CloseSession(s)
	s.MarkInvalidInput()
	for _, r := range e.sdkProbes() {
		if !s.Await(s.Request(r.Method, r.Params)).Answered() {
			return
		}
	}
}

// sdkProbes are the requests that SDKs answer in words of their own: for what does not exist, as a task or with a
// number for its name, and, of a tool that may be called so, without its arguments.
func (e *Execution) sdkProbes() (requests []sdkProbe) {
	requests = []sdkProbe{{"mcpcheck/no-such-method", M{}}}
	if e.options.Calls == report.CallsNone {
		return requests
	}
	for _, tool := range e.server.Tools {
		schema, _ := tool["inputSchema"].(M)
		required, _ := schema["required"].([]any)
		if len(required) > 0 && e.options.Calls.Permit(tool, false).Invalid {
			requests = append(requests, sdkProbe{"tools/call", M{"name": tool["name"], "arguments": M{}}})
			break
		}
	}
	return append(requests, sdkProbe{"tools/call", M{}}, sdkProbe{"tools/call", M{"name": 5}},
		sdkProbe{"tools/call", M{"name": "mcpcheck_no_such_tool", "arguments": M{}, "task": M{}}})
}

// sdkProbe is a method and its parameters.
type sdkProbe struct {
	Method string
	Params M
}

// deviations are those that explain every finding of a failure, those that its message leaves out included: then it may
// come from their SDKs. Nothing explains a failure without findings.
func (e *Execution) deviations(c Case, o outcome) (explain []catalogue.Deviation) {
	findings := slices.Concat(o.findings, o.omittedFindings)
	if o.verdict != catalogue.Fail || len(e.options.SDKs) == 0 || len(findings) == 0 {
		return nil
	}
	for _, d := range c.SDKs {
		if !slices.ContainsFunc(findings, func(f report.Finding) bool { return !d.Got.MatchString(f.Got) }) {
			explain = append(explain, d)
		}
	}
	return explain
}

// withSDK names in a failure the SDK that it comes from, if the server is written with one of those that it may come
// from. This is decided at the end of a run, when all is known that the server says. The failure stays what it is; it
// gates only if the profile or the operator wants that.
func (e *Execution) withSDK(r report.Result) report.Result {
	for _, d := range r.Deviations {
		sdk := d.SdkIn(e.sdks())
		if sdk == nil {
			continue
		}
		r.SDK = &report.SDKInfo{ID: d.SDK, Name: sdk.Name, Versions: d.Versions, Issue: d.Issue}
		r.Fix = "Nothing in your code. " + d.Fix
		if e.options.Profile.IgnoresKnownDeviations() && !e.options.GateSDKs {
			r.Gates, r.GatedBy = false, catalogue.NoGate
		}
		break
	}
	return r
}
