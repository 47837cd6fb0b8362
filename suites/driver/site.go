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
	o      SiteOptions
	header http.Header
	client *http.Client

	starting  chan struct{}   // holds an entry while somebody starts the server
	life      context.Context // of the server's process: that of who was the first to reach for it
	starts    int
	reached   bool
	serial    atomic.Bool  // it has refused a message because of another one
	sessions  atomic.Int64 // that were opened
	greeted   atomic.Int64 // how long its process took for a greeting; 0: it has answered none yet
	holdsBack atomic.Bool  // a GET had no headers for as long as an answer may take
	asks      asks
	parts     atomic.Bool // its process ends with a client's stream
	stays     atomic.Bool // its process went on when a client's stream had ended

	mu        sync.Mutex
	url       *url.URL
	transport string
	host      *process      // nil: started by somebody else, or not yet
	errs      *stderrKeeper // of the host
}

// SiteOptions say how a server over HTTP is reached.
type SiteOptions struct {
	URL      string
	Header   http.Header // of every request
	Insecure bool        // the server's certificate is not verified
	Roots    []byte      // certificates in PEM that are trusted beside those of the system
	Command  []string    // serves the URL; nil: somebody else does
	Env      []string
	Dir      string

	// Serve is a server inside this process, in place of Command, and Dial opens the connections to it in place of the
	// network. Tests use them to run many servers under a virtual clock.
	Serve Server
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Bound []netip.Addr // where Serve listens
}

