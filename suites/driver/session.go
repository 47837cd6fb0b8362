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
	Hello        M      // what the client said of itself when it greeted
	Welcome      M      // result of the greeting; nil before it came
	Revision     string // that was agreed on
	Capabilities M      // the server's, never nil once established
	Refuse       bool   // answer every request of the server but ping with -32601
	Used         int    // how often it was lent and came back
	Provoked     bool   // it was given a line that breaks the protocol
	Muted        bool   // nobody reads its stderr
	Invites      bool   // others may use it that want its client to have declared what it has

	// Greeted is called when initialize was sent, and returns the request whose answer is to be waited for; may be nil.
	Greeted func(p Pending) Pending

	record
	link     link
	shelf    *shelf                // of the pool, that it was lent from; nil while it is not lent
	heard    func(*Session, Reply) // Target.Heard
	waits    *Waits                // Target.Waits
	number   int
	firstID  int       // after which those of NextID come
	ids      int       // how many NextID has given
	stands   []Pending // sent with Stand
	ordinary bool      // established without client capabilities, in the revision that was asked for

	// Guarded by the lock of the record.
	asked     map[string][]*question // requests of the client, by the text of their ids
	greeting  json.RawMessage        // id of the greeting while it has no answer; nil otherwise
	unsettled bool                   // what was said before it may still be answered
	asides    []json.RawMessage      // ids of those of its requests that are for nobody but itself
	era       Era
	client    M // the capabilities that were declared
	answerer  func(request *Frame) (taken bool)
	abandoned bool
	silent    []string // methods of requests that had no answer in time
	failed    bool     // a connection did
	crossed   bool     // a response came that was for another session
}

// link is the transport of a session. It carries what the session says, and hands what comes to receive.
type link interface {
	// send hands a message over, piece by piece; it never waits for the server.
	send(f *Frame, pieces [][]byte)
	// settle waits until the transport itself has taken what was sent since the mark, which over HTTP the server says
	// for each message.
	settle(mark int)
	// closeInput says that the client sends nothing more, where a transport can.
	closeInput()
	// close ends the session as a client does, and waits for it.
	close()
	kill()
}

// Options are what a launch may ask for beyond the target.
type Options struct {
	MuteStderr bool // connect stderr to the null device instead of reading it
	ByHand     bool // over HTTP+SSE: open no stream, all requests are made with HTTP.Do
	SSE        bool // try HTTP+SSE, though it is not known that the URL speaks it
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
func newSession(ctx context.Context, t Target, stderr *stderrKeeper) *Session {
	s := &Session{record: record{
		ctx: ctx, opened: time.Now(), limits: t.Limits, budget: t.Budget, stderr: stderr, changed: make(chan struct{}),
	}, asked: map[string][]*question{}, waits: t.Waits, heard: t.Heard}
	s.SetEra(t.Era)
	return s
}

// Name tells the sessions of a run apart.
func (s *Session) Name() string { return fmt.Sprintf("session %d", s.number) }

// Number tells the sessions of a run apart.
func (s *Session) Number() int { return s.number }

// HTTP is what only a session over HTTP can do; nil over stdio.
func (s *Session) HTTP() *HTTP {
	h, _ := s.link.(*HTTP)
	return h
}

// Stdio is what only a session over stdio can do, whose server is a process of its own; nil over HTTP.
func (s *Session) Stdio() *Stdio {
	p, _ := s.link.(*Stdio)
	return p
}

// Abandon marks a session whose server is still busy with what nobody waits for: it is not lent again, and Close kills
// its server without a wait.
func (s *Session) Abandon() {
	s.mu.Lock()
	s.abandoned = true
	s.mu.Unlock()
}

func (s *Session) isAbandoned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abandoned
}

// Usable reports whether the session can be lent: it is alive and was not abandoned.
func (s *Session) Usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && !s.abandoned
}

// Troubled reports whether a request had no answer in time, the server ended the session, or said in it what was for
// another one: a busy machine, or another session of the same server, may have been the cause.
func (s *Session) Troubled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.silent) > 0 || s.upset()
}

// upset reports whether more went wrong than that requests had no answer. The caller holds mu.
func (s *Session) upset() bool { return s.failed || s.crossed || s.closed && !s.eof && s.excess == nil }

// Silences are the methods of the requests that had no answer in time; only reports whether that is all that went
// wrong.
func (s *Session) Silences() (methods []string, only bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.silent), !s.upset()
}

// Crossed reports whether a response came in the session that was for another one.
func (s *Session) Crossed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crossed
}

// Kill ends the session at once, over stdio with the server's process group.
func (s *Session) Kill() { s.link.kill() }

// Close ends the session as a client does, and waits for it. How a server takes that is judged by checks of their own;
// here it has only a moment for it, since a run closes many sessions.
func (s *Session) Close() { s.link.close() }
