package driver

import "time"

// This file lets callers go on that have not moved to Session.HTTP, Session.Stdio,
// Session.Harmless and Session.Greet yet. It goes with the last of them.

// transition is what they read of a session.
type transition struct {
	// Fence is the method of the request that proves order.
	//
	// Deprecated: use s.Harmless.
	Fence string
}

// Initialize greets the server.
//
// Deprecated: use s.Greet.
func (s *Session) Initialize(hello M) Reply { return s.Greet(hello) }

// Do makes an HTTP request by hand.
//
// Deprecated: use s.HTTP().Do.
func (s *Session) Do(r HTTPRequest) *Exchange { return s.HTTP().Do(r) }

// SessionID is empty over stdio.
//
// Deprecated: use s.HTTP().SessionID.
func (s *Session) SessionID() string {
	if h := s.HTTP(); h != nil {
		return h.SessionID()
	}
	return ""
}

// Endpoint is empty over stdio.
//
// Deprecated: use s.HTTP().Endpoint.
func (s *Session) Endpoint() string {
	if h := s.HTTP(); h != nil {
		return h.Endpoint()
	}
	return ""
}

// Exchanges are none over stdio.
//
// Deprecated: use s.HTTP().Exchanges.
func (s *Session) Exchanges() []*Exchange {
	if h := s.HTTP(); h != nil {
		return h.Exchanges()
	}
	return nil
}

// Standing is the stream that the session opened with GET.
//
// Deprecated: use s.HTTP().Standing.
func (s *Session) Standing() *Exchange { return s.HTTP().Standing() }

// CloseInput says that the client sends nothing more.
//
// Deprecated: use s.Stdio().CloseInput.
func (s *Session) CloseInput() { s.link.closeInput() }

// Terminate sends SIGTERM to the server's process group.
//
// Deprecated: use s.Stdio().Terminate.
func (s *Session) Terminate() { s.Stdio().Terminate() }

// AwaitExit waits for the end of the process.
//
// Deprecated: use s.Stdio().AwaitExit.
func (s *Session) AwaitExit(d time.Duration) (Exit, bool) { return s.Stdio().AwaitExit(d) }

// Stderr is empty over HTTP.
//
// Deprecated: use s.Stdio().Stderr.
func (s *Session) Stderr() (head []byte, total int) {
	if p := s.Stdio(); p != nil {
		return p.Stderr()
	}
	return nil, 0
}

// Partial is how many bytes came that no newline has ended yet.
//
// Deprecated: use s.Stdio().Partial.
func (s *Session) Partial() int { return s.Stdio().Partial() }
