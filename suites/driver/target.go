package driver

import (
	"cmp"
	"context"
	"io"
	"time"
)

// Message is a JSON object. Numbers inside are json.Number, as they were on the wire.
type M = map[string]any

// RedirectTarget says how to reach the server under test: it is launched for each session and spoken to over its
// standard streams or, with a Site, reached at a URL.
type Target struct {
	Site *Site // a server at a URL; nil: over stdio

	Command []string // argv of the server, which speaks over its standard streams
	Env     []string // KEY=VALUE, added to the environment of this process
	Dir     string   // working directory; empty is the current one

	Era Era // how its sessions go; nil is the handshake

	// Serve is a server inside this process, in place of Command. Tests use it to run many servers under a virtual
	// clock.
	Serve InProcessServer

	Limits       Limits
	MemoryBudget *MemoryBudget // of all sessions together; nil is unbounded

	// OnReply is told the outcome of each request that was awaited in a session whose client keeps the protocol; nil
	// tells nobody. Of requests that may take their time it is told the answers only. The greeting, and what was
	// sent by hand, are not among them. Any goroutine may call it.
	OnReply func(s *Session, r Reply)

	// CheckOpen is why a pool opens no more sessions; nil while it does, and a nil func is never asked. Any goroutine
	// may call it.
	CheckOpen func() error

	Waits *Waits // what is waited for in its sessions; nil: nobody wants to know
}

// InProcessServer is a server inside this process. It returns its exit status, at the latest when ctx ends, which
// stands for SIGKILL. A receive from term stands for SIGTERM.
type InProcessServer func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, term <-chan struct{}) int

// Limits bound what a server under test can cost. The zero value of a field stands for its default.
type Limits struct {
	MaxMessageBytes int           // bytes of one message; default 16 MiB
	MaxWireBytes    int           // bytes of the wire kept for each session; default 8 MiB more than a message
	MaxStderrBytes  int           // bytes of stderr kept at each end; default 16 KiB
	ReplyTimeout    time.Duration // for one answer; default 5 s
	StartTimeout    time.Duration // from launch to the answer to the greeting; default 15 s
	StopTimeout     time.Duration // from SIGTERM to SIGKILL; default 2 s
	// at most, for what may still be on its way once a later request was answered; default 100 ms
	Grace time.Duration
}

// ReplyTimeoutOrDefault is how long one answer may take.
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
