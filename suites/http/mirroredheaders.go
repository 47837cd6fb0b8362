package http

import (
	"maps"
	"net/http"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// Headers that mirror the body of a modern request, besides the one of the version.
const (
	methodHeader      = "Mcp-Method"
	nameHeader        = "Mcp-Name"
	paramHeaderPrefix = "Mcp-Param-" // followed by the name in the schema of a tool
)

// mirroredHeaderChecks are the checks of these headers.
var mirroredHeaderChecks = check.Suite{
	"http/version-header-required": check.Probe(func(t *check.T) {
		x := findMismatch(t, listMismatches(t), noVersion)
		r := x.AwaitReply()
		isModern := check.HasMember(r.Result(), "resultType") || isHeaderMismatch(r)
		if !isModern && supportsLegacy(t) {
			t.Skip(check.NotOffered, "the server speaks older revisions, too, and may take it for one of 2025-03-26")
		}
		x.expectRefused(t)
	}).WhenConnectRefused(),

	"http/version-header-mismatch": check.Probe(func(t *check.T) {
		eachMismatch(t, versionMismatches(t), func(t *check.T, x mismatchedRequest) {
			invalid.SkipUnlessServerRejects(t, x.AwaitReply())
			t.Expect(x).To(beRefusedMismatch())
			t.ExpectShould(x.AwaitReply()).To(check.Satisfy("error -32020, since the versions differ",
				func(r driver.Reply) bool {
					return !isUnsupportedVersion(r)
				}))
		})
	}),

	"http/method-header-missing":        mismatchCheck(listMismatches, noMethod),
	"http/method-header-mismatch":       mismatchCheck(listMismatches, otherMethod),
	"http/method-header-case-sensitive": mismatchCheck(listMismatches, methodInCapitals),

	"http/header-name-case-insensitive": check.Probe(func(t *check.T) {
		method, params := protocol.OrdinaryRequest(t, t.Session())
		compareRequest(t, roundtrip.ManualRequest{Method: method, Params: params}, []headerVariant{
			{"lower case", http.Header{"mcp-method": {method}, "mcp-protocol-version": {t.Revision}}},
			{"capitals", http.Header{"MCP-METHOD": {method}, "MCP-PROTOCOL-VERSION": {t.Revision}}},
		})
	}),

	"http/header-ows-trimmed": check.Probe(func(t *check.T) {
		method, params := protocol.OrdinaryRequest(t, t.Session())
		compareRequest(t, roundtrip.ManualRequest{Method: method, Params: params}, []headerVariant{
			{"white space",
				http.Header{methodHeader: {" \t" + method + "\t "}, roundtrip.VersionHeader: {t.Revision + " "}}},
		})
	}),

	"http/name-header-missing-tools-call":      mismatchCheck(toolMismatches, noName),
	"http/name-header-mismatch-tools-call":     mismatchCheck(toolMismatches, otherName),
	"http/name-header-missing-resources-read":  mismatchCheck(resourceMismatches, noName),
	"http/name-header-mismatch-resources-read": mismatchCheck(resourceMismatches, otherName),
	"http/name-header-missing-prompts-get":     mismatchCheck(promptMismatches, noName),
	"http/name-header-mismatch-prompts-get":    mismatchCheck(promptMismatches, otherName),
	"http/name-header-base64-invalid":          mismatchCheck(toolMismatches, badBase64),

	"http/name-header-base64": check.Probe(func(t *check.T) {
		named := namedRequest(t)
		s := t.Session()
		sendValid(t, s, named)
		encoded := roundtrip.PostRequest(s, roundtrip.ManualRequest{
			Method: named.Method, Params: named.Params,
			Header: roundtrip.Header(nameHeader, encodeBase64(mcpNameOf(named))),
		})
		params := maps.Clone(named.Params)
		for member := range params {
			if name, isText := params[member].(string); isText {
				params[member] = name + "-ü"
			}
		}
		// The session encodes the name.
		foreign := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: named.Method, Params: params})
		roundtrip.EachNamedRoundTrip(t, []roundtrip.NamedRoundTrip{
			roundtrip.NewNamedRoundTrip(s, "a plain name in Base64", encoded),
			roundtrip.NewNamedRoundTrip(s, "a name beyond ASCII",
				foreign),
		}, func(t *check.T, x roundtrip.NamedRoundTrip) {
			r := check.RequireServerReply(t, x.AwaitReply())
			roundtrip.RequireHTTPResponse(t, x.Response())
			t.Expect(r).To(check.Satisfy("it taken for the name in the body", func(r driver.Reply) bool {
				return !isHeaderMismatch(r)
			}))
		})
	}),

	"http/name-header-not-required-elsewhere": check.Probe(func(t *check.T) {
		s := t.Session(check.Process)
		for _, method := range append([]string{"server/discover"}, protocol.ListMethods(t.Server.Capabilities)...) {
			x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Header: roundtrip.Header(nameHeader)})
			r := x.AwaitReply()
			roundtrip.RequireHTTPResponse(t, x.Response())
			t.Expect(r).To(check.Satisfy(method+" served without Mcp-Name",
				func(r driver.Reply) bool { return !isHeaderMismatch(r) }))
		}
	}).WhenConnectRefused(),

	"http/header-error-code": check.Probe(func(t *check.T) {
		var refused []mismatchedRequest
		for _, x := range allMismatches(t) {
			if x.isRefused() && x.Response().StatusCode == http.StatusBadRequest &&
				!isUnsupportedVersion(x.AwaitReply()) {
				refused = append(refused, x)
			}
		}
		if len(refused) == 0 {
			t.Skip(check.NotObserved, "no request was refused for its headers")
		}
		eachMismatch(t, refused, func(t *check.T, x mismatchedRequest) {
			t.Expect(x.AwaitReply()).To(check.BeError(errcode.HeaderMismatch))
		})
	}),
}

