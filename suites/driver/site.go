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
)

// Site is a server at a URL and, when a command was given for it, the process that serves it. All sessions of a run
// share it.
type Site struct {
	options SiteOptions
	header  http.Header
	client  *http.Client

	starting         chan struct{}   // holds an entry while somebody starts the server
	processCtx       context.Context // of the server's process: that of who was the first to reach for it
	startCount       int
	isReached        bool
	serial           atomic.Bool  // it has refused a message because of another one
	sessionCount     atomic.Int64 // that were opened
	connectTime      atomic.Int64 // how long its process took for a greeting; 0: it has answered none yet
	delaysGETHeaders atomic.Bool  // a GET had no headers for as long as an answer may take
	usedIDs          usedIDs
	exitsWithStream  atomic.Bool // its process ends with a client's stream
	outlivesStream   atomic.Bool // its process went on when a client's stream had ended

	mu        sync.Mutex
	url       *url.URL
	transport string
	proc      *process      // nil: started by somebody else, or not yet
	stderrBuf *stderrBuffer // of the host
}

// SiteOptions say how a server over RoundTrip is reached.
type SiteOptions struct {
	URL      string
	Header   http.Header // of every request
	Insecure bool        // the server's certificate is not verified
	RootCAs  []byte      // certificates in PEM that are trusted beside those of the system
	Command  []string    // serves the URL; nil: somebody else does
	Env      []string
	Dir      string

	// Serve is a server inside this process, in place of Command, and Dial opens the connections to it in place of the
	// network. Tests use them to run many servers under a virtual clock.
	Serve       InProcessServer
	Dial        func(ctx context.Context, network, address string) (net.Conn, error)
	ListenAddrs []netip.Addr // where Serve listens
}

// NewSite makes a site. It connects to nothing; an error says what is wrong with the options.
func NewSite(o SiteOptions) (*Site, error) {
	u, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	roots, err := rootCAPool(o.RootCAs)
	if err != nil {
		return nil, err
	}
	return &Site{
		options: o, header: mergeHeaders(nil, o.Header), client: newHTTPClient(o, roots),
		starting: make(chan struct{}, 1), url: u, transport: "http",
	}, nil
}

// ParseURL reads the URL of a server.
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

// newHTTPClient is an RoundTrip/1.1 client that does nothing by itself: no redirects, no decompression, no cookies.
// Proxies of the environment are used, but never for loopback.
func newHTTPClient(o SiteOptions, roots *x509.CertPool) *http.Client {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: o.Insecure, RootCAs: roots},
		TLSHandshakeTimeout:    5 * time.Second,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        time.Second, // shorter than any server's, so that none closes under a request
		MaxResponseHeaderBytes: 1 << 20,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	if o.Dial != nil {
		t.Proxy, t.DialContext = nil, o.Dial
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: stay}
}

// URL is where the server is reached.
func (site *Site) URL() string {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.url.String()
}

// Transport is "http" (Streamable RoundTrip) or "sse" (RoundTrip+SSE).
func (site *Site) Transport() string {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.transport
}

// SetTransport says which of the transports the URL speaks.
func (site *Site) SetTransport(name string) {
	site.mu.Lock()
	site.transport = name
	site.mu.Unlock()
}

// FollowRedirect takes the target of a redirect from the URL for the URL, unless that is another one meanwhile.
func (site *Site) FollowRedirect(from, location string) error {
	site.mu.Lock()
	defer site.mu.Unlock()
	if site.url.String() != from {
		return nil
	}
	u, err := redirectTarget(site.url, location)
	if err == nil {
		site.url = u
	}
	return err
}

// RedirectTarget is where a redirect from the URL leads; an error when that is another origin, or no URL.
func (site *Site) RedirectTarget(location string) (string, error) {
	u, err := redirectTarget(site.parsedURL(), location)
	if err != nil {
		return "", err
	}
	return u.Redacted(), nil
}

// redirectTarget is the target of a redirect; an error when it is none, or another origin: the operator's headers must
// not go there.
func redirectTarget(from *url.URL, location string) (*url.URL, error) {
	u, err := from.Parse(location)
	switch {
	case err != nil || location == "":
		return nil, fmt.Errorf("%s redirects to %q, which is not a URL", from.Redacted(), location)
	case u.Scheme != from.Scheme || u.Host != from.Host:
		return nil, &CrossOriginRedirectError{from.Redacted(), u.Redacted()}
	}
	return u, nil
}

