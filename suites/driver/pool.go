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
	ctx      context.Context
	target   Target
	revision string
	clean    *shelf
	hostile  *shelf
	clients  map[string]*shelf // of LendAs; with mu
	ahead    chan *Session
	unused   chan *Session // for Fresh
	enough   chan struct{} // closed when nothing more is to be started ahead
	stop     sync.Once
	starting chan struct{} // one entry for each process that is starting
	closing  tasks
	eager    bool // it opens as many sessions as are wanted at a time

	mu  sync.Mutex
	all []*Session
}

// shelf holds idle sessions and knows how many there are, idle or lent.
type shelf struct {
	kind  Kind
	idle  chan *Session
	empty chan struct{} // holds an entry when there is none: the right to open the first

	mu   sync.Mutex
	open int
	size int
}

// Kind is of which kind a session is that is lent. Who has some may wait for one of a later kind only: nobody waits the
// other way round.
type Kind int

const (
	AsClient Kind = iota // its client has declared something
	Clean                // an ordinary one
	Hostile              // and one that was given hostile input
)

func newShelf(kind Kind, size int) *shelf {
	s := &shelf{kind: kind, idle: make(chan *Session, size+1), empty: make(chan struct{}, 1), size: size}
	s.empty <- struct{}{}
	return s
}

// first counts in the session of who has taken the right to open it.
func (s *shelf) first() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
}

