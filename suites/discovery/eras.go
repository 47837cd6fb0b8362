package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// preferredRevision is the revision by which a server is judged that supports it, whatever else it supports.
var preferredRevision = catalogue.ModernRevisions[len(catalogue.ModernRevisions)-1]

// Found is a server, with the sessions that were opened to find out what it is, for others to use.
type Found struct {
	Server *check.Server
	// Session is in the revision by which the server is judged; nil if there is none.
	Session *driver.Session
	// Unused is another session in that revision that nothing has used; nil if there is none.
	Unused *driver.Session
}

// Close ends the sessions.
func (f Found) Close() {
	for _, s := range []*driver.Session{f.Session, f.Unused} {
		if s != nil {
			s.Close()
		}
	}
}

// Find is Inspect for a revision or, if revision is empty, for the newest one that the server supports: it sends
// server/discover for preferredRevision and, if the server rejects that, initialize. Server.Revisions then holds all
// revisions that the server is known to support.
//
// Over stdio it starts a second process at the same time. It uses that if the first one ends or does not answer, for
// the other era, or keeps it for others to use. If the server does not serve both, Find uses one at a time. Without
// useSecondProcess there is one process only, unless the server ends at server/discover or leaves it unanswered. The
// session then counts as ordinary whatever revision was granted, and Find does not look for other revisions.
func Find(ctx context.Context, t driver.Target, revision string, useSecondProcess bool) (Found, error) {
	d := &search{ctx: ctx, target: t, revision: revision, useSecondProcess: useSecondProcess}
	judged := d.run()
	defer d.close(judged, d.unused)
	found := Found{Server: judged.server, Session: judged.session}
	if d.unused != nil {
		found.Unused = d.unused.session
	}
	if judged.isUsable() {
		judged.server.OneClient = judged.server.OneClient || d.singleProcess
		if !useSecondProcess {
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

// Revisions returns the revisions to request one after the other when all are to be tested: those of the eras that the
// server supports. It waits for an era as long as a response may take, because a slow one would be left out silently.
// undiscovered is what Server.DiscoverError would be.
func Revisions(ctx context.Context, t driver.Target) (revisions []string, undiscovered string, err error) {
	d := &search{ctx: ctx, target: t, useSecondProcess: true, allRevisions: true}
	judged := d.run()
	defer d.close()
	modern, legacy := d.first, d.second
	switch {
	case legacy.server == nil:
		return nil, "", legacy.err
	case legacy.isGranted(), !modern.hadSession && judged == legacy:
		revisions = slices.Clone(catalogue.LegacyRevisions)
	case !modern.hadSession:
		revisions = []string{preferredRevision} // a run in it reports what went wrong
	}
	revisions = append(revisions, slices.DeleteFunc(modern.supportedRevisions(), func(revision string) bool {
		return !catalogue.IsModern(revision)
	})...)
	return revisions, modern.discoverError(), nil
}

// search finds out, step by step, by which revision a server is judged.
type search struct {
	ctx    context.Context
	target driver.Target
	// revision is the requested revision; empty stands for the newest that the server supports.
	revision string
	// useSecondProcess starts a second process in advance, and looks for other revisions.
	useSecondProcess bool
	// allRevisions waits longer for an era, because all revisions are wanted.
	allRevisions bool

	// first is the probe of the requested revision or, without one, of preferredRevision.
	first *revisionProbe
	// second is the probe of the requested revision or, without one, of the newest with a handshake.
	second *revisionProbe
	// prestarted is a probe whose process may become the unused one; nil if there is none.
	prestarted *revisionProbe
	// unused is the probe whose session is served at the same time as the one that is judged.
	unused *revisionProbe
	// singleProcess reports whether the server runs one process at a time.
	singleProcess bool
	probes        []*revisionProbe
}

// run probes the server and returns the probe by which it is judged.
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

// connect connects to the first process. It connects to the second one if the first does not answer or is not served,
// or for the other era.
func (d *search) connect() {
	d.first.connect()
	if !d.first.isDoneWithin(timing.SecondProbe) {
		d.second.connect()
		d.awaitFirst()
	}
	<-d.first.done
	switch good := d.first.isUsable(); {
	case good && d.useSecondProcess && d.revision == "":
		d.second.connect()
		d.second.waitOrCancel(d.timeoutFor(catalogue.NewestLegacy, d.first.duration))
	case good && d.useSecondProcess, !good && d.fallBackToLegacy(): // the second process may become the unused one
	case !good && (d.revision == "" || d.first.hasExited()):
		d.first.close()
		d.second.connect()
		<-d.second.done
	default:
		d.second.close()
	}
}

// awaitFirst waits for the first probe while the second one runs. If the second one gets a session, the first has the
// time of timeoutFor. If it does not, the first process is ended after that time, because it may block the second.
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

// fallBackToLegacy sends initialize in the process that has rejected preferredRevision, as clients of both eras do, and
// reports whether the server works there. Earlier requests do not count as part of that session. A process that still
// owes a response is not used, because the response might arrive after initialize.
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

// servesTwoProcesses reports whether the server serves another process at the same time as that of a probe. The other
// one becomes the unused one, unless it has the other era. If the server does not answer or hangs, a second process
// that is not served either proves nothing.
func (d *search) servesTwoProcesses(judged *revisionProbe) bool {
	shown := judged == d.first && d.revision == "" && d.second.isAnswered() && d.second.session.IsAlive()
	if shown || judged.server.SilentAfterConnect || d.revision != "" && judged.server.Revision != d.revision {
		return true
	}
	blocked := isBlocked(judged.session)
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
	return blocked || d.ctx.Err() != nil
}

// isBlocked reports whether a server has left a request of a session unanswered before another session was begun. Such
// a server may answer nothing more in it, as one that hangs at tools/list.
func isBlocked(s *driver.Session) bool {
	silent, _ := s.UnansweredMethods()
	return len(silent) > 0
}

// retryInSequence probes the server again, one process at a time: with a handshake, with preferredRevision and, if that
// is not supported, with a handshake again.
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

// retryAlone probes a revision while no other process runs. If there was a session before, it waits less than the start
// timeout.
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
	wasServed := func(before *revisionProbe) bool {
		return before.hadSession || before.revision == revision && before.isAnswered()
	}
	if !a.isGranted() && slices.ContainsFunc(d.probes, wasServed) {
		markRunsOnce(a.err)
	}
	return a
}

// markRunsOnce adds the cause to the error of a process that ended although one before it was served. It reports
// whether err is such an error.
func markRunsOnce(err error) bool {
	var ended *driver.SessionEndError
	if !errors.As(err, &ended) {
		return false
	}
	ended.Cause = driver.RunsOncePrefix + ended.Cause
	return true
}

// hasSameFailure reports whether the second process ended with the same error as one before it, so that neither blocked
// the other.
func (d *search) hasSameFailure() bool {
	return d.second.hasExited() && slices.ContainsFunc(d.probes, func(before *revisionProbe) bool {
		return before != d.second && before.hasExited() && before.err != nil && d.second.err != nil &&
			check.Explain(before.err).Error() == check.Explain(d.second.err).Error()
	})
}

// judged returns the probe by which the server is judged. If the server says that it has no handshake, that is the one
// without, whatever its result: if it does not support that revision either, its answer says what it supports.
func (d *search) judged() *revisionProbe {
	refused := d.revision != "" || d.second.isRefused() && d.first.server != nil
	if d.first.isUsable() || refused && !d.second.isUsable() {
		return d.first
	}
	return d.second
}

// timeoutFor returns how long a probe of a revision may take after the other one got a session in the given time. Other
// revisions are worth only a short wait. The revision by which a server is judged must not depend on how busy the
// machine is: a server with a handshake that leaves server/discover unanswered costs two seconds, and more if it starts
// slowly.
func (d *search) timeoutFor(revision string, other time.Duration) time.Duration {
	switch {
	case d.allRevisions:
		return other + d.target.Limits.ReplyTimeoutOrDefault()
	case revision == preferredRevision:
		return max(3*other, 2*time.Second)
	}
	return max(other, 250*time.Millisecond)
}

func (d *search) close(but ...*revisionProbe) {
	for _, a := range d.probes {
		if !slices.Contains(but, a) {
			a.close()
		}
	}
}
