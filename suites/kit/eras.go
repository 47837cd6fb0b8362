package kit

import (
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
		t.Doubt()
		return asked // by discovery
	}
	return Shared(t, "initialize", func(t *T) driver.Reply {
		s := t.Start()
		s.HostileThroughout()
		s.SetEra(driver.Handshake{})
		return s.Greet(driver.Hello(Newest))
	})
}

// IsDual reports whether a server that is judged without a handshake serves clients with one as well.
func IsDual(t *T) bool { return AskedToInitialize(t).Result() != nil }

// Versions that no server has: by their dates a newer one, and an older one than any other.
const (
	NewerVersion = "2099-01-01"
	OlderVersion = "1900-01-01"
)

// Claim is a request that is made as one of another version.
type Claim struct {
	Method, Version string
	Reply           driver.Reply
}

// Subject is the request.
func (c Claim) Subject() Subject { return Named(c.Method + " in " + Show(c.Version)) }

// Claims asks server/discover, and a list that the server declares, in another version. The session is a hostile one:
// what the server makes of that is nothing to judge the version by that it is judged by.
func Claims(t *T, version string) []Claim {
	return Shared(t, "version "+version, func(t *T) (all []Claim) {
		s := t.Hostile()
		methods := []string{"server/discover"}
		if list, _ := ListMethod(t); list != "" {
			methods = append(methods, list)
		}
		for _, method := range methods {
			r := t.Try(s, method, M{"_meta": M{driver.MetaRevision: version}})
			all = append(all, Claim{method, version, r})
		}
		return all
	})
}

// Refusal is the error with which server/discover is refused in a version that no server has. It ends the check when
// that was answered otherwise.
func Refusal(t *T) (data M, reply driver.Reply) {
	reply = Claims(t, NewerVersion)[0].Reply
	if code, _ := reply.Code(); code != UnsupportedVersion {
		t.Because(OtherCheck).Skip("an unknown version is answered with %s: version/unsupported-newer", Got(reply))
	}
	data, _ = reply.Error()["data"].(M)
	return data, reply
}
