// Package version holds the checks of the protocol version of each request in the modern revisions: unsupported
// versions, the error for them, and servers that support both eras.
//
// The checks read steps of package handshake, which send requests in versions that no server supports.
package version

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"version/unsupported-newer": check.Probe(func(t *check.T) {
		expectRefused(t, handshake.NewerVersion)
		if more := newerOfEachMethod(t); len(more) > 0 {
			check.Each(t, more, handshake.VersionProbe.Subject, expectVersionErrorWhereRequired)
		}
		s := t.Session(check.ForInvalidInput)
		check.Each(t, requests.ChangingSession(t), requests.Request.Subject, func(t *check.T, r requests.Request) {
			newer := r.With(check.M{driver.MetaRevision: handshake.NewerVersion})
			const reportedBy = "stateless/meta-on-every-method" // where it looks at no member of _meta
			invalid.TryOpening(t, s, r.Method, newer).ExpectRefused(t, "no "+r.Method+" in this version", reportedBy)
		})
	}).InOwnSession(),
	"version/unsupported-older-unknown": check.Probe(func(t *check.T) {
		expectRefused(t, handshake.OlderVersion)
		if more := publishedOfEachMethod(t); len(more) > 0 {
			check.Each(t, more, handshake.VersionProbe.Subject, expectVersionError)
		}
	}).InOwnSession(),

	"version/unsupported-nondate": check.Probe(func(t *check.T) {
		expectRefused(t, handshake.NonDateVersion)
		empty := handshake.VersionProbes(t, "")[0]
		invalid.SkipUnlessServerRejects(t, empty.Reply)
		if !slices.ContainsFunc(handshake.AllVersionProbes(t, handshake.NewerVersion), empty.IsEquivalent) {
			t.Expect(empty.Reply.Result() == nil).To(check.BeTrue("no result of server/discover in the empty version",
				"%s", empty.Reply))
		}
	}).InOwnSession(),

	"version/earlier-revision-claim": check.Probe(func(t *check.T) {
		list := protocol.RequireListMethod(t)
		served := func(c handshake.VersionProbe) bool {
			return c.Method == list && c.Reply.Result() != nil && !invalid.AcceptsAnything(t, c.Reply)
		}
		if slices.ContainsFunc(handshake.VersionProbes(t, handshake.NewerVersion), served) {
			t.Yield("%s is served in any version", list)
		}
		r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), list,
			check.M{"_meta": check.M{driver.MetaRevision: catalogue.NewestLegacy}})
		t.ExpectAdvice(check.HasMember(r.Result(), "resultType")).To(check.BeOneOf(false),
			"a result of %s that has a resultType",
			catalogue.NewestLegacy)
	}),

	"version/unsupported-data-supported": check.Probe(func(t *check.T) {
		eachVersionError(t, func(t *check.T, data check.M) {
			supported := check.Member(data, "supported")
			isFilled := func(all []any) bool { return len(all) > 0 }
			t.Expect(supported).To(check.Satisfy("a list of versions", isFilled), "data.supported")
			for _, version := range supported.([]any) {
				t.Expect(version).To(check.BeString(), "an item of data.supported")
			}
		})
	}).InOwnSession(),

	"version/unsupported-data-requested": check.Probe(func(t *check.T) {
		eachVersionError(t, func(t *check.T, data check.M) {
			t.Expect(check.Member(data, "requested")).To(check.BeOneOf[any](handshake.NewerVersion), "data.requested")
		})
	}).InOwnSession(),

	"version/unsupported-http-400": check.Probe(func(t *check.T) {
		all := slices.Clone(newerOfEachMethod(t))
		for _, version := range []string{handshake.NewerVersion, handshake.OlderVersion, handshake.NonDateVersion} {
			all = append(all, handshake.VersionProbes(t, version)...)
		}
		refused := slices.DeleteFunc(all, func(c handshake.VersionProbe) bool { return !c.IsRefused() })
		if len(refused) == 0 {
			t.Yield("no unknown version was refused with %d", errcode.UnsupportedProtocolVersion)
		}
		check.Each(t, refused, handshake.VersionProbe.Subject, func(t *check.T, c handshake.VersionProbe) {
			t.Expect(c.Reply.Frame.RoundTrip.Response().StatusCode).To(check.BeOneOf(http.StatusBadRequest), "status")
		})
	}),

	"version/supported-lists-agree": check.Probe(func(t *check.T) {
		data, _ := handshake.RequireVersionError(t)
		inError, isList := data["supported"].([]any)
		inResult, areListed := t.Server.ConnectResult["supportedVersions"].([]any)
		if !isList || len(inError) == 0 || !areListed {
			t.Yield("there are no two lists")
		}
		if !slices.Contains(modernVersions(inResult), t.Revision) {
			t.Yield("server/discover does not list %s", t.Revision)
		}
		t.Expect(modernVersions(inError)).
			To(check.Satisfy("the versions of server/discover "+check.Show(modernVersions(inResult)),
				func(all []string) bool { return slices.Equal(all, modernVersions(inResult)) }), "data.supported")
	}).InOwnSession(),

	"version/listed-version-works": check.Probe(func(t *check.T) {
		listed, _ := t.Server.ConnectResult["supportedVersions"].([]any)
		if len(modernVersions(listed)) == 0 {
			t.Skip(check.NotOffered, "no version without a handshake is listed: %s", check.Show(listed))
		}
		s := t.Session(check.ForInvalidInput)
		check.Each(t, modernVersions(listed), check.NamedSubject, func(t *check.T, version string) {
			r := t.Send(s, "server/discover", check.M{"_meta": check.M{driver.MetaRevision: version}})
			code, _ := r.Code()
			t.Expect(code != errcode.UnsupportedProtocolVersion).To(check.BeTrue("no refusal of a listed version",
				"%s", r))
		})
		shaken := func(v any) bool {
			version, _ := v.(string)
			return slices.Contains(catalogue.LegacyRevisions,
				version)
		}
		if at := slices.IndexFunc(listed, shaken); at >= 0 {
			t.Expect(handshake.InitializeReply(t)).To(check.BeResult(), "initialize, since %s is listed",
				check.Show(listed[at]))
		}
	}).InOwnSession(),

	"version/dual-era-modern-beside-session": check.ProcessProbe(func(t *check.T) {
		list := protocol.RequireListMethod(t)
		modern := t.Send(t.Session(), list, nil)
		s := legacySession(t)
		defer s.Close() // now, since another attempt begins without a session
		legacy := t.Send(s, list, nil)
		if modern.Result() == nil || legacy.Result() == nil {
			t.Retry(check.Undecided, "%s is not served in both eras: %s, %s", list, check.Got(modern),
				check.Got(legacy))
		}
		expectSameAgain(t, t.Session(), modern, "besides a session of "+s.NegotiatedRevision())
		expectSameAgain(t, s, legacy, "in a session of "+s.NegotiatedRevision()+", after a request without a session")
	}),

	"version/initialize-rejected": check.Probe(func(t *check.T) {
		r := handshake.InitializeReply(t)
		version, _ := r.Result()["protocolVersion"].(string)
		if slices.Contains(catalogue.LegacyRevisions, version) {
			t.Skip(check.NotApplicable, "the server speaks %s as well", version)
		}
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(check.BeError(), "initialize")
		if status := statusOf(r); status != 0 && status != http.StatusUnauthorized && status != http.StatusForbidden {
			isRefusal := check.BeOneOf(http.StatusBadRequest, http.StatusNotFound)
			if status == http.StatusMethodNotAllowed {
				isRefusal = check.ReportedBy("http/endpoint-accepts-post", isRefusal)
			}
			t.DecidedBy(r).ExpectShould(status).To(isRefusal, "the status of the refusal")
		}
	}).WhenConnectRefused().InOwnSession(),

	"version/initialize-error-names-versions": check.Probe(func(t *check.T) {
		r := handshake.InitializeReply(t)
		if r.Error() == nil {
			t.Skip(check.NotObserved, "initialize is not refused")
		}
		listed, _ := t.Server.ConnectResult["supportedVersions"].([]any)
		versions := append(modernVersions(listed), t.Revision)
		names := func(version string) bool { return bytes.Contains(errorBytes(r), []byte(version)) }
		t.Expect(slices.ContainsFunc(versions, names)).To(check.BeTrue("the name of a supported version in the error",
			"%s", driver.Brief(errorBytes(r))))
	}).InOwnSession(),
}

