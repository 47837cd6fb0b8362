package http

import (
	"maps"
	"net/http"
	"slices"
	"strings"

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
		eachMethodMismatch(t, func(t *check.T, all []mismatchedRequest) {
			x := findMismatch(t, all, noVersion)
			isModern := x.isSubscription && x.isServed()
			if !x.isSubscription {
				r := x.AwaitReply()
				isModern = check.HasMember(r.Result(), "resultType") || isHeaderMismatch(r)
			}
			if !isModern && supportsLegacy(t) {
				t.Skip(check.NotOffered,
					"the server speaks older revisions, too, and may take it for one of 2025-03-26")
			}
			x.expectRefused(t)
		})
	}).WhenConnectRefused(),

	"http/version-header-mismatch": check.Probe(func(t *check.T) {
		eachVaried(t, append(versionedRequests(t, variedRequests(t)), listenRequest), requestsEach,
			func(t *check.T, request roundtrip.ManualRequest) {
				if request.Method == listenMethod {
					all := listenMismatches(t)
					for _, v := range differingVersions(t) {
						findMismatch(t, all, v.String()).expectRefusedAs(t, beRefusedVersion(t, v.String()),
							findMismatch(t, all, noVersion))
					}
					return
				}
				eachMismatch(t, versionMismatches(t, request), func(t *check.T, x mismatchedRequest) {
					invalid.SkipUnlessServerRejects(t, x.AwaitReply())
					if !isHeaderMismatch(x.AwaitReply()) && request.Method != "" {
						missing := findMismatch(t, methodMismatches(t, request), noVersion)
						if check.HasMember(missing.AwaitReply().Result(), "resultType") {
							t.Yield("it is served without the header, too")
						}
					}
					t.Expect(x).To(beRefusedVersion(t, x.Subject.Name))
					t.ExpectShould(x.AwaitReply()).To(check.Satisfy("error -32020, since the versions differ",
						func(r driver.Reply) bool {
							return !isUnsupportedVersion(r)
						}))
				})
			})
	}),

	"http/method-header-missing":        methodMismatchCheck(noMethod),
	"http/method-header-mismatch":       methodMismatchCheck(otherMethod, noMethod),
	"http/method-header-case-sensitive": methodMismatchCheck(methodInCapitals, noMethod, otherMethod),

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

	"http/name-header-missing-tools-call":      nameMismatchCheck(toolRequests, []string{noName}),
	"http/name-header-mismatch-tools-call":     nameMismatchCheck(toolRequests, otherNames, noName),
	"http/name-header-missing-resources-read":  nameMismatchCheck(resourceRequests, []string{noName}),
	"http/name-header-mismatch-resources-read": nameMismatchCheck(resourceRequests, otherNames, noName),
	"http/name-header-missing-prompts-get":     nameMismatchCheck(promptRequests, []string{noName}),
	"http/name-header-mismatch-prompts-get":    nameMismatchCheck(promptRequests, otherNames, noName),
	"http/name-header-base64-invalid": nameMismatchCheck(requestsWithName, []string{badBase64},
		noName, otherName),

	"http/method-header-invalid-characters": check.Probe(func(t *check.T) {
		request := variedRequests(t)[0]
		causes := findMismatches(t, methodMismatches(t, request), []string{noMethod, otherMethod})
		x := headerMismatches(t, request, []headerVariant{
			{"a byte beyond ASCII in Mcp-Method", roundtrip.Header(methodHeader, request.Method+"\xff")},
		})[0]
		// What compares a part of the value only takes other methods of the same beginning as well.
		x.expectRefusedAs(t, check.ReportedBy("http/method-header-mismatch", beRefusedMismatch()), causes...)
	}),

	"http/name-header-invalid-characters": check.Probe(func(t *check.T) {
		eachVaried(t, requestsBeyondASCII(t), requestsEach, func(t *check.T, request roundtrip.ManualRequest) {
			name := mcpNameOf(request)
			all := headerMismatches(t, request, []headerVariant{
				{"the name as UTF-8", roundtrip.Header(nameHeader, name)},
				{"the name as ISO 8859-1", roundtrip.Header(nameHeader, strings.ReplaceAll(name, "ü", "\xfc"))},
				{noName, roundtrip.Header(nameHeader)},
				{otherName, roundtrip.Header(nameHeader, "mcpcheck-other")},
			})
			if all[0].isUnknownMethod() {
				t.Skip(check.NotOffered, "the server does not know %s", request.Method)
			}
			for _, x := range all[:2] {
				x.expectRefused(t, all[2:]...)
			}
		})
	}),

	"http/name-header-base64": check.Probe(func(t *check.T) {
		eachVaried(t, requestsWithName(t), requestsEach, func(t *check.T, named roundtrip.ManualRequest) {
			s := t.Session()
			usual := sendValid(t, s, named)
			encoded := named
			encoded.Header = roundtrip.Header(nameHeader, encodeBase64(mcpNameOf(named)))
			expectNameTaken(t, s, "a plain name in Base64", encoded, usual)
			params := maps.Clone(named.Params)
			for member := range params {
				if name, isText := params[member].(string); isText {
					params[member] = name + "-ü"
				}
			}
			// The session encodes the name.
			expectNameTaken(t, s, "a name beyond ASCII",
				roundtrip.ManualRequest{Method: named.Method, Params: params}, driver.Reply{})
		})
	}),

	"http/name-header-not-required-elsewhere": check.Probe(func(t *check.T) {
		s := t.Session(check.Process)
		methods := append([]string{"server/discover"}, protocol.ListMethods(t.Server.Capabilities)...)
		for _, method := range methods {
			x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Header: roundtrip.Header(nameHeader)})
			r := x.AwaitReply()
			roundtrip.RequireHTTPResponse(t, x.Response())
			t.Expect(r).To(check.Satisfy(method+" served without Mcp-Name",
				func(r driver.Reply) bool { return !isHeaderMismatch(r) }))
		}
	}).WhenConnectRefused(),

	"http/header-error-code": check.Probe(func(t *check.T) {
		eachRefused(t, func(t *check.T, x mismatchedRequest) {
			t.Expect(x.AwaitReply()).To(check.BeError(errcode.HeaderMismatch))
		})
	}),
}

