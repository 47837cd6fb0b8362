package engine

import (
	"bytes"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// recognisedSDKs returns the SDKs whose error texts occur in the sessions.
func recognisedSDKs(all []catalogue.SDK, sessions []*driver.Session) (found []catalogue.SDK) {
	var texts [][]byte
	for _, s := range sessions {
		for _, f := range s.FramesSince(0) {
			if text := errorText(f); text != nil {
				texts = append(texts, text)
			}
		}
	}
	for _, sdk := range all {
		if sdk.Matches(texts...) {
			found = append(found, sdk)
		}
	}
	return found
}

// errorText returns the text of a frame that is an error of the server: of the protocol, of a tool or of HTTP; nil for
// other frames. Other results of tools are not considered, since they may quote anything.
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

// probeSDK sends requests whose errors reveal the server's SDK, if a failure may come from an SDK that was not
// recognised yet: a run of few checks may have caused no error before.
func (e *Execution) probeSDK() {
	known := recognisedSDKs(e.options.SDKs, e.Sessions())
	unexplained := func(r report.Result) bool { return r.Deviations != nil && firstKnown(r.Deviations, known) == nil }
	e.mu.Lock()
	wanted := slices.ContainsFunc(e.results, unexplained)
	e.mu.Unlock()
	if !wanted || e.ctx.Err() != nil || e.Problem() != "" {
		return
	}
	s, err := e.run.Pool.GetUnused()
	if err != nil {
		return
	}
	defer e.run.Pool.CloseSession(s)
	s.MarkInvalidInput()
	for _, r := range e.sdkProbes() {
		if !s.Await(s.Request(r.Method, r.Params)).Answered() {
			return
		}
	}
}

// sdkProbes are the requests that SDKs answer with texts of their own: for an unknown method, for an unknown tool, as a
// task, or with a number for its name, and for a tool that may be called so, without its arguments.
func (e *Execution) sdkProbes() (requests []sdkProbe) {
	requests = []sdkProbe{{"mcpcheck/no-such-method", check.M{}}}
	if e.options.Calls == report.CallsNone {
		return requests
	}
	for _, tool := range e.server.Tools {
		schema, _ := tool["inputSchema"].(check.M)
		required, _ := schema["required"].([]any)
		if len(required) > 0 && e.options.Calls.Permit(tool, false).Invalid {
			requests = append(requests, sdkProbe{"tools/call", check.M{"name": tool["name"], "arguments": check.M{}}})
			break
		}
	}
	return append(requests, sdkProbe{"tools/call", check.M{}}, sdkProbe{"tools/call", check.M{"name": 5}},
		sdkProbe{"tools/call", check.M{"name": "mcpcheck_no_such_tool", "arguments": check.M{}, "task": check.M{}}})
}

// sdkProbe is a method with its parameters.
type sdkProbe struct {
	Method string
	Params check.M
}

// deviations returns the known deviations of SDKs that explain every finding of a failure, including those that its
// message omits. A failure without findings is not explained by any.
func (e *Execution) deviations(c Case, o attempt.Outcome) (explain []catalogue.Deviation) {
	findings := slices.Concat(o.Findings, o.OmittedFindings)
	if o.Verdict != catalogue.Fail || len(e.options.SDKs) == 0 || len(findings) == 0 {
		return nil
	}
	for _, d := range c.SDKs {
		if !slices.ContainsFunc(findings, func(f report.Finding) bool { return !d.Got.MatchString(f.Got) }) {
			explain = append(explain, d)
		}
	}
	return explain
}

// firstKnown returns the SDK, one of those that were recognised, with the first of the deviations that one of them has;
// nil when there is none.
func firstKnown(all []catalogue.Deviation, recognised []catalogue.SDK) *catalogue.SDK {
	for _, d := range all {
		if sdk := d.SdkIn(recognised); sdk != nil {
			return sdk
		}
	}
	return nil
}

// withSDK names the SDK that a failure comes from, if the server uses one of the SDKs that may cause it. That is
// decided at the end of a run, when everything that the server sends is known. The result remains a fail, which blocks
// only under some profiles or with GateSDKs.
func (e *Execution) withSDK(r report.Result) report.Result {
	for _, d := range r.Deviations {
		sdk := d.SdkIn(e.sdks())
		if sdk == nil {
			continue
		}
		r.SDK = &report.SDKInfo{ID: d.SDK, Name: sdk.Name, Versions: d.Versions, Issue: d.Issue}
		r.Fix = "Nothing in your code. " + d.Fix
		if e.options.ignoresKnownDeviations() {
			r.Gates, r.GatedBy = false, catalogue.NoGate
		}
		break
	}
	return r
}
