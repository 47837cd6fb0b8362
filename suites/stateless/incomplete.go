package stateless

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
)

// incompleteChecks are the checks of requests without some of the required members of _meta.
var incompleteChecks = check.Suite{
	"stateless/missing-params": check.ProcessProbe(func(t *check.T) {
		expectVersionRequired(t,
			handshake.RequestsWithoutMeta(t)[:1])
	}).ReusedForInvalidInput(),

	"stateless/missing-meta": check.Probe(func(t *check.T) {
		expectVersionRequired(t,
			handshake.RequestsWithoutMeta(t)[2:])
	}).InOwnSession(),

	"stateless/missing-protocol-version": check.Probe(func(t *check.T) {
		expectVersionRequired(t,
			append(handshake.RequestsWithoutMeta(t)[1:2:2], requestsWithoutVersion(t)...))
	}).InOwnSession(),

	"stateless/missing-client-capabilities": check.Probe(func(t *check.T) {
		check.Each(t, requestsWithoutCapabilities(t), handshake.IncompleteRequest.Subject,
			func(t *check.T, r handshake.IncompleteRequest) {
				invalid.SkipUnlessServerRejects(t, r.Reply)
				isRefused := check.BeError(errcode.InvalidParams)
				if isServed := r.Reply.Result() != nil; isServed {
					isRefused = check.ReportedBy("stateless/missing-protocol-version", isRefused)
				}
				t.Expect(r.Reply).To(isRefused)
			})
	}),

	"stateless/meta-rejection-http-400": check.Probe(func(t *check.T) {
		var refused []handshake.IncompleteRequest
		for _, r := range slices.Concat(handshake.RequestsWithoutMeta(t), requestsWithoutVersion(t),
			requestsWithoutCapabilities(t)) {
			if code, _ := r.Reply.Code(); code == errcode.InvalidParams {
				refused = append(refused, r)
			}
		}
		if len(refused) == 0 {
			t.Yield("nothing was refused with %d", errcode.InvalidParams)
		}
		check.Each(t, refused, handshake.IncompleteRequest.Subject, func(t *check.T, r handshake.IncompleteRequest) {
			t.Expect(r.Reply.Frame.RoundTrip.Response().StatusCode).To(check.BeOneOf(http.StatusBadRequest), "status")
		})
	}),

	"stateless/client-info-optional": check.Probe(func(t *check.T) {
		requests.EachValid(t, func(t *check.T, request requests.Request) {
			r := request.SendWith(t, t.Session(), check.M{driver.MetaClient: driver.Omitted})
			t.Expect(r).To(check.BeServed(), request.Method+" without clientInfo")
		})
		for _, r := range requests.ChangingSession(t) {
			s := t.Session(check.ForInvalidInput)
			open := func(params check.M) invalid.Opening { return invalid.TryOpening(t, s, r.Method, params) }
			incomplete := r.With(check.M{driver.MetaClient: driver.Omitted})
			opening := open(incomplete)
			isRefused := opening.Reply.Error() != nil && open(r.Params).Opened && open(incomplete).Reply.Error() != nil
			isServed := check.BeTrue(r.Method+" without clientInfo to be served", "%s", opening.Reply)
			t.DecidedBy(opening.Reply).Expect(!isRefused).To(isServed)
		}
	}),

	"stateless/meta-wrong-types": check.Probe(func(t *check.T) {
		s := t.Session(check.ForInvalidInput)
		for _, capabilities := range []any{"x", nil} {
			r := invalid.TryInvalid(t, s, "server/discover",
				check.M{"_meta": check.M{driver.MetaCapabilities: capabilities}})
			invalid.SkipUnlessServerRejects(t, r)
			t.Expect(r).To(check.BeError(errcode.InvalidParams), "clientCapabilities %s", check.Show(capabilities))
		}
		r := invalid.TryInvalid(t, s, "server/discover", check.M{"_meta": check.M{driver.MetaRevision: 20260728}})
		invalid.SkipUnlessServerRejects(t, r)
		requireDecided(t, r)
		t.Expect(r).To(check.BeError(noVersionCodes...), "protocolVersion 20260728")
	}),

	"stateless/meta-on-every-method": check.Probe(func(t *check.T) {
		for _, r := range requestsWithoutCapabilities(t) {
			if r.Reply.Result() != nil {
				t.Yield("%s is served without", r.Method)
			}
		}
		s := t.Session(check.ForInvalidInput)
		others := append(requests.Refused(t), requests.ChangingSession(t)...)
		check.Each(t, others, requests.Request.Subject, func(t *check.T, r requests.Request) {
			opening := invalid.TryOpening(t, s, r.Method, r.With(check.M{driver.MetaCapabilities: driver.Omitted}))
			opening.ExpectRefused(t, "no "+r.Method+" without clientCapabilities", "")
		})
	}),
}

