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
	Revision   string // that requests name before the session was greeted
	NoOpMethod string // method of the request that proves order; empty is server/discover
	Tools      []M    // that the server lists; some of their arguments go into headers as well
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

// connect asks server/discover, which tells what the server is. There is nothing to agree on: a revision in which the
// server has answered is one that it speaks.
func (Modern) connect(s *Session, hello M) Reply {
	r := s.AwaitFirst(s.Request("server/discover", nil))
	revision, _ := hello["protocolVersion"].(string)
	s.setConnectResult(r.Result(), revision)
	return r
}

// listen asks for all that the server declares that it announces. The stream is open when the server has said so, for
// which it has a moment; a server may refuse it.
func (Modern) finishConnect(s *Session, _ M) {
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
	p := s.OpenStream("subscriptions/listen", M{"notifications": filter})
	s.Wait(p.mark, moment, func(f *Frame) bool {
		return p.isAnsweredBy(f) || f.Side == FromServer && f.Method == "notifications/subscriptions/acknowledged"
	})
}

func (e Modern) noOp() (method string, params M) { return cmp.Or(e.NoOpMethod, "server/discover"), nil }

// withMeta adds to _meta what every request says. What a check says itself stands.
func (e Modern) withMeta(s *Session, params M) M {
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
	hello := s.ConnectParams
	s.mu.Unlock()
	if hello == nil {
		hello = ConnectParams(e.Revision)
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
func (Modern) response(*Session, *Frame) M { return nil }

// cancel tells a server over stdio so; over RoundTrip the end of the stream says it.
func (Modern) cancel(s *Session, p Pending, reason string) {
	if s.HTTP() == nil {
		s.sendCancelled(p, reason)
	} else if x := p.frame.RoundTrip; x != nil {
		x.cancel()
	}
}

// heard keeps the session ids that the server issues to who begins as in the other era.
func (Modern) onHeaders(h *HTTP, x *RoundTrip) {
	if x.requestFrame.Method == "initialize" {
		h.noteSessionID(x)
	}
}

func (Modern) resumes() bool { return false }

// leave takes back what was asked for that is never done, and ends what was begun as in the other era.
func (e Modern) closeSession(s *Session) {
	for _, p := range slices.Clone(s.openStreams) {
		s.Cancel(p, "the client is done")
	}
	if h := s.HTTP(); h != nil {
		h.DeleteSessions()
	}
}
