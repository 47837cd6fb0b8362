package driver

import (
	"cmp"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"net/http"
)

// Legacy is the era of the revisions up to 2025-11-25. A session begins with initialize and
// notifications/initialized, and both sides remember what they agreed on. Over RoundTrip an id stands for it, which the
// server may issue, one stream is open for what the server says by itself, and DELETE ends it.
type Legacy struct {
	// NoOpMethod is the method of the request that proves order. Empty is ping, which some servers leave unanswered.
	NoOpMethod string
}

// The headers of the era, which came up with Streamable RoundTrip.
const (
	sessionHeader  = "Mcp-Session-Id"
	revisionHeader = "Mcp-Protocol-Version"
)

func (Legacy) connect(s *Session, hello M) Reply {
	p := s.Request("initialize", hello)
	if s.AfterInitialize != nil {
		p = s.AfterInitialize(p)
	}
	r := s.AwaitFirst(p)
	revision, _ := r.Result()["protocolVersion"].(string)
	s.setConnectResult(r.Result(), revision)
	return r
}

func (Legacy) finishConnect(s *Session, params M) {
	s.Notify("notifications/initialized", params)
	if h := s.HTTP(); h != nil {
		h.openListeningStream()
	}
}

func (e Legacy) noOp() (method string, params M) { return cmp.Or(e.NoOpMethod, "ping"), nil }

func (Legacy) withMeta(_ *Session, params M) M { return params }

// answer serves ping and the features that the client declared; anything else is refused with -32601.
func (e Legacy) response(s *Session, request *Frame) M {
	reply := M{"jsonrpc": "2.0", "id": request.ID}
	if result := e.result(s, request.Method); result != nil {
		reply["result"] = result
	} else {
		reply["error"] = M{"code": errcode.MethodNotFound, "message": "Method not found"}
	}
	return reply
}

// result is the result of a request of the server; nil when it is not served.
func (Legacy) result(s *Session, method string) M {
	s.mu.Lock()
	client := s.clientCapabilities
	s.mu.Unlock()
	declared := func(name string) bool { return client[name] != nil && !s.RefuseServerRequests }
	switch {
	case method == "ping":
		return M{}
	case method == "roots/list" && declared("roots"):
		return M{"roots": []any{}}
	case method == "elicitation/create" && declared("elicitation"):
		return M{"action": "decline"}
	case method == "sampling/createMessage" && declared("sampling"):
		content := M{"type": "text", "text": "mcpcheck"}
		return M{"role": "assistant", "content": content, "model": "mcpcheck", "stopReason": "endTurn"}
	}
	return nil
}

func (Legacy) cancel(s *Session, p Pending, reason string) {
	s.sendCancelled(p, reason)
}

// setHeaders names the session and its revision. That is named in every revision, as SDKs do: without a session,
// nothing else tells it.
func (Legacy) setHeaders(h *HTTP, header http.Header, message *Frame) {
	if id := h.SessionID(); id != "" {
		header.Set(sessionHeader, id)
	}
	revision := h.s.NegotiatedRevision()
	if all := h.issuedSessions(); revision == "" && len(all) > 0 && message.Method != "initialize" {
		revision = all[0].revision() // of a session that was begun by hand
	}
	if revision != "" {
		header.Set(revisionHeader, revision)
	}
}

// heard keeps the session ids that the server issues, and notes when it has ended the session.
func (Legacy) onHeaders(h *HTTP, x *RoundTrip) {
	h.noteSessionID(x)
	if x.isSessionNotFound() {
		h.s.MarkUnusable()
	}
}

func (Legacy) resumes() bool { return true }

// leave ends every session that the server has issued an id for, be it one in which it has answered 404: some say so of
// what they do not know.
func (Legacy) closeSession(s *Session) {
	if h := s.HTTP(); h != nil {
		h.DeleteSessions()
	}
}
