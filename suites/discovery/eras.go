package discovery

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// firstChoice is the revision by which a server is judged that speaks it, whatever else it speaks.
var firstChoice = harness.Modern[len(harness.Modern)-1]

// Found is a server, and the sessions that were opened to learn what it is, for others to use.
type Found struct {
	Server *harness.Server
	First  *driver.Session // in the revision that is judged; nil when there is none
	Spare  *driver.Session // another one, or a process that only the other era was asked for; nil: there is none
}

// Close ends the sessions.
func (f Found) Close() {
	for _, s := range []*driver.Session{f.First, f.Spare} {
		if s != nil {
			s.Close()
		}
	}
}

// Auto is Server for the newest revision that the server speaks: firstChoice or, when it does not serve that, what it
// negotiates. What else it speaks is in Server.Speaks. It is asked in both eras side by side, each over a connection of
// its own, so that neither waits for the other.
func Auto(ctx context.Context, t driver.Target) (Found, error) {
	p := askBoth(ctx, t, patience)
	judged, other := p.judged()
	found := Found{Server: judged.server, First: judged.session, Spare: p.spare}
	if judged.good() {
		judged.server.Speaks = known(slices.Concat(p.older.speaks, p.newer.speaks))
		judged.server.OneClient = judged.server.OneClient || p.inLine
		judged.server.Undiscovered = p.newer.undiscovered()
	}
	if judged == p.newer && t.Site == nil && other.server != nil {
		judged.server.Shaken = other.server.First
	}
	if judged == p.older && judged.good() && other.toBeGreeted() {
		other.session.BeginAnew(judged.server.Era)
		found.Spare = other.session
	} else {
		other.close()
	}
	return found, judged.err
}

// In is Server for the revision that is asked for. Over stdio a further process is asked for it as well, which others
// use: a server that does not serve both runs one at a time. It starts beside the first one, and is asked after it.
func In(ctx context.Context, t driver.Target, revision string) (Found, error) {
	began := time.Now()
	further := ahead(ctx, t)
	server, first, err := Server(ctx, t, revision)
	if further.blamed(server, err) {
		serves := further.greeted(revision)
		further.end()
		further, began = process{}, time.Now()
		if server, first, err = Server(ctx, t, revision); serves && !isGreeted(server) {
			afterFirst(err)
		}
	}
	found := Found{Server: server, First: first}
	if t.Site != nil || err != nil || server.Failure != "" || server.Revision != revision || !first.Alive() ||
		server.Silent {
		further.end()
		return found, err
	}
	stuck := isStuck(first)
	found.Spare = beside(ctx, t, found, further.take(), patience(firstChoice, time.Since(began)))
	if found.Spare != nil || ctx.Err() != nil || stuck {
		return found, nil
	}
	first.Close()
	found.First, err = onceMore(ctx, t, server)
	return found, err
}

// isStuck reports whether a server has left a request of a session unanswered before another was begun: it may serve
// nothing any more there, as one does that hangs at tools/list.
func isStuck(s *driver.Session) bool {
	silent, _ := s.Silences()
	return len(silent) > 0
}

// beside opens a further session of a server beside its first one, in a process that was started for it or, without
// one, in a new one; nil when the server does not serve both within that time.
func beside(
	ctx context.Context, t driver.Target, found Found, further *driver.Session, patience time.Duration,
) *driver.Session {
	if further == nil {
		var err error
		if further, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return nil
		}
	}
	late := time.AfterFunc(patience, further.Kill)
	err := asBefore(further, found.Server)
	if err == nil && isServed(further) && isServed(found.First) && late.Stop() {
		return further
	}
	further.Kill()
	further.Close()
	return nil
}

// Revisions are those that a server is to be asked for one after the other, when all are wanted: those of the eras that
// it speaks. An era that a server is slow in would be left out, and nobody would hear of it: it has as long as an
// answer may take. undiscovered is what Server.Undiscovered says.
func Revisions(ctx context.Context, t driver.Target) (revisions []string, undiscovered string, err error) {
	p := askBoth(ctx, t, func(string, time.Duration) time.Duration { return t.Limits.ForReply() })
	defer p.close()
	if p.older.server == nil {
		return nil, "", p.older.err
	}
	switch judged, _ := p.judged(); {
	case p.older.granted(), !p.newer.served && judged == p.older:
		revisions = slices.Clone(harness.Handshake)
	case !p.newer.served:
		revisions = []string{firstChoice} // what came of that is said
	}
	for _, revision := range p.newer.speaks {
		if harness.IsModern(revision) {
			revisions = append(revisions, revision)
		}
	}
	return revisions, p.newer.undiscovered(), nil
}

