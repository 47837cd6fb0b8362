package http

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// headerMismatches makes a request with the right headers, and then with those of each form. Unless all of these are
// refused for their headers, the first one is made once more: where that is not answered as before, then a limit, or
// time, may have made the answers, and the check ends as inconclusive.
func headerMismatches(t *check.T, request roundtrip.ManualRequest, forms []headerVariant) (all []mismatchedRequest) {
	s := t.SessionForInvalidInput()
	usual := sendValid(t, s, request)
	for _, f := range forms {
		odd := request
		odd.Header = f.Header
		all = append(all, mismatchedRequest{roundtrip.NewNamedRoundTrip(s, f.Name, sendMismatched(t, s, odd)), usual})
	}
	if !slices.ContainsFunc(all, func(x mismatchedRequest) bool { return !isHeaderMismatch(x.AwaitReply()) }) {
		return all
	}
	again := func() *driver.RoundTrip { return roundtrip.PostRequest(s, request) }
	twice := []*driver.RoundTrip{again(), again()} // a limit may take one by now
	for _, x := range twice {
		if x.AwaitReply(); x.IsBusy() {
			x = roundtrip.RetryWhileBusy(s, again)
		}
		now := requireValidReply(t, s, request, x)
		if !protocol.SameKind(usual, now) || usual.IsFailure() && !protocol.SameText(usual, now) {
			t.Retry("the request with the right headers is answered in two ways: %s, then %s", check.Got(usual),
				check.Got(now))
		}
	}
	return all
}

// sendMismatched makes a request that is to be refused for its headers; where it is refused because of another request,
// then in its turn.
func sendMismatched(t *check.T, s *driver.Session, odd roundtrip.ManualRequest) *driver.RoundTrip {
	x := roundtrip.PostRequest(s, odd)
	if skipUnlessRejected(t, s, x); x.IsBusy() {
		x = roundtrip.RetryWhileBusy(s, func() *driver.RoundTrip { return roundtrip.PostRequest(s, odd) })
	}
	return x
}

// skipUnlessRejected is the answer to a request that may be refused. It ends a check where the server leaves that
// unanswered.
func skipUnlessRejected(t *check.T, s *driver.Session, x *driver.RoundTrip) driver.Reply {
	r := invalid.AwaitInvalidRoundTrip(t, s, x)
	if !r.Answered() {
		invalid.SkipUnlessServerRejects(t, r)
	}
	return r
}

// sendValid makes a request with the right headers. It ends a check that can learn nothing from what it brings.
func sendValid(t *check.T, s *driver.Session, request roundtrip.ManualRequest) driver.Reply {
	return requireValidReply(t, s, request, roundtrip.PostRequest(s, request))
}

// requireValidReply is the answer to a request that was made with the right headers, as sendValid wants it.
func requireValidReply(
	t *check.T, s *driver.Session, request roundtrip.ManualRequest, x *driver.RoundTrip,
) driver.Reply {
	r := check.RequireServerReply(t, skipUnlessRejected(t, s, x))
	roundtrip.RequireNotFromIntermediary(t, x.Response())
	if r.Err != nil {
		t.WithReason(check.Silent).Retry("the request has no answer with the right headers either: %v", r.Err)
	}
	if isHeaderMismatch(r) {
		t.Retry("the request is refused with the right headers, too: %s", check.Got(r))
	}
	if request.Method == "tools/call" {
		toolcall.RequireNotRateLimited(t, s, r)
	}
	return r
}

// listMismatches are those of an ordinary request.
func listMismatches(t *check.T) []mismatchedRequest {
	return check.Step(t, "headers that do not fit", func(t *check.T) []mismatchedRequest {
		method, params := protocol.OrdinaryRequest(t, t.SessionForInvalidInput())
		return headerMismatches(t, roundtrip.ManualRequest{Method: method, Params: params}, []headerVariant{
			{noVersion, roundtrip.Header(roundtrip.VersionHeader)},
			{noMethod, roundtrip.Header(methodHeader)},
			{otherMethod, roundtrip.Header(methodHeader, "prompts/get")},
			{methodInCapitals, roundtrip.Header(methodHeader, strings.ToUpper(method))},
		})
	})
}

// toolMismatches are those of a call of an unknown tool: whoever serves it has no harm done.
func toolMismatches(t *check.T) []mismatchedRequest {
	invalid.RequireCallsAllowed(t)
	return knownNameMismatches(t, toolRequest(t))
}

// resourceMismatches are those of a listed resource or, where none is listed, of an unknown one.
func resourceMismatches(t *check.T) []mismatchedRequest {
	return knownNameMismatches(t, resourceRequest(t))
}

// promptMismatches are those of an unknown prompt.
func promptMismatches(t *check.T) []mismatchedRequest {
	return knownNameMismatches(t, promptRequest(t))
}

