package kit

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// The errors that the specification defines for requests that stand alone.
const (
	InvalidParams      = -32602
	HeaderMismatch     = -32020
	UnsupportedVersion = -32022
)

// AskedToInitialize is the answer to initialize of a server that is judged without a handshake: in a process, or in
// requests over HTTP, that nothing else was said in.
func AskedToInitialize(t *T) driver.Reply {
	if asked := t.Server.Shaken; asked.Answered() && !t.Alone() {
		NeedsConfirmation(t)
		return asked // by discovery
	}
	return Step(t, "initialize", askToInitialize)
}

// askToInitialize waits as long as a server may take to start. While others run, one that is silent for a moment, or
// busy with another session, is asked again when nothing else runs. There it is asked another thing beside. The answer
// to that shows that it has started, and this one has no longer than any other then.
func askToInitialize(t *T) driver.Reply {
	s := t.Start()
	s.HostileThroughout()
	s.SetEra(driver.Handshake{})
	took, _ := firstTook(t)
	var p driver.Pending
	var r driver.Reply
	s.InTurn(func() (busy bool) {
		p = s.Request("initialize", driver.Hello(Newest))
		r = s.AwaitFor(p, time.Second+3*took)
		return r.Busy()
	})
	if !IsSilence(r) && !r.Busy() {
		return r
	}
	if RequireQuiet(t, "initialize"); r.Busy() {
		return r
	}
	s.SetEra(t.Server.Era)
	r = s.AwaitFirst(p, s.Request(s.Harmless()))
	RequireNotLate(t, r)
	return r
}

// IsDual reports whether a server that is judged without a handshake serves clients with one as well.
func IsDual(t *T) bool { return AskedToInitialize(t).Result() != nil }

// Versions that no server has: by their dates a newer one, and an older one than any other, and one that is no date.
const (
	NewerVersion = "2099-01-01"
	OlderVersion = "1900-01-01"
	NoDate       = "mcpcheck-bogus"
)

// Claim is a request that is made as one of another version.
type Claim struct {
	Method, Version string
	When            string // in its process, where that may matter: " after tools/list"
	Reply           driver.Reply
}

// Subject is the request, and its answer.
func (c Claim) Subject() Subject {
	return Subject{
		Name: c.Method + " in " + Show(c.Version) + c.When, Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame},
	}
}

// IsRefused reports whether the request was refused for its version.
func (c Claim) IsRefused() bool {
	code, _ := c.Reply.Code()
	return code == UnsupportedVersion
}

// IsLike reports whether another version has brought the same at the same place.
func (c Claim) IsLike(other Claim) bool {
	return c.Method == other.Method && c.When == other.When && SameKind(c.Reply, other.Reply)
}

// Claims asks server/discover, and a list that the server declares, in another version. The session is a hostile one:
// what the server makes of that is nothing to judge the version by that it is judged by. Over stdio the same list comes
// before in that version: a server may take a connection for one of the version in which it was first asked.
func Claims(t *T, version string) []Claim {
	return Step(t, "version "+version, func(t *T) (all []Claim) {
		s, methods, when := t.Hostile(), []string{"server/discover"}, ""
		if list, _ := ListMethod(t); list != "" {
			methods = append(methods, list)
		}
		if t.Site() == nil {
			ordinary := methods[len(methods)-1]
			t.Ask(s, ordinary, nil)
			when = " after " + ordinary
		}
		for _, method := range methods {
			all = append(all, Claim{method, version, when, TryAmiss(t, s, method, claiming(version))})
		}
		return all
	})
}

// claiming are the params of a request in another version.
func claiming(version string) M { return M{"_meta": M{driver.MetaRevision: version}} }

// AllClaims are the requests in a version that no server has, be it as the first ones of a process or later.
func AllClaims(t *T, version string) (all []Claim) {
	for _, c := range FirstClaims(t) {
		if c.Version == version {
			all = append(all, c)
		}
	}
	return append(all, Claims(t, version)...)
}

// Refusal is the error with which a request is refused in a version that no server has. It ends the check when none is.
func Refusal(t *T) (data M, reply driver.Reply) {
	all := AllClaims(t, NewerVersion)
	i := slices.IndexFunc(all, Claim.IsRefused)
	if i < 0 {
		t.Yield("an unknown version is answered with %s", Got(all[0].Reply))
	}
	reply = all[i].Reply
	data, _ = reply.Error()["data"].(M)
	return data, reply
}