// statusOf returns the HTTP status of a reply; 0 over stdio, and where an intermediary has sent it.
func statusOf(r driver.Reply) int {
	if r.Frame == nil || r.Frame.RoundTrip == nil || r.Frame.RoundTrip.Response().IsFromIntermediary() {
		return 0
	}
	return r.Frame.RoundTrip.Response().StatusCode
}

// legacySession is a session of the newest revision with a handshake, at the endpoint that is tested in another one. It
// ends the check if the server has none.
func legacySession(t *check.T) *driver.Session {
	s := t.Session(check.Process)
	s.MarkInvalidInputFromStart() // checks of the tested revision do not judge it
	s.SetEra(driver.Legacy{})
	r := s.Connect(driver.ConnectParams(catalogue.NewestLegacy))
	switch {
	case r.Err != nil:
		t.Retry(check.Undecided, "%v", check.Explain(r.Err))
	case !slices.Contains(catalogue.LegacyRevisions, s.NegotiatedRevision()):
		t.Skip(check.NotOffered, "the server speaks no revision with a handshake: %s", check.Got(r))
	}
	s.FinishConnect()
	return s
}

// expectSameAgain repeats a request. It requires a result that has a resultType if, and only if, that of before had
// one: by this, the eras can be told apart.
func expectSameAgain(t *check.T, s *driver.Session, before driver.Reply, where string) {
	r := t.Send(s, before.Method, nil, check.AllowSilence)
	if r.IsStatusOnly() && roundtrip.IsNotFound(r.Frame.RoundTrip.Response()) {
		t.NoVerdict(check.Died, "the server has ended the session: %s", check.Got(r))
	}
	t.Expect(r).To(check.BeResult(), "%s %s", before.Method, where)
	t.DecidedBy(r).Expect(check.HasMember(r.Result(), "resultType")).To(
		check.BeOneOf(check.HasMember(before.Result(), "resultType")), "a resultType of %s %s", before.Method, where)
}