// patience is how long an attempt at a revision is waited for once the other has brought a session, after the time that
// took. What else a server speaks is worth a moment. The revision by which it is judged if it speaks it must not depend
// on how busy the machine is: a server of the handshake that leaves server/discover unanswered costs two seconds, and
// more when it is slow to start.
func patience(revision string, first time.Duration) time.Duration {
	if revision == firstChoice {
		return max(3*first, 2*time.Second)
	}
	return max(first, 250*time.Millisecond)
}

// pair is a server that is asked in both eras.
type pair struct {
	ctx      context.Context
	target   driver.Target
	patience func(revision string, first time.Duration) time.Duration

	older, newer *attempt
	spare        *driver.Session // a further one in the era of the one that was served; nil: there is none
	inLine       bool            // the server runs one process at a time
}

// askBoth asks a server in both eras. Once one has brought a session, the other is waited for as patience says. Two
// processes may be more than the server allows: see besides and again.
func askBoth(
	ctx context.Context, t driver.Target, patience func(revision string, first time.Duration) time.Duration,
) *pair {
	p := &pair{ctx: ctx, target: t, patience: patience}
	if t.Site != nil {
		if err := t.Site.Ready(ctx, t.Limits); err != nil {
			p.older, p.newer = failed(t, harness.Newest, err), failed(t, harness.Newest, err)
			return p
		}
	}
	p.older, p.newer = begin(ctx, t, harness.Newest), begin(ctx, t, firstChoice)
	select {
	case <-p.older.done:
		p.newer.follow(p.older, patience(firstChoice, p.older.took))
	case <-p.newer.done:
		p.older.follow(p.newer, patience(harness.Newest, p.newer.took))
	}
	switch older, newer := p.older.good(), p.newer.good(); {
	case t.Site != nil, older && newer, ctx.Err() != nil:
	case older && (p.newer.lost() || p.newer.inWay):
		p.besides(p.older)
	case newer && (p.older.lost() || p.older.inWay):
		p.besides(p.newer)
	case !older && !newer && !p.diedAlike():
		p.again(p.older.died(), p.newer.died())
	}
	return p
}

// besides finds out why one attempt was served and the other one was not: a further process in the era of the first one
// is served beside it, or the server runs one at a time. Which era was served then is chance, and the other is asked
// again. Where the first one is silent, that another one is not served tells nothing.
func (p *pair) besides(one *attempt) {
	if one.server.Silent {
		return
	}
	found, stuck := Found{Server: one.server, First: one.session}, isStuck(one.session)
	p.spare = beside(p.ctx, p.target, found, nil, p.patience(firstChoice, one.took))
	if p.spare != nil || stuck {
		return
	}
	p.inLine = true
	p.again(one != p.older, one != p.newer)
}

// diedAlike reports whether both processes have died with the same last words: neither was in the way of the other.
func (p *pair) diedAlike() bool {
	return p.older.died() && p.newer.died() && p.older.err != nil && p.newer.err != nil &&
		harness.Explain(p.older.err).Error() == harness.Explain(p.newer.err).Error()
}

// again asks for what was lost once more, one process at a time. In the end there is the session by which the server is
// judged.
func (p *pair) again(older, newer bool) {
	if older {
		p.older = p.alone(p.older, p.newer)
	}
	if newer {
		p.newer = p.alone(p.newer, p.older)
	}
	p.inLine = p.inLine || older && p.older.served || newer && p.newer.served
	switch {
	case p.newer.good():
	case p.newer.served:
		p.newer = p.alone(p.newer, p.older)
	case p.older.served && !p.older.good():
		p.older = p.alone(p.older, p.newer)
	}
}

// alone makes an attempt once more, when nothing else runs. When the other one was served, it is not waited for as long
// as a server may take to start.
func (p *pair) alone(a, other *attempt) *attempt {
	other.reuse()
	p.close()
	again := begin(p.ctx, p.target, a.revision)
	if other.served {
		again.within(p.patience(firstChoice, other.took))
	}
	<-again.done
	if !again.granted() && (a.served || other.served || other.reused) {
		afterFirst(again.err)
	}
	return again
}

// judged is the attempt by which the server is judged, and the other one. Where the server says that it has no
// handshake, that is the one without, whatever came of it: if it does not speak that either, it says what it offers.
func (p *pair) judged() (judged, other *attempt) {
	if p.newer.good() || p.older.refused() && p.newer.server != nil {
		return p.newer, p.older
	}
	return p.older, p.newer
}

// close ends the sessions.
func (p *pair) close() {
	p.older.close()
	p.newer.close()
	if p.spare != nil {
		p.spare.Close()
	}
}

// afterFirst names the cause where a process has ended though one before it was served, and reports whether it has.
func afterFirst(err error) bool {
	var death *driver.Death
	if !errors.As(err, &death) {
		return false
	}
	death.Cause = harness.RunsOnce + death.Cause
	return true
}