// NewSite makes a site. It connects to nothing; an error says what is wrong with the options.
func NewSite(o SiteOptions) (*Site, error) {
	u, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	roots, err := trusted(o.Roots)
	if err != nil {
		return nil, err
	}
	return &Site{
		o: o, header: overlay(nil, o.Header), client: newClient(o, roots),
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

func trusted(pem []byte) (*x509.CertPool, error) {
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

// newClient is an HTTP/1.1 client that does nothing by itself: no redirects, no decompression, no cookies. Proxies of
// the environment are used, but never for loopback.
func newClient(o SiteOptions, roots *x509.CertPool) *http.Client {
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

// Transport is "http" (Streamable HTTP) or "sse" (HTTP+SSE).
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

// Follow takes the target of a redirect from the URL for the URL, unless that is another one meanwhile.
func (site *Site) Follow(from, location string) error {
	site.mu.Lock()
	defer site.mu.Unlock()
	if site.url.String() != from {
		return nil
	}
	u, err := redirected(site.url, location)
	if err == nil {
		site.url = u
	}
	return err
}

// Target is where a redirect from the URL leads; an error when that is another origin, or no URL.
func (site *Site) Target(location string) (string, error) {
	u, err := redirected(site.parsed(), location)
	if err != nil {
		return "", err
	}
	return u.Redacted(), nil
}

// redirected is the target of a redirect; an error when it is none, or another origin: the operator's headers must not
// go there.
func redirected(from *url.URL, location string) (*url.URL, error) {
	u, err := from.Parse(location)
	switch {
	case err != nil || location == "":
		return nil, fmt.Errorf("%s redirects to %q, which is not a URL", from.Redacted(), location)
	case u.Scheme != from.Scheme || u.Host != from.Host:
		return nil, &Elsewhere{from.Redacted(), u.Redacted()}
	}
	return u, nil
}

// Elsewhere says that a server redirects to another origin.
type Elsewhere struct{ From, To string }

func (e *Elsewhere) Error() string { return e.From + " redirects to " + e.To }

// idRoom is how many request ids a session has for itself. Those that checks choose are smaller.
const idRoom = 1_000_000

// idBase is where the request ids of the next session begin.
func (site *Site) idBase() int { return int(site.sessions.Add(1)) * idRoom }

// Serial reports whether the server has refused a message because of another one: it is asked one thing at a time then.
// Over stdio, of a nil Site, none has.
func (site *Site) Serial() bool { return site != nil && site.serial.Load() }

// aMoment is a fraction of what one answer may take, and time enough for the server.
func (site *Site) aMoment(l Limits) time.Duration {
	return min(l.Reply, l.Reply/5+3*time.Duration(site.greeted.Load()))
}

// Started reports whether the server's process was started by this run.
func (site *Site) Started() bool { return len(site.o.Command) > 0 || site.o.Serve != nil }

// Loopback reports whether the server is reached over a loopback address.
func (site *Site) Loopback() bool { return IsLoopback(site.parsed().Hostname()) }

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

func (site *Site) stderr() *stderrKeeper {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.errs
}

// process is the server's process; nil when there is none of ours.
func (site *Site) process() *process {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.host
}

// open opens a session. It starts the server first if it is ours to start, and starts it again if it has died.
func (site *Site) open(ctx context.Context, t Target, o Options) (*Session, error) {
	if err := site.ready(ctx, t.Limits); err != nil {
		return nil, err
	}
	h := site.link(ctx, t, o)
	if !h.old || o.ByHand {
		return h.s, nil
	}
	err := h.openStream()
	if err != nil && site.Died() && site.ready(ctx, t.Limits) == nil { // another session has ended it
		h.close()
		h = site.link(ctx, t, o)
		err = h.openStream()
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h.s, nil
}

// link makes a session that has said nothing yet.
func (site *Site) link(ctx context.Context, t Target, o Options) *HTTP {
	h := newHTTP(ctx, site, t, o.SSE || site.Transport() == "sse")
	if h.host = site.process(); h.host != nil {
		go h.watch()
	}
	return h
}

// Unreachable says that nobody could be reached at the URL.
type Unreachable struct {
	URL    string
	Err    error
	Waited time.Duration
}

func (e *Unreachable) Error() string {
	text := fmt.Sprintf("nothing answers at %s: %v", e.URL, plainError(e.Err))
	if e.Waited >= time.Second {
		text += fmt.Sprintf(" (tried for %v)", e.Waited.Round(time.Second))
	}
	return text
}

func (e *Unreachable) Unwrap() error { return e.Err }

// mostStarts is how often a server that dies is started.
const mostStarts = 50

// Ready starts the server if it has to, and waits until its port takes connections. The context of the first call is
// that of the server's process.
func (site *Site) Ready(ctx context.Context, l Limits) error {
	return site.ready(ctx, l.withDefaults())
}

// ready is Ready with limits that are set. One caller does it for all.
func (site *Site) ready(ctx context.Context, l Limits) error {
	select {
	case site.starting <- struct{}{}:
		defer func() { <-site.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if site.life == nil {
		site.life = ctx
	}
	host := site.process()
	if host != nil && !host.gone() || host == nil && site.reached {
		return nil
	}
	if site.Started() {
		if err := site.start(ctx, l); err != nil {
			return err
		}
	}
	if err := site.connect(ctx, l.Start); err != nil {
		return err
	}
	site.reached = true
	return nil
}

func (site *Site) start(ctx context.Context, l Limits) error {
	if site.starts == 0 && site.dial(ctx) == nil {
		return fmt.Errorf("something else listens on %s already\nstop it, or let mcpcheck choose a port with {port}",
			site.address())
	}
	if host := site.process(); host == nil || !site.parts.Load() || host.exit != (Exit{}) { // else it has not died
		site.starts++
	}
	if site.starts > mostStarts {
		return fmt.Errorf("the server has died %d times", mostStarts)
	}
	host, err := launch(
		site.life,
		Target{Command: site.o.Command, Serve: site.o.Serve, Env: site.o.Env, Dir: site.o.Dir},
		false,
	)
	if err != nil {
		return err
	}
	errs := keepStderr(host.stderr, l.Stderr)
	go io.Copy(errs, host.stdout) // which says nothing of the protocol here
	site.mu.Lock()
	site.host, site.errs = host, errs
	site.mu.Unlock()
	site.greeted.Store(0)
	return nil
}

// mostKnocking is how long a server is tried to be reached that somebody else has started: either it is there, or it is
// about to be.
const mostKnocking = 2 * time.Second

// connect tries to reach the server until it takes a connection.
func (site *Site) connect(ctx context.Context, patience time.Duration) error {
	const interval = 25 * time.Millisecond
	if !site.Started() {
		patience = min(patience, mostKnocking)
	}
	begin := time.Now()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := site.dial(ctx)
		if err == nil {
			return nil
		}
		if host := site.process(); host != nil && host.gone() {
			cause := "the server " + host.exit.String() + " before it listened on " + site.address()
			site.stderr().hear()
			return &Death{Cause: cause, Stderr: site.stderr().lines()}
		}
		if waited := time.Since(begin); waited >= patience || !mayPass(err) {
			nobody := &Unreachable{URL: site.redacted(), Err: err, Waited: waited}
			if site.process() == nil {
				return nobody
			}
			return &Death{Cause: nobody.Error() + "; the command runs", Stderr: site.stderr().lines()}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// mayPass reports whether an error of a connection may be gone in a moment: a server that is starting refuses
// connections.
func mayPass(err error) bool {
	var dns *net.DNSError
	return !errors.As(err, &dns) || dns.Temporary()
}

// dial tries whether the port takes a connection. Behind a proxy that is the proxy's business.
func (site *Site) dial(ctx context.Context) error {
	transport := site.client.Transport.(*http.Transport)
	if transport.Proxy != nil {
		if proxy, _ := transport.Proxy(&http.Request{URL: site.parsed()}); proxy != nil {
			return nil
		}
	}
	conn, err := transport.DialContext(ctx, "tcp", site.address())
	if err != nil {
		return err
	}
	return conn.Close()
}

func (site *Site) parsed() *url.URL {
	site.mu.Lock()
	defer site.mu.Unlock()
	return site.url
}

func (site *Site) redacted() string { return site.parsed().Redacted() }

// Died reports whether the server's process was ours and has ended.
func (site *Site) Died() bool {
	host := site.process()
	return host != nil && host.gone()
}

// mourns reports whether the host ends, after a connection to it broke, so that the cause is known to whoever asks. One
// that takes connections lives on; one that takes none has ended or is about to, which takes longer on a busy machine.
func (site *Site) mourns(ctx context.Context, host *process) bool {
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

// awaitParting waits for a moment whether the server's process ends, now that the stream of a client has. Servers over
// HTTP+SSE of 2024 exit with status 0 then, and who comes meanwhile reaches a process that is about to end. Whether a
// server is one of these shows the first time.
func (site *Site) awaitParting(host *process) {
	moment := 100 * time.Millisecond
	switch {
	case site.parts.Load():
		moment *= 5
	case site.stays.Load():
		return
	}
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-host.exited:
		site.parts.Store(site.parts.Load() || host.exit == Exit{})
	case <-timer.C:
		site.stays.Store(true)
	}
}

// Close ends the server's process, if it is ours, and every idle connection.
func (site *Site) Close(l Limits) {
	site.client.CloseIdleConnections()
	host := site.process()
	if host == nil {
		return
	}
	host.terminate()
	timer := time.NewTimer(l.withDefaults().Stop)
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
		return broken{"there is no host " + dns.Name, err}
	case errors.Is(err, io.EOF):
		return broken{"the server closed the connection without an answer", err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return broken{"the connection was closed before the end", err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return broken{"connection refused", err}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return broken{"the server reset the connection", err}
	case errors.Is(err, context.Canceled):
		return broken{"mcpcheck dropped the connection", err}
	}
	if text := ofLibrary.Replace(err.Error()); text != err.Error() {
		return broken{text, err}
	}
	return err
}

// ofLibrary removes what net/http says of itself in its errors.
var ofLibrary = strings.NewReplacer("HTTP/1.x transport connection broken: ", "", "net/http: ", "")

// broken is an error of a connection, in words of its own.
type broken struct {
	text  string
	cause error
}

func (b broken) Error() string { return b.text }
func (b broken) Unwrap() error { return b.cause }
