package handshake

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// InitializeReply is the answer to initialize of a server that is judged without a handshake: in a process, or in
// requests over HTTP, that nothing else was said in.
func InitializeReply(t *check.T) driver.Reply {
	if asked := t.Server.InitializeReply; asked.Answered() && !t.IsConfirmation() {
		check.NeedsConfirmation(t)
		return asked // by discovery
	}
	return check.Step(t, "initialize", sendInitialize)
}

// sendInitialize waits as long as a server may take to start. While others run, one that is silent for a moment, or
// busy with another session, is asked again when nothing else runs. There it is asked another thing beside. The answer
// to that shows that it has started, and this one has no longer than any other then.
func sendInitialize(t *check.T) driver.Reply {
	s := t.NewProcess()
	s.MarkInvalidInputFromStart()
	s.SetEra(driver.Legacy{})
	took, _ := firstAnswerTime(t)
	var p driver.Pending
	var r driver.Reply
	s.RetryWhileBusy(func() (busy bool) {
		p = s.Request("initialize", driver.ConnectParams(catalogue.NewestLegacy))
		r = s.AwaitFor(p, time.Second+3*took)
		return r.IsBusy()
	})
	if !invalid.IsTimeout(r) && !r.IsBusy() {
		return r
	}
	if check.RequireSerial(t, "initialize"); r.IsBusy() {
		return r
	}
	s.SetEra(t.Server.Era)
	r = s.AwaitFirst(p, s.Request(s.NoOp()))
	check.RequireNotLate(t, r)
	return r
}

// SupportsBothEras reports whether a server that is judged without a handshake serves clients with one as well.
func SupportsBothEras(t *check.T) bool { return InitializeReply(t).Result() != nil }

// Versions that no server has: by their dates a newer one, and an older one than any other, and one that is no date.
const (
	NewerVersion   = "2099-01-01"
	OlderVersion   = "1900-01-01"
	NonDateVersion = "mcpcheck-bogus"
)

// VersionProbe is a request that is made as one of another version.
type VersionProbe struct {
	Method, Version string
	Position        string // in its process, where that may matter: " after tools/list"
	Reply           driver.Reply
}

// Subject is the request, and its answer.
func (c VersionProbe) Subject() check.Subject {
	return check.Subject{
		Name:   c.Method + " in " + check.Show(c.Version) + c.Position,
		Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame},
	}
}

// IsRefused reports whether the request was refused for its version.
func (c VersionProbe) IsRefused() bool {
	code, _ := c.Reply.Code()
	return code == errcode.UnsupportedProtocolVersion
}

// IsEquivalent reports whether another version has brought the same at the same place.
func (c VersionProbe) IsEquivalent(other VersionProbe) bool {
	return c.Method == other.Method && c.Position == other.Position && protocol.SameKind(c.Reply, other.Reply)
}

// VersionProbes asks server/discover, and a list that the server declares, in another version. The session is a hostile
// one: what the server makes of that is nothing to judge the version by that it is judged by. Over stdio the same list
// comes before in that version: a server may take a connection for one of the version in which it was first asked.
func VersionProbes(t *check.T, version string) []VersionProbe {
	return check.Step(t, "version "+version, func(t *check.T) (all []VersionProbe) {
		s, methods, when := t.SessionForInvalidInput(), []string{"server/discover"}, ""
		if list, _ := protocol.ListMethod(t); list != "" {
			methods = append(methods, list)
		}
		if t.Site() == nil {
			ordinary := methods[len(methods)-1]
			t.Request(s, ordinary, nil)
			when = " after " + ordinary
		}
		for _, method := range methods {
			all = append(all,
				VersionProbe{method, version, when, invalid.TryInvalid(t, s, method, versionParams(version))})
		}
		return all
	})
}

// versionParams are the params of a request in another version.
func versionParams(version string) check.M {
	return check.M{"_meta": check.M{driver.MetaRevision: version}}
}

// AllVersionProbes are the requests in a version that no server has, be it as the first ones of a process or later.
func AllVersionProbes(t *check.T, version string) (all []VersionProbe) {
	for _, c := range FirstVersionProbes(t) {
		if c.Version == version {
			all = append(all, c)
		}
	}
	return append(all, VersionProbes(t, version)...)
}

// RequireVersionError is the error with which a request is refused in a version that no server has. It ends the check
// when none is.
func RequireVersionError(t *check.T) (data check.M, reply driver.Reply) {
	all := AllVersionProbes(t, NewerVersion)
	i := slices.IndexFunc(all, VersionProbe.IsRefused)
	if i < 0 {
		t.Yield("an unknown version is answered with %s", check.Got(all[0].Reply))
	}
	reply = all[i].Reply
	data, _ = reply.Error()["data"].(check.M)
	return data, reply
}
