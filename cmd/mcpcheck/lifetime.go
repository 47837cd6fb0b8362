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

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// notifySignals listens to the operator from now on, if it does not yet.
func (t *target) notifySignals() {
	if t.interruptCtx == nil {
		ctx, listen := interruptContext(t.parentPipe)
		listen()
		t.interruptCtx = ctx
	}
}

// lifetime begins the time that mcpcheck spends with a server. It ends by itself when the budget is spent, or with the
// first Ctrl-C: the cause of the context says which. leave ends it, and leaves nothing running.
func (t *target) lifetime(budget time.Duration) (ctx context.Context, leave func()) {
	t.notifySignals()
	spent := fmt.Errorf("the run took longer than %v (--budget)", budget)
	ctx, cancel := context.WithTimeoutCause(t.interruptCtx, budget, spent)
	dismiss := func() {}
	if len(t.command) > 0 {
		dismiss = driver.StartGuard(guardCommandName)
	}
	return ctx, func() {
		if site := t.driverTarget.Site; site != nil {
			site.Close(t.driverTarget.Limits) // before cancel, which kills
		}
		cancel()
		driver.KillOrphans()
		dismiss()
	}
}

// flushTimeout is how long what is told after a visit may take once the operator has ended it: a report may go to a
// pipe that nobody reads.
const flushTimeout = 5 * time.Second

// tell tells what came of a visit.
func (t *target) flushReports(stderr io.Writer, tell func() error) error {
	told := make(chan struct{})
	defer close(told)
	context.AfterFunc(t.interruptCtx, func() {
		select {
		case <-told:
		case <-time.After(flushTimeout):
			fmt.Fprintln(stderr, "mcpcheck: interrupted before all reports were written; does anybody read them?")
			os.Exit(report.ExitInterrupted)
		}
	})
	return tell()
}

// errInterrupted is the cause of a context that the operator ended.
var errInterrupted = errors.New("interrupted")

// repeatedSignalWindow is how long a second signal counts as the first one: a Ctrl-C arrives twice if what started
// mcpcheck passes it on.
const repeatedSignalWindow = 500 * time.Millisecond

// interruptContext is a context that ends with the first Ctrl-C, SIGTERM or SIGHUP from listen on; the second ends
// mcpcheck at once. It also ends with the leash, if there is one: with who holds its other end.
func interruptContext(leash io.Reader) (ctx context.Context, listen func()) {
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
		time.Sleep(repeatedSignalWindow)
		signal.Reset(terminationSignals()...) // not to this channel alone: Ginkgo listens as well, and for good
	}()
	return ctx, func() { signal.Notify(signals, terminationSignals()...) }
}

// terminationSignals are the signals that end a run. A run under nohup outlives its terminal.
func terminationSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// discover starts the server and learns what it is when it is asked for a revision, or for the newest one: auto.
// Without a server, it could not be started; with a server and an error, it could not be talked to. Only without an
// error there are sessions, which are the caller's.
func (t *target) discover(ctx context.Context, revision string, told *sinks) (found discovery.Found, err error) {
	arrived := t.showWaiting(told, revision)
	found, err = discovery.Find(ctx, t.driverTarget, strings.TrimPrefix(revision, protocolAuto),
		!t.quick || t.driverTarget.Site != nil)
	arrived()
	switch {
	case found.Server == nil:
		return found, commandError(t.command, err)
	case err != nil && found.Session != nil:
		found.Session.Kill()
		found.Session.Close()
	}
	if none := (*discovery.UnsupportedRevisionError)(nil); errors.As(err, &none) && revision != protocolAuto {
		if other, err := discovery.Find(ctx, t.driverTarget, "", true); err == nil {
			none.Supported = other.Server.Revisions
			other.Close()
		}
	}
	return found, err
}

// acceptedRevisions are the revisions that the server is asked for when all are wanted. undiscovered is as
// discovery.Revisions has it.
func (t *target) acceptedRevisions(
	ctx context.Context, told *sinks,
) (revisions []string, undiscovered string, err error) {
	arrived := t.showWaiting(told, protocolAuto)
	defer arrived()
	revisions, undiscovered, err = discovery.Revisions(ctx, t.driverTarget)
	if revisions == nil {
		return nil, "", commandError(t.command, err)
	}
	return revisions, undiscovered, nil
}

// showWaiting tells that the server is asked for a revision, or in both eras: auto; arrived ends that.
func (t *target) showWaiting(told *sinks, revision string) (arrived func()) {
	what := "the answer to " + connectMethod(revision)
	if t.url != "" {
		what = t.info.URL + " to answer " + connectMethod(revision)
	}
	return told.showWaiting(what, t.driverTarget.Limits.StartTimeout)
}

// connectMethod is what a server is asked first for a revision, or for auto.
func connectMethod(revision string) string {
	switch {
	case revision == protocolAuto:
		return "server/discover or initialize"
	case catalogue.IsModern(revision):
		return "server/discover"
	}
	return "initialize"
}
