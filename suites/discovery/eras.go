package discovery

import (
	"context"
	"errors"
	"slices"
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
	Spare  *driver.Session // another one in that revision, which nobody has used; nil when there is none
}

// Close ends the sessions.
func (f Found) Close() {
	for _, s := range []*driver.Session{f.First, f.Spare} {
		if s != nil {
			s.Close()
		}
	}
}

// Find is Server for a revision or, without one, for the newest that the server speaks: it is asked for firstChoice
// and, where that is refused, shakes hands. What else it speaks is in Server.Speaks then.
//
// Over stdio a further process is started at the same time, which is asked where the first one dies or stays silent, or
// for the other era, or stays for others to use: a server that does not serve both runs one at a time. With further
// false there is one process only, unless the server does not survive server/discover, or leaves it unanswered; the
// session counts as ordinary whatever revision was granted then, and the server is not asked what else it speaks.
func Find(ctx context.Context, t driver.Target, revision string, further bool) (Found, error) {
	d := &search{ctx: ctx, target: t, revision: revision, further: further}
	judged := d.run()
	defer d.close(judged, d.spare)
	found := Found{Server: judged.server, First: judged.session}
	if d.spare != nil {
		found.Spare = d.spare.session
	}
	if judged.good() {
		judged.server.OneClient = judged.server.OneClient || d.oneAtATime
		if !further {
			judged.session.AsAsked()
		}
	}
	if revision == "" && judged.good() {
		judged.server.Speaks = known(slices.Concat(d.first.speaks(), d.second.speaks()))
		judged.server.Undiscovered = d.first.undiscovered()
	}
	if revision == "" && judged == d.first && t.Site == nil && d.second.server != nil {
		judged.server.Shaken = d.second.server.First
	}
	return found, judged.err
}

// Revisions are those that a server is to be asked for one after the other, when all are wanted: those of the eras that
// it speaks. An era that a server is slow in would be left out, and nobody would hear of it: it has as long as an
// answer may take. undiscovered is what Server.Undiscovered says.
func Revisions(ctx context.Context, t driver.Target) (revisions []string, undiscovered string, err error) {
	d := &search{ctx: ctx, target: t, further: true, all: true}
	judged := d.run()
	defer d.close()
	newer, older := d.first, d.second
	switch {
	case older.server == nil:
		return nil, "", older.err
	case older.granted(), !newer.served && judged == older:
		revisions = slices.Clone(harness.Handshake)
	case !newer.served:
		revisions = []string{firstChoice} // what came of that is said
	}
	revisions = append(revisions, slices.DeleteFunc(newer.speaks(), func(revision string) bool {
		return !harness.IsModern(revision)
	})...)
	return revisions, newer.undiscovered(), nil
}

// search is how a server is asked, in sequence, until it is known by which revision it is judged.
type search struct {
	ctx      context.Context
	target   driver.Target
	revision string // that is asked for; empty: the newest that is spoken
	further  bool   // a second process is started ahead, and what else is spoken is asked for
	all      bool   // all revisions are wanted

	first      *attempt // at the revision or, without one, at firstChoice
	second     *attempt // at the revision or, without one, at the handshake
	ahead      *attempt // in a process that may become the spare one; nil when there is none
	spare      *attempt // whose session is served beside the one that is judged
	oneAtATime bool     // the server runs one process at a time
	made       []*attempt
}

// run asks the server and returns the attempt by which it is judged.
func (d *search) run() *attempt {
	if d.revision != "" && (!d.further || d.target.Site != nil) {
		a := d.attempt(d.revision)
		a.ask()
		<-a.done
		return a
	}
	if d.target.Site != nil {
		if err := d.target.Site.Ready(d.ctx, d.target.Limits); err != nil {
			d.first = &attempt{server: unknown(d.target, harness.Newest), err: err}
			d.second = d.first
			return d.second
		}
	}
	d.open()
	d.ask()
	judged := d.judged()
	if d.target.Site != nil || d.ctx.Err() != nil {
		return judged
	}
	if !judged.good() && (d.first.died() || d.second.died()) && !d.diedAlike() ||
		judged.good() && judged.server.Silent && judged.restarted {
		judged = d.askInTurn()
	}
	if judged.good() && d.further && !d.servesTwo(judged) {
		d.oneAtATime = true
		judged = d.askInTurn()
	}
	return judged
}

// open makes both attempts, and starts their processes.
func (d *search) open() {
	if d.first, d.second = d.attempt(d.revision), d.attempt(d.revision); d.revision == "" {
		d.first.revision, d.second.revision = firstChoice, harness.Newest
	} else {
		d.ahead = d.second
	}
	if d.first.start(); d.further {
		d.second.start()
	}
}

// ask asks the first process and, where that is silent or not served, or for the other era, the second one.
func (d *search) ask() {
	d.first.ask()
	if !d.first.isDone(silent) {
		d.second.ask()
		d.awaitFirst()
	}
	<-d.first.done
	switch good := d.first.good(); {
	case good && d.further && d.revision == "":
		d.second.ask()
		d.second.within(d.patience(harness.Newest, d.first.took))
	case good && d.further, !good && d.shakesHands(): // the second process may become the spare one
	case !good && (d.revision == "" || d.first.died()):
		d.first.close()
		d.second.ask()
		<-d.second.done
	default:
		d.second.close()
	}
}