// enter counts a donated session in; false when there is no room.
func (s *shelf) enter() bool {
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
func (s *shelf) leave() {
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
// ones. It can be used once Ahead was called.
//
// Over stdio a pool opens one session of each kind when it is first asked for one. More come by Donate only: other
// checks start processes anyway. Over HTTP, where a session costs a few requests, and where the server is slow, so that
// a process costs less than the wait for another one, it opens as many as are wanted at a time.
func NewPool(ctx context.Context, t Target, revision string, size int, slow bool) *Pool {
	return &Pool{
		ctx: ctx, target: t, revision: revision, eager: slow || t.Site != nil,
		clean: newShelf(Clean, size), hostile: newShelf(Hostile, size), clients: map[string]*shelf{},
		ahead: make(chan *Session), unused: make(chan *Session, 1),
		enough: make(chan struct{}), starting: make(chan struct{}, runtime.NumCPU()+1),
	}
}

// Ahead has n processes started in advance, one at a time, for Launch. What was adopted before comes before them.
func (p *Pool) Ahead(n int) { p.closing.Go(func() { p.startAhead(n) }) }

func (p *Pool) startAhead(n int) {
	defer close(p.ahead)
	if p.target.Site != nil {
		return // there is nothing that takes time
	}
	for range n {
		s, err := p.start(Options{})
		if err != nil {
			return // Launch will find out again, and say so
		}
		select {
		case p.ahead <- s:
		case <-p.enough:
			s.Kill() // nobody has spoken to it
			p.Close(s)
			return
		case <-p.ctx.Done():
			p.Close(s)
			return
		}
	}
}

// startTime is how long a silent process counts as one that is starting.
const startTime = time.Second

// start launches a process. No more of them start at a time than the machine can run: many at once would only be slow,
// and might seem not to answer.
func (p *Pool) start(o Options) (*Session, error) {
	if p.target.Site != nil {
		return p.open(o)
	}
	select {
	case p.starting <- struct{}{}:
	case <-p.ctx.Done():
		return nil, context.Cause(p.ctx)
	}
	s, err := p.open(o)
	if err != nil {
		<-p.starting
		return nil, err
	}
	p.closing.Go(func() {
		s.Wait(0, startTime, func(f *Frame) bool { return f.Side == FromServer })
		<-p.starting
	})
	return s, nil
}

func (p *Pool) open(o Options) (*Session, error) {
	s, err := Start(p.ctx, p.target, o)
	if err != nil {
		return nil, err
	}
	p.Adopt(s)
	return s, nil
}

// Adopt makes a session that was opened elsewhere one of the pool's record.
func (p *Pool) Adopt(s *Session) {
	p.mu.Lock()
	p.all = append(p.all, s)
	s.number = len(p.all)
	p.mu.Unlock()
}

// Launch returns a session whose server was told nothing yet. The error is that of Target.Stopped once there is one.
func (p *Pool) Launch(o Options) (*Session, error) {
	if stopped := p.target.Stopped; stopped != nil {
		if err := stopped(); err != nil {
			return nil, err
		}
	}
	if o == (Options{}) {
		select {
		case s, ok := <-p.ahead:
			if ok {
				return s, nil
			}
		case <-p.enough:
		}
	}
	return p.start(o)
}

// Fresh returns an established session that nobody has used, and that has answered a harmless request: whatever the
// server makes of the greeting is not taken for something else.
func (p *Pool) Fresh() (*Session, error) {
	if s := p.nextUnused(); s != nil {
		return s, nil
	}
	s, err := p.establish()
	if err != nil && p.target.Site != nil && p.target.Site.Died() {
		s, err = p.establish() // what ended the server came from another session
	}
	if err != nil {
		return nil, err
	}
	var silence *Silence
	var death *Death
	if r := s.Lives(); errors.As(r.Err, &silence) || errors.As(r.Err, &death) {
		p.Close(s)
		return nil, r.Err
	}
	return s, nil
}

// nextUnused is the session that waits for Fresh; nil when there is none that goes on.
func (p *Pool) nextUnused() *Session {
	select {
	case s := <-p.unused:
		if s.Alive() {
			return s
		}
		p.Close(s)
	default:
	}
	return nil
}

func (p *Pool) establish() (*Session, error) {
	s, err := p.Launch(Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Establish(Hello(p.revision)); err != nil {
		p.Close(s)
		return nil, err
	}
	return s, nil
}

// Lend returns an established session that others may have used, of the hostile ones or of the clean ones. It comes
// back by Return or Discard. While all are lent it waits for one.
func (p *Pool) Lend(hostile bool) (*Session, error) {
	return p.lend(p.shelf(hostile), p.Fresh)
}

// LendAs is Lend of sessions whose client has introduced itself alike. Where there is none, open opens one.
func (p *Pool) LendAs(hello M, open func() (*Session, error)) (*Session, error) {
	return p.lend(p.clientShelf(hello), open)
}

func (p *Pool) clientShelf(hello M) *shelf {
	key, _ := json.Marshal(hello)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients[string(key)] == nil {
		p.clients[string(key)] = newShelf(AsClient, p.clean.size)
	}
	return p.clients[string(key)]
}

func (p *Pool) lend(shelf *shelf, open func() (*Session, error)) (s *Session, err error) {
	defer func() {
		if s != nil {
			s.shelf = shelf
		}
	}()
	if s := p.idle(shelf); s != nil {
		return s, nil
	}
	if !p.eager || !shelf.enter() {
		select {
		case s := <-shelf.idle: // which was in use just now
			return s, nil
		case <-shelf.empty: // donations will add to it
			shelf.first()
		case <-p.ctx.Done():
			return nil, context.Cause(p.ctx)
		}
	}
	opened := false
	defer func() {
		if !opened { // which open may have ended by a panic
			shelf.leave()
		}
	}()
	if s, err = open(); err != nil {
		return nil, err
	}
	opened = true
	if shelf.kind == Hostile {
		s.Hostile()
	}
	return s, nil
}

func (p *Pool) shelf(hostile bool) *shelf {
	if hostile {
		return p.hostile
	}
	return p.clean
}

// Return takes a lent session back for others to use, unless something went wrong in it: a request that has no answer
// may keep all others waiting that come after it.
func (p *Pool) Return(s *Session) {
	s.Used++
	shelf := s.shelf
	if !s.Usable() || s.Troubled() || s.IsHostile() != (shelf.kind == Hostile) {
		p.Discard(s)
		return
	}
	s.shelf = nil
	shelf.idle <- s // there is room for as many as may be open
}

// OnLoan reports whether a session was lent that is of a kind or a later one, and did not come back yet.
func (s *Session) OnLoan(kind Kind) bool { return s.shelf != nil && s.shelf.kind >= kind }

// Discard takes a lent session back and ends it.
func (p *Pool) Discard(s *Session) {
	s.shelf.leave()
	s.shelf = nil
	p.Close(s)
}

// Donate gives a session to the pool: one that is ordinary, or that invites, is lent while there is room, any other is
// ended.
func (p *Pool) Donate(s *Session) {
	shelf := p.shelf(s.IsHostile())
	switch {
	case s.Revision != p.revision, !s.Ordinary() && !s.Invites:
		p.Close(s)
		return
	case s.Invites:
		shelf = p.clientShelf(s.Hello)
	}
	if !shelf.enter() {
		p.Close(s)
		return
	}
	s.shelf = shelf
	p.Return(s)
}

// Offer gives the pool a session that nobody has used, which the next Fresh returns unless it is hostile or another one
// waits for that.
func (p *Pool) Offer(s *Session) {
	if s.IsHostile() || !s.Ordinary() || s.Revision != p.revision {
		p.Donate(s)
		return
	}
	select {
	case p.unused <- s:
	default:
		p.Donate(s)
	}
}

// Take removes an idle session from the pool for good, a clean one or a hostile one; nil when none is idle.
func (p *Pool) Take(hostile bool) *Session {
	shelf := p.shelf(hostile)
	s := p.idle(shelf)
	if s != nil {
		shelf.leave()
	}
	return s
}

// idle is a session on a shelf that can be used; nil when none is idle.
func (p *Pool) idle(shelf *shelf) *Session {
	for {
		select {
		case s := <-shelf.idle:
			if s.Usable() {
				return s
			}
			shelf.leave()
			p.Close(s)
		default:
			return nil
		}
	}
}

// Close ends a session behind the run.
func (p *Pool) Close(s *Session) {
	s.link.closeInput()
	p.closing.Go(s.Close)
}

// Retire ends every session that is idle, behind the run.
func (p *Pool) Retire() {
	if s := p.nextUnused(); s != nil {
		p.Close(s)
	}
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.clients))
	p.mu.Unlock()
	for _, shelf := range append(all, p.clean, p.hostile) {
		for s := p.idle(shelf); s != nil; s = p.idle(shelf) {
			shelf.leave()
			p.Close(s)
		}
	}
}

// Wait ends what is left, and returns once every process has gone. The pool can still be used afterwards.
func (p *Pool) Wait() {
	p.Retire()
	p.stop.Do(func() { close(p.enough) })
	p.closing.Wait()
}

// Sessions are all sessions of the run so far, in the order in which they were opened.
func (p *Pool) Sessions() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*Session(nil), p.all...)
}
