package recorder

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// HTTP runs a proxy in front of a server over HTTP and records the messages, until the operator ends it.
func HTTP(server, listen, out string, stderr io.Writer) error {
	u, err := driver.ParseURL(server)
	if err != nil {
		return exit.Usagef("--url: %w", err)
	}
	file, err := openTraceFile(out)
	if err != nil {
		return err
	}
	defer file.Close()
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return exit.Usagef("--listen: %w", err)
	}
	var hidden redact.Secrets
	hidden.AddURL(server)
	hidden.AddInherited(os.Environ())
	hide := hidden.Redactor()
	s := newTraceWriter(file, report.TargetInfo{Transport: "http", URL: hide.Text(server)}, hide)
	ctx, stop := signal.NotifyContext(context.Background(), process.TerminationSignals()...)
	defer stop()
	here := *u
	here.Scheme, here.Host, here.User = "http", listener.Addr().String(), nil
	fmt.Fprintf(stderr, "mcpcheck: recording; give clients %s in the place of %s; Ctrl-C ends\n",
		reporters.PrintableLine(hide.Text(here.String())), reporters.PrintableLine(hide.Text(server)))
	sessions := newHTTPSessions(u, s, hidden)
	err = serveUntilDone(ctx, listener, newProxy(u, isLoopbackListener(listener), sessions))
	s.finish(stderr)
	if missed := sessions.notRecordedReason(); missed != "" {
		fmt.Fprintln(stderr, "mcpcheck:", reporters.PrintableLine(missed))
	}
	return err
}

// serveUntilDone serves until the context ends, and then closes open connections.
func serveUntilDone(ctx context.Context, listener net.Listener, handler http.Handler) error {
	web := &http.Server{
		Handler: handler, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		const most = 5 * time.Second // streams end with the context
		over, cancel := context.WithTimeout(context.Background(), most)
		defer cancel()
		web.Shutdown(over)
		return nil
	}
}

// isLoopbackListener reports whether a listener is reachable only from this host.
func isLoopbackListener(l net.Listener) bool {
	host, _, err := net.SplitHostPort(l.Addr().String())
	return err == nil && driver.IsLoopback(host)
}

// newProxy returns a handler that forwards everything to the origin of a URL, and records what is for the URL. The
// request's Host becomes the server's. With local, a request with a foreign Host keeps it, so that the server can
// reject it: otherwise a web page could reach the server through the proxy by DNS rebinding.
func newProxy(u *url.URL, local bool, sessions *httpSessions) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // otherwise it would ask for gzip and decode it
	transport.MaxIdleConnsPerHost = 64
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = u.Scheme, u.Host
			if name := (&url.URL{Host: r.In.Host}).Hostname(); !local || driver.IsLoopback(name) {
				r.Out.Host = u.Host
			} else {
				r.Out.Host = r.In.Host
			}
			if r.Out.Header.Get("Authorization") == "" {
				r.Out.URL.User = u.User
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if t := roundTripOf(resp.Request); t != nil {
				t.observeAnswer(resp)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if t := roundTripOf(r); t != nil {
				t.recordError(err)
			}
			http.Error(w, "mcpcheck record: the server cannot be reached: "+err.Error(), http.StatusBadGateway)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex() // a response may begin before the request ends
		if t := sessions.beginRoundTrip(r); t != nil {
			r = r.WithContext(context.WithValue(r.Context(), roundTripKey{}, t))
			t.observeRequest(r)
		}
		proxy.ServeHTTP(w, r)
	})
}

// roundTripKey is the key of the round trip in the context of its request.
type roundTripKey struct{}

func roundTripOf(r *http.Request) *roundTrip {
	t, _ := r.Context().Value(roundTripKey{}).(*roundTrip)
	return t
}
