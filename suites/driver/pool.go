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

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Pool starts the sessions of a run, lends them to checks, and ends them in the background.
//
// Starting a process is expensive (a Node server needs a quarter of a second), a request is cheap. So sessions are
// reused, by one check at a time. Sessions that have received invalid input are reused only for more of it. Processes
// that will be needed are started in advance, and no check waits for the exit of a process.
type Pool struct {
	ctx             context.Context
	target          Target
	revision        string
	clean           *bucket
	forInvalidInput *bucket
	// byClient holds the sessions of GetForClient by their connect params; mu guards it.
	byClient map[string]*bucket
	// prestarted passes the processes that were started in advance.
	prestarted chan *Session
	// unused holds a session for GetUnused.
	unused chan *Session
	// stopPrestart is closed when no more processes are to be started in advance.
	stopPrestart chan struct{}
	stop         sync.Once
	// starting holds one entry for each process that is starting.
	starting chan struct{}
	// growFirst reports whether the pool opens a further session rather than wait for one.
	growFirst bool

	mu  sync.Mutex
	all []*Session
	// taskCount is the number of tasks in the background, and tasksDone is signaled when it becomes zero.
	taskCount int
	tasksDone *sync.Cond
}

// bucket holds idle sessions of one kind and counts all of them, idle or in use.
type bucket struct {
	kind SessionKind
	idle chan *Session
	// empty holds an entry while there is no session. The entry is the right to open the first one.
	empty chan struct{}

	mu   sync.Mutex
	open int
	size int
}

// SessionKind says for what a session may be used. To avoid deadlocks, a check that holds sessions may wait only for
// one of a later kind.
type SessionKind int

const (
	// WithCapabilities is a session whose client has declared capabilities.
	WithCapabilities SessionKind = iota
	// Clean is an ordinary session.
	Clean
	// ForInvalidInput is an ordinary session that has received invalid input.
	ForInvalidInput
)

func newBucket(kind SessionKind, size int) *bucket {
	s := &bucket{kind: kind, idle: make(chan *Session, size+1), empty: make(chan struct{}, 1), size: size}
	s.empty <- struct{}{}
	return s
}

// addFirst counts the session of the caller that took the entry of empty.
func (s *bucket) addFirst() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
}

// tryAdd counts another session. It returns false when the bucket is full.
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

// remove stops counting a session.
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

// NewPool returns a pool for sessions of a revision: at most size clean ones, and as many for invalid input. It can be
// used after Prestart was called.
//
// Over stdio the pool opens one session of each kind when it is first needed. More are added by Add only, because other
// checks start processes anyway. Over HTTP, where a session costs a few requests, and for a slow server, where a
// process costs less than waiting for another check, it opens as many sessions as are used at a time.
func NewPool(ctx context.Context, t Target, revision string, size int, slow bool) *Pool {
	p := &Pool{
		ctx: ctx, target: t, revision: revision, growFirst: slow || t.Site != nil,
		clean: newBucket(Clean, size), forInvalidInput: newBucket(ForInvalidInput,
			size), byClient: map[string]*bucket{},
		prestarted: make(chan *Session), unused: make(chan *Session, 1),
		stopPrestart: make(chan struct{}), starting: make(chan struct{}, runtime.NumCPU()+1),
	}
	p.tasksDone = sync.NewCond(&p.mu)
	return p
}

// inBackground runs a task for which Wait waits.
func (p *Pool) inBackground(task func()) {
	p.mu.Lock()
	p.taskCount++
	p.mu.Unlock()
	go func() {
		task()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taskCount--; p.taskCount == 0 {
			p.tasksDone.Broadcast()
		}
	}()
}

// Prestart starts n processes in advance, one at a time, for Launch.
func (p *Pool) Prestart(n int) { p.inBackground(func() { p.prestart(n) }) }

func (p *Pool) prestart(n int) {
	defer close(p.prestarted)
	if p.target.Site != nil {
		return // there is no process to start
	}
	for range n {
		s, err := p.start(Options{})
		if err != nil {
			return // Launch will report it
		}
		select {
		case p.prestarted <- s:
		case <-p.stopPrestart:
			s.Kill() // it has received nothing
			p.CloseSession(s)
			return
		case <-p.ctx.Done():
			p.CloseSession(s)
			return
		}
	}
}

