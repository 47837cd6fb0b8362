package driver

import "net/http"

// Era is how sessions go in a range of revisions: how a client greets, what it puts around its requests, how it proves
// order, listens and leaves. The session, its transport and the pool ask the era wherever revisions differ in that, so
// that a further era is a further implementation, and nothing else asks for a revision.
//
// An era is a value of a whole run, which its sessions share and do not change. What a session learns, the session
// keeps.
type Era interface {
	// connect says hello to the server, waits for the answer as long as a server may take to start, and has the session
	// agree to it when it is a result.
	connect(s *Session, hello M) Reply

	// listen tells the server that the client is ready for what it says by itself, and opens the way for that. params
	// are those of the message that says so; nil leaves them out.
	finishConnect(s *Session, params M)

	// noOp is a request that every server answers and that changes nothing. Its answer proves that what was sent
	// before was read.
	noOp() (method string, params M)

	// withMeta is what a request of the session has for params if its own are params, which may be nil and stay as they
	// are.
	withMeta(s *Session, params M) M

	// answer is the message that a client owes for a request of the server; nil when it owes none. Like the methods
	// below, it may be called by any goroutine.
	response(s *Session, request *Frame) M

	// cancel takes back a request that the session has sent.
	cancel(s *Session, p Pending, reason string)

	// setHeaders sets the headers of the protocol on an RoundTrip request. message is what its body holds, without a
	// method when that is not a message.
	setHeaders(h *HTTP, header http.Header, message *Frame)

	// heard takes from the headers of an RoundTrip answer what the session goes on with.
	onHeaders(h *HTTP, x *RoundTrip)

	// resumes reports whether an event stream that broke off is asked for again, with GET.
	resumes() bool

	// leave ends what the server keeps of a session, and waits for it over RoundTrip. Over stdio the end of stdin
	// follows.
	closeSession(s *Session)
}

// Era is how the session goes.
func (s *Session) Era() Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// SetEra says how the session goes from here on; nil is the handshake.
func (s *Session) SetEra(e Era) {
	if e == nil {
		e = Legacy{}
	}
	s.mu.Lock()
	s.era = e
	s.mu.Unlock()
}

// NoOp is a request that every server answers and that changes nothing, for when any would do.
func (s *Session) NoOp() (method string, params M) { return s.Era().noOp() }
