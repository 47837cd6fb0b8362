package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// versionChecks are the checks of the negotiation of the version.
var versionChecks = check.Suite{
	"lifecycle/version-echo-supported": check.ProcessProbe(func(t *check.T) {
		offered := returnedVersions(t)
		check.Each(t, slices.Sorted(maps.Keys(offered)), check.NamedSubject, func(t *check.T, version string) {
			r := handshake.ConnectReplyFor(t, version)
			t.DecidedBy(r).Expect(versionOf(r)).To(check.BeOneOf[any](version), "it was offered in answer to %s",
				offered[version])
		})
	}),

	"lifecycle/version-fallback": check.ProcessProbe(func(t *check.T) {
		initializeAll(t, protocol.UnpublishedVersions)
		check.Each(t, protocol.Sorted(protocol.UnpublishedVersions), check.NamedSubject,
			func(t *check.T, version string) {
				r := handshake.ConnectReplyFor(t, version)
				t.Expect(r).To(check.BeAnswered())
				if refusesVersion(r) {
					t.ExpectShould(r).To(check.BeResult())
				}
				t.Expect(r).To(check.BeResult())
				t.DecidedBy(r).Expect(versionOf(r)).NotTo(check.BeOneOf[any](version),
					"there is no such version, so it cannot be supported")
			})
		expectNoModernGrant(t)
		if all := repliesToOtherVersions(t); len(all) > 0 {
			check.Each(t, all, versionReply.subject, func(t *check.T, x versionReply) { x.expectFallback(t) })
		}
	}),

	"lifecycle/version-fallback-latest": check.ProcessProbe(func(t *check.T) {
		supported := slices.Sorted(maps.Keys(returnedVersions(t)))
		supported = slices.DeleteFunc(supported, func(v string) bool { return v > catalogue.NewestLegacy })
		if len(supported) == 0 {
			t.Skip(check.NotOffered, "no supported version is known")
		}
		check.Each(t, protocol.Sorted(protocol.UnpublishedVersions), check.NamedSubject,
			func(t *check.T, version string) {
				r := handshake.ConnectReplyFor(t, version)
				offer, ok := versionOf(r).(string)
				if !ok || offer == version || offer > catalogue.NewestLegacy {
					t.Yield("the unknown version was echoed or refused")
				}
				t.DecidedBy(r).Expect(offer).To(check.BeOneOf(supported[len(supported)-1]))
			})
	}),

	"lifecycle/version-known-date": check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(w.ResultsOf("initialize"), func(t *check.T, m check.Message) {
			version, ok := resultOf(m)["protocolVersion"].(string)
			switch {
			case !ok:
				t.Yield("protocolVersion is not a string")
			case slices.Contains(protocol.UnpublishedVersions, version),
				slices.Contains(otherVersions, version) && version == requestedVersion(m):
				t.Yield("a made-up version was echoed")
			case slices.Contains(catalogue.ModernRevisions, version):
				t.NoVerdict(check.Limit, "%s has no handshake, and %s does not know it", version,
					catalogue.NewestLegacy)
			case isDate(version) && version >= catalogue.ModernRevisions[0]:
				t.NoVerdict(check.Limit, "%s is later than what mcpcheck knows", version)
			}
			if isPreview(version) {
				t.ExpectShould(version).To(check.BeOneOf(catalogue.LegacyRevisions...))
			}
			t.Expect(version).To(check.BeOneOf(catalogue.LegacyRevisions...))
		})
	}).WhenConnectRefused(),
}

// requestedVersion is the version in the request that a message is the response to; nil if there is none.
func requestedVersion(m check.Message) any {
	params, _ := m.Request.JSON()["params"].(check.M)
	return params["protocolVersion"]
}

// otherVersions are further unpublished versions: one that is earlier than any SDK, and two that are not dates.
var otherVersions = []string{"2023-01-01", "1.0.0", ""}

// versionReply is the reply to initialize with one of otherVersions.
type versionReply struct {
	version string
	reply   driver.Reply
}

func (x versionReply) subject() check.Subject {
	return check.Subject{Name: check.Show(x.version), Frames: []*driver.Frame{x.reply.Request, x.reply.Frame}}
}

// repliesToOtherVersions requests otherVersions: over HTTP in sessions of their own, over stdio by a second initialize
// in one process, if that serves one with a later version. Then the version of the session is negotiated again.
func repliesToOtherVersions(t *check.T) []versionReply {
	return check.Step(t, "initialize with other versions", func(t *check.T) (all []versionReply) {
		if t.Site() != nil {
			dates := slices.DeleteFunc(slices.Clone(otherVersions), func(v string) bool { return v == "" })
			for _, version := range dates {
				all = append(all, versionReply{version, handshake.ConnectReplyFor(t, version)})
			}
			return all
		}
		s := t.Session(check.ForInvalidInput)
		initialize := func(version string) driver.Reply {
			return invalid.TryInvalid(t, s, "initialize", driver.ConnectParams(version))
		}
		if initialize(protocol.UnpublishedVersions[1]).Result() == nil {
			return nil
		}
		defer func() {
			initialize(t.Revision)
			s.Notify("notifications/initialized", nil)
		}()
		for _, version := range otherVersions {
			r := initialize(version)
			if all = append(all, versionReply{version, r}); !r.Answered() {
				break
			}
		}
		return all
	})
}

