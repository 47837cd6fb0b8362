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

// headerMismatches sends a request with the right headers, and then with each variant. Unless all of these are refused
// for their headers, it sends the first one again: if that is not answered as before, then a limit or time may have
// made the difference, and the check ends as inconclusive.
func headerMismatches(t *check.T, request roundtrip.ManualRequest, forms []headerVariant) (all []mismatchedRequest) {
	s := t.Session(check.ForInvalidInput)
	usual := sendValid(t, s, request)
	for _, f := range forms {
		mismatched := request
		mismatched.Header = f.Header
		x := sendMismatched(t, s, mismatched)
		all = append(all, mismatchedRequest{roundtrip.NewNamedRoundTrip(s, f.Name, x), usual})
	}
	if !slices.ContainsFunc(all, func(x mismatchedRequest) bool { return !isHeaderMismatch(x.AwaitReply()) }) {
		return all
	}
	again := func() *driver.RoundTrip { return roundtrip.PostRequest(s, request) }
	twice := []*driver.RoundTrip{again(), again()} // a rate limit may admit a single one by now
	for _, x := range twice {
		if x.AwaitReply(); x.IsBusy() {
			x = roundtrip.RetryWhileBusy(s, again)
		}
		now := requireValidReply(t, s, request, x)
		if !protocol.SameKind(usual, now) || usual.IsFailure() && !protocol.SameText(usual, now) {
			t.Retry(check.Undecided, "the request with the right headers is answered in two ways: %s, then %s",
				check.Got(usual),
				check.Got(now))
		}
	}
	return all
}

// sendMismatched sends a request that is to be refused for its headers. If the server is busy with another request, it
// sends it again.
func sendMismatched(t *check.T, s *driver.Session, mismatched roundtrip.ManualRequest) *driver.RoundTrip {
	x := roundtrip.PostRequest(s, mismatched)
	if skipUnlessRejected(t, s, x); x.IsBusy() {
		x = roundtrip.RetryWhileBusy(s, func() *driver.RoundTrip { return roundtrip.PostRequest(s, mismatched) })
	}
	return x
}

// skipUnlessRejected is the reply to a request that may be refused. It ends a check where the server leaves such
// requests unanswered.
func skipUnlessRejected(t *check.T, s *driver.Session, x *driver.RoundTrip) driver.Reply {
	r := invalid.AwaitInvalidRoundTrip(t, s, x)
	if !r.Answered() {
		invalid.SkipUnlessServerRejects(t, r)
	}
	return r
}

// sendValid sends a request with the right headers. It ends a check that can learn nothing from the reply.
func sendValid(t *check.T, s *driver.Session, request roundtrip.ManualRequest) driver.Reply {
	return requireValidReply(t, s, request, roundtrip.PostRequest(s, request))
}

// requireValidReply is the reply to a request with the right headers, for sendValid.
func requireValidReply(
	t *check.T, s *driver.Session, request roundtrip.ManualRequest, x *driver.RoundTrip,
) driver.Reply {
	r := check.RequireServerReply(t, skipUnlessRejected(t, s, x))
	roundtrip.RequireNotFromIntermediary(t, x.Response())
	if r.Err != nil {
		t.Retry(check.Silent, "the request has no answer with the right headers either: %v", r.Err)
	}
	if isHeaderMismatch(r) {
		t.Retry(check.Undecided, "the request is refused with the right headers, too: %s", check.Got(r))
	}
	if request.Method == "tools/call" {
		toolcall.RequireNotRateLimited(t, s, r)
	}
	return r
}

// listMismatches are mismatches of an ordinary request.
func listMismatches(t *check.T) []mismatchedRequest {
	return check.Step(t, "headers that do not fit", func(t *check.T) []mismatchedRequest {
		method, params := protocol.OrdinaryRequest(t, t.Session(check.ForInvalidInput))
		return headerMismatches(t, roundtrip.ManualRequest{Method: method, Params: params}, []headerVariant{
			{noVersion, roundtrip.Header(roundtrip.VersionHeader)},
			{noMethod, roundtrip.Header(methodHeader)},
			{otherMethod, roundtrip.Header(methodHeader, "prompts/get")},
			{methodInCapitals, roundtrip.Header(methodHeader, strings.ToUpper(method))},
		})
	})
}

// toolMismatches are mismatches of a call of an unknown tool, so that a server that serves them does no harm.
func toolMismatches(t *check.T) []mismatchedRequest {
	invalid.RequireCallsAllowed(t)
	return knownNameMismatches(t, toolRequest(t))
}

// resourceMismatches are mismatches of reading a listed resource or, without one, an unknown resource.
func resourceMismatches(t *check.T) []mismatchedRequest {
	return knownNameMismatches(t, resourceRequest(t))
}

// promptMismatches are mismatches of an unknown prompt.
func promptMismatches(t *check.T) []mismatchedRequest {
	return knownNameMismatches(t, promptRequest(t))
}

// knownNameMismatches are nameMismatches of a method that the server knows. It ends a check when the server does not.
func knownNameMismatches(t *check.T, request roundtrip.ManualRequest) []mismatchedRequest {
	all := nameMismatches(t, request)
	if all[0].isUnknownMethod() {
		t.Skip(check.NotOffered, "the server does not know %s", request.Method)
	}
	return all
}

// nameMismatches are mismatches of the header Mcp-Name of a request.
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

// namedRequest is a request with a name that the server declares. It ends a check when there is none.
func namedRequest(t *check.T) roundtrip.ManualRequest {
	switch {
	case t.Server.Declares("tools") && check.MayCallUnknown(t):
		return toolRequest(t)
	case t.Server.Declares("prompts"):
		return promptRequest(t)
	case t.Server.Declares("resources"):
		return resourceRequest(t)
	}
	t.Skip(check.NotOffered, "the server has nothing with a name: no tools, prompts or resources")
	return roundtrip.ManualRequest{}
}

// mcpNameOf is the value of Mcp-Name for a request.
func mcpNameOf(r roundtrip.ManualRequest) string {
	if uri, ok := r.Params["uri"].(string); ok {
		return uri
	}
	name, _ := r.Params["name"].(string)
	return name
}

// encodeBase64 encodes the value of a header, whether it needs that or not.
func encodeBase64(value string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// allMismatches are all mismatches that can be tested. A request without a version is left out where it may be one of a
// legacy revision.
func allMismatches(t *check.T) []mismatchedRequest {
	all := standardHeaderMismatches(t)
	if _, none := findArgument(t, argument.isAny); none == nil {
		all = append(all, slices.DeleteFunc(argumentMismatches(t), mismatchedRequest.isUnknownMethod)...)
	}
	return all
}

// standardHeaderMismatches are the mismatches of the headers that every modern server knows.
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
	s := t.Session(check.ForInvalidInput)
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
