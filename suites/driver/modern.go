package driver

import (
	"cmp"
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Modern is the era of the revisions from 2026-07-28 on. It has no handshake and no session: every request names its
// revision, the client and the client's capabilities, and may be the first one. The server sends its own messages on
// streams that the client requests.
type Modern struct {
	// Revision is named by requests before the session is connected.
	Revision string
	// NoOpMethod is the method of the no-op request; empty is server/discover.
	NoOpMethod string
	// Tools are the tools that the server lists. Some of their arguments are also sent as headers.
	Tools []M
}

// These are the keys that the revision reserves in _meta.
const (
	MetaRevision     = "io.modelcontextprotocol/protocolVersion"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Omitted stands in params for a member of _meta, or for all of it, that the session would add and must leave out.
var Omitted any = omitted{}

type omitted struct{}

// connect sends server/discover. There is nothing to negotiate: the server supports a revision in which it answers.
func (Modern) connect(s *Session, params M) Reply {
	r := s.AwaitFirst(s.Request("server/discover", nil))
	revision, _ := params["protocolVersion"].(string)
	s.setConnectResult(r.Result(), revision)
	return r
}

// finishConnect subscribes to all changes that the server declares to announce. It waits up to 50 ms for the
// acknowledgement, because the server may reject the subscription.
func (Modern) finishConnect(s *Session, _ M) {
	filter := M{}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if declared, _ := s.Capabilities[list].(M); declared["listChanged"] == true {
			filter[list+"ListChanged"] = true
		}
	}
	if h := s.HTTP(); len(filter) == 0 || h != nil && h.site.IsCrowded() {
		return
	}
	p := s.openStream(&Frame{opensStream: true, isOptional: true}, s.NextID(), "subscriptions/listen",
		M{"notifications": filter})
	s.Wait(p.mark, timing.SubscriptionAck, func(f *Frame) bool {
		return p.isAnsweredBy(f) || f.Side == FromServer && f.Method == "notifications/subscriptions/acknowledged"
	})
}

func (e Modern) noOp() (method string, params M) { return cmp.Or(e.NoOpMethod, "server/discover"), nil }

// withMeta adds to _meta what every request has to contain. Members that are already there stay.
func (e Modern) withMeta(s *Session, params M) M {
	merged := M{}
	maps.Copy(merged, params)
	meta, isObject := params["_meta"].(M)
	if given, has := params["_meta"]; has && !isObject {
		omit(merged, "_meta", given)
		return merged
	}
	full := e.meta(s)
	for key, value := range meta {
		full[key] = value
		omit(full, key, value)
	}
	merged["_meta"] = full
	return merged
}

// omit deletes a member whose value is Omitted.
func omit(object M, key string, value any) {
	if value == Omitted {
		delete(object, key)
	}
}

// meta returns the members of _meta that every request of a session contains.
func (e Modern) meta(s *Session) M {
	s.mu.Lock()
	params := s.ConnectParams
	s.mu.Unlock()
	if params == nil {
		params = ConnectParams(e.Revision)
	}
	meta := M{}
	for key, member := range map[string]string{
		MetaRevision: "protocolVersion", MetaClient: "clientInfo", MetaCapabilities: "capabilities",
	} {
		if value, has := params[member]; has {
			meta[key] = value
		}
	}
	return meta
}

// response rejects what a server of this era must not send over stdio, since a tool may wait for it. Over HTTP, nothing
// can carry a response.
func (Modern) response(s *Session, request *Frame) M {
	if s.HTTP() != nil {
		return nil
	}
	return methodNotFound(request)
}

// cancel notifies a server over stdio; over HTTP, closing the stream cancels the request.
func (Modern) cancel(s *Session, p Pending, reason string) {
	if s.HTTP() == nil {
		s.sendCancelled(p, reason)
	} else if x := p.frame.RoundTrip; x != nil {
		x.cancel()
	}
}

// onHeaders keeps the session ids that the server issues for initialize, which a check may have sent.
func (Modern) onHeaders(h *HTTP, x *RoundTrip) {
	if x.requestFrame.Method == "initialize" {
		h.noteSessionID(x)
	}
}

func (Modern) resumes() bool { return false }

// closeSession cancels the open streams, and ends the sessions that were begun with initialize.
func (e Modern) closeSession(s *Session) {
	s.CancelStreams("the client is done")
	if h := s.HTTP(); h != nil {
		h.DeleteSessions()
	}
}