// unsupportedVersions are versions that no server supports. If two of them are answered alike, only the check of the
// first reports it.
var unsupportedVersions = []string{handshake.NewerVersion, handshake.OlderVersion, handshake.NonDateVersion}

// expectRefused requires requests in a version that no server supports to be refused because of the version.
func expectRefused(t *check.T, version string) {
	probes := handshake.AllVersionProbes(t, version)
	for _, other := range unsupportedVersions {
		if other == version {
			break
		}
		known := handshake.AllVersionProbes(t, other)
		probes = slices.DeleteFunc(probes, func(c handshake.VersionProbe) bool {
			return !c.IsRefused() && !invalid.AcceptsAnything(t, c.Reply) && slices.ContainsFunc(known, c.IsEquivalent)
		})
		if len(probes) == 0 {
			t.Yield("it is answered as %s is", check.Show(other))
		}
	}
	check.Each(t, probes, handshake.VersionProbe.Subject, expectVersionError)
}

func expectVersionError(t *check.T, c handshake.VersionProbe) {
	invalid.SkipUnlessServerRejects(t, c.Reply)
	t.Expect(c.Reply).To(check.BeError(errcode.UnsupportedProtocolVersion))
}

// expectVersionErrorWhereRequired is expectVersionError of a request that may be served without any version as well.
func expectVersionErrorWhereRequired(t *check.T, c handshake.VersionProbe) {
	if c.Reply.Result() == nil {
		expectVersionError(t, c)
		return
	}
	invalid.SkipUnlessServerRejects(t, c.Reply)
	t.Expect(c.Reply).To(check.ReportedBy("stateless/missing-protocol-version",
		check.BeError(errcode.UnsupportedProtocolVersion)))
}