// isHeaderMismatch reports whether a request was refused for its headers.
func isHeaderMismatch(r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.HeaderMismatch
}

// isUnsupportedVersion reports whether a request was refused for its version.
func isUnsupportedVersion(r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.UnsupportedProtocolVersion
}

// Names of mismatches.
const (
	noVersion        = "no Mcp-Protocol-Version"
	noMethod         = "no Mcp-Method"
	otherMethod      = "another Mcp-Method"
	methodInCapitals = "Mcp-Method in capitals"
	noName           = "no Mcp-Name"
	otherName        = "another Mcp-Name"
	badBase64        = "an Mcp-Name that is not Base64"
)

// mismatchedRequest is a request whose headers do not match its body.
type mismatchedRequest struct {
	roundtrip.NamedRoundTrip
	// validReply is the reply to the request with the right headers.
	validReply driver.Reply
}

// isRefused reports whether the request is refused for its headers. A refusal like that with the right headers does not
// count.
func (x mismatchedRequest) isRefused() bool {
	r := x.AwaitReply()
	return r.Result() == nil && (isHeaderMismatch(r) || x.validReply.Result() != nil ||
		!protocol.SameText(x.validReply, r))
}

// expectRefused expects status 400. http/header-error-code judges the error code.
func (x mismatchedRequest) expectRefused(t *check.T) {
	eachMismatch(t, []mismatchedRequest{x}, func(t *check.T, x mismatchedRequest) {
		invalid.SkipUnlessServerRejects(t, x.AwaitReply())
		t.Expect(x).To(beRefusedMismatch())
	})
}

// beRefusedMismatch matches requests that were refused with status 400 for their headers.
func beRefusedMismatch() types.GomegaMatcher {
	return check.Satisfy("HTTP 400, since its headers do not fit", func(x mismatchedRequest) bool {
		return x.isRefused() && x.Response().StatusCode == http.StatusBadRequest
	})
}

func (x mismatchedRequest) String() string { return x.Response().String() }

// eachMismatch runs a check on each request with a response of the server. Failures are reported under the name of the
// mismatch.
func eachMismatch(t *check.T, all []mismatchedRequest, run func(*check.T, mismatchedRequest)) {
	check.Each(t, all, func(x mismatchedRequest) check.Subject { return x.Subject },
		func(t *check.T, x mismatchedRequest) {
			roundtrip.RequireHTTPResponse(t, x.Response())
			check.RequireServerReply(t, x.AwaitReply())
			run(t, x)
		})
}

// mismatchCheck is the check that one of several mismatches is refused.
func mismatchCheck(among func(*check.T) []mismatchedRequest, what string) check.Check {
	return check.Probe(func(t *check.T) {
		findMismatch(t, among(t), what).expectRefused(t)
	})
}

// findMismatch is the request with a mismatch of this name.
func findMismatch(t *check.T, all []mismatchedRequest, what string) mismatchedRequest {
	i := slices.IndexFunc(all, func(x mismatchedRequest) bool { return x.Subject.Name == what })
	if i < 0 {
		t.Retry(check.Undecided, "%s was not tried", what)
	}
	return all[i]
}
