package driver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Pool starts the sessions of a run, lends them, and ends them behind the run.
//
// A process is dear (a Node server needs a quarter of a second to start), a request is cheap. So sessions are lent,
// each to one borrower at a time; those that were given hostile input are lent to such borrowers only; processes that
// will be needed are started ahead; and nobody waits for an exit in line.
type Pool struct {
	ctx             context.Context
	target          Target
	revision        string
	clean           *bucket
	forInvalidInput *bucket
	byClient        map[string]*bucket // of GetForClient; with mu
	prestarted      chan *Session
	unused          chan *Session // for GetUnused
	stopPrestart    chan struct{} // closed when nothing more is to be started ahead
	stop            sync.Once
	starting        chan struct{} // one entry for each process that is starting
	closing         reusableWaitGroup
	growFirst       bool // it opens as many sessions as are wanted at a time

	mu  sync.Mutex
	all []*Session
}

// shelf holds idle sessions and knows how many there are, idle or lent.
type bucket struct {
	kind  SessionKind
	idle  chan *Session
	empty chan struct{} // holds an entry when there is none: the right to open the first

	mu   sync.Mutex
	open int
	size int
}

// SessionKind is of which kind a session is that is lent. Who has some may wait for one of a later kind only: nobody
// waits the other way round.
type SessionKind int

const (
	WithCapabilities SessionKind = iota // its client has declared something
	Clean                               // an ordinary one
	ForInvalidInput                     // and one that was given hostile input
)

func newBucket(kind SessionKind, size int) *bucket {
	s := &bucket{kind: kind, idle: make(chan *Session, size+1), empty: make(chan struct{}, 1), size: size}
	s.empty <- struct{}{}
	return s
}

// first counts in the session of who has taken the right to open it.
func (s *bucket) addFirst() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
}

// tryAdd counts a donated session in; false when there is no room.
func (s *bucket) tryAdd() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.size {
		return false
	}
	select {
	case <-s.empty:
	default:
	}
	s.open++
	return true
}

// leave counts a session out.
func (s *bucket) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open > 0 {
		return
	}
	select {
	case s.empty <- struct{}{}:
	default:
	}
}

// NewPool makes a pool of established sessions of a revision: at most size that are lent clean and as many hostile
// ones. It can be used once Prestart was called.
//
// Over stdio a pool opens one session of each kind when it is first asked for one. More come by Add only: other
// checks start processes anyway. Over RoundTrip, where a session costs a few requests, and where the server is slow, so
// that a process costs less than the wait for another one, it opens as many as are wanted at a time.
func NewPool(ctx context.Context, t Target, revision string, size int, slow bool) *Pool {
	return &Pool{
		ctx: ctx, target: t, revision: revision, growFirst: slow || t.Site != nil,
		clean: newBucket(Clean, size), forInvalidInput: newBucket(ForInvalidInput,
			size), byClient: map[string]*bucket{},
		prestarted: make(chan *Session), unused: make(chan *Session, 1),
		stopPrestart: make(chan struct{}), starting: make(chan struct{}, runtime.NumCPU()+1),
	}
}

// Prestart has n processes started in advance, one at a time, for Launch. What was adopted before comes before them.
func (p *Pool) Prestart(n int) { p.closing.Go(func() { p.prestart(n) }) }

func (p *Pool) prestart(n int) {
	defer close(p.prestarted)
	if p.target.Site != nil {
		return // there is nothing that takes time
	}
	for range n {
		s, err := p.start(Options{})
		if err != nil {
			return // Launch will find out again, and say so
		}
		select {
		case p.prestarted <- s:
		case <-p.stopPrestart:
			s.Kill() // nobody has spoken to it
			p.CloseSession(s)
			return
		case <-p.ctx.Done():
			p.CloseSession(s)
			return
		}
	}
}

// startDuration is how long a silent process counts as one that is starting.
const startDuration = time.Second

