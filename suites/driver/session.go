package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Session is one connection to the target, with a record of everything that was said. One goroutine at a time drives
// it; any may read its record.
//
// A session hides its transport and its era: once established, a request is sent with Request and its answer comes with
// Await, whatever the transport and whatever a revision wants around it.
type Session struct {
	ConnectParams        M      // what the client said of itself when it greeted
	ConnectResult        M      // result of the greeting; nil before it came
	Revision             string // that was agreed on
	Capabilities         M      // the server's, never nil once established
	RefuseServerRequests bool   // answer every request of the server but ping with -32601
	UseCount             int    // how often it was lent and came back
	SentMalformed        bool   // it was given a line that breaks the protocol
	StderrDiscarded      bool   // nobody reads its stderr
	ReusableAsClient     bool   // others may use it that want its client to have declared what it has

	// AfterInitialize is called when initialize was sent, and returns the request whose answer is to be waited for; may
	// be nil.
	AfterInitialize func(p Pending) Pending

	record
	transport   transport
	bucket      *bucket               // of the pool, that it was lent from; nil while it is not lent
	onReply     func(*Session, Reply) // Target.Heard
	waits       *Waits                // Target.Waits
	number      int
	idBase      int       // after which those of NextID come
	idCount     int       // how many NextID has given
	openStreams []Pending // sent with OpenStream
	ordinary    bool      // established without client capabilities, in the revision that was asked for

	// Guarded by the lock of the record.
	sentRequests         map[string][]*sentRequest // requests of the client, by the text of their ids
	connectID            json.RawMessage           // id of the greeting while it has no answer; nil otherwise
	hasEarlierUnanswered bool                      // what was said before it may still be answered
	internalIDs          []json.RawMessage         // ids of those of its requests that are for nobody but itself
	era                  Era
	clientCapabilities   M // the capabilities that were declared
	requestHandler       func(request *Frame) (taken bool)
	unusable             bool
	unansweredMethods    []string // methods of requests that had no answer in time
	connectionFailed     bool     // a connection did
	crossTalk            bool     // a response came that was for another session
}

// link is the transport of a session. It carries what the session says, and hands what comes to receive.
type transport interface {
	// send hands a message over, piece by piece; it never waits for the server.
	send(f *Frame, pieces [][]byte)
	// awaitDelivery waits until the transport itself has taken what was sent since the mark, which over RoundTrip the
	// server says for each message.
	awaitDelivery(mark int)
	// closeInput says that the client sends nothing more, where a transport can.
	closeInput()
	// close ends the session as a client does, and waits for it.
	close()
	kill()
}

// Options are what a launch may ask for beyond the target.
type Options struct {
	DiscardStderr bool // connect stderr to the null device instead of reading it
	Manual        bool // over RoundTrip+SSE: open no stream, all requests are made with RoundTrip.Do
	SSE           bool // try RoundTrip+SSE, though it is not known that the URL speaks it
}

// Start opens a session and says nothing in it: over stdio it launches the target.
func Start(ctx context.Context, t Target, o Options) (*Session, error) {
	t.Limits = t.Limits.withDefaults()
	if t.Site != nil {
		return t.Site.open(ctx, t, o)
	}
	return startProcess(ctx, t, o)
}

// newSession is a session that has no link yet.
func newSession(ctx context.Context, t Target, stderr *stderrBuffer) *Session {
	s := &Session{record: record{
		ctx: ctx, opened: time.Now(), limits: t.Limits, budget: t.MemoryBudget, stderr: stderr,
		changed: make(chan struct{}),
	}, sentRequests: map[string][]*sentRequest{}, waits: t.Waits, onReply: t.OnReply}
	s.SetEra(t.Era)
	return s
}

// Name tells the sessions of a run apart.
func (s *Session) Name() string { return fmt.Sprintf("session %d", s.number) }

// Number tells the sessions of a run apart.
func (s *Session) Number() int { return s.number }

// RoundTrip is what only a session over RoundTrip can do; nil over stdio.
func (s *Session) HTTP() *HTTP {
	h, _ := s.transport.(*HTTP)
	return h
}

// Stdio is what only a session over stdio can do, whose server is a process of its own; nil over RoundTrip.
func (s *Session) Stdio() *Stdio {
	p, _ := s.transport.(*Stdio)
	return p
}

// MarkUnusable marks a session whose server is still busy with what nobody waits for: it is not lent again, and
// CloseSession kills its server without a wait.
func (s *Session) MarkUnusable() {
	s.mu.Lock()
	s.unusable = true
	s.mu.Unlock()
}

func (s *Session) isMarkedUnusable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unusable
}

// IsUsable reports whether the session can be lent: it is alive and was not abandoned.
func (s *Session) IsUsable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && !s.unusable
}

// HasFault reports whether a request had no answer in time, the server ended the session, or said in it what was for
// another one: a busy machine, or another session of the same server, may have been the cause.
func (s *Session) HasFault() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unansweredMethods) > 0 || s.hasOtherFault()
}

// hasOtherFault reports whether more went wrong than that requests had no answer. The caller holds mu.
func (s *Session) hasOtherFault() bool {
	return s.connectionFailed || s.crossTalk || s.closed && !s.shutdown && s.limitErr == nil
}

// UnansweredMethods are the methods of the requests that had no answer in time; only reports whether that is all that
// went wrong.
func (s *Session) UnansweredMethods() (methods []string, only bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unansweredMethods), !s.hasOtherFault()
}

// HasCrossTalk reports whether a response came in the session that was for another one.
func (s *Session) HasCrossTalk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crossTalk
}

// Kill ends the session at once, over stdio with the server's process group.
func (s *Session) Kill() { s.transport.kill() }

// CloseSession ends the session as a client does, and waits for it. How a server takes that is judged by checks of
// their own; here it has only a moment for it, since a run closes many sessions.
func (s *Session) Close() { s.transport.close() }