// silent is how long the first process is silent before the second one is asked as well: a third of the time that a
// server has for firstChoice. One that had started long before is not taken for slow then.
const silent = 2 * time.Second / 3

// awaitFirst waits for the first attempt beside the second one. When that brought a session, the first one has as long
// as patience says; when it did not, its process is in the way after that time.
func (d *search) awaitFirst() {
	select {
	case <-d.first.done:
		return
	case <-d.second.done:
	}
	rest := time.Until(d.second.began.Add(d.patience(firstChoice, d.second.took)))
	if d.second.good() {
		d.first.within(rest)
	} else if !d.first.isDone(rest) {
		d.second.close()
	}
}

// shakesHands asks for the handshake in the process that has refused firstChoice, as clients of both eras do, and
// reports whether it is served well there. What was asked before is no part of the session then. A process that owes an
// answer is not asked, since that might come after the greeting.
func (d *search) shakesHands() bool {
	refused := d.first.session
	if d.revision != "" || refused == nil || refused.Stdio() == nil || !refused.Alive() || !d.first.refused() ||
		refused.Owes() {
		return false
	}
	refused.ApartSoFar()
	same := d.first.handOver(harness.Newest)
	d.made = append(d.made, same)
	same.ask()
	<-same.done
	if !same.good() || same.server.Silent {
		same.close()
		return false
	}
	d.ahead, d.second = d.second, same
	return true
}

// servesTwo reports whether the server serves a further process beside that of an attempt. That becomes the spare one,
// unless the other era has been asked for in one. Where the server is silent, or hangs, it tells nothing that another
// one is not served.
func (d *search) servesTwo(judged *attempt) bool {
	shown := judged == d.first && d.revision == "" && d.second.answered() && d.second.session.Alive()
	if shown || judged.server.Silent || d.revision != "" && judged.server.Revision != d.revision {
		return true
	}
	stuck := isStuck(judged.session)
	other := d.ahead
	if other == nil || other == judged || other.asked() && other.isDone(0) && !other.good() {
		other = d.attempt(judged.server.Revision)
	}
	other.join(judged.server)
	other.within(d.patience(firstChoice, judged.took))
	if other.good() && isServed(other.session) && isServed(judged.session) {
		d.spare = other
		return true
	}
	return stuck || d.ctx.Err() != nil
}

// isStuck reports whether a server has left a request of a session unanswered before another was begun: it may serve
// nothing any more there, as one does that hangs at tools/list.
func isStuck(s *driver.Session) bool {
	silent, _ := s.Silences()
	return len(silent) > 0
}

// askInTurn asks once more, one process at a time: for the handshake and for firstChoice and, where that is not spoken,
// for the handshake again.
func (d *search) askInTurn() (judged *attempt) {
	if d.revision != "" {
		d.first = d.alone(d.revision)
		return d.first
	}
	d.second = d.alone(harness.Newest)
	d.first = d.alone(firstChoice)
	if !d.first.good() && !d.shakesHands() && d.second.served {
		d.second = d.alone(harness.Newest)
	}
	return d.judged()
}

// alone makes an attempt when nothing else runs. When there was a session, it is not waited for as long as a server may
// take to start.
func (d *search) alone(revision string) *attempt {
	d.close()
	a := d.attempt(revision)
	a.ask()
	for _, before := range []*attempt{d.second, d.first} {
		if before.served {
			a.within(d.patience(firstChoice, before.took))
			break
		}
	}
	<-a.done
	met := func(before *attempt) bool { return before.served || before.revision == revision && before.answered() }
	if !a.granted() && slices.ContainsFunc(d.made, met) {
		afterFirst(a.err)
	}
	return a
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

// diedAlike reports whether the second process has died with the same last words as one before it: neither was in the
// way of the other.
func (d *search) diedAlike() bool {
	return d.second.died() && slices.ContainsFunc(d.made, func(before *attempt) bool {
		return before != d.second && before.died() && before.err != nil && d.second.err != nil &&
			harness.Explain(before.err).Error() == harness.Explain(d.second.err).Error()
	})
}

// judged is the attempt by which the server is judged. Where the server says that it has no handshake, that is the one
// without, whatever came of it: if it does not speak that either, it says what it offers.
func (d *search) judged() *attempt {
	refused := d.revision != "" || d.second.refused() && d.first.server != nil
	if d.first.good() || refused && !d.second.good() {
		return d.first
	}
	return d.second
}

// patience is how long an attempt at a revision may take after the other has brought a session in that time. What else
// a server speaks is worth a moment. The revision by which it is judged if it speaks it must not depend on how busy the
// machine is: a server of the handshake that leaves server/discover unanswered costs two seconds, and more when it is
// slow to start.
func (d *search) patience(revision string, other time.Duration) time.Duration {
	switch {
	case d.all:
		return other + d.target.Limits.ForReply()
	case revision == firstChoice:
		return max(3*other, 2*time.Second)
	}
	return max(other, 250*time.Millisecond)
}

// close ends the processes of all attempts but some.
func (d *search) close(but ...*attempt) {
	for _, a := range d.made {
		if !slices.Contains(but, a) {
			a.close()
		}
	}
}