// Elsewhere says that a server redirects to another origin.
type CrossOriginRedirectError struct{ From, To string }

func (e *CrossOriginRedirectError) Error() string { return e.From + " redirects to " + e.To }

// idsPerSession is how many request ids a session has for itself. Those that checks choose are smaller.
const idsPerSession = 1_000_000

// nextIDBase is where the request ids of the next session begin.
func (site *Site) nextIDBase() int { return int(site.sessionCount.Add(1)) * idsPerSession }

// IsSerial reports whether the server has refused a message because of another one: it is asked one thing at a time
// then. Over stdio, of a nil Site, none has.
func (site *Site) IsSerial() bool { return site != nil && site.serial.Load() }

// shortWait is a fraction of what one answer may take, and time enough for the server.
func (site *Site) shortWait(l Limits) time.Duration {
	return min(l.ReplyTimeout, l.ReplyTimeout/5+3*time.Duration(site.connectTime.Load()))
}

// OwnsProcess reports whether the server's process was started by this run.
func (site *Site) OwnsProcess() bool {
	return len(site.options.Command) > 0 || site.options.Serve != nil
}

// IsLoopback reports whether the server is reached over a loopback address.
func (site *Site) IsLoopback() bool { return IsLoopback(site.parsedURL().Hostname()) }

// IsLoopback reports whether a host, a name or an address, is this machine.
func IsLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost"
}

// address is the host and port of the URL.
func (site *Site) address() string {
	site.mu.Lock()
	defer site.mu.Unlock()
	port := site.url.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[site.url.Scheme]
	}
	return net.JoinHostPort(site.url.Hostname(), port)
}

func (site *Site) stderr() *stderrBuffer {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.stderrBuf
}

// process is the server's process; nil when there is none of ours.
func (site *Site) process() *process {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.proc
}

