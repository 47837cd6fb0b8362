package driver

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// ClientInfo is how the harness names itself to servers.
var ClientInfo = M{"name": "mcpcheck", "version": "1"}

// Hello is the params of an initialize request that declares no capability.
func Hello(revision string) M {
	return M{"protocolVersion": revision, "capabilities": M{}, "clientInfo": ClientInfo}
}

// Initialize sends initialize and waits for its answer as long as a server may
// take to start. When it is a result, the session takes revision and
// capabilities from it.
func (s *Session) Initialize(hello M) Reply {
	s.mu.Lock()
	s.Hello = hello
	s.client, _ = hello["capabilities"].(M)
	s.mu.Unlock()
	r := s.AwaitFirst(s.Request("initialize", hello))
	s.Welcome = r.Result()
	revision, _ := s.Welcome["protocolVersion"].(string)
	s.mu.Lock()
	s.Revision = revision
	s.mu.Unlock()
	s.Capabilities, _ = s.Welcome["capabilities"].(M)
	if s.Capabilities == nil {
		s.Capabilities = M{}
	}
	return r
}

// Establish completes the handshake of a session that was just started, asking
// for a revision. It fails when the server does not grant that revision.
func (s *Session) Establish(hello M) error {
	r := s.Initialize(hello)
	switch {
	case r.Err != nil:
		return r.Err
	case r.Result() == nil:
		return fmt.Errorf("initialize was not answered with a result: %s", Brief(r.Frame.Raw))
	}
	if want, _ := hello["protocolVersion"].(string); s.Revision != want {
		return fmt.Errorf("the server granted revision %q when asked for %q", s.Revision, want)
	}
	s.Confirm()
	return nil
}

// Confirm ends the handshake after Initialize has brought a good result.
func (s *Session) Confirm() { s.ConfirmWith(nil) }

// ConfirmWith is Confirm with params for the notification.
func (s *Session) ConfirmWith(params M) {
	s.Notify("notifications/initialized", params)
	s.link.established()
	s.ordinary = len(s.client) == 0
}

// Ordinary reports whether the session is one like any other: its handshake was
// completed with no client capability declared, and it is usable.
func (s *Session) Ordinary() bool { return s.ordinary && s.Usable() }

// Brief shortens a text of the wire for a message.
func Brief(raw []byte) string { return text.Shorten(string(raw), text.Bytes, 130, 30, "…") }