// knownNameMismatches are those of a request that is about something with a name. It ends a check of what the server
// does not have.
func knownNameMismatches(t *check.T, request roundtrip.ManualRequest) []mismatchedRequest {
	all := nameMismatches(t, request)
	if all[0].isUnknownMethod() {
		t.WithReason(check.NotOffered).Skip("the server does not know %s", request.Method)
	}
	return all
}

// nameMismatches are knownNameMismatches of whatever server.
func nameMismatches(t *check.T, request roundtrip.ManualRequest) []mismatchedRequest {
	return check.Step(t, "names that do not fit: "+request.Method, func(t *check.T) []mismatchedRequest {
		return headerMismatches(t, request, []headerVariant{
			{noName, roundtrip.Header(nameHeader)},
			{otherName, roundtrip.Header(nameHeader, "mcpcheck-other")},
			{badBase64, roundtrip.Header(nameHeader, "=?base64?!!!?=")},
		})
	})
}

// isUnknownMethod reports whether the server does not know the method.
func (x mismatchedRequest) isUnknownMethod() bool {

	code, _ := x.validReply.Code()
	return code == errcode.MethodNotFound
}

func toolRequest(t *check.T) roundtrip.ManualRequest {
	return roundtrip.ManualRequest{Method: "tools/call",
		Params: check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}}}
}

func resourceRequest(t *check.T) roundtrip.ManualRequest {
	uri := "test://mcpcheck-unknown"
	if len(t.Server.Resources) > 0 {
		if listed, ok := t.Server.Resources[0]["uri"].(string); ok {
			uri = listed
		}
	}
	return roundtrip.ManualRequest{Method: "resources/read", Params: check.M{"uri": uri}}
}

func promptRequest(t *check.T) roundtrip.ManualRequest {
	return roundtrip.ManualRequest{Method: "prompts/get", Params: check.M{"name": "mcpcheck_no_such_prompt"}}
}

// namedRequest is one of them that the server may be asked; it ends a check that wants one where there is none.
func namedRequest(t *check.T) roundtrip.ManualRequest {
	switch {
	case t.Server.Declares("tools") && check.MayCallUnknown(t):
		return toolRequest(t)
	case t.Server.Declares("prompts"):
		return promptRequest(t)
	case t.Server.Declares("resources"):
		return resourceRequest(t)
	}
	t.WithReason(check.NotOffered).Skip("the server has nothing with a name: no tools, prompts or resources")
	return roundtrip.ManualRequest{}
}

// mcpNameOf is what a request is about, which stands in Mcp-Name.
func mcpNameOf(r roundtrip.ManualRequest) string {
	if uri, ok := r.Params["uri"].(string); ok {
		return uri
	}
	name, _ := r.Params["name"].(string)
	return name
}

// encodeBase64 is a value of a header as it is encoded, whether it needs to be or not.
func encodeBase64(value string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// allMismatches are all that can be tried, but for what may be a request of an older revision.
func allMismatches(t *check.T) []mismatchedRequest {
	all := standardHeaderMismatches(t)
	if _, none := findArgument(t, argument.isAny); none == nil {
		all = append(all, slices.DeleteFunc(argumentMismatches(t), mismatchedRequest.isUnknownMethod)...)
	}
	return all
}

// standardHeaderMismatches are those of the headers that every server knows.
func standardHeaderMismatches(t *check.T) (all []mismatchedRequest) {
	all = slices.Concat(listMismatches(t), versionMismatches(t))
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		all = append(all, nameMismatches(t, toolRequest(t))...)
	}
	if t.Server.Declares("resources") {
		all = append(all, nameMismatches(t, resourceRequest(t))...)
	}
	if t.Server.Declares("prompts") {
		all = append(all, nameMismatches(t, promptRequest(t))...)
	}
	return slices.DeleteFunc(all, func(x mismatchedRequest) bool {
		return x.isUnknownMethod() || x.Subject.Name == noVersion && supportsLegacy(t)
	})
}

// versionMismatches are requests that name one version in the header and another one in the body.
func versionMismatches(t *check.T) []mismatchedRequest {
	return check.Step(t, "versions that differ", sendVersionMismatches)
}

func sendVersionMismatches(t *check.T) (all []mismatchedRequest) {
	const unknown = "2099-01-01"
	s := t.SessionForInvalidInput()
	usual := check.RequestNoOp(t, s)
	for _, v := range []struct{ header, body string }{
		{t.Revision, unknown}, {unknown, t.Revision}, {catalogue.NewestLegacy, t.Revision},
	} {
		x := sendMismatched(t, s, roundtrip.ManualRequest{
			Params: check.M{"_meta": check.M{driver.MetaRevision: v.body}}, Method: "server/discover",
			Header: roundtrip.Header(roundtrip.VersionHeader, v.header),
		})
		what := "version " + v.header + " in the header and " + v.body + " in the body"
		all = append(all, mismatchedRequest{roundtrip.NewNamedRoundTrip(s, what, x), usual})
	}
	return all
}
