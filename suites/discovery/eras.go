package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// preferredRevision is the revision by which a server is judged that speaks it, whatever else it speaks.
var preferredRevision = catalogue.ModernRevisions[len(catalogue.ModernRevisions)-1]

// Found is a server, and the sessions that were opened to learn what it is, for others to use.
type Found struct {
	Server  *check.Server
	Session *driver.Session // in the revision that is judged; nil when there is none
	Unused  *driver.Session // another one in that revision, which nobody has used; nil when there is none
}

// Close ends the sessions.
func (f Found) Close() {
	for _, s := range []*driver.Session{f.Session, f.Unused} {
		if s != nil {
			s.Close()
		}
	}
}

// Find is Inspect for a revision or, without one, for the newest that the server speaks: it is asked for
// preferredRevision and, where that is refused, shakes hands. What else it speaks is in Inspect.Speaks then.
//
// Over stdio a further process is started at the same time, which is asked where the first one dies or stays silent, or
// for the other era, or stays for others to use: a server that does not serve both runs one at a time. With further
// false there is one process only, unless the server does not survive server/discover, or leaves it unanswered; the
// session counts as ordinary whatever revision was granted then, and the server is not asked what else it speaks.
func Find(ctx context.Context, t driver.Target, revision string, further bool) (Found, error) {
	d := &search{ctx: ctx, target: t, revision: revision, useSecondProcess: further}
	judged := d.run()
	defer d.close(judged, d.unused)
	found := Found{Server: judged.server, Session: judged.session}
	if d.unused != nil {
		found.Unused = d.unused.session
	}
	if judged.isUsable() {
		judged.server.OneClient = judged.server.OneClient || d.singleProcess
		if !further {
			judged.session.AcceptRevision()
		}
	}
	if revision == "" && judged.isUsable() {
		judged.server.Revisions = publishedRevisions(slices.Concat(d.first.supportedRevisions(),
			d.second.supportedRevisions()))
		judged.server.DiscoverError = d.first.discoverError()
	}
	if revision == "" && judged == d.first && t.Site == nil && d.second.server != nil {
		judged.server.InitializeReply = d.second.server.ConnectReply
	}
	return found, judged.err
}

// Revisions are those that a server is to be asked for one after the other, when all are wanted: those of the eras that
// it speaks. An era that a server is slow in would be left out, and nobody would hear of it: it has as long as an
// answer may take. undiscovered is what Inspect.Undiscovered says.
func Revisions(ctx context.Context, t driver.Target) (revisions []string, undiscovered string, err error) {
	d := &search{ctx: ctx, target: t, useSecondProcess: true, allRevisions: true}
	judged := d.run()
	defer d.close()
	newer, older := d.first, d.second
	switch {
	case older.server == nil:
		return nil, "", older.err
	case older.isGranted(), !newer.hadSession && judged == older:
		revisions = slices.Clone(catalogue.LegacyRevisions)
	case !newer.hadSession:
		revisions = []string{preferredRevision} // what came of that is said
	}
	revisions = append(revisions, slices.DeleteFunc(newer.supportedRevisions(), func(revision string) bool {
		return !catalogue.IsModern(revision)
	})...)
	return revisions, newer.discoverError(), nil
}

// search is how a server is asked, in sequence, until it is known by which revision it is judged.
type search struct {
	ctx              context.Context
	target           driver.Target
	revision         string // that is asked for; empty: the newest that is spoken
	useSecondProcess bool   // a second process is started ahead, and what else is spoken is asked for
	allRevisions     bool   // all revisions are wanted

	first         *revisionProbe // at the revision or, without one, at preferredRevision
	second        *revisionProbe // at the revision or, without one, at the handshake
	prestarted    *revisionProbe // in a process that may become the spare one; nil when there is none
	unused        *revisionProbe // whose session is served beside the one that is judged
	singleProcess bool           // the server runs one process at a time
	probes        []*revisionProbe
}

