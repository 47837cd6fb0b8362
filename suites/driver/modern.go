package driver

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Modern is the era of the revisions from 2026-07-28 on. There is no handshake and no session: every request says by
// itself which revision it is of, who sends it and what that client can do, and a server may be asked anything at any
// time. What it says by itself comes on the streams that the client asks for.
type Modern struct {
	Revision string // that requests name before the session was greeted
	Fence    string // method of the request that proves order; empty is server/discover
	Tools    []M    // that the server lists; some of their arguments go into headers as well
}

// The keys that the revision keeps for itself in _meta.
const (
	MetaRevision     = "io.modelcontextprotocol/protocolVersion"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Omitted stands in params for a member of _meta, or for all of it, that the session is to leave out though it is one
// of those that it adds.
var Omitted any = omitted{}

type omitted struct{}

// greet asks server/discover, which tells what the server is. There is nothing to agree on: a revision in which the
// server has answered is one that it speaks.
func (Modern) greet(s *Session, hello M) Reply {
	r := s.AwaitFirst(s.Request("server/discover", nil))
	revision, _ := hello["protocolVersion"].(string)
	s.agree(r.Result(), revision)
	return r
}

// listen asks for all that the server declares that it announces. The stream is open when the server has said so, for
// which it has a moment; a server may refuse it.
func (Modern) listen(s *Session, _ M) {
	const moment = 50 * time.Millisecond
	filter := M{}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if declared, _ := s.Capabilities[list].(M); declared["listChanged"] == true {
			filter[list+"ListChanged"] = true
		}
	}
	if len(filter) == 0 {
		return
	}
	p := s.Stand("subscriptions/listen", M{"notifications": filter})
	s.Wait(p.from, moment, func(f *Frame) bool {
		return p.answeredBy(f) || f.Side == FromServer && f.Method == "notifications/subscriptions/acknowledged"
	})
}

func (e Modern) harmless() (method string, params M) { return cmp.Or(e.Fence, "server/discover"), nil }

// dress adds to _meta what every request says. What a check says itself stands.
func (e Modern) dress(s *Session, params M) M {
	dressed := M{}
	maps.Copy(dressed, params)
	meta, isObject := params["_meta"].(M)
	if given, has := params["_meta"]; has && !isObject {
		omit(dressed, "_meta", given)
		return dressed
	}
	full := e.meta(s)
	for key, value := range meta {
		full[key] = value
		omit(full, key, value)
	}
	dressed["_meta"] = full
	return dressed
}

// omit leaves a member out when its value says so.
func omit(object M, key string, value any) {
	if value == Omitted {
		delete(object, key)
	}
}

// meta is what every request of a session says.
func (e Modern) meta(s *Session) M {
	s.mu.Lock()
	hello := s.Hello
	s.mu.Unlock()
	if hello == nil {
		hello = Hello(e.Revision)
	}
	meta := M{}
	for key, member := range map[string]string{
		MetaRevision: "protocolVersion", MetaClient: "clientInfo", MetaCapabilities: "capabilities",
	} {
		if value, has := hello[member]; has {
			meta[key] = value
		}
	}
	return meta
}

// answer is none: a server of the era asks by its results.
func (Modern) answer(*Session, *Frame) M { return nil }

// cancel tells a server over stdio so; over HTTP the end of the stream says it.
func (Modern) cancel(s *Session, p Pending, reason string) {
	if s.HTTP() == nil {
		s.withdraw(p, reason)
	} else if x := p.frame.HTTP; x != nil {
		x.recall()
	}
}

// heard keeps the session ids that the server issues to who begins as in the other era.
func (Modern) heard(h *HTTP, x *Exchange) {
	if x.message.Method == "initialize" {
		h.learn(x)
	}
}

func (Modern) resumes() bool { return false }

// leave takes back what was asked for that is never done, and ends what was begun as in the other era.
func (e Modern) leave(s *Session) {
	for _, p := range slices.Clone(s.stands) {
		s.Cancel(p, "the client is done")
	}
	if h := s.HTTP(); h != nil {
		h.EndIssued()
	}
}
