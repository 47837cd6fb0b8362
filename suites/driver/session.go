package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Session is one connection to the target, with a record of all messages. One goroutine at a time may drive it; any may
// read its record.
//
// A session hides its transport and its era: once it is connected, Request sends a request and Await returns its
// response, whatever the transport is and whatever the revision adds to the request.
type Session struct {
	// ConnectParams are the client's params of initialize, or what stands for them in server/discover.
	ConnectParams M
	// ConnectResult is the result of initialize or server/discover; nil before it was received.
	ConnectResult M
	Revision      string
	// Capabilities are those of the server; they are not nil once the session is connected.
	Capabilities M
	// UseCount is how often the session was put back into the pool.
	UseCount int
	// SentMalformed reports whether the server received a malformed line.
	SentMalformed bool
	// StderrDiscarded reports whether nobody reads the server's stderr.
	StderrDiscarded bool
	// ReusableAsClient reports whether other checks may use the session that need the same connect params.
	ReusableAsClient bool

	// EncodeInitialize returns the text of initialize, where that is to have another form; it may be nil.
	EncodeInitialize func(message M) []byte
	// AfterInitialize is called after initialize was sent, and returns the request to wait for. It may be nil.
	AfterInitialize func(p Pending) Pending

	record
	transport transport
	// bucket is the bucket of the pool that the session was taken from; nil while it is not in use.
	bucket  *bucket
	onReply func(*Session, Reply)
	// patience is Target.Patience, and timedOut holds the requests without a response in time.
	patience *Patience
	timedOut map[*Frame]bool
	waits    *Waits
	number   int
	// idBase is the number after which the ids of NextID begin.
	idBase  int
	idCount int
	// openStreams holds the requests of OpenStream that were not cancelled.
	openStreams []Pending
	// ordinary reports whether the session is connected without client capabilities, in the requested revision.
	ordinary bool

	// reaction is what the server of a session does that Recorded has returned; nil in all others.
	reaction Reaction

	// The lock of the record guards the fields below.

	// sentRequests holds the client's requests by the text of their ids.
	sentRequests map[string][]*sentRequest
	// connectID is the id of initialize or server/discover while it is unanswered; nil otherwise.
	connectID json.RawMessage
	// hasEarlierUnanswered reports whether something sent before it may still be answered.
	hasEarlierUnanswered bool
	internalIDs          []json.RawMessage
	era                  Era
	clientCapabilities   M
	requestHandler       func(request *Frame) (taken bool)
	// refusing reports whether requests of the server are rejected.
	refusing bool
	unusable atomic.Bool
	// unansweredMethods holds the methods of requests that had no response in time.
	unansweredMethods []string
	connectionFailed  bool
	// crossTalk reports whether a response for another session was received.
	crossTalk atomic.Bool
}

// transport is the transport of a session. It sends the session's messages, and calls receive for those of the server.
type transport interface {
	// send hands over a message, piece by piece. It never waits for the server.
	send(f *Frame, pieces [][]byte)
	// awaitDelivery waits until the transport has delivered what was sent since the mark. Over HTTP, the server
	// acknowledges each message.
	awaitDelivery(mark int)
	// closeInput says that the client sends nothing more, if the transport can.
	closeInput()
	// close ends the session as a client does, and waits for its end.
	close()
	kill()
}

// Options are what a caller of Start may choose besides the target.
type Options struct {
	// DiscardStderr connects stderr to the null device, so that nobody reads it.
	DiscardStderr bool
	// Manual opens no stream over HTTP+SSE; the caller makes all requests with HTTP.Do.
	Manual bool
	// SSE tries HTTP+SSE although the URL is not known to support it.
	SSE bool
	// Unconfigured starts the process with Target.UnconfiguredEnv.
	Unconfigured bool
}

// Start opens a session and sends nothing in it. Over stdio it starts the server.
func Start(ctx context.Context, t Target, o Options) (*Session, error) {
	t.Limits = t.Limits.withDefaults()
	if t.Site != nil {
		return t.Site.open(ctx, t, o)
	}
	return startProcess(ctx, t, o)
}

// newSession returns a session that has no transport yet.
func newSession(ctx context.Context, t Target, stderr *stderrBuffer) *Session {
	s := &Session{record: record{
		ctx: ctx, opened: time.Now(), limits: t.Limits, budget: t.MemoryBudget, stderr: stderr,
		changed: make(chan struct{}),
	}, sentRequests: map[string][]*sentRequest{}, waits: t.Waits, onReply: t.OnReply, patience: t.Patience}
	s.SetEra(t.Era)
	return s
}

// Name returns the name of the session, which is unique in a run.
func (s *Session) Name() string { return fmt.Sprintf("session %d", s.number) }

// Number returns the number of the session, which is unique in a run.
func (s *Session) Number() int { return s.number }

// HTTP returns the transport of a session over HTTP, for what only that can do; nil over stdio.
func (s *Session) HTTP() *HTTP {
	h, _ := s.transport.(*HTTP)
	return h
}

// Stdio returns the transport of a session over stdio, whose server is a process of its own; nil over HTTP.
func (s *Session) Stdio() *Stdio {
	p, _ := s.transport.(*Stdio)
	return p
}

// MarkUnusable marks a session whose server is still busy with something that nobody waits for. The pool does not hand
// it out again, and Close kills its process immediately.
func (s *Session) MarkUnusable() { s.unusable.Store(true) }

// IsUsable reports whether the session is alive and not marked as unusable.
func (s *Session) IsUsable() bool { return s.IsAlive() && !s.unusable.Load() }

// HasFault reports whether a request had no response in time, the server ended the session, a connection broke, or a
// response for another session was received. A busy machine or another session of the same server may have been the
// cause.
func (s *Session) HasFault() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unansweredMethods) > 0 || s.hasOtherFault()
}

// hasOtherFault reports whether there is a fault besides unanswered requests. The caller holds mu.
func (s *Session) hasOtherFault() bool {
	return s.connectionFailed || s.HasCrossTalk() || s.closed && !s.shutdown && s.limitErr == nil
}

// UnansweredMethods returns the methods of the requests that had no response in time. only reports whether there is no
// other fault.
func (s *Session) UnansweredMethods() (methods []string, only bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unansweredMethods), !s.hasOtherFault()
}

// HasCrossTalk reports whether a response for another session was received.
func (s *Session) HasCrossTalk() bool { return s.crossTalk.Load() }

// Kill ends the session at once; over stdio it kills the server's process group.
func (s *Session) Kill() { s.transport.kill() }

// Close ends the session as a client does, and waits for its end. It waits only briefly for the server before it kills
// it, since a run closes many sessions and other checks judge the shutdown.
func (s *Session) Close() { s.transport.close() }