// expectNameTaken expects that a request with an encoded name is taken for what it is: not refused for its headers and,
// where the usual reply is a result, served.
func expectNameTaken(
	t *check.T, s *driver.Session, name string, request roundtrip.ManualRequest, usual driver.Reply,
) {
	x := roundtrip.PostRequest(s, request)
	x.AwaitReply()
	eachNamedRoundTrip(t, []roundtrip.NamedRoundTrip{roundtrip.NewNamedRoundTrip(s, name, x)},
		func(t *check.T, x roundtrip.NamedRoundTrip) {
			r := check.RequireServerReply(t, x.AwaitReply())
			roundtrip.RequireHTTPResponse(t, x.Response())
			t.Expect(r).To(check.Satisfy("it taken for the name in the body", func(r driver.Reply) bool {
				return !isHeaderMismatch(r) && (r.Result() != nil || usual.Result() == nil)
			}))
		})
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
	nearName         = "another Mcp-Name that differs at its end"
	nameInOtherCase  = "Mcp-Name in another case"
	capitalMarkers   = "Mcp-Name in Base64 with markers in capitals"
	badBase64        = "an Mcp-Name that is not Base64"
)

// otherNames are the mismatches of a header that names something else than the body.
var otherNames = []string{otherName, nearName, nameInOtherCase, capitalMarkers}

// mismatchedRequest is a request whose headers do not match its body.
type mismatchedRequest struct {
	roundtrip.NamedRoundTrip
	// validReply is the reply to the request with the right headers.
	validReply driver.Reply
	// isSubscription reports whether the request opens a stream when it is served, so that it has no reply then.
	isSubscription bool
}

// isServed reports whether a subscription was opened.
func (x mismatchedRequest) isServed() bool { return x.Response().OK() && x.Response().IsStream }

// isRefused reports whether the request is refused for its headers. A refusal like that with the right headers does not
// count.
func (x mismatchedRequest) isRefused() bool {
	if x.isSubscription {
		return !x.Response().OK()
	}
	r := x.AwaitReply()
	return r.Result() == nil && (isHeaderMismatch(r) || x.validReply.Result() != nil ||
		!protocol.SameText(x.validReply, r))
}

// isRejected reports whether the request is refused with status 400 for its headers.
func (x mismatchedRequest) isRejected() bool {
	return x.isRefused() && x.Response().StatusCode == http.StatusBadRequest
}

// expectRefused expects status 400. http/header-error-code judges the error code. It yields if the server does not
// refuse one of the causes either: mismatches of the same header that are more obvious.
func (x mismatchedRequest) expectRefused(t *check.T, causes ...mismatchedRequest) {
	x.expectRefusedAs(t, beRefusedMismatch(), causes...)
}

