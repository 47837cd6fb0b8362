package driver

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Site is a server at a URL and, if a command was given, the process that serves it. All sessions of a run share it.
type Site struct {
	options SiteOptions
	header  http.Header
	client  *http.Client

	// starting holds an entry while a goroutine starts the server.
	starting chan struct{}
	// processCtx is the context of the server's process: that of the first caller of AwaitReady.
	processCtx context.Context
	startCount int
	isReached  bool
	// serial reports whether the server has rejected a message because of another one.
	serial atomic.Bool
	// oneClientStatus is the status with which the server rejects all but one client; 0 if it serves several.
	oneClientStatus atomic.Int64
	sessionCount    atomic.Int64
	// connectTime is how long the process took to answer the first request; 0 if it has answered none yet.
	connectTime atomic.Int64
	// delaysGETHeaders reports whether a GET had no headers until its deadline.
	delaysGETHeaders atomic.Bool
	crowding         crowding
	usedIDs          usedIDs
	pacer            pacer
	// exitsWithStream reports whether the process exits when a client's stream ends.
	exitsWithStream atomic.Bool
	// outlivesStream reports whether the process has survived the end of a client's stream.
	outlivesStream atomic.Bool

	url atomic.Pointer[url.URL]
	// isSSE reports whether the URL supports HTTP+SSE.
	isSSE atomic.Bool
	// answeredInPost holds the methods whose responses come in the body of the POST although it does.
	answeredInPost sync.Map
	// proc is nil if the process was not started by this run, or not yet.
	proc   atomic.Pointer[process]
	stderr atomic.Pointer[stderrBuffer]
}

// SiteOptions say how a server over HTTP is reached.
type SiteOptions struct {
	URL string
	// Header is sent with every request.
	Header http.Header
	// RatePerSecond is the highest rate of requests; 0 if there is no bound.
	RatePerSecond float64
	// Insecure disables the verification of the server's certificate.
	Insecure bool
	// RootCAs are certificates in PEM that are trusted besides those of the system.
	RootCAs []byte
	// Command starts the server; nil if it runs already. Env is added to its environment, and Dir is its working
	// directory.
	Command []string
	Env     []string
	Dir     string

	// Serve is a server inside this process, instead of Command, and Dial opens the connections to it, instead of the
	// network. Tests use them to run many servers with a fake clock.
	Serve InProcessServer
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	// ListenAddrs are the addresses at which Serve listens.
	ListenAddrs []netip.Addr
}

// NewSite returns a site without connecting to it. It fails if the options are invalid.
func NewSite(o SiteOptions) (*Site, error) {
	u, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	roots, err := rootCAPool(o.RootCAs)
	if err != nil {
		return nil, err
	}
	site := &Site{
		options: o, header: mergeHeaders(nil, o.Header), client: newHTTPClient(o, roots),
		starting: make(chan struct{}, 1),
	}
	site.url.Store(u)
	site.pacer.bound(o.RatePerSecond)
	return site, nil
}

// ParseURL parses the URL of a server.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var wrong *url.Error
	switch {
	case !strings.Contains(text, "://"):
		return nil, fmt.Errorf("%q is not a URL; it has to begin with http:// or https://", text)
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%q is not a URL: %w", text, wrong.Err)
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%q is not an http or https URL", text)
	case u.Fragment != "":
		return nil, fmt.Errorf("%q has a fragment", text)
	}
	if port, err := strconv.Atoi(cmp.Or(u.Port(), "80")); err != nil || port < 1 || port > 65535 {
		return nil, fmt.Errorf("%q has an unusable port", text)
	}
	return u, nil
}