// startNumber launches a process. No more of them start at a time than the machine can run: many at once would only be
// slow, and might seem not to answer.
func (p *Pool) start(o Options) (*Session, error) {
	if p.target.Site != nil {
		return p.startAndTrack(o)
	}
	select {
	case p.starting <- struct{}{}:
	case <-p.ctx.Done():
		return nil, context.Cause(p.ctx)
	}
	s, err := p.startAndTrack(o)
	if err != nil {
		<-p.starting
		return nil, err
	}
	p.closing.Go(func() {
		s.Wait(0, startDuration, func(f *Frame) bool { return f.Side == FromServer })
		<-p.starting
	})
	return s, nil
}

func (p *Pool) startAndTrack(o Options) (*Session, error) {
	s, err := Start(p.ctx, p.target, o)
	if err != nil {
		return nil, err
	}
	p.Track(s)
	return s, nil
}

// Track makes a session that was opened elsewhere one of the pool's record.
func (p *Pool) Track(s *Session) {
	p.mu.Lock()
	p.all = append(p.all, s)
	s.number = len(p.all)
	p.mu.Unlock()
}

// Launch returns a session whose server was told nothing yet. The error is that of RedirectTarget.Stopped once there is
// one.
func (p *Pool) Launch(o Options) (*Session, error) {
	if stopped := p.target.CheckOpen; stopped != nil {
		if err := stopped(); err != nil {
			return nil, err
		}
	}
	if o == (Options{}) {
		select {
		case s, ok := <-p.prestarted:
			if ok {
				return s, nil
			}
		case <-p.stopPrestart:
		}
	}
	return p.start(o)
}

// GetUnused returns an established session that nobody has used, and that has answered a harmless request: whatever the
// server makes of the greeting is not taken for something else.
func (p *Pool) GetUnused() (*Session, error) {
	if s := p.takeUnused(); s != nil {
		return s, nil
	}
	s, err := p.launchAndOpen()
	if err != nil && p.target.Site != nil && p.target.Site.HasExited() {
		s, err = p.launchAndOpen() // what ended the server came from another session
	}
	if err != nil {
		return nil, err
	}
	var silence *TimeoutError
	var death *SessionEndError
	if r := s.AwaitNoOp(); errors.As(r.Err, &silence) || errors.As(r.Err, &death) {
		p.CloseSession(s)
		return nil, r.Err
	}
	return s, nil
}

// takeUnused is the session that waits for GetUnused; nil when there is none that goes on.
func (p *Pool) takeUnused() *Session {
	select {
	case s := <-p.unused:
		if s.IsAlive() {
			return s
		}
		p.CloseSession(s)
	default:
	}
	return nil
}

