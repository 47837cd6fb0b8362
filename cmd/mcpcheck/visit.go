package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// heed listens to the operator from now on, if it does not yet.
func (t *target) heed() {
	if t.wanted == nil {
		ctx, listen := interruptible(t.leash)
		listen()
		t.wanted = ctx
	}
}

// visit begins the time that mcpcheck spends with a server. It ends by itself when the budget is spent, or with the
// first Ctrl-C: the cause of the context says which. leave ends it, and leaves nothing running.
func (t *target) visit(budget time.Duration) (ctx context.Context, leave func()) {
	t.heed()
	spent := fmt.Errorf("the run took longer than %v (--budget)", budget)
	ctx, cancel := context.WithTimeoutCause(t.wanted, budget, spent)
	dismiss := func() {}
	if len(t.command) > 0 {
		dismiss = driver.Guard(guardCommand)
	}
	return ctx, func() {
		if site := t.reach.Site; site != nil {
			site.Close(t.reach.Limits) // before cancel, which kills
		}
		cancel()
		driver.Sweep()
		dismiss()
	}
}

// goodbye is how long what is told after a visit may take once the operator has ended it: a report may go to a pipe
// that nobody reads.
const goodbye = 5 * time.Second

// tell tells what came of a visit.
func (t *target) tell(stderr io.Writer, tell func() error) error {
	told := make(chan struct{})
	defer close(told)
	context.AfterFunc(t.wanted, func() {
		select {
		case <-told:
		case <-time.After(goodbye):
			fmt.Fprintln(stderr, "mcpcheck: interrupted before all reports were written; does anybody read them?")
			os.Exit(harness.ExitInterrupted)
		}
	})
	return tell()
}

// errInterrupted is the cause of a context that the operator ended.
var errInterrupted = errors.New("interrupted")

// sameSignal is how long a second signal counts as the first one: a Ctrl-C arrives twice if what started mcpcheck
// passes it on.
const sameSignal = 500 * time.Millisecond

// interruptible is a context that ends with the first Ctrl-C, SIGTERM or SIGHUP from listen on; the second ends
// mcpcheck at once. It also ends with the leash, if there is one: with who holds its other end.
func interruptible(leash io.Reader) (ctx context.Context, listen func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	if leash != nil {
		go func() {
			io.Copy(io.Discard, leash)
			cancel(errInterrupted)
		}()
	}
	go func() {
		<-signals
		cancel(errInterrupted)
		time.Sleep(sameSignal)
		signal.Reset(ending()...) // not to this channel alone: Ginkgo listens as well, and for good
	}()
	return ctx, func() { signal.Notify(signals, ending()...) }
}

// ending are the signals that end a run. A run under nohup outlives its terminal.
func ending() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// meet starts the server and learns what it is when it is asked for a revision, or for the newest one: auto. Without a
// server, it could not be started; with a server and an error, it could not be talked to. Only without an error there
// are sessions, which are the caller's.
func (t *target) meet(ctx context.Context, revision string, told *audience) (found discovery.Found, err error) {
	arrived := t.awaits(told, revision)
	found, err = discovery.Find(ctx, t.reach, strings.TrimPrefix(revision, auto), !t.quick || t.reach.Site != nil)
	arrived()
	switch {
	case found.Server == nil:
		return found, cannotRun(t.command, err)
	case err != nil && found.First != nil:
		found.First.Kill()
		found.First.Close()
	}
	if none := (*discovery.NotSpoken)(nil); errors.As(err, &none) && revision != auto {
		if other, err := discovery.Find(ctx, t.reach, "", true); err == nil {
			none.Speaks = other.Server.Speaks
			other.Close()
		}
	}
	return found, err
}

// spoken are the revisions that the server is asked for when all are wanted. undiscovered is as discovery.Revisions has
// it.
func (t *target) spoken(ctx context.Context, told *audience) (revisions []string, undiscovered string, err error) {
	arrived := t.awaits(told, auto)
	defer arrived()
	revisions, undiscovered, err = discovery.Revisions(ctx, t.reach)
	if revisions == nil {
		return nil, "", cannotRun(t.command, err)
	}
	return revisions, undiscovered, nil
}

// awaits tells that the server is asked for a revision, or in both eras: auto; arrived ends that.
func (t *target) awaits(told *audience, revision string) (arrived func()) {
	what := "the answer to " + greeting(revision)
	if t.url != "" {
		what = t.shown.URL + " to answer " + greeting(revision)
	}
	return told.waiting(what, t.reach.Limits.Start)
}

// greeting is what a server is asked first for a revision, or for auto.
func greeting(revision string) string {
	switch {
	case revision == auto:
		return "server/discover or initialize"
	case harness.IsModern(revision):
		return "server/discover"
	}
	return "initialize"
}
