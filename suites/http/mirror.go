package http

import (
	"maps"
	"net/http"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// The headers that say again what the body of a modern request says, beside that of the version.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	paramHeader  = "Mcp-Param-" // and the name that the schema of a tool gives
)

// mirror are the checks of the headers that say again what the body says.
var mirror = Suite{
	"http/version-header-required": Probe(func(t *T) {
		x := pick(t, listMisfits(t), noVersion)
		r := x.Reply()
		isModern := Has(r.Result(), "resultType") || isMismatch(r)
		if !isModern && shakesHands(t) {
			t.Because(NotOffered).Skip("the server speaks older revisions, too, and may take it for one of 2025-03-26")
		}
		x.expectRefused(t)
	}).WhenRefused(),

	"http/version-header-mismatch": Probe(func(t *T) {
		eachMisfit(t, withOtherVersions(t), func(t *T, x misfitted) {
			kit.WantRefuser(t, x.Reply())
			t.Expect(x).To(beMismatch())
			t.Warn(x.Reply()).To(That("error -32020, since the versions differ", func(r driver.Reply) bool {
				return !isUnsupported(r)
			}))
		})
	}),

	"http/method-header-missing":        misfit(listMisfits, noMethod),
	"http/method-header-mismatch":       misfit(listMisfits, otherMethod),
	"http/method-header-case-sensitive": misfit(listMisfits, methodInCapitals),

	"http/header-name-case-insensitive": Probe(func(t *T) {
		method, params := kit.Ordinary(t, t.Session())
		compareAs(t, kit.Request{Method: method, Params: params}, []form{
			{"lower case", http.Header{"mcp-method": {method}, "mcp-protocol-version": {t.Revision}}},
			{"capitals", http.Header{"MCP-METHOD": {method}, "MCP-PROTOCOL-VERSION": {t.Revision}}},
		})
	}),

	"http/header-ows-trimmed": Probe(func(t *T) {
		method, params := kit.Ordinary(t, t.Session())
		compareAs(t, kit.Request{Method: method, Params: params}, []form{
			{"white space", http.Header{methodHeader: {" \t" + method + "\t "}, kit.VersionHeader: {t.Revision + " "}}},
		})
	}),

	"http/name-header-missing-tools-call":      misfit(toolMisfits, noName),
	"http/name-header-mismatch-tools-call":     misfit(toolMisfits, otherName),
	"http/name-header-missing-resources-read":  misfit(resourceMisfits, noName),
	"http/name-header-mismatch-resources-read": misfit(resourceMisfits, otherName),
	"http/name-header-missing-prompts-get":     misfit(promptMisfits, noName),
	"http/name-header-mismatch-prompts-get":    misfit(promptMisfits, otherName),
	"http/name-header-base64-invalid":          misfit(toolMisfits, badBase64),

	"http/name-header-base64": Probe(func(t *T) {
		named := namedRequest(t)
		s := t.Session()
		askRightly(t, s, named)
		encoded := kit.ByHand(s, kit.Request{
			Method: named.Method, Params: named.Params, Header: kit.Header(nameHeader, inBase64(subjectOf(named))),
		})
		params := maps.Clone(named.Params)
		for member := range params {
			if name, isText := params[member].(string); isText {
				params[member] = name + "-ü"
			}
		}
		foreign := kit.ByHand(s, kit.Request{Method: named.Method, Params: params}) // which the session encodes
		kit.EachAttempt(t, []kit.Attempt{
			kit.AttemptOf(s, "a plain name in Base64", encoded), kit.AttemptOf(s, "a name beyond ASCII", foreign),
		}, func(t *T, x kit.Attempt) {
			r := Accept(t, x.Reply())
			kit.Own(t, x.Answer())
			t.Expect(r).To(That("it taken for the name in the body", func(r driver.Reply) bool {
				return !isMismatch(r)
			}))
		})
	}),

	"http/name-header-not-required-elsewhere": Probe(func(t *T) {
		s := t.Start()
		for _, method := range append([]string{"server/discover"}, kit.ListsOf(t.Server.Capabilities)...) {
			x := kit.ByHand(s, kit.Request{Method: method, Header: kit.Header(nameHeader)})
			r := x.Reply()
			kit.Own(t, x.Answer())
			t.Expect(r).To(That(method+" served without Mcp-Name", func(r driver.Reply) bool { return !isMismatch(r) }))
		}
	}).WhenRefused(),

	"http/header-error-code": Probe(func(t *T) {
		var refused []misfitted
		for _, x := range allMisfits(t) {
			if x.isRefused() && x.Answer().Status == http.StatusBadRequest && !isUnsupported(x.Reply()) {
				refused = append(refused, x)
			}
		}
		if len(refused) == 0 {
			t.Because(NotObserved).Skip("no request was refused for its headers")
		}
		eachMisfit(t, refused, func(t *T, x misfitted) {
			t.Expect(x.Reply()).To(BeError(headerMismatch))
		})
	}),
}

