package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// firstChoice is the revision by which a server is judged that speaks both eras. As long as some areas are not written
// for the modern one, the newest with a handshake tells more.
var firstChoice = harness.Newest

// Found is a server, and the sessions that were opened to learn what it is, for others to use.
type Found struct {
	Server *harness.Server
	First  *driver.Session // in the revision that is judged; nil when there is none
	Spare  *driver.Session // another one, which was sent what no client of the revision sends; nil: there is none
}

// Close ends the sessions.
func (f Found) Close() {
	for _, s := range []*driver.Session{f.First, f.Spare} {
		if s != nil {
			s.Close()
		}
	}
}

// Auto is Server for the newest revision that the server speaks, in the era of firstChoice. What else it speaks is in
// Server.Speaks. It is asked in both eras side by side, each over a connection of its own, so that neither waits for
// the other.
func Auto(ctx context.Context, t driver.Target) (Found, error) {
	older, newer := askBoth(ctx, t, patience)
	judged, other := older, newer
	if newer.good() && (newer.revision == firstChoice || !older.granted()) {
		judged, other = newer, older
	}
	found := Found{Server: judged.server, First: judged.session}
	if judged.good() {
		judged.server.Speaks = known(slices.Concat(older.spoken(), newer.spoken()))
	}
	if judged == older && older.good() && newer.reused && newer.session.Alive() {
		newer.session.SetEra(judged.server.Era)
		found.Spare = newer.session
	} else {
		other.close()
	}
	return found, judged.err
}

// Revisions are those that a server is to be asked for one after the other, when all are wanted: those of the eras that
// it speaks. An era that a server is slow in would be left out, and nobody would hear of it: it has as long as an
// answer may take.
func Revisions(ctx context.Context, t driver.Target) (revisions []string, err error) {
	older, newer := askBoth(ctx, t, func(*attempt, time.Duration) time.Duration { return t.Limits.ForReply() })
	defer older.close()
	defer newer.close()
	if older.server == nil {
		return nil, older.err
	}
	if older.granted() || !newer.good() {
		revisions = slices.Clone(harness.Handshake)
	}
	for _, revision := range newer.spoken() {
		if harness.IsModern(revision) {
			revisions = append(revisions, revision)
		}
	}
	return revisions, nil
}

// patience is how long an attempt is waited for once the other has brought a session, after the time that took. What
// else a server speaks is worth a moment. The era by which it is judged if it speaks it must not depend on how busy the
// machine is: a server that is silent in it costs more.
func patience(a *attempt, first time.Duration) time.Duration {
	if a.revision == firstChoice {
		return max(10*first, 2*time.Second)
	}
	return max(first, 250*time.Millisecond)
}

// askBoth asks a server in both eras. Once one has brought a session, the other is waited for as patience says. Two
// processes may be more than it allows: when one of them has died and the other brought nothing, that era is asked
// again alone.
func askBoth(
	ctx context.Context, t driver.Target, patience func(a *attempt, first time.Duration) time.Duration,
) (older, newer *attempt) {
	if t.Site != nil {
		if err := t.Site.Ready(ctx, t.Limits); err != nil {
			return failed(t, harness.Newest, err), failed(t, harness.Newest, err)
		}
	}
	older = begin(ctx, t, harness.Newest)
	newer = begin(ctx, t, harness.Modern[len(harness.Modern)-1])
	select {
	case <-older.done:
		newer.follow(older, patience(newer, older.took))
	case <-newer.done:
		older.follow(newer, patience(older, newer.took))
	}
	died := older.died()
	if older.good() || newer.good() || t.Site != nil || died == newer.died() {
		return older, newer
	}
	older.close()
	newer.close()
	again := &newer
	if died {
		again = &older
	}
	*again = begin(ctx, t, (*again).revision)
	<-(*again).done
	older.afterFirst(newer)
	return older, newer
}

// afterFirst names the cause of an attempt whose process has ended, though the other one was served in the same era.
func (a *attempt) afterFirst(other *attempt) {
	var death *driver.Death
	if other.reused && errors.As(a.err, &death) {
		death.Cause = harness.RunsOnce + death.Cause
	}
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
	reused  bool // the session is one of the other era now
}

// failed is an attempt that was not made.
func failed(t driver.Target, revision string, err error) *attempt {
	return &attempt{revision: revision, cancel: func() {}, server: unknown(t, revision), err: err}
}

func begin(ctx context.Context, t driver.Target, revision string) *attempt {
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{revision: revision, began: time.Now(), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.server, a.session, a.err = Server(ctx, t, revision)
		a.took = time.Since(a.began)
		a.reuse()
	}()
	return a
}

// good reports whether there is a session in the era that was asked for.
func (a *attempt) good() bool {
	return a.err == nil && a.server.Failure == "" && a.session.Alive()
}

// granted reports whether the server means to speak the era that was asked for, be it well or not.
func (a *attempt) granted() bool {
	return a.good() || a.server != nil && a.server.First.Result() != nil
}

// died reports whether the session has ended by itself. That of a silent server is ended to learn what it has to say.
func (a *attempt) died() bool {
	var silence *driver.Silence
	return a.session != nil && !a.session.Alive() && !errors.As(a.server.First.Err, &silence)
}

// spoken are the revisions that the attempt has shown to be spoken.
func (a *attempt) spoken() []string {
	if !a.good() {
		return nil
	}
	return known(append(a.server.Speaks, a.server.Revision))
}

// follow waits for the attempt after the other one is done. When that brought a session, it has so long; when it did
// not, its process is in the way after that time.
func (a *attempt) follow(first *attempt, patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-a.done:
		return
	case <-timer.C:
	}
	switch {
	case first.good():
		a.cancel()
	case first.session != nil && first.session.Stdio() != nil:
		first.close()
	}
	<-a.done
}

// reuse shakes hands in a session over stdio whose server has refused the other era, as clients of both do.
func (a *attempt) reuse() {
	var none *NotSpoken
	if !errors.As(a.err, &none) || !harness.IsModern(a.revision) || a.session.Stdio() == nil {
		return
	}
	a.session.HostileThroughout()
	a.session.SetEra(driver.Handshake{})
	if a.session.Greet(driver.Hello(harness.Newest)).Result() != nil {
		a.session.Confirm()
		a.reused = true
	}
}

// close ends the session.
func (a *attempt) close() {
	if a.session != nil {
		a.session.Close()
	}
	a.cancel()
}
