package driver

import "fmt"

// ClientInfo is how the harness names itself to servers.
var ClientInfo = M{"name": "mcpcheck", "version": "1"}

// ConnectParams is what a client that declares no capability says of itself when it asks for a revision.
func ConnectParams(revision string) M {
	return M{"protocolVersion": revision, "capabilities": M{}, "clientInfo": ClientInfo}
}

// Connect greets the server and waits for its answer as long as a server may take to start. When it is a result, the
// session takes revision and capabilities from it.
func (s *Session) Connect(hello M) Reply {
	s.mu.Lock()
	s.ConnectParams = hello
	s.clientCapabilities, _ = hello["capabilities"].(M)
	s.mu.Unlock()
	return s.Era().connect(s, hello)
}

// setConnectResult takes over what the server has answered to the greeting; welcome is nil when that was not a result.
func (s *Session) setConnectResult(welcome M, revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Revision = revision
	s.ConnectResult = definedMembers(welcome)
	s.Capabilities, _ = welcome["capabilities"].(M)
	if s.Capabilities == nil {
		s.Capabilities = M{}
	}
}

// definedMembers is what a session keeps of the result of its greeting: the members that a revision defines. Any others
// may be long.
func definedMembers(welcome M) M {
	if welcome == nil {
		return nil
	}
	kept := M{}
	for _, name := range []string{
		"protocolVersion", "supportedVersions", "capabilities", "serverInfo", "instructions", "_meta", "resultType",
		"ttlMs", "cacheScope",
	} {
		if member, has := welcome[name]; has {
			kept[name] = member
		}
	}
	return kept
}

// NegotiatedRevision is the revision that was agreed on, for who looks at a session of another check, which may be
// greeting; empty when there is none yet.
func (s *Session) NegotiatedRevision() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Revision
}

// Open completes the greeting in a session that was just started, asking for a revision. It fails when the server
// does not grant that revision. One that serves a single session is asked again while it is busy with the last one.
func (s *Session) Open(hello M) error {
	var r Reply
	s.RetryWhileBusy(func() (busy bool) {
		r = s.Connect(hello)
		return r.IsBusy()
	})
	switch {
	case r.Err != nil:
		return r.Err
	case r.Result() == nil:
		return fmt.Errorf("%s was not answered with a result: %s", r.Method, r.Frame.Raw.Brief())
	}
	if want, _ := hello["protocolVersion"].(string); s.Revision != want {
		return fmt.Errorf("the server granted revision %q when asked for %q", s.Revision, want)
	}
	s.FinishConnect()
	return nil
}

// FinishConnect ends the greeting after Connect has brought a good result.
func (s *Session) FinishConnect() { s.FinishConnectWith(nil) }

// FinishConnectWith is FinishConnect with params for the message that says that the client is ready.
func (s *Session) FinishConnectWith(params M) {
	s.Era().finishConnect(s, params)
	s.ordinary = len(s.clientCapabilities) == 0 && s.ConnectParams["protocolVersion"] == s.Revision
}

// AcceptRevision has a session count as an ordinary one that the server has granted another revision for.
func (s *Session) AcceptRevision() { s.ordinary = len(s.clientCapabilities) == 0 }

// IsOrdinary reports whether the session is one like any other: its greeting was completed with no client capability
// declared, by which the revision was granted that was asked for, and it is usable. A server may go by either.
func (s *Session) IsOrdinary() bool { return s.ordinary && s.IsUsable() }