// expectFallback expects another version. An error is expected for an empty one as well, and is what the lifecycle page
// shows for one that is not a date.
func (x versionReply) expectFallback(t *check.T) {
	t.Expect(x.reply).To(check.BeAnswered())
	code, isError := x.reply.Code()
	switch {
	case isError && x.version == "":
		t.Skip(check.NotApplicable, "an empty version is refused")
	case refusesVersion(x.reply), code == errcode.InvalidParams && !isDate(x.version):
		t.ExpectShould(x.reply).To(check.BeResult())
	}
	t.Expect(x.reply).To(check.BeResult())
	t.DecidedBy(x.reply).Expect(versionOf(x.reply)).NotTo(check.BeOneOf[any](x.version),
		"there is no such version, so it cannot be supported")
}

// expectNoModernGrant asks for a revision that has no handshake. A server that grants it has to serve it, too. Over
// stdio the request is a second initialize, which a server may refuse.
func expectNoModernGrant(t *check.T) {
	version := catalogue.ModernRevisions[0]
	r, served := initializeModern(t, version)
	if r.Result() == nil || served {
		return
	}
	t.DecidedBy(r).Expect(versionOf(r)).NotTo(check.BeOneOf[any](version),
		"that version has no handshake, and its server/discover is not served")
}

// initializeModern sends initialize with a version that has no handshake. It reports whether server/discover is served
// in that version.
func initializeModern(t *check.T, version string) (r driver.Reply, served bool) {
	params := driver.ConnectParams(version)
	all := check.Step(t, "initialize with "+version, func(t *check.T) [2]driver.Reply {
		var s *driver.Session
		var r driver.Reply
		if t.Site() != nil {
			s = t.Session(check.Process)
			s.MarkInvalidInputFromStart()
			r = s.Connect(params)
		} else {
			s = t.Session(check.ForInvalidInput)
			r = invalid.TryInvalid(t, s, "initialize", params)
		}
		if versionOf(r) != version {
			return [2]driver.Reply{r}
		}
		discovered := invalid.TryInvalid(t, s, "server/discover", check.M{"_meta": check.M{
			driver.MetaRevision: version, driver.MetaCapabilities: check.M{}, driver.MetaClient: params["clientInfo"],
		}})
		s.MarkUnusable()
		return [2]driver.Reply{r, discovered}
	})
	return all[0], all[1].Result() != nil
}

// returnedVersions maps each version that the server returned to the version that was requested. Values that are not
// versions are left out: lifecycle/version-known-date and lifecycle/version-fallback judge them.
func returnedVersions(t *check.T) map[string]string {
	all := slices.Concat(catalogue.LegacyRevisions, protocol.UnpublishedVersions)
	initializeAll(t, all)
	offered := map[string]string{}
	for _, version := range all {
		got, _ := versionOf(handshake.ConnectReplyFor(t, version)).(string)
		if slices.Contains(catalogue.LegacyRevisions, got) || isDate(got) && got >= catalogue.ModernRevisions[0] {
			offered[got] = version
		}
	}
	return offered
}

// versionOf returns the protocolVersion of a result.
func versionOf(r driver.Reply) any { return check.Member(r.Result(), "protocolVersion") }

// refusesVersion reports whether a reply is one of two errors: -32602 with the supported versions, which the lifecycle
// page shows although it contradicts the text, or the error that a later revision defines.
func refusesVersion(r driver.Reply) bool {
	code, _ := r.Code()
	data, _ := r.Error()["data"].(check.M)
	return (code == errcode.InvalidParams || code == errcode.UnsupportedProtocolVersion) && data["supported"] != nil
}

// isPreview reports whether a version was in use before the first revision was published.
func isPreview(version string) bool {
	return strings.HasPrefix(version, "DRAFT") || isDate(version) && version < catalogue.LegacyRevisions[0]
}

func isDate(version string) bool {
	_, err := time.Parse(time.DateOnly, version)
	return err == nil
}

// initializeAll sends initialize with several versions at a time. handshake.ConnectReplyFor returns the replies.
func initializeAll(t *check.T, versions []string) {
	check.Parallel(t, len(versions), func(t *check.T, i int) { handshake.ConnectReplyFor(t, versions[i]) })
}