// startAndTrack opens a session. It starts the server first if it is ours to start, and starts it again if it has died.
func (site *Site) open(ctx context.Context, t Target, o Options) (*Session, error) {
	if err := site.awaitReady(ctx, t.Limits); err != nil {
		return nil, err
	}
	h := site.newSession(ctx, t, o)
	if !h.isSSE || o.Manual {
		return h.s, nil
	}
	err := h.openSSEStream()
	if err != nil && site.HasExited() && site.awaitReady(ctx, t.Limits) == nil { // another session has ended it
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

// link makes a session that has said nothing yet.
func (site *Site) newSession(ctx context.Context, t Target, o Options) *HTTP {
	h := newHTTP(ctx, site, t, o.SSE || site.Transport() == "sse")
	if h.proc = site.process(); h.proc != nil {
		go h.awaitProcessExit()
	}
	return h
}

// UnreachableError says that nobody could be reached at the URL.
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

// maxStarts is how often a server that dies is started.
const maxStarts = 50

// AwaitReady starts the server if it has to, and waits until its port takes connections. The context of the first call
// is that of the server's process.
func (site *Site) AwaitReady(ctx context.Context, l Limits) error {
	return site.awaitReady(ctx, l.withDefaults())
}

// awaitReady is AwaitReady with limits that are set. One caller does it for all.
func (site *Site) awaitReady(ctx context.Context, l Limits) error {
	select {
	case site.starting <- struct{}{}:
		defer func() { <-site.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if site.processCtx == nil {
		site.processCtx = ctx
	}
	host := site.process()
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
	// else it has not died
	if host := site.process(); host == nil || !site.exitsWithStream.Load() || host.exit != (Exit{}) {
		site.startCount++
	}
	if site.startCount > maxStarts {
		return fmt.Errorf("the server has died %d times", maxStarts)
	}
	host, err := launch(
		site.processCtx,
		Target{Command: site.options.Command, Serve: site.options.Serve, Env: site.options.Env, Dir: site.options.Dir},
		false,
	)
	if err != nil {
		return err
	}
	errs := collectStderr(host.stderr, l.MaxStderrBytes)
	go io.Copy(errs, host.stdout) // which says nothing of the protocol here
	site.mu.Lock()
	site.proc, site.stderrBuf = host, errs
	site.mu.Unlock()
	site.connectTime.Store(0)
	return nil
}

// externalStartTimeout is how long a server is tried to be reached that somebody else has started: either it is there,
// or it is about to be.
const externalStartTimeout = 2 * time.Second

// awaitPort tries to reach the server until it takes a connection.
func (site *Site) awaitPort(ctx context.Context, patience time.Duration) error {
	const interval = 25 * time.Millisecond
	if !site.OwnsProcess() {
		patience = min(patience, externalStartTimeout)
	}
	begin := time.Now()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := site.dial(ctx)
		if err == nil {
			return nil
		}
		if host := site.process(); host != nil && host.hasExited() {
			cause := "the server " + host.exit.String() + " before it listened on " + site.address()
			site.stderr().awaitEnd()
			return &SessionEndError{Cause: cause, Stderr: site.stderr().tailLines()}
		}
		if waited := time.Since(begin); waited >= patience || !isTemporary(err) {
			nobody := &UnreachableError{URL: site.redactedURL(), Err: err, Waited: waited}
			if site.process() == nil {
				return nobody
			}
			return &SessionEndError{Cause: nobody.Error() + "; the command runs", Stderr: site.stderr().tailLines()}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isTemporary reports whether an error of a connection may be gone in a moment: a server that is starting refuses
// connections.
func isTemporary(err error) bool {
	var dns *net.DNSError
	return !errors.As(err, &dns) || dns.Temporary()
}

// dial tries whether the port takes a connection. Behind a proxy that is the proxy's business.
func (site *Site) dial(ctx context.Context) error {
	transport := site.client.Transport.(*http.Transport)
	if transport.Proxy != nil {
		if proxy, _ := transport.Proxy(&http.Request{URL: site.parsedURL()}); proxy != nil {
			return nil
		}
	}
	conn, err := transport.DialContext(ctx, "tcp", site.address())
	if err != nil {
		return err
	}
	return conn.Close()
}

func (site *Site) parsedURL() *url.URL {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.url
}

func (site *Site) redactedURL() string { return site.parsedURL().Redacted() }

// HasExited reports whether the server's process was ours and has ended.
func (site *Site) HasExited() bool {
	host := site.process()
	return host != nil && host.hasExited()
}

// exitsSoon reports whether the host ends, after a connection to it broke, so that the cause is known to whoever asks.
// One that takes connections lives on; one that takes none has ended or is about to, which takes longer on a busy
// machine.
func (site *Site) exitsSoon(ctx context.Context, host *process) bool {
	const lives, ends = 20 * time.Millisecond, 2 * time.Second
	exits := func(within time.Duration) bool {
		timer := time.NewTimer(within)
		defer timer.Stop()
		select {
		case <-host.exited:
			return true
		case <-timer.C:
		case <-ctx.Done():
		}
		return false
	}
	if site.dial(ctx) == nil && !exits(lives) && site.dial(ctx) == nil {
		return false
	}
	return exits(ends)
}

// awaitExitAfterStream waits for a moment whether the server's process ends, now that the stream of a client has.
// Servers over HTTP+SSE of 2024 exit with status 0 then, and who comes meanwhile reaches a process that is about to
// end. Whether a server is one of these shows the first time.
func (site *Site) awaitExitAfterStream(host *process) {
	moment := 100 * time.Millisecond
	switch {
	case site.exitsWithStream.Load():
		moment *= 5
	case site.outlivesStream.Load():
		return
	}
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-host.exited:
		site.exitsWithStream.Store(site.exitsWithStream.Load() || host.exit == Exit{})
	case <-timer.C:
		site.outlivesStream.Store(true)
	}
}

// CloseSession ends the server's process, if it is ours, and every idle connection.
func (site *Site) Close(l Limits) {
	site.client.CloseIdleConnections()
	host := site.process()
	if host == nil {
		return
	}
	host.terminate()
	timer := time.NewTimer(l.withDefaults().StopTimeout)
	defer timer.Stop()
	select {
	case <-host.exited:
	case <-timer.C:
	}
	host.kill()
	<-host.exited
	closeReader(host.stdout)
	closeReader(host.stderr)
	host.stdin.Close()
}

// plainError is an error of a connection in words of its own.
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

// libraryPrefixes removes what net/http says of itself in its errors.
var libraryPrefixes = strings.NewReplacer("HTTP/1.x transport connection broken: ", "", "net/http: ", "")

// broken is an error of a connection, in words of its own.
type connError struct {
	text  string
	cause error
}

func (b connError) Error() string { return b.text }
func (b connError) Unwrap() error { return b.cause }