// attempt is a server that is asked for a revision. What it came to is there once it is done.
type attempt struct {
	revision string
	began    time.Time
	cancel   context.CancelFunc
	done     chan struct{}

	server  *harness.Server
	session *driver.Session
	err     error
	took    time.Duration
	served  bool     // there was a session in the era that was asked for
	speaks  []string // revisions that have been shown to be spoken
	reused  bool     // the session is one of the other era now: welcome has greeted the client there
	welcome driver.Reply
	inWay   bool // it was ended before the other attempt was done
	spoken  atomic.Bool
}

// failed is an attempt that was not made.
func failed(t driver.Target, revision string, err error) *attempt {
	return &attempt{revision: revision, cancel: func() {}, server: unknown(t, revision), err: err}
}

func begin(ctx context.Context, t driver.Target, revision string) *attempt {
	return beginThen(ctx, t, revision, func(*attempt) {})
}

// beginThen is begin with more to be done before the attempt is.
func beginThen(ctx context.Context, t driver.Target, revision string, more func(*attempt)) *attempt {
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{revision: revision, began: time.Now(), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.server, a.session, a.err = ask(ctx, t, revision, func() { a.spoken.Store(true) })
		a.took = time.Since(a.began)
		if a.served = a.err == nil && a.server.Failure == "" && a.session.Alive(); a.served {
			a.speaks = known(append(a.server.Speaks, a.server.Revision))
		}
		more(a)
	}()
	return a
}

// good reports whether there is a session in the era that was asked for.
func (a *attempt) good() bool { return a.served && a.session.Alive() }

// granted reports whether the server means to speak the era that was asked for, be it well or not.
func (a *attempt) granted() bool {
	return a.served || isGreeted(a.server)
}

// isGreeted reports whether a server has answered the greeting with a result, whatever came after it.
func isGreeted(server *harness.Server) bool { return server != nil && server.First.Result() != nil }

// died reports whether the session has ended by itself. That of a silent server is ended to learn what it has to say.
func (a *attempt) died() bool {
	var silence *driver.Silence
	return a.session != nil && !a.session.Alive() && !a.refused() && !errors.As(a.server.First.Err, &silence)
}

// lost reports whether nothing is known of the era, since the process has ended or has said nothing.
func (a *attempt) lost() bool {
	return a.died() || a.server != nil && !a.refused() && !a.server.First.Answered()
}

// undiscovered is how server/discover was answered, if neither with a result nor with an error that servers of the
// handshake have for what they do not know: any but that of a request which they tried to serve, and failed to.
func (a *attempt) undiscovered() string {
	const internal = -32603
	if a.served || a.server == nil || a.server.Protected || !a.server.First.Answered() {
		return ""
	}
	r := a.server.First
	code, coded := r.Code()
	refused := r.Bare() || coded && code != internal
	if r.Result() != nil || refused && a.server.Failure == "" {
		return ""
	}
	return harness.Got(r)
}

// refused reports whether the server has said that it does not speak the revision.
func (a *attempt) refused() bool {
	var none *NotSpoken
	return errors.As(a.err, &none)
}

// follow waits for the attempt after the other one is done. When that brought a session, it has so long; when it did
// not, its process is in the way after that time.
func (a *attempt) follow(first *attempt, patience time.Duration) {
	switch {
	case first.good():
		a.within(patience)
	case a.isDone(patience):
	case first.session != nil && first.session.Stdio() != nil:
		first.inWay = true
		first.close()
	}
	<-a.done
}

// within waits for the attempt, and gives it up after that time: but not once it is known that the server is judged by
// it, since what it lists would look like all that there is.
func (a *attempt) within(patience time.Duration) {
	if !a.isDone(patience) && !a.spoken.Load() {
		a.cancel()
	}
	<-a.done
}

// isDone waits for the attempt as long as that, and reports whether it is done.
func (a *attempt) isDone(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-a.done:
		return true
	case <-timer.C:
		return false
	}
}

// toBeGreeted reports whether the session is a process whose server has refused the era without a handshake, and owes
// no answer that might come after the greeting.
func (a *attempt) toBeGreeted() bool {
	return a.session != nil && a.session.Stdio() != nil && a.session.Alive() && harness.IsModern(a.revision) &&
		a.refused() && !a.reused && !a.session.Owes()
}

// reuse greets in a session over stdio whose server has refused the other era, as clients of both do.
func (a *attempt) reuse() {
	if !a.toBeGreeted() {
		return
	}
	a.session.ApartSoFar()
	a.session.SetEra(driver.Handshake{})
	a.welcome = a.session.Greet(driver.Hello(harness.Newest))
	a.reused = a.welcome.Result() != nil
}

// close ends the session.
func (a *attempt) close() {
	if a.session != nil {
		a.session.Close()
	}
	a.cancel()
}
