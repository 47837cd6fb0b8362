package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// GuardCommand is the command by which a run starts its guard, see driver.Guard.
const GuardCommand = "guard"

// InterruptContext is a context that ends with the first Ctrl-C, SIGTERM or SIGHUP from listen on; the second ends
// mcpcheck at once. It also ends with parent, if that is not nil: with who holds its other end.
func InterruptContext(parent io.Reader) (ctx context.Context, listen func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	if parent != nil {
		go func() {
			io.Copy(io.Discard, parent)
			cancel(ErrInterrupted)
		}()
	}
	go func() {
		<-signals
		cancel(ErrInterrupted)
		time.Sleep(repeatedSignalWindow)
		signal.Reset(TerminationSignals()...) // not to this channel alone: Ginkgo listens as well, and for good
	}()
	return ctx, func() { signal.Notify(signals, TerminationSignals()...) }
}

// TerminationSignals are the signals that end a run. A run under nohup outlives its terminal.
func TerminationSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// ErrInterrupted is the cause of a context that the operator ended.
var ErrInterrupted = errors.New("interrupted")

// repeatedSignalWindow is how long a second signal counts as the first one: a Ctrl-C arrives twice if what started
// mcpcheck passes it on.
const repeatedSignalWindow = 500 * time.Millisecond