// The errors of requests that do not fit their headers, and of versions that the server does not speak.
const (
	headerMismatch     = -32020
	unsupportedVersion = -32022
)

// isMismatch reports whether a request was refused for its headers.
func isMismatch(r driver.Reply) bool {
	code, _ := r.Code()
	return code == headerMismatch
}

// isUnsupported reports whether it was refused for its version.
func isUnsupported(r driver.Reply) bool {
	code, _ := r.Code()
	return code == unsupportedVersion
}

// What is wrong with the headers of a request.
const (
	noVersion        = "no Mcp-Protocol-Version"
	noMethod         = "no Mcp-Method"
	otherMethod      = "another Mcp-Method"
	methodInCapitals = "Mcp-Method in capitals"
	noName           = "no Mcp-Name"
	otherName        = "another Mcp-Name"
	badBase64        = "an Mcp-Name that is not Base64"
)

// misfitted is a request whose headers do not fit what its body says.
type misfitted struct {
	kit.Attempt
	usual driver.Reply // to the request with the right headers
}

// isRefused reports whether the request is not served as it is with the right headers: that it is refused with them,
// too, says nothing.
func (x misfitted) isRefused() bool {
	r := x.Reply()
	return r.Result() == nil && (isMismatch(r) || x.usual.Result() != nil || !kit.SayAlike(x.usual, r))
}

// expectRefused wants a refusal with status 400. The code, http/header-error-code judges.
func (x misfitted) expectRefused(t *T) {
	eachMisfit(t, []misfitted{x}, func(t *T, x misfitted) {
		kit.WantRefuser(t, x.Reply())
		t.Expect(x).To(beMismatch())
	})
}

// beMismatch matches requests that were refused with status 400, as their headers want it.
func beMismatch() types.GomegaMatcher {
	return That("HTTP 400, since its headers do not fit", func(x misfitted) bool {
		return x.isRefused() && x.Answer().Status == http.StatusBadRequest
	})
}

func (x misfitted) String() string { return x.Answer().String() }

// eachMisfit tries a check on several, as far as their answers say anything of them. What fails is named by what is
// wrong with its headers.
func eachMisfit(t *T, all []misfitted, run func(*T, misfitted)) {
	Each(t, all, func(x misfitted) Subject { return x.Subject }, func(t *T, x misfitted) {
		kit.Own(t, x.Answer())
		Accept(t, x.Reply())
		run(t, x)
	})
}

// misfit is the check that one of several requests is refused.
func misfit(among func(*T) []misfitted, what string) Check {
	return Probe(func(t *T) {
		pick(t, among(t), what).expectRefused(t)
	})
}

// pick is the request with something wrong.
func pick(t *T, all []misfitted, what string) misfitted {
	i := slices.IndexFunc(all, func(x misfitted) bool { return x.Subject.Name == what })
	if i < 0 {
		t.Again("%s was not tried", what)
	}
	return all[i]
}