func rootCAPool(pem []byte) (*x509.CertPool, error) {
	if pem == nil {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return roots, nil
}

// newHTTPClient returns an HTTP/1.1 client that follows no redirects, decompresses nothing and keeps no cookies. It
// uses the proxies of the environment, but never for loopback addresses.
func newHTTPClient(o SiteOptions, roots *x509.CertPool) *http.Client {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: o.Insecure, RootCAs: roots},
		TLSHandshakeTimeout:    5 * time.Second,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        time.Second, // shorter than servers' timeouts, so that they close none in use
		MaxResponseHeaderBytes: 1 << 20,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	if o.Dial != nil {
		t.Proxy, t.DialContext = nil, o.Dial
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: noRedirect}
}

// URL returns the URL of the server.
func (site *Site) URL() string { return site.url.Load().String() }

// Transport returns "http" (Streamable HTTP) or "sse" (HTTP+SSE).
func (site *Site) Transport() string {
	if site.isSSE.Load() {
		return "sse"
	}
	return "http"
}

// UseSSE makes later sessions use HTTP+SSE.
func (site *Site) UseSSE() { site.isSSE.Store(true) }

// FollowRedirect replaces the URL by the target of a redirect from it, unless it was replaced meanwhile.
func (site *Site) FollowRedirect(from, location string) error {
	before := site.url.Load()
	if before.String() != from {
		return nil
	}
	u, err := redirectTarget(before, location)
	if err == nil {
		site.url.CompareAndSwap(before, u)
	}
	return err
}

// RedirectTarget returns the target of a redirect from the URL. It fails if that is another origin or not a URL.
func (site *Site) RedirectTarget(location string) (string, error) {
	u, err := redirectTarget(site.url.Load(), location)
	if err != nil {
		return "", err
	}
	return u.Redacted(), nil
}

// redirectTarget returns the target of a redirect. It fails if that is another origin, to which the operator's headers
// must not be sent, or not a URL.
func redirectTarget(from *url.URL, location string) (*url.URL, error) {
	u, err := from.Parse(location)
	switch {
	case err != nil || location == "":
		return nil, fmt.Errorf("%s redirects to %q, which is not a URL", from.Redacted(), location)
	case u.Scheme != from.Scheme || u.Host != from.Host:
		return nil, &RedirectError{from.Redacted() + " redirects to " + u.Redacted(), u.Redacted(), true}
	}
	return u, nil
}

// RedirectError says that a server redirects in a way that no client follows: to another origin, or with a status that
// turns the POST into a GET.
type RedirectError struct {
	Reason, To    string
	IsOtherOrigin bool
}

func (e *RedirectError) Error() string { return e.Reason }

// idsPerSession is the number of request ids that each session has for itself. Ids that checks choose are smaller.
const idsPerSession = 1_000_000

// nextIDBase returns the number after which the request ids of the next session begin.
func (site *Site) nextIDBase() int { return int(site.sessionCount.Add(1)) * idsPerSession }

// IsSerial reports whether the server has rejected a message because of another one, so that it must get one request at
// a time. It is false for a nil Site, that of a target over stdio.
func (site *Site) IsSerial() bool { return site != nil && site.serial.Load() }

// SetOneClientStatus notes the status with which the server rejects all but one client.
func (site *Site) SetOneClientStatus(status int) { site.oneClientStatus.Store(int64(status)) }

// shortWait returns a fraction of the reply timeout that is long enough for this server.
func (site *Site) shortWait(l Limits) time.Duration {
	return min(l.ReplyTimeout, l.ReplyTimeout/5+3*time.Duration(site.connectTime.Load()))
}

// OwnsProcess reports whether this run starts the server's process.
func (site *Site) OwnsProcess() bool {
	return len(site.options.Command) > 0 || site.options.Serve != nil
}

// IsLoopback reports whether the server is reached over a loopback address.
func (site *Site) IsLoopback() bool { return IsLoopback(site.Hostname()) }

// IsLoopback reports whether a host name or address is that of this machine.
func IsLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost"
}

func (site *Site) address() string {
	u := site.url.Load()
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(u.Hostname(), port)
}

