package driver

import (
	"cmp"
	"net/http"

	"github.com/mcpcheck/mcpcheck/suites/errcode"
)

// Legacy is the era of the revisions up to 2025-11-25. A session begins with initialize and notifications/initialized,
// and both sides remember the result. Over HTTP the server may issue a session id, the client opens one stream for the
// server's own messages, and DELETE ends the session.
type Legacy struct {
	// NoOpMethod is the method of the no-op request. Empty is ping, which some servers leave unanswered.
	NoOpMethod string
}

// These are the headers of the era, which exist since Streamable HTTP.
const (
	sessionHeader  = "Mcp-Session-Id"
	revisionHeader = "Mcp-Protocol-Version"
)

func (Legacy) connect(s *Session, params M) Reply {
	p := s.sendInitialize(params)
	if s.AfterInitialize != nil {
		p = s.AfterInitialize(p)
	}
	r := s.AwaitFirst(p)
	revision, _ := r.Result()["protocolVersion"].(string)
	s.setConnectResult(r.Result(), revision)
	return r
}

func (s *Session) sendInitialize(params M) Pending {
	const method = "initialize"
	if s.EncodeInitialize == nil {
		return s.Request(method, params)
	}
	id := s.NextID()
	return s.SendRequest(s.NewPending(id, method), s.EncodeInitialize(s.NewRequest(id, method, params)))
}

func (Legacy) finishConnect(s *Session, params M) {
	s.Notify("notifications/initialized", params)
	if h := s.HTTP(); h != nil {
		h.openListeningStream()
	}
}

func (e Legacy) noOp() (method string, params M) { return cmp.Or(e.NoOpMethod, "ping"), nil }

func (Legacy) withMeta(_ *Session, params M) M { return params }

// response answers ping and the features that the client declared. It rejects anything else with -32601.
func (e Legacy) response(s *Session, request *Frame) M {
	if result := e.result(s, request.Method); result != nil {
		return M{"jsonrpc": "2.0", "id": request.ID, "result": result}
	}
	return methodNotFound(request)
}

// methodNotFound is the response to a request that no client supports.
func methodNotFound(request *Frame) M {
	return M{"jsonrpc": "2.0", "id": request.ID,
		"error": M{"code": errcode.MethodNotFound, "message": "Method not found"}}
}

// result returns the result for a request of the server, or nil if the client does not support it.
func (Legacy) result(s *Session, method string) M {
	s.mu.Lock()
	client, refusing := s.clientCapabilities, s.refusing
	s.mu.Unlock()
	declared := func(name string) bool { return client[name] != nil && !refusing }
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

// setHeaders sets the session id and the revision. It sets the latter in every revision, as SDKs do: without a session
// id, nothing else tells the server the revision.
func (Legacy) setHeaders(h *HTTP, header http.Header, message *Frame) {
	if id := h.SessionID(); id != "" {
		header.Set(sessionHeader, id)
	}
	revision := h.s.NegotiatedRevision()
	if all := h.issuedSessions(); revision == "" && len(all) > 0 && message.Method != "initialize" {
		revision = all[0].revision() // initialize was sent with Do
	}
	if revision != "" {
		header.Set(revisionHeader, revision)
	}
}

// onHeaders keeps the session ids that the server issues, and notes that the server has ended the session.
func (Legacy) onHeaders(h *HTTP, x *RoundTrip) {
	h.noteSessionID(x)
	if x.isSessionNotFound() {
		h.s.MarkUnusable()
	}
}

func (Legacy) resumes() bool { return true }

// closeSession ends every session for which the server has issued an id, even one that it has answered with 404: some
// servers use that status for anything they do not know.
func (Legacy) closeSession(s *Session) {
	if h := s.HTTP(); h != nil {
		h.DeleteSessions()
	}
}
