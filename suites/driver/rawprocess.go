package driver

import (
	"context"
	"io"
	"net/http"
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

// Close closes the stdin of the process, ends it by force if it does not exit then, and returns what it used.
func (r *RawProcess) Close() Usage {
	r.Stdin.Close()
	r.proc.end(r.limits.StopTimeout)
	return r.proc.usage
}

// Usage is what a process has used: the most memory that was resident at a time, in bytes, and CPU time. Both are 0
// where the system does not tell.
type Usage struct {
	MaxResident int64
	CPU         time.Duration
	// Resident is the memory that is resident now; 0 for a process that has ended.
	Resident int64
}

// Since returns the usage with the CPU time since an earlier one.
func (u Usage) Since(before Usage) Usage {
	u.CPU -= before.CPU
	return u
}

// Usage is what the process of the site and those of its group have used until now, on Linux; zero elsewhere, and where
// this run has not started the process, also for a nil Site.
func (site *Site) Usage() Usage {
	if site == nil {
		return Usage{}
	}
	if host := site.proc.Load(); host != nil && host.pid != 0 && !host.hasExited() {
		return usageOfGroup(host.pid)
	}
	return Usage{}
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
