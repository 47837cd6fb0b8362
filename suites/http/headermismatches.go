package http

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
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
		all = append(all, mismatchedRequest{NamedRoundTrip: roundtrip.NewNamedRoundTrip(s, f.Name, x),
			validReply: usual})
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
	r := invalid.AwaitInvalid(t, s, x.Pending(), x.AwaitReply)
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

// variedRequests are the requests whose headers are varied: an ordinary one, and one of each other method that the
// server serves.
func variedRequests(t *check.T) []roundtrip.ManualRequest {
	method, params := protocol.OrdinaryRequest(t, t.Session(check.ForInvalidInput))
	all := []roundtrip.ManualRequest{{Method: method, Params: params}}
	for _, valid := range requests.Valid(t) {
		if valid.Method != method {
			all = append(all, roundtrip.ManualRequest{Method: valid.Method, Params: valid.Params})
		}
	}
	return all
}

// eachVaried runs a check on each of the requests for which the server has time, when it is sent so many times.
func eachVaried(
	t *check.T, all []roundtrip.ManualRequest, times int, run func(*check.T, roundtrip.ManualRequest),
) {
	subject := func(r roundtrip.ManualRequest) check.Subject { return check.NamedSubject(nameOf(r)) }
	check.Each(t, requests.Affordable(t, all, times), subject, run)
}

// nameOf names a request by its method and what it names.
func nameOf(r roundtrip.ManualRequest) string {
	return strings.TrimSpace(r.Method + " " + mcpNameOf(r))
}

// requestsEach is how many requests the mismatches of one request take.
const requestsEach = 5

// methodMismatches are mismatches of the headers that every request has.
func methodMismatches(t *check.T, request roundtrip.ManualRequest) []mismatchedRequest {
	return check.Step(t, "headers that do not fit: "+request.Method, func(t *check.T) []mismatchedRequest {
		other := "prompts/get"
		if request.Method == other {
			other = "prompts/list"
		}
		return headerMismatches(t, request, []headerVariant{
			{noVersion, roundtrip.Header(roundtrip.VersionHeader)},
			{noMethod, roundtrip.Header(methodHeader)},
			{otherMethod, roundtrip.Header(methodHeader, other)},
			{methodInCapitals, roundtrip.Header(methodHeader, strings.ToUpper(request.Method))},
		})
	})
}

// listenMismatches are mismatches of subscriptions/listen, which opens a stream when it is served. It ends a check when
// the server does not serve it.
func listenMismatches(t *check.T) []mismatchedRequest {
	return check.Step(t, "headers of a subscription that do not fit", func(t *check.T) (all []mismatchedRequest) {
		s := t.Session(check.ForInvalidInput)
		open := func(header http.Header, params check.M) *driver.RoundTrip {
			x := roundtrip.RetryWhileBusy(s, func() *driver.RoundTrip {
				return roundtrip.PostRequest(s,
					roundtrip.ManualRequest{Method: listenMethod, Params: params, Header: header})
			})
			awaitHeaders(x)
			return x
		}
		if usual := open(nil, listenRequest.Params).Response(); !usual.OK() || !usual.IsStream {
			t.Skip(check.NotOffered, "%s opens no stream: %s", listenMethod, usual)
		}
		add := func(name string, header http.Header, params check.M) {
			all = append(all, mismatchedRequest{isSubscription: true,
				NamedRoundTrip: roundtrip.NewNamedRoundTrip(s, name, open(header, params))})
		}
		for _, f := range []headerVariant{
			{noVersion, roundtrip.Header(roundtrip.VersionHeader)},
			{noMethod, roundtrip.Header(methodHeader)},
			{otherMethod, roundtrip.Header(methodHeader, "prompts/get")},
			{methodInCapitals, roundtrip.Header(methodHeader, strings.ToUpper(listenMethod))},
		} {
			add(f.Name, f.Header, listenRequest.Params)
		}
		for _, v := range differingVersions(t) {
			add(v.String(), roundtrip.Header(roundtrip.VersionHeader, v.header), v.params(listenRequest.Params))
		}
		return all
	})
}

const listenMethod = "subscriptions/listen"

// nameRequests are requests with a name that nothing has, so that a server that serves them does no harm, and with one
// that the server serves.
func nameRequests(t *check.T, unknown roundtrip.ManualRequest) []roundtrip.ManualRequest {
	all := []roundtrip.ManualRequest{unknown}
	for _, valid := range requests.Valid(t) {
		if known := (roundtrip.ManualRequest{Method: valid.Method, Params: valid.Params}); valid.Method ==
			unknown.Method && mcpNameOf(known) != mcpNameOf(unknown) {
			all = append(all, known)
		}
	}
	return all
}

// toolRequests are calls of a tool that does not exist, and of one that does.
func toolRequests(t *check.T) []roundtrip.ManualRequest {
	invalid.RequireCallsAllowed(t)
	return nameRequests(t, toolRequest(t))
}

