package driver

import "fmt"

// ClientInfo is the clientInfo that mcpcheck sends to servers.
var ClientInfo = M{"name": "mcpcheck", "version": "1"}

// ConnectParams returns the initialize params of a client without capabilities that requests a revision.
func ConnectParams(revision string) M {
	return M{"protocolVersion": revision, "capabilities": M{}, "clientInfo": ClientInfo}
}

// Connect sends initialize or server/discover and waits for the response until the start timeout. If the response is a
// result, the session takes its revision and capabilities from it.
func (s *Session) Connect(params M) Reply {
	s.mu.Lock()
	s.ConnectParams = params
	s.clientCapabilities, _ = params["capabilities"].(M)
	s.mu.Unlock()
	return s.Era().connect(s, params)
}

// setConnectResult stores what the server answered to initialize or server/discover. result is nil if that was not a
// result.
func (s *Session) setConnectResult(result M, revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Revision = revision
	s.ConnectResult = definedMembers(result)
	s.Capabilities, _ = result["capabilities"].(M)
	if s.Capabilities == nil {
		s.Capabilities = M{}
	}
}

// definedMembers returns the members of a connect result that a revision defines. A session keeps only these, because
// others may be long.
func definedMembers(result M) M {
	if result == nil {
		return nil
	}
	kept := M{}
	for _, name := range []string{
		"protocolVersion", "supportedVersions", "capabilities", "serverInfo", "instructions", "_meta", "resultType",
		"ttlMs", "cacheScope",
	} {
		if member, has := result[name]; has {
			kept[name] = member
		}
	}
	return kept
}

// NegotiatedRevision returns the negotiated revision, or "" if there is none yet. Unlike the field Revision, it may be
// read by any goroutine, also while the session is connecting.
func (s *Session) NegotiatedRevision() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Revision
}

// Open connects a session that was just started and finishes the handshake. It fails if the server does not grant the
// requested revision. While a server that serves one session at a time is busy with the previous one, it tries again.
func (s *Session) Open(params M) error {
	var r Reply
	s.RetryWhileBusy(func() (busy bool) {
		r = s.Connect(params)
		return r.IsBusy()
	})
	switch {
	case r.Err != nil:
		return r.Err
	case r.Result() == nil:
		return fmt.Errorf("%s was not answered with a result: %s", r.Method, r.Frame.Raw.Brief())
	}
	if want, _ := params["protocolVersion"].(string); s.Revision != want {
		return fmt.Errorf("the server granted revision %q when asked for %q", s.Revision, want)
	}
	s.FinishConnect()
	return nil
}

// FinishConnect finishes the handshake after Connect has returned a valid result.
func (s *Session) FinishConnect() { s.FinishConnectWith(nil) }

// FinishConnectWith is FinishConnect with params for the message that says that the client is ready.
func (s *Session) FinishConnectWith(params M) {
	s.Era().finishConnect(s, params)
	s.ordinary = len(s.clientCapabilities) == 0 && s.ConnectParams["protocolVersion"] == s.Revision
}

// AcceptRevision makes a session count as ordinary although the server has granted another revision than requested.
func (s *Session) AcceptRevision() { s.ordinary = len(s.clientCapabilities) == 0 }

// IsOrdinary reports whether checks may share the session: it is usable, its handshake was finished without client
// capabilities, and the requested revision was granted. A server may behave differently otherwise.
func (s *Session) IsOrdinary() bool { return s.ordinary && s.IsUsable() }