// requestsWithoutCapabilities sends a request of each method that the server serves, without clientCapabilities.
func requestsWithoutCapabilities(t *check.T) []handshake.IncompleteRequest {
	valid := requests.Valid(t)
	return check.Step(t, "requests without capabilities", func(t *check.T) (all []handshake.IncompleteRequest) {
		s := t.Session(check.ForInvalidInput)
		for _, request := range valid {
			r := invalid.TryInvalid(t, s, request.Method,
				request.With(check.M{driver.MetaCapabilities: driver.Omitted}))
			all = append(all, handshake.IncompleteRequest{Missing: "without clientCapabilities",
				Method: request.Method, Reply: r})
		}
		return all
	})
}

// requestsWithoutVersion sends a request of each method that the server serves, but for server/discover, without
// protocolVersion. What a server of both eras may have treated as a request of an earlier revision is left out.
func requestsWithoutVersion(t *check.T) []handshake.IncompleteRequest {
	valid := requests.Affordable(t, requests.Valid(t), 1)
	return check.Step(t, "requests without a version", func(t *check.T) (all []handshake.IncompleteRequest) {
		s := t.Session(check.ForInvalidInput)
		for _, request := range valid {
			if request.Method == "server/discover" {
				continue
			}
			r := invalid.TryInvalid(t, s, request.Method, request.With(check.M{driver.MetaRevision: driver.Omitted}))
			if isModernReply(r) || t.Server.Transport != "stdio" || !supportsBothEras(t) {
				all = append(all, handshake.IncompleteRequest{Missing: "without protocolVersion",
					Method: request.Method, Reply: r})
			}
		}
		return all
	})
}

// isModernReply reports whether a server has treated a request without a version as one of a modern revision.
func isModernReply(r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.InvalidParams || check.HasMember(r.Result(), "resultType")
}

// noVersionCodes are the codes for a request without a version: it is malformed or, over HTTP, contradicts its header.
var noVersionCodes = []int{errcode.InvalidParams, errcode.HeaderMismatch}

// expectVersionRequired requires requests without a version to be rejected. A request that is answered in the same way
// as server/discover without _meta yields to the check of that.
func expectVersionRequired(t *check.T, all []handshake.IncompleteRequest) {
	bare := handshake.RequestsWithoutMeta(t)[2]
	check.Each(t, all, handshake.IncompleteRequest.Subject, func(t *check.T, r handshake.IncompleteRequest) {
		invalid.SkipUnlessServerRejects(t, r.Reply)
		requireDecided(t, r.Reply)
		if code, _ := r.Reply.Code(); r.Missing != bare.Missing && !slices.Contains(noVersionCodes, code) &&
			protocol.SameKind(r.Reply, bare.Reply) {
			t.Yield("so is server/discover without _meta answered")
		}
		isRefused := check.BeError(noVersionCodes...)
		if r.Missing == "without protocolVersion" && r.Reply.Result() != nil {
			isRefused = check.ReportedBy("stateless/no-inherited-meta", isRefused)
		}
		t.Expect(r.Reply).To(isRefused)
	})
}

// requireDecided ends the check if a server over stdio may have treated a request without a version as one of a legacy
// revision: it supports both eras and did not answer as a modern server.
func requireDecided(t *check.T, r driver.Reply) {
	if !isModernReply(r) && t.Server.Transport == "stdio" && supportsBothEras(t) {
		t.NoVerdict(check.Undecided, "the server also supports handshake revisions "+
			"and may have treated the request as one of those: %s",
			check.Got(r))
	}
}

// supportsBothEras reports whether a server whose modern revision is tested also serves clients with a handshake.
func supportsBothEras(t *check.T) bool { return handshake.InitializeReply(t).Result() != nil }