// resourceRequests are requests to read an unknown resource, a listed one, and one of each of a few templates, which
// servers look up elsewhere.
func resourceRequests(t *check.T) []roundtrip.ManualRequest {
	const few = 3
	all := nameRequests(t, resourceRequest())
	most := len(all) + few
	for _, x := range toolcall.ReadTemplates(t) {
		isSame := func(r roundtrip.ManualRequest) bool { return r.Params["uri"] == x.URI }
		isServed := x.URI != "" && x.LastReply.Result() != nil && !toolcall.IsInputRequired(t, x.LastReply)
		if isServed && len(all) < most && !slices.ContainsFunc(all, isSame) {
			all = append(all, roundtrip.ManualRequest{Method: x.Method, Params: check.M{"uri": x.URI}})
		}
	}
	return all
}

// promptRequests are requests for an unknown prompt, and for a listed one.
func promptRequests(t *check.T) []roundtrip.ManualRequest { return nameRequests(t, promptRequest()) }

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
	return check.Step(t, "names that do not fit: "+nameOf(request), func(t *check.T) []mismatchedRequest {
		name := mcpNameOf(request)
		forms := []headerVariant{
			{noName, roundtrip.Header(nameHeader)},
			{otherName, roundtrip.Header(nameHeader, "mcpcheck-other")},
			{badBase64, roundtrip.Header(nameHeader, "=?base64?!!!?=")},
			{capitalMarkers,
				roundtrip.Header(nameHeader, strings.Replace(encodeBase64(name), "base64", "BASE64", 1))},
		}
		if near := withOtherEnd(name); near != "" {
			forms = append(forms, headerVariant{nearName, roundtrip.Header(nameHeader, near)})
		}
		if other := inOtherCase(name); other != name && request.Params["uri"] == nil {
			forms = append(forms, headerVariant{nameInOtherCase, roundtrip.Header(nameHeader, other)})
		}
		return headerMismatches(t, request, forms)
	})
}

// withOtherEnd is a name with another last letter or digit; empty for one that has none there, and one that a header
// cannot have as it is.
func withOtherEnd(name string) string {
	if !plainEnd.MatchString(name) || encodedName.MatchString(name) {
		return ""
	}
	other := "x"
	if strings.HasSuffix(name, other) {
		other = "y"
	}
	return name[:len(name)-1] + other
}

// inOtherCase returns a name in capitals or, if it is in capitals, in lower case. A name that a header cannot have as
// it is stays the same.
func inOtherCase(name string) string {
	switch capitals := strings.ToUpper(name); {
	case encodedName.MatchString(name):
		return name
	case capitals != name:
		return capitals
	}
	return strings.ToLower(name)
}

// plainEnd matches names that end with a letter or a digit.
var plainEnd = regexp.MustCompile(`.[0-9A-Za-z]$`)

// encodedName matches names that a header cannot have as they are.
var encodedName = regexp.MustCompile(`^\s|\s$|[^ -~]`)

// isUnknownMethod reports whether the server does not know the method.
func (x mismatchedRequest) isUnknownMethod() bool {
	code, _ := x.validReply.Code()
	return code == errcode.MethodNotFound
}

func toolRequest(t *check.T) roundtrip.ManualRequest {
	return roundtrip.ManualRequest{Method: "tools/call",
		Params: check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}}}
}

func resourceRequest() roundtrip.ManualRequest {
	return roundtrip.ManualRequest{Method: "resources/read", Params: check.M{"uri": "test://mcpcheck-unknown"}}
}

func promptRequest() roundtrip.ManualRequest {
	return roundtrip.ManualRequest{Method: "prompts/get", Params: check.M{"name": "mcpcheck_no_such_prompt"}}
}

// requestsWithName are requests of all methods whose name a header repeats, as far as the server declares them: with
// names that do not exist and with names that do. It ends a check when there is none.
func requestsWithName(t *check.T) (all []roundtrip.ManualRequest) {
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		all = append(all, toolRequests(t)...)
	}
	if t.Server.Declares("prompts") {
		all = append(all, promptRequests(t)...)
	}
	if t.Server.Declares("resources") {
		all = append(all, resourceRequests(t)...)
	}
	if len(all) == 0 {
		t.Skip(check.NotOffered, "the server has nothing with a name: no tools, prompts or resources")
	}
	return all
}