// expectRefusedAs is expectRefused with a matcher of its own.
func (x mismatchedRequest) expectRefusedAs(
	t *check.T, isRefused types.GomegaMatcher, causes ...mismatchedRequest,
) {
	eachMismatch(t, []mismatchedRequest{x}, func(t *check.T, x mismatchedRequest) {
		if !x.isSubscription || !x.Response().IsStream {
			invalid.SkipUnlessServerRejects(t, x.AwaitReply())
		}
		for _, cause := range causes {
			if !x.isRejected() && cause.Response().StatusCode != 0 && !cause.isRejected() {
				t.Yield("%s is not refused either", cause.Subject.Name)
			}
		}
		t.Expect(x).To(isRefused)
	})
}

// beRefusedMismatch matches requests that were refused with status 400 for their headers.
func beRefusedMismatch() types.GomegaMatcher {
	return check.Satisfy("HTTP 400, since its headers do not fit", mismatchedRequest.isRejected)
}

func (x mismatchedRequest) String() string { return x.Response().String() }

// eachMismatch runs a check on each request with a response of the server. Failures are reported under the name of the
// mismatch.
func eachMismatch(t *check.T, all []mismatchedRequest, run func(*check.T, mismatchedRequest)) {
	check.Each(t, all, func(x mismatchedRequest) check.Subject { return x.Subject },
		func(t *check.T, x mismatchedRequest) {
			roundtrip.RequireHTTPResponse(t, x.Response())
			if !x.isSubscription {
				check.RequireServerReply(t, x.AwaitReply())
			}
			run(t, x)
		})
}

// methodMismatchCheck is the check that one of the methodMismatches is refused for each method, where the causes are.
func methodMismatchCheck(what string, causes ...string) check.Check {
	return check.Probe(func(t *check.T) {
		eachMethodMismatch(t, func(t *check.T, all []mismatchedRequest) {
			findMismatch(t, all, what).expectRefused(t, findMismatches(t, all, causes)...)
		})
	})
}

// eachMethodMismatch runs a check on the methodMismatches of each method, a subscription among them.
func eachMethodMismatch(t *check.T, run func(*check.T, []mismatchedRequest)) {
	all := append(variedRequests(t), roundtrip.ManualRequest{Method: listenMethod})
	eachVaried(t, all, requestsEach, func(t *check.T, request roundtrip.ManualRequest) {
		mismatches := listenMismatches
		if request.Method != listenMethod {
			mismatches = func(t *check.T) []mismatchedRequest { return methodMismatches(t, request) }
		}
		run(t, mismatches(t))
	})
}

// nameMismatchCheck is the check that some of the nameMismatches are refused, for each of some requests, where the
// causes are. Not all names have a form in another case.
func nameMismatchCheck(of func(*check.T) []roundtrip.ManualRequest, what []string, causes ...string) check.Check {
	return check.Probe(func(t *check.T) {
		eachVaried(t, of(t), requestsEach, func(t *check.T, request roundtrip.ManualRequest) {
			all := knownNameMismatches(t, request)
			basic := findMismatches(t, all, causes)
			expectRefused := func(x mismatchedRequest) {
				x.expectRefused(t, slices.Concat(basic, sameOfCalls(t, request, x))...)
			}
			expectRefused(findMismatch(t, all, what[0]))
			for _, x := range all {
				if slices.Contains(what[1:], x.Subject.Name) {
					expectRefused(x)
				}
			}
		})
	})
}

// sameOfCalls is the same mismatch of a call of an unknown tool, where one of another method is not refused: servers
// compare the names of all methods in one place, and the checks of tools/call report that.
func sameOfCalls(t *check.T, request roundtrip.ManualRequest, x mismatchedRequest) []mismatchedRequest {
	isJudgedOnce := request.Method == "tools/call" || x.Subject.Name == badBase64
	if isJudgedOnce || x.isRejected() || !t.Server.Declares("tools") || !check.MayCallUnknown(t) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(nameMismatches(t, toolRequest(t))), func(call mismatchedRequest) bool {
		return call.isUnknownMethod() || call.Subject.Name != x.Subject.Name
	})
}

// findMismatches are the requests with mismatches of these names.
func findMismatches(t *check.T, all []mismatchedRequest, names []string) (found []mismatchedRequest) {
	for _, name := range names {
		found = append(found, findMismatch(t, all, name))
	}
	return found
}

// findMismatch is the request with a mismatch of this name.
func findMismatch(t *check.T, all []mismatchedRequest, what string) mismatchedRequest {
	i := slices.IndexFunc(all, func(x mismatchedRequest) bool { return x.Subject.Name == what })
	if i < 0 {
		t.Retry(check.Undecided, "%s was not tried", what)
	}
	return all[i]
}