// start starts a process. The number of processes that start at a time is limited: on a busy machine they would start
// slowly and seem unresponsive.
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
	p.inBackground(func() {
		s.Wait(0, timing.ProcessStart, func(f *Frame) bool { return f.Side == FromServer })
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

// Track adds a session that was opened elsewhere to the pool's list of sessions.
func (p *Pool) Track(s *Session) {
	p.mu.Lock()
	p.all = append(p.all, s)
	s.number = len(p.all)
	p.mu.Unlock()
}

// Launch returns a session in which nothing was sent yet. If Target.CheckOpen returns an error, Launch returns it.
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

// GetUnused returns a connected session that no check has used and that has answered a no-op request, so that later
// output of the server is not a reaction to the handshake.
func (p *Pool) GetUnused() (*Session, error) {
	if s := p.takeUnused(); s != nil {
		return s, nil
	}
	s, err := p.launchAndOpen()
	if err != nil && p.target.Site != nil && p.target.Site.HasExited() {
		s, err = p.launchAndOpen() // another session ended the server
	}
	if err != nil {
		return nil, err
	}
	var timeout *TimeoutError
	var ended *SessionEndError
	if r := s.AwaitNoOp(); errors.As(r.Err, &timeout) || errors.As(r.Err, &ended) {
		p.CloseSession(s)
		return nil, r.Err
	}
	return s, nil
}

// takeUnused returns the session that is kept for GetUnused, or nil if there is none that is alive.
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

// Get returns a connected session that others may have used, with or without invalid input before. The caller gives it
// back with Put or Discard. While all are in use, Get waits for one.
func (p *Pool) Get(forInvalidInput bool) (*Session, error) {
	return p.get(p.bucketFor(forInvalidInput), p.GetUnused)
}

// GetForClient is Get for sessions with equal connect params. If there is none, open opens one.
func (p *Pool) GetForClient(params M, open func() (*Session, error)) (*Session, error) {
	return p.get(p.clientBucket(params), open)
}

func (p *Pool) clientBucket(params M) *bucket {
	key, _ := json.Marshal(params)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byClient[string(key)] == nil {
		p.byClient[string(key)] = newBucket(WithCapabilities, p.clean.size)
	}
	return p.byClient[string(key)]
}

func (p *Pool) get(b *bucket, open func() (*Session, error)) (s *Session, err error) {
	defer func() {
		if s != nil {
			s.bucket = b
		}
	}()
	if s := p.takeIdle(b); s != nil {
		return s, nil
	}
	if !p.growFirst || !b.tryAdd() {
		select {
		case s := <-b.idle: // another check has put it back
			return s, nil
		case <-b.empty: // Add may add more
			b.addFirst()
		case <-p.ctx.Done():
			return nil, context.Cause(p.ctx)
		}
	}
	opened := false
	defer func() {
		if !opened { // also after a panic in open
			b.remove()
		}
	}()
	if s, err = open(); err != nil {
		return nil, err
	}
	opened = true
	if b.kind == ForInvalidInput {
		s.MarkInvalidInput()
	}
	return s, nil
}

func (p *Pool) bucketFor(forInvalidInput bool) *bucket {
	if forInvalidInput {
		return p.forInvalidInput
	}
	return p.clean
}

// Put gives a session back for others to use. It ends the session instead if something went wrong in it: for example,
// an unanswered request may delay all later ones.
func (p *Pool) Put(s *Session) {
	s.UseCount++
	b := s.bucket
	if !s.IsUsable() || s.HasFault() || s.HasInvalidInput() != (b.kind == ForInvalidInput) {
		p.Discard(s)
		return
	}
	s.bucket = nil
	b.idle <- s // does not block: there is room for all sessions
}

// IsInUse reports whether a check uses the session and it is of this kind or a later one.
func (s *Session) IsInUse(kind SessionKind) bool { return s.bucket != nil && s.bucket.kind >= kind }

// Discard takes a session back and ends it.
func (p *Pool) Discard(s *Session) {
	s.bucket.remove()
	s.bucket = nil
	p.CloseSession(s)
}

// Add gives a session to the pool. If it is ordinary or ReusableAsClient and the pool has room, it is kept; otherwise
// it is ended.
func (p *Pool) Add(s *Session) {
	b := p.bucketFor(s.HasInvalidInput())
	switch {
	case s.Revision != p.revision, !s.IsOrdinary() && !s.ReusableAsClient:
		p.CloseSession(s)
		return
	case s.ReusableAsClient:
		b = p.clientBucket(s.ConnectParams)
	}
	if !b.tryAdd() {
		p.CloseSession(s)
		return
	}
	s.bucket = b
	p.Put(s)
}

// AddUnused gives the pool a session that no check has used. The next GetUnused returns it, unless it has received
// invalid input or another one is already kept.
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

// Remove takes an idle session out of the pool permanently. It returns nil if none is idle.
func (p *Pool) Remove(forInvalidInput bool) *Session {
	b := p.bucketFor(forInvalidInput)
	s := p.takeIdle(b)
	if s != nil {
		b.remove()
	}
	return s
}

// takeIdle returns a usable session of a bucket, or nil if none is idle.
func (p *Pool) takeIdle(b *bucket) *Session {
	for {
		select {
		case s := <-b.idle:
			if s.IsUsable() {
				return s
			}
			b.remove()
			p.CloseSession(s)
		default:
			return nil
		}
	}
}

// CloseSession ends a session in the background.
func (p *Pool) CloseSession(s *Session) {
	s.transport.closeInput()
	p.inBackground(s.Close)
}

// CloseIdle ends all idle sessions in the background.
func (p *Pool) CloseIdle() {
	if s := p.takeUnused(); s != nil {
		p.CloseSession(s)
	}
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.byClient))
	p.mu.Unlock()
	for _, b := range append(all, p.clean, p.forInvalidInput) {
		for s := p.takeIdle(b); s != nil; s = p.takeIdle(b) {
			b.remove()
			p.CloseSession(s)
		}
	}
}

// Wait ends all idle sessions, and returns when all processes have ended. The pool can still be used afterwards.
func (p *Pool) Wait() {
	p.CloseIdle()
	p.stop.Do(func() { close(p.stopPrestart) })
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.taskCount > 0 {
		p.tasksDone.Wait()
	}
}

// Terminate ends all idle sessions and sends SIGTERM to the process of the site, in which s is open. It returns how the
// process ended, and false if it still runs after d.
func (p *Pool) Terminate(s *Session, d time.Duration) (Exit, bool) {
	p.Wait()
	return s.HTTP().terminate(d)
}

// Restart ends all idle sessions, breaks the connections of s, and restarts the process of the site.
func (p *Pool) Restart(s *Session) error {
	s.Kill()
	p.Wait()
	p.target.Site.Close(p.target.Limits)
	return p.target.Site.AwaitReady(p.ctx, p.target.Limits)
}

// Sessions returns all sessions of the run so far, in the order in which they were opened.
func (p *Pool) Sessions() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*Session(nil), p.all...)
}