// requestsBeyondASCII are requests with names that do not exist and that no header can have as they are, of
// each method whose name a header repeats. It ends a check when the server declares none of these.
func requestsBeyondASCII(t *check.T) (all []roundtrip.ManualRequest) {
	known := requestsWithName(t)
	for _, unknown := range []roundtrip.ManualRequest{toolRequest(t), promptRequest(), resourceRequest()} {
		if !slices.ContainsFunc(known, func(r roundtrip.ManualRequest) bool { return r.Method == unknown.Method }) {
			continue
		}
		for _, member := range []string{"name", "uri"} {
			if name, isText := unknown.Params[member].(string); isText {
				unknown.Params[member] = name + "-ü"
			}
		}
		all = append(all, unknown)
	}
	return all
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

// eachRefused runs a check on each request that was refused for its headers with status 400. A request without a
// version is left out where it may be one of a legacy revision.
func eachRefused(t *check.T, run func(*check.T, mismatchedRequest)) {
	judge := func(t *check.T, all []mismatchedRequest) {
		refused := slices.DeleteFunc(slices.Clone(all), func(x mismatchedRequest) bool {
			return x.isUnknownMethod() || x.Subject.Name == noVersion && supportsLegacy(t) || !x.isRefused() ||
				x.Response().StatusCode != http.StatusBadRequest || isUnsupportedVersion(x.AwaitReply())
		})
		if len(refused) == 0 {
			t.Skip(check.NotObserved, "no request was refused for its headers")
		}
		eachMismatch(t, refused, run)
	}
	tries := mismatchSteps(t)
	check.Each(t, tries, func(m mismatchStep) check.Subject { return check.NamedSubject(m.name) },
		func(t *check.T, m mismatchStep) { judge(t, m.mismatches(t)) })
}

// mismatchStep is a step that sends a request with headers that do not fit.
type mismatchStep struct {
	name       string
	mismatches func(*check.T) []mismatchedRequest
}

// mismatchSteps are the steps with all mismatches that can be tested.
func mismatchSteps(t *check.T) []mismatchStep {
	var all []mismatchStep
	add := func(of []roundtrip.ManualRequest, step func(*check.T, roundtrip.ManualRequest) []mismatchedRequest) {
		for _, request := range requests.Affordable(t, of, requestsEach) {
			all = append(all, mismatchStep{nameOf(request),
				func(t *check.T) []mismatchedRequest { return step(t, request) }})
		}
	}
	varied := variedRequests(t)
	add(varied, methodMismatches)
	add(versionedRequests(t, varied), versionMismatches)
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		add(toolRequests(t), nameMismatches)
	}
	if t.Server.Declares("resources") {
		add(resourceRequests(t), nameMismatches)
	}
	if t.Server.Declares("prompts") {
		add(promptRequests(t), nameMismatches)
	}
	if arguments, none := findArguments(t, argument.isAny); none == nil {
		for _, p := range requests.Affordable(t, arguments, requestsEach) {
			all = append(all, mismatchStep{p.header, p.mismatches})
		}
	}
	return all
}

// standardHeaderMismatches are the mismatches of an ordinary request, and of requests with names that do not exist.
func standardHeaderMismatches(t *check.T) (all []mismatchedRequest) {
	varied := variedRequests(t)
	all = slices.Concat(methodMismatches(t, varied[0]), versionMismatches(t, versionedRequests(t, varied)[0]))
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		all = append(all, nameMismatches(t, toolRequest(t))...)
	}
	if t.Server.Declares("resources") {
		all = append(all, nameMismatches(t, resourceRequest())...)
	}
	if t.Server.Declares("prompts") {
		all = append(all, nameMismatches(t, promptRequest())...)
	}
	return slices.DeleteFunc(all, func(x mismatchedRequest) bool {
		return x.isUnknownMethod() || x.Subject.Name == noVersion && supportsLegacy(t)
	})
}

// versionedRequests are server/discover, which every server has, and the varied requests.
func versionedRequests(t *check.T, varied []roundtrip.ManualRequest) []roundtrip.ManualRequest {
	const discover = "server/discover"
	others := slices.DeleteFunc(slices.Clone(varied), func(r roundtrip.ManualRequest) bool {
		return r.Method == discover
	})
	return append([]roundtrip.ManualRequest{{Method: discover}}, others...)
}

// versionMismatches are requests that name one version in the header and another one in the body.
func versionMismatches(t *check.T, request roundtrip.ManualRequest) []mismatchedRequest {
	return check.Step(t, "versions that differ: "+request.Method, func(t *check.T) (all []mismatchedRequest) {
		s := t.Session(check.ForInvalidInput)
		usual := sendValid(t, s, request)
		for _, v := range differingVersions(t) {
			x := sendMismatched(t, s, roundtrip.ManualRequest{Params: v.params(request.Params),
				Method: request.Method, Header: roundtrip.Header(roundtrip.VersionHeader, v.header)})
			all = append(all, mismatchedRequest{NamedRoundTrip: roundtrip.NewNamedRoundTrip(s, v.String(), x),
				validReply: usual})
		}
		return all
	})
}

// differingVersion is a version in the header of a request and another one in its body.
type differingVersion struct{ header, body string }

func differingVersions(t *check.T) []differingVersion {
	const unknown = "2099-01-01"
	return []differingVersion{{t.Revision, unknown}, {unknown, t.Revision}, {catalogue.NewestLegacy, t.Revision}}
}

func (v differingVersion) String() string {
	return "version " + v.header + " in the header and " + v.body + " in the body"
}

// beRefusedVersion matches a refused request whose header and body differ in the version in the way that name says. The
// first of these ways has an unknown version in the body: a server that serves any version fails
// version/unsupported-newer, too.
func beRefusedVersion(t *check.T, name string) types.GomegaMatcher {
	if name == differingVersions(t)[0].String() {
		return check.ReportedBy("version/unsupported-newer", beRefusedMismatch())
	}
	return beRefusedMismatch()
}

// params are the params of a request with the version of the body.
func (v differingVersion) params(of check.M) check.M {
	return requests.Request{Params: of}.With(check.M{driver.MetaRevision: v.body})
}
