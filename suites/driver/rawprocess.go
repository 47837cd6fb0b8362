package driver

import (
	"context"
	"io"
	"net/http"
	"os"
	"time"
)

// RawProcess is a process of the server whose messages the caller writes and reads itself, so that nothing is recorded:
// a load is too much for a record.
type RawProcess struct {
	Stdin  io.WriteCloser
	Stdout io.Reader
	proc   *process
	limits Limits
}

// StartRaw starts the command of a target over stdio. Its stderr is discarded. When the context ends, it is killed.
func StartRaw(ctx context.Context, t Target) (*RawProcess, error) {
	p, err := launch(ctx, t, Options{DiscardStderr: true})
	if err != nil {
		return nil, err
	}
	return &RawProcess{Stdin: p.stdin, Stdout: p.stdout, proc: p, limits: t.Limits.withDefaults()}, nil
}

// Close closes the stdin of the process, ends it by force if it does not exit then, and returns its state; nil for a
// server inside this process.
func (r *RawProcess) Close() *os.ProcessState {
	r.Stdin.Close()
	r.proc.end(r.limits.StopTimeout)
	return r.proc.state
}

// ProcessID returns the id of the process of the site, which is that of its group; 0 where this run has not started the
// process, also for a nil Site.
func (site *Site) ProcessID() int {
	if site == nil {
		return 0
	}
	if host := site.proc.Load(); host != nil && !host.hasExited() {
		return host.pid
	}
	return 0
}

// NewClient returns an HTTP client for many requests at a time to the site, which follows no redirects. Its requests
// are neither recorded nor paced.
func (site *Site) NewClient(connections int) *http.Client {
	base, _ := site.client.Transport.(*http.Transport)
	t := base.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = connections, connections, time.Minute
	return &http.Client{Transport: t, CheckRedirect: site.client.CheckRedirect}
}

// Hostname is the host of the URL, without the port.
func (site *Site) Hostname() string { return site.url.Load().Hostname() }
