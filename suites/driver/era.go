package driver

import "net/http"

// Era is how sessions work in a range of revisions: how a client connects, what it adds to its requests, which request
// is a no-op, how it listens and how it ends a session. The session, its transport and the pool call the era wherever
// revisions differ, so that another era is another implementation and nothing else depends on the revision.
//
// An era belongs to a whole run. Sessions share it and do not change it; they keep their own state.
type Era interface {
	// connect sends initialize or server/discover, waits for the response until the start timeout, and stores the
	// result in the session.
	connect(s *Session, params M) Reply

	// finishConnect tells the server that the client is ready for its messages, and opens the stream for them. params
	// are those of the notification; nil leaves them out.
	finishConnect(s *Session, params M)

	// noOp returns a request that every server answers and that changes nothing. Its response proves that earlier
	// messages were read.
	noOp() (method string, params M)

	// withMeta returns the params that the session sends for a request with the given params, which may be nil and are
	// not changed.
	withMeta(s *Session, params M) M

	// response returns the client's response to a request of the server, or nil if the client owes none. Like the
	// methods below, it may be called by any goroutine.
	response(s *Session, request *Frame) M

	// cancel cancels a request that the session has sent.
	cancel(s *Session, p Pending, reason string)

	// setHeaders sets the protocol's headers on an HTTP request. message is the message in its body; it has no method
	// if the body is not a message.
	setHeaders(h *HTTP, header http.Header, message *Frame)

	// onHeaders updates the session from the headers of an HTTP response.
	onHeaders(h *HTTP, x *RoundTrip)

	// resumes reports whether a broken event stream is resumed with GET.
	resumes() bool

	// closeSession ends what the server keeps of a session. Over HTTP it waits for that; over stdio the client closes
	// stdin afterwards.
	closeSession(s *Session)
}

// Era returns the era of the session.
func (s *Session) Era() Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// SetEra sets the era of the session from now on; nil stands for Legacy.
func (s *Session) SetEra(e Era) {
	if e == nil {
		e = Legacy{}
	}
	s.mu.Lock()
	s.era = e
	s.mu.Unlock()
}

// NoOp returns a request that every server answers and that changes nothing.
func (s *Session) NoOp() (method string, params M) { return s.Era().noOp() }
