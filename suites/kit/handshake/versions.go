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

// InitializeReply is the reply to initialize of a server whose modern revision is tested: in a process, or in HTTP
// requests, with nothing before it.
func InitializeReply(t *check.T) driver.Reply {
	if asked := t.Server.InitializeReply; asked.Answered() && !t.IsConfirmation() {
		check.NeedsConfirmation(t)
		return asked // by discovery
	}
	return check.Step(t, "initialize", sendInitialize)
}

// sendInitialize sends initialize in a new process. While others run, it does not wait for long; a server that is
// silent or busy is tried again when nothing else runs. Then it has the time of a start, and another request is sent as
// well: once that is answered, the server has started, and this one has no longer than any other.
func sendInitialize(t *check.T) driver.Reply {
	s := t.Session(check.Process)
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

// Versions that no server supports.
const (
	NewerVersion   = "2099-01-01"
	OlderVersion   = "1900-01-01"
	NonDateVersion = "mcpcheck-bogus"
)

// VersionProbe is a request in another version, with its reply.
type VersionProbe struct {
	Method, Version string
	// Position is where in its process the request was sent if that may matter, for messages: " after tools/list".
	Position string
	Reply    driver.Reply
}

// Subject shows the request and its reply.
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

// IsEquivalent reports whether another version had the same kind of reply at the same position.
func (c VersionProbe) IsEquivalent(other VersionProbe) bool {
	return c.Method == other.Method && c.Position == other.Position && protocol.SameKind(c.Reply, other.Reply)
}

// VersionProbes requests server/discover, and a list that the server declares, in another version. It uses a session
// for invalid input, since the replies say nothing about the tested version. Over stdio an ordinary request in the
// tested version precedes them: a server may take the version of the first request for that of the connection.
func VersionProbes(t *check.T, version string) []VersionProbe {
	return check.Step(t, "version "+version, func(t *check.T) (all []VersionProbe) {
		s, methods, when := t.Session(check.ForInvalidInput), []string{"server/discover"}, ""
		if list, _ := protocol.ListMethod(t); list != "" {
			methods = append(methods, list)
		}
		if t.Site() == nil {
			ordinary := methods[len(methods)-1]
			t.Send(s, ordinary, nil)
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

// AllVersionProbes are the requests in a version that no server supports, as the first ones of a process and later.
func AllVersionProbes(t *check.T, version string) (all []VersionProbe) {
	for _, c := range FirstVersionProbes(t) {
		if c.Version == version {
			all = append(all, c)
		}
	}
	return append(all, VersionProbes(t, version)...)
}

// RequireVersionError is the error by which a request in an unsupported version is refused, with its data. It ends the
// check when none is.
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
