package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// NotifySignals handles the signals of the operator from now on, if it does not yet.
func (t *Target) NotifySignals() {
	if t.interruptCtx == nil {
		ctx, listen := process.InterruptContext(t.ParentPipe)
		listen()
		t.interruptCtx = ctx
	}
}

// Lifetime begins the time that mcpcheck spends with a server. The context ends when the budget is spent or at the
// first Ctrl-C, and its cause says which. leave ends all processes.
func (t *Target) Lifetime(budget time.Duration) (ctx context.Context, leave func()) {
	t.NotifySignals()
	spent := fmt.Errorf("the run took longer than %v (--budget)", budget)
	ctx, cancel := context.WithTimeoutCause(t.interruptCtx, budget, spent)
	stopGuard := func() {}
	if len(t.Command) > 0 {
		stopGuard = driver.StartGuard(process.GuardCommand)
	}
	return ctx, func() {
		if site := t.DriverTarget.Site; site != nil {
			site.Close(t.DriverTarget.Limits) // before cancel, which kills the process
		}
		cancel()
		driver.KillOrphans()
		stopGuard()
	}
}

// flushTimeout is how long reports may take after the operator has ended the run: a report may go to a pipe that nobody
// reads.
const flushTimeout = 5 * time.Second

// FlushReports calls tell, which writes the reports, and waits for it until flushTimeout after the operator has ended
// the run.
func (t *Target) FlushReports(stderr io.Writer, tell func() error) error {
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

// Discover starts the server, connects with a revision (or the newest one, for ProtocolAuto), and finds out what the
// server offers. When found.Server is nil, the server could not be started; with a server and an error, it could not be
// connected to. Only without an error there are sessions, which the caller has to close.
func (t *Target) Discover(ctx context.Context, revision string, told Notifier) (found discovery.Found, err error) {
	arrived := t.showWaiting(told, revision)
	found, err = discovery.Find(ctx, t.DriverTarget, strings.TrimPrefix(revision, config.ProtocolAuto),
		!t.quick || t.DriverTarget.Site != nil)
	arrived()
	switch {
	case found.Server == nil:
		return found, process.StartError(t.Command, err)
	case err != nil && found.Session != nil:
		found.Session.Kill()
		found.Session.Close()
	}
	if none := (*discovery.UnsupportedRevisionError)(nil); errors.As(err, &none) && revision != config.ProtocolAuto {
		if other, err := discovery.Find(ctx, t.DriverTarget, "", true); err == nil {
			none.Supported = other.Server.Revisions
			other.Close()
		}
	}
	return found, err
}

// AcceptedRevisions returns the revisions to request from the server when all are requested. undiscovered is that of
// discovery.Revisions.
func (t *Target) AcceptedRevisions(
	ctx context.Context, told Notifier,
) (revisions []string, undiscovered string, err error) {
	arrived := t.showWaiting(told, config.ProtocolAuto)
	defer arrived()
	revisions, undiscovered, err = discovery.Revisions(ctx, t.DriverTarget)
	if revisions == nil {
		return nil, "", process.StartError(t.Command, err)
	}
	return revisions, undiscovered, nil
}

// showWaiting shows that mcpcheck waits for the response to the first request; arrived ends that.
func (t *Target) showWaiting(told Notifier, revision string) (arrived func()) {
	what := "the answer to " + connectMethod(revision)
	if t.URL != "" {
		what = t.Info.URL + " to answer " + connectMethod(revision)
	}
	return told.ShowWaiting(what, t.DriverTarget.Limits.StartTimeout)
}

// Notifier shows people what a target is doing.
type Notifier interface {
	// ShowWaiting shows what is waited for, and for how long at most; arrived ends that.
	ShowWaiting(what string, most time.Duration) (arrived func())
	// PrintNotice prints one line.
	PrintNotice(line string)
}

// connectMethod returns the method of the first request for a revision, or for ProtocolAuto.
func connectMethod(revision string) string {
	switch {
	case revision == config.ProtocolAuto:
		return "server/discover or initialize"
	case catalogue.IsModern(revision):
		return "server/discover"
	}
	return "initialize"
}