func (p *Pool) launchAndOpen() (*Session, error) {
	s, err := p.Launch(Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Open(ConnectParams(p.revision)); err != nil {
		p.CloseSession(s)
		return nil, err
	}
	return s, nil
}

// Get returns an established session that others may have used, of the hostile ones or of the clean ones. It comes
// back by Put or Discard. While all are lent it waits for one.
func (p *Pool) Get(hostile bool) (*Session, error) {
	return p.get(p.bucketFor(hostile), p.GetUnused)
}

// GetForClient is Get of sessions whose client has introduced itself alike. Where there is none, open opens one.
func (p *Pool) GetForClient(hello M, open func() (*Session, error)) (*Session, error) {
	return p.get(p.clientBucket(hello), open)
}

func (p *Pool) clientBucket(hello M) *bucket {
	key, _ := json.Marshal(hello)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byClient[string(key)] == nil {
		p.byClient[string(key)] = newBucket(WithCapabilities, p.clean.size)
	}
	return p.byClient[string(key)]
}

func (p *Pool) get(shelf *bucket, open func() (*Session, error)) (s *Session, err error) {
	defer func() {
		if s != nil {
			s.bucket = shelf
		}
	}()
	if s := p.takeIdle(shelf); s != nil {
		return s, nil
	}
	if !p.growFirst || !shelf.tryAdd() {
		select {
		case s := <-shelf.idle: // which was in use just now
			return s, nil
		case <-shelf.empty: // donations will add to it
			shelf.addFirst()
		case <-p.ctx.Done():
			return nil, context.Cause(p.ctx)
		}
	}
	opened := false
	defer func() {
		if !opened { // which open may have ended by a panic
			shelf.remove()
		}
	}()
	if s, err = open(); err != nil {
		return nil, err
	}
	opened = true
	if shelf.kind == ForInvalidInput {
		s.MarkInvalidInput()
	}
	return s, nil
}

func (p *Pool) bucketFor(hostile bool) *bucket {
	if hostile {
		return p.forInvalidInput
	}
	return p.clean
}

// Put takes a lent session back for others to use, unless something went wrong in it: a request that has no answer
// may keep all others waiting that come after it.
func (p *Pool) Put(s *Session) {
	s.UseCount++
	shelf := s.bucket
	if !s.IsUsable() || s.HasFault() || s.HasInvalidInput() != (shelf.kind == ForInvalidInput) {
		p.Discard(s)
		return
	}
	s.bucket = nil
	shelf.idle <- s // there is room for as many as may be open
}

// IsInUse reports whether a session was lent that is of a kind or a later one, and did not come back yet.
func (s *Session) IsInUse(kind SessionKind) bool { return s.bucket != nil && s.bucket.kind >= kind }

// Discard takes a lent session back and ends it.
func (p *Pool) Discard(s *Session) {
	s.bucket.remove()
	s.bucket = nil
	p.CloseSession(s)
}

// Add gives a session to the pool: one that is ordinary, or that invites, is lent while there is room, any other is
// ended.
func (p *Pool) Add(s *Session) {
	shelf := p.bucketFor(s.HasInvalidInput())
	switch {
	case s.Revision != p.revision, !s.IsOrdinary() && !s.ReusableAsClient:
		p.CloseSession(s)
		return
	case s.ReusableAsClient:
		shelf = p.clientBucket(s.ConnectParams)
	}
	if !shelf.tryAdd() {
		p.CloseSession(s)
		return
	}
	s.bucket = shelf
	p.Put(s)
}

// AddUnused gives the pool a session that nobody has used, which the next GetUnused returns unless it is hostile or
// another one waits for that.
func (p *Pool) AddUnused(s *Session) {
	if s.HasInvalidInput() || !s.IsOrdinary() || s.Revision != p.revision {
		p.Add(s)
		return
	}
	select {
	case p.unused <- s:
	default:
		p.Add(s)
	}
}

// Remove removes an idle session from the pool for good, a clean one or a hostile one; nil when none is idle.
func (p *Pool) Remove(hostile bool) *Session {
	shelf := p.bucketFor(hostile)
	s := p.takeIdle(shelf)
	if s != nil {
		shelf.remove()
	}
	return s
}

// takeIdle is a session on a shelf that can be used; nil when none is idle.
func (p *Pool) takeIdle(shelf *bucket) *Session {
	for {
		select {
		case s := <-shelf.idle:
			if s.IsUsable() {
				return s
			}
			shelf.remove()
			p.CloseSession(s)
		default:
			return nil
		}
	}
}

// CloseSession ends a session behind the run.
func (p *Pool) CloseSession(s *Session) {
	s.transport.closeInput()
	p.closing.Go(s.Close)
}

// CloseIdle ends every session that is idle, behind the run.
func (p *Pool) CloseIdle() {
	if s := p.takeUnused(); s != nil {
		p.CloseSession(s)
	}
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.byClient))
	p.mu.Unlock()
	for _, shelf := range append(all, p.clean, p.forInvalidInput) {
		for s := p.takeIdle(shelf); s != nil; s = p.takeIdle(shelf) {
			shelf.remove()
			p.CloseSession(s)
		}
	}
}

// Wait ends what is left, and returns once every process has gone. The pool can still be used afterwards.
func (p *Pool) Wait() {
	p.CloseIdle()
	p.stop.Do(func() { close(p.stopPrestart) })
	p.closing.Wait()
}

// Sessions are all sessions of the run so far, in the order in which they were opened.
func (p *Pool) Sessions() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*Session(nil), p.all...)
}
