package driver

import (
	"cmp"
	"context"
	"io"
	"net"
	"time"
)

// M is a JSON object. Numbers in it are json.Number, as they were on the wire.
type M = map[string]any

// Target says how to reach the server under test. Each session starts it and uses its standard streams or, with a Site,
// connects to its URL.
type Target struct {
	// Site is a server at a URL; nil for a server over stdio.
	Site *Site

	// Command is the argument list of the server, which uses its standard streams.
	Command []string
	// Env holds variables as KEY=VALUE that are added to the environment of this process.
	Env []string
	// UnconfiguredEnv is the whole environment of a process that is started without the operator's configuration; nil
	// when none may be.
	UnconfiguredEnv []string
	// Dir is the server's working directory; empty is the current one.
	Dir string

	// Era is the era of the sessions; nil is Legacy.
	Era Era

	// Serve is a server inside this process, instead of Command. Tests use it to run many servers with a fake clock.
	Serve InProcessServer

	// Listen is how a server inside this process is listened for; nil listens on loopback.
	Listen func() (net.Listener, error)

	Limits Limits
	// MemoryBudget is shared by all sessions; nil has no limit.
	MemoryBudget *MemoryBudget

	// OnReply is called with the outcome of each awaited request in a session without invalid input. For long-running
	// requests it is called only if there is a response. It is not called for initialize and server/discover while
	// connecting, nor for requests of HTTP.Do. It may be nil, and may be called by any goroutine.
	OnReply func(s *Session, r Reply)

	// CheckOpen returns why a pool must open no more sessions, or nil while it may. It may be nil, and may be called by
	// any goroutine.
	CheckOpen func() error

	// Patience is shared by all sessions of a run; nil waits as long as Limits say.
	Patience *Patience

	// Waits notes the requests that the sessions wait for; nil notes none.
	Waits *Waits
}

// unconfiguredKey is the context key of a server inside this process that is started with Options.Unconfigured.
type unconfiguredKey struct{}

// IsUnconfigured reports whether a server inside this process is to do without the operator's configuration.
func IsUnconfigured(ctx context.Context) bool { return ctx.Value(unconfiguredKey{}) != nil }

// InProcessServer is a server inside this process. It returns its exit status. It must return when ctx is done, which
// stands for SIGKILL. A receive from term stands for SIGTERM.
type InProcessServer func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, term <-chan struct{}) int

// Limits bound what a server under test can cost. The zero value of a field stands for its default.
type Limits struct {
	// MaxMessageBytes is the size of one message in bytes; the default is 16 MiB.
	MaxMessageBytes int
	// MaxWireBytes is the number of bytes that the record of a session keeps; the default is MaxMessageBytes plus 8
	// MiB.
	MaxWireBytes int
	// MaxStderrBytes is the number of bytes of stderr that are kept from its beginning, and as many from its end; the
	// default is 16 KiB.
	MaxStderrBytes int
	// ReplyTimeout is the time for one response; the default is 5 s.
	ReplyTimeout time.Duration
	// StartTimeout is the time from the start to the first response; the default is 15 s.
	StartTimeout time.Duration
	// StopTimeout is the time from SIGTERM to SIGKILL; the default is 2 s.
	StopTimeout time.Duration
	// Grace is the longest wait for messages that may still be on their way after a later request was answered; the
	// default is 100 ms.
	Grace time.Duration
}

// ReplyTimeoutOrDefault returns ReplyTimeout, or its default if it is zero.
func (l Limits) ReplyTimeoutOrDefault() time.Duration { return l.withDefaults().ReplyTimeout }

func (l Limits) withDefaults() Limits {
	l.MaxMessageBytes = cmp.Or(l.MaxMessageBytes, 16<<20)
	l.MaxWireBytes = cmp.Or(l.MaxWireBytes, l.MaxMessageBytes+8<<20)
	l.MaxStderrBytes = cmp.Or(l.MaxStderrBytes, 16<<10)
	l.ReplyTimeout = cmp.Or(l.ReplyTimeout, 5*time.Second)
	l.StartTimeout = cmp.Or(l.StartTimeout, 15*time.Second)
	l.StopTimeout = cmp.Or(l.StopTimeout, 2*time.Second)
	l.Grace = cmp.Or(l.Grace, 100*time.Millisecond)
	return l
}