// run asks the server and returns the attempt by which it is judged.
func (d *search) run() *revisionProbe {
	if d.revision != "" && (!d.useSecondProcess || d.target.Site != nil) {
		a := d.newProbe(d.revision)
		a.connect()
		<-a.done
		return a
	}
	if d.target.Site != nil {
		if err := d.target.Site.AwaitReady(d.ctx, d.target.Limits); err != nil {
			d.first = &revisionProbe{server: newServer(d.target, catalogue.NewestLegacy), err: err}
			d.second = d.first
			return d.second
		}
	}
	d.startProcesses()
	d.connect()
	judged := d.judged()
	if d.target.Site != nil || d.ctx.Err() != nil {
		return judged
	}
	if !judged.isUsable() && (d.first.hasExited() || d.second.hasExited()) && !d.hasSameFailure() ||
		judged.isUsable() && judged.server.SilentAfterConnect && judged.isRestarted {
		judged = d.retryInSequence()
	}
	if judged.isUsable() && d.useSecondProcess && !d.servesTwoProcesses(judged) {
		d.singleProcess = true
		judged = d.retryInSequence()
	}
	return judged
}

// startProcesses makes both attempts, and starts their processes.
func (d *search) startProcesses() {
	if d.first, d.second = d.newProbe(d.revision), d.newProbe(d.revision); d.revision == "" {
		d.first.revision, d.second.revision = preferredRevision, catalogue.NewestLegacy
	} else {
		d.prestarted = d.second
	}
	if d.first.startProcess(); d.useSecondProcess {
		d.second.startProcess()
	}
}

// ask asks the first process and, where that is silent or not served, or for the other era, the second one.
func (d *search) connect() {
	d.first.connect()
	if !d.first.isDoneWithin(secondProbeDelay) {
		d.second.connect()
		d.awaitFirst()
	}
	<-d.first.done
	switch good := d.first.isUsable(); {
	case good && d.useSecondProcess && d.revision == "":
		d.second.connect()
		d.second.waitOrCancel(d.timeoutFor(catalogue.NewestLegacy, d.first.duration))
	case good && d.useSecondProcess, !good && d.fallBackToLegacy(): // the second process may become the spare one
	case !good && (d.revision == "" || d.first.hasExited()):
		d.first.close()
		d.second.connect()
		<-d.second.done
	default:
		d.second.close()
	}
}

// secondProbeDelay is how long the first process is silent before the second one is asked as well: a third of the time
// that a server has for preferredRevision. One that had started long before is not taken for slow then.
const secondProbeDelay = 2 * time.Second / 3

// awaitFirst waits for the first attempt beside the second one. When that brought a session, the first one has as long
// as patience says; when it did not, its process is in the way after that time.
func (d *search) awaitFirst() {
	select {
	case <-d.first.done:
		return
	case <-d.second.done:
	}
	rest := time.Until(d.second.startedAt.Add(d.timeoutFor(preferredRevision, d.second.duration)))
	if d.second.isUsable() {
		d.first.waitOrCancel(rest)
	} else if !d.first.isDoneWithin(rest) {
		d.second.close()
	}
}

// fallBackToLegacy asks for the handshake in the process that has refused preferredRevision, as clients of both eras
// do, and reports whether it is served well there. What was asked before is no part of the session then. A process that
// owes an answer is not asked, since that might come after the greeting.
func (d *search) fallBackToLegacy() bool {
	refused := d.first.session
	if d.revision != "" || refused == nil || refused.Stdio() == nil || !refused.IsAlive() || !d.first.isRefused() ||
		refused.HasUnanswered() {
		return false
	}
	refused.MarkManualSoFar()
	same := d.first.reuseProcess(catalogue.NewestLegacy)
	d.probes = append(d.probes, same)
	same.connect()
	<-same.done
	if !same.isUsable() || same.server.SilentAfterConnect {
		same.close()
		return false
	}
	d.prestarted, d.second = d.second, same
	return true
}