// newerOfEachMethod are the requests of requests.Valid in a version that no server supports, but for those of
// VersionProbes: a server may look at the version in some routes only.
func newerOfEachMethod(t *check.T) []handshake.VersionProbe {
	known := handshake.VersionProbes(t, handshake.NewerVersion)
	isKnown := func(c handshake.VersionProbe) bool {
		return slices.ContainsFunc(known, func(k handshake.VersionProbe) bool { return k.Method == c.Method })
	}
	return slices.DeleteFunc(slices.Clone(eachMethodIn(t, handshake.NewerVersion)), isKnown)
}

// publishedOfEachMethod are the requests of requests.Valid in revisions with a handshake, if the server supports none
// of these. What is served in any version is left to version/unsupported-newer.
func publishedOfEachMethod(t *check.T) (all []handshake.VersionProbe) {
	isLegacy := func(v any) bool {
		version, _ := v.(string)
		return slices.Contains(catalogue.LegacyRevisions, version)
	}
	listed, _ := t.Server.ConnectResult["supportedVersions"].([]any)
	if check.SavesRequests(t) || slices.ContainsFunc(listed, isLegacy) || handshake.InitializeReply(t).Error() == nil {
		return nil
	}
	newer := eachMethodIn(t, handshake.NewerVersion)
	for _, version := range []string{catalogue.LegacyRevisions[0], catalogue.NewestLegacy} {
		for _, c := range eachMethodIn(t, version) {
			isRefused := func(n handshake.VersionProbe) bool { return n.Method == c.Method && n.IsRefused() }
			if slices.ContainsFunc(newer, isRefused) {
				all = append(all, c)
			}
		}
	}
	return all
}

// eachMethodIn are the requests of requests.Valid in another version.
func eachMethodIn(t *check.T, version string) []handshake.VersionProbe {
	valid := requests.Affordable(t, requests.Valid(t), 1)
	return check.Step(t, "each method in version "+version, func(t *check.T) (all []handshake.VersionProbe) {
		s := t.Session(check.ForInvalidInput)
		for _, request := range valid {
			params := request.With(check.M{driver.MetaRevision: version})
			all = append(all, handshake.VersionProbe{Method: request.Method, Version: version,
				Reply: invalid.TryInvalid(t, s, request.Method, params)})
		}
		return all
	})
}

// eachVersionError runs a check on the data of the errors by which requests in an unknown version are refused. It ends
// the check when none is.
func eachVersionError(t *check.T, run func(t *check.T, data check.M)) {
	_, first := handshake.RequireVersionError(t)
	refused := []handshake.VersionProbe{{Method: first.Method, Version: handshake.NewerVersion, Reply: first}}
	for _, c := range newerOfEachMethod(t) {
		if c.IsRefused() {
			refused = append(refused, c)
		}
	}
	check.Each(t, refused, handshake.VersionProbe.Subject, func(t *check.T, c handshake.VersionProbe) {
		data, _ := c.Reply.Error()["data"].(check.M)
		run(t, data)
	})
}

// modernVersions returns the modern versions in a list, sorted. Drafts have names that sort after dates.
func modernVersions(versions []any) (modern []string) {
	for _, v := range versions {
		if version, _ := v.(string); version > catalogue.NewestLegacy {
			modern = append(modern, version)
		}
	}
	slices.Sort(modern)
	return slices.Compact(modern)
}

// errorBytes returns the error of a reply or, for an HTTP response that is not a message, the whole body.
func errorBytes(r driver.Reply) []byte {
	if r.IsStatusOnly() {
		return r.Frame.RoundTrip.Response().Body.Bytes()
	}
	return text.CompactJSON(r.Message())
}
