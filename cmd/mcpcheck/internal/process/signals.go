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

// GuardCommand is the command with which a run starts its guard; see driver.Guard.
const GuardCommand = "guard"

// InterruptContext returns a context that ends with the first Ctrl-C, SIGTERM or SIGHUP after the call of listen; the
// second signal ends mcpcheck immediately. The context also ends when parent, if it is not nil, reaches its end.
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
		signal.Reset(TerminationSignals()...) // a Stop of this channel is not enough: Ginkgo listens too
	}()
	return ctx, func() { signal.Notify(signals, TerminationSignals()...) }
}

// TerminationSignals returns the signals that end a run. SIGHUP is not among them under nohup.
func TerminationSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// ErrInterrupted is the cause of a context that the operator ended.
var ErrInterrupted = errors.New("interrupted")

// repeatedSignalWindow is how long a second signal counts as the first one: a Ctrl-C arrives twice if the parent
// process forwards it.
const repeatedSignalWindow = 500 * time.Millisecond