// servesTwoProcesses reports whether the server serves a further process beside that of an attempt. That becomes the
// spare one, unless the other era has been asked for in one. Where the server is silent, or hangs, it tells nothing
// that another one is not served.
func (d *search) servesTwoProcesses(judged *revisionProbe) bool {
	shown := judged == d.first && d.revision == "" && d.second.isAnswered() && d.second.session.IsAlive()
	if shown || judged.server.SilentAfterConnect || d.revision != "" && judged.server.Revision != d.revision {
		return true
	}
	stuck := isBlocked(judged.session)
	other := d.prestarted
	if other == nil || other == judged || other.hasBegun() && other.isDoneWithin(0) && !other.isUsable() {
		other = d.newProbe(judged.server.Revision)
	}
	other.reconnect(judged.server)
	other.waitOrCancel(d.timeoutFor(preferredRevision, judged.duration))
	if other.isUsable() && isServed(other.session) && isServed(judged.session) {
		d.unused = other
		return true
	}
	return stuck || d.ctx.Err() != nil
}

// isBlocked reports whether a server has left a request of a session unanswered before another was begun: it may serve
// nothing any more there, as one does that hangs at tools/list.
func isBlocked(s *driver.Session) bool {
	silent, _ := s.UnansweredMethods()
	return len(silent) > 0
}

// retryInSequence asks once more, one process at a time: for the handshake and for preferredRevision and, where that is
// not spoken, for the handshake again.
func (d *search) retryInSequence() (judged *revisionProbe) {
	if d.revision != "" {
		d.first = d.retryAlone(d.revision)
		return d.first
	}
	d.second = d.retryAlone(catalogue.NewestLegacy)
	d.first = d.retryAlone(preferredRevision)
	if !d.first.isUsable() && !d.fallBackToLegacy() && d.second.hadSession {
		d.second = d.retryAlone(catalogue.NewestLegacy)
	}
	return d.judged()
}

// retryAlone makes an attempt when nothing else runs. When there was a session, it is not waited for as long as a
// server may take to start.
func (d *search) retryAlone(revision string) *revisionProbe {
	d.close()
	a := d.newProbe(revision)
	a.connect()
	for _, before := range []*revisionProbe{d.second, d.first} {
		if before.hadSession {
			a.waitOrCancel(d.timeoutFor(preferredRevision, before.duration))
			break
		}
	}
	<-a.done
	met := func(before *revisionProbe) bool {
		return before.hadSession || before.revision == revision && before.isAnswered()
	}
	if !a.isGranted() && slices.ContainsFunc(d.probes, met) {
		markRunsOnce(a.err)
	}
	return a
}

// markRunsOnce names the cause where a process has ended though one before it was served, and reports whether it has.
func markRunsOnce(err error) bool {
	var death *driver.SessionEndError
	if !errors.As(err, &death) {
		return false
	}
	death.Cause = check.RunsOncePrefix + death.Cause
	return true
}

// hasSameFailure reports whether the second process has died with the same last words as one before it: neither was in
// the way of the other.
func (d *search) hasSameFailure() bool {
	return d.second.hasExited() && slices.ContainsFunc(d.probes, func(before *revisionProbe) bool {
		return before != d.second && before.hasExited() && before.err != nil && d.second.err != nil &&
			check.Explain(before.err).Error() == check.Explain(d.second.err).Error()
	})
}

// judged is the attempt by which the server is judged. Where the server says that it has no handshake, that is the one
// without, whatever came of it: if it does not speak that either, it says what it offers.
func (d *search) judged() *revisionProbe {
	refused := d.revision != "" || d.second.isRefused() && d.first.server != nil
	if d.first.isUsable() || refused && !d.second.isUsable() {
		return d.first
	}
	return d.second
}

// timeoutFor is how long an attempt at a revision may take after the other has brought a session in that time. What
// else a server speaks is worth a moment. The revision by which it is judged if it speaks it must not depend on how
// busy the machine is: a server of the handshake that leaves server/discover unanswered costs two seconds, and more
// when it is slow to start.
func (d *search) timeoutFor(revision string, other time.Duration) time.Duration {
	switch {
	case d.allRevisions:
		return other + d.target.Limits.ReplyTimeoutOrDefault()
	case revision == preferredRevision:
		return max(3*other, 2*time.Second)
	}
	return max(other, 250*time.Millisecond)
}

// close ends the processes of all attempts but some.
func (d *search) close(but ...*revisionProbe) {
	for _, a := range d.probes {
		if !slices.Contains(but, a) {
			a.close()
		}
	}
}