// open opens a session. It starts the server before if this run owns its process and the process does not run.
func (site *Site) open(ctx context.Context, t Target, o Options) (*Session, error) {
	if err := site.AwaitReady(ctx, t.Limits); err != nil {
		return nil, err
	}
	h := site.newSession(ctx, t, o)
	if !h.isSSE || o.Manual {
		return h.s, nil
	}
	err := h.openSSEStream()
	if err != nil && site.HasExited() && site.AwaitReady(ctx, t.Limits) == nil { // another session ended the server
		h.close()
		h = site.newSession(ctx, t, o)
		err = h.openSSEStream()
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h.s, nil
}

func (site *Site) newSession(ctx context.Context, t Target, o Options) *HTTP {
	h := newHTTP(ctx, site, t, o.SSE || site.isSSE.Load())
	if h.proc = site.proc.Load(); h.proc != nil {
		go h.awaitProcessExit()
	}
	return h
}

// UnreachableError says that nothing accepts connections at the URL.
type UnreachableError struct {
	URL    string
	Err    error
	Waited time.Duration
}

func (e *UnreachableError) Error() string {
	text := fmt.Sprintf("nothing answers at %s: %v", e.URL, plainError(e.Err))
	if e.Waited >= time.Second {
		text += fmt.Sprintf(" (tried for %v)", e.Waited.Round(time.Second))
	}
	return text
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// maxStarts is how often a server that keeps ending is started.
const maxStarts = 50

// AwaitReady starts the server if necessary, and waits until its port accepts connections. The context of the first
// call is that of the server's process. One caller at a time does the work.
func (site *Site) AwaitReady(ctx context.Context, l Limits) error {
	l = l.withDefaults()
	select {
	case site.starting <- struct{}{}:
		defer func() { <-site.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if site.processCtx == nil {
		site.processCtx = ctx
	}
	host := site.proc.Load()
	if host != nil && !host.hasExited() || host == nil && site.isReached {
		return nil
	}
	if site.OwnsProcess() {
		if err := site.start(ctx, l); err != nil {
			return err
		}
	}
	if err := site.awaitPort(ctx, l.StartTimeout); err != nil {
		return err
	}
	site.isReached = true
	return nil
}

func (site *Site) start(ctx context.Context, l Limits) error {
	if site.startCount == 0 && site.dial(ctx) == nil {
		return fmt.Errorf("something else listens on %s already\nstop it, or let mcpcheck choose a port with {port}",
			site.address())
	}
	// An exit with status 0 after the end of a client's stream is expected and does not count.
	if host := site.proc.Load(); host == nil || !site.exitsWithStream.Load() || host.exit != (Exit{}) {
		site.startCount++
	}
	if site.startCount > maxStarts {
		return fmt.Errorf("the server has died %d times", maxStarts)
	}
	host, err := launch(
		site.processCtx,
		Target{Command: site.options.Command, Serve: site.options.Serve, Env: site.options.Env, Dir: site.options.Dir},
		Options{},
	)
	if err != nil {
		return err
	}
	errs := collectStderr(host.stderr, l.MaxStderrBytes)
	go io.Copy(errs, host.stdout) // stdout carries no messages here
	site.stderr.Store(errs)
	site.proc.Store(host)
	site.connectTime.Store(0)
	return nil
}

// awaitPort tries to reach the server until it accepts a connection.
func (site *Site) awaitPort(ctx context.Context, timeout time.Duration) error {
	if !site.OwnsProcess() {
		timeout = min(timeout, timing.ExternalStart)
	}
	begin := time.Now()
	tick := time.NewTicker(timing.PortRetry)
	defer tick.Stop()
	for {
		err := site.dial(ctx)
		if err == nil {
			return nil
		}
		if host := site.proc.Load(); host != nil && host.hasExited() {
			cause := "the server " + host.exit.String() + " before it listened on " + site.address()
			site.stderr.Load().awaitEnd()
			return &SessionEndError{Cause: cause, Stderr: site.stderr.Load().tailLines()}
		}
		if waited := time.Since(begin); waited >= timeout || !isTemporary(err) {
			failure := &UnreachableError{URL: site.redactedURL(), Err: err, Waited: waited}
			if site.proc.Load() == nil {
				return failure
			}
			stderr := site.stderr.Load().tailLines()
			return &SessionEndError{Cause: failure.Error() + "; the command runs", Stderr: stderr}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isTemporary reports whether a connection error may soon be gone, as for a server that is still starting.
func isTemporary(err error) bool {
	var dns *net.DNSError
	return !errors.As(err, &dns) || dns.Temporary()
}

// dial tries whether the port accepts a connection. With a proxy it does nothing, since the proxy connects.
func (site *Site) dial(ctx context.Context) error {
	transport := site.client.Transport.(*http.Transport)
	if transport.Proxy != nil {
		if proxy, _ := transport.Proxy(&http.Request{URL: site.url.Load()}); proxy != nil {
			return nil
		}
	}
	conn, err := transport.DialContext(ctx, "tcp", site.address())
	if err != nil {
		return err
	}
	return conn.Close()
}

func (site *Site) redactedURL() string { return site.url.Load().Redacted() }

// HasExited reports whether this run started the server's process and it has ended.
func (site *Site) HasExited() bool {
	host := site.proc.Load()
	return host != nil && host.hasExited()
}

// exitsSoon reports whether the process ends after a connection to it broke, so that the cause is known. A process that
// accepts connections is alive; one that accepts none has ended or is about to, which takes longer on a busy machine.
func (site *Site) exitsSoon(ctx context.Context, host *process) bool {
	if site.dial(ctx) == nil && !closesWithin(ctx, host.exited, timing.AliveCheck) && site.dial(ctx) == nil {
		return false
	}
	return closesWithin(ctx, host.exited, timing.EndingProcess)
}

// awaitExitAfterStream waits briefly for the exit of the server's process after the stream of a client has ended.
// Servers over HTTP+SSE of 2024 exit with status 0 then, and the next client would reach a process that is about to
// end. The first stream shows whether a server does that.
func (site *Site) awaitExitAfterStream(host *process) {
	wait := 100 * time.Millisecond
	switch {
	case site.exitsWithStream.Load():
		wait *= 5
	case site.outlivesStream.Load():
		return
	}
	if !closesWithin(context.Background(), host.exited, wait) {
		site.outlivesStream.Store(true)
	} else if host.exit == (Exit{}) {
		site.exitsWithStream.Store(true)
	}
}

// Close ends the server's process, if this run started it, by force if it does not end within the StopTimeout. It also
// closes every idle connection.
func (site *Site) Close(l Limits) {
	site.client.CloseIdleConnections()
	if host := site.proc.Load(); host != nil {
		host.terminate()
		host.end(l.withDefaults().StopTimeout)
	}
}

// plainError returns the error of a connection with a text for people.
func plainError(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return connError{"there is no host " + dns.Name, err}
	case errors.Is(err, io.EOF):
		return connError{"the server closed the connection without an answer", err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return connError{"the connection was closed before the end", err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return connError{"connection refused", err}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return connError{"the server reset the connection", err}
	case errors.Is(err, context.Canceled):
		return connError{"mcpcheck dropped the connection", err}
	}
	if text := libraryPrefixes.Replace(err.Error()); text != err.Error() {
		return connError{text, err}
	}
	return err
}

// libraryPrefixes removes the names of libraries from the errors of net/http.
var libraryPrefixes = strings.NewReplacer("HTTP/1.x transport connection broken: ", "", "net/http: ", "")

// connError is the error of a connection with a text for people.
type connError struct {
	text  string
	cause error
}

func (b connError) Error() string { return b.text }
func (b connError) Unwrap() error { return b.cause }
