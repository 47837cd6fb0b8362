package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/hooks"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// badHTTPServer serves over HTTP on a port of the loopback interface and misbehaves: its arguments are PORT MODE
// [ARG…]. With "late" before the mode, it answers the handshake correctly.
func badHTTPServer(args []string) int {
	log.SetOutput(io.Discard)
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: badserver web PORT [late] MODE [ARG…]")
		return 9
	}
	port, mode, rest := args[0], args[1], args[2:]
	late := mode == "late"
	if late {
		mode, rest = rest[0], rest[1:]
	}
	if be, ok := badListeners()[mode]; ok {
		return be(port, rest)
	}
	be, ok := badHandlers()[mode]
	if !ok {
		fmt.Fprintln(os.Stderr, "badserver: no such mode of web:", mode)
		return 9
	}
	bad, honest := be(rest), fixtures.Handler(context.Background(), fixtures.HTTPOptions{}, fixtures.Fault{})
	return serveOnPort(port, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if late && isHandshake(r) {
			honest.ServeHTTP(w, r)
			return
		}
		bad.ServeHTTP(w, r)
	}))
}

// serveOnPort serves until the process is ended.
func serveOnPort(port string, h http.Handler) int {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	http.Serve(l, h)
	return 0
}

// isHandshake reports whether a request begins or ends a session.
func isHandshake(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r.Method != http.MethodPost || bytes.Contains(body, []byte(`"initialize`)) ||
		bytes.Contains(body, []byte("notifications/"))
}

// badListeners are servers that misbehave before they answer anything.
func badListeners() map[string]func(port string, args []string) int {
	return map[string]func(port string, args []string) int{
		"honest": func(port string, _ []string) int { return serveOnPort(port, honestHandler(fixtures.HTTPOptions{})) },
		"long": func(port string, args []string) int {
			return serveOnPort(port, fixtures.Handler(context.Background(), fixtures.HTTPOptions{},
				longResults[args[0]]()))
		},
		"tires": func(port string, _ []string) int {
			return serveOnPort(port, fixtures.Handler(context.Background(), fixtures.HTTPOptions{},
				fixtures.Fault{Reply: tire()}))
		},
		"old": func(port string, _ []string) int {
			return serveOnPort(port, honestHandler(fixtures.HTTPOptions{SSE: true}))
		},
		"dies": func(string, []string) int { return exitAtStart(nil) },
		"never-listens": func(string,
			[]string) int {
			fmt.Fprintln(os.Stderr, "loading the model")
			return sleepForever()
		},
		"deaf": func(port string, _ []string) int {
			signal.Ignore(syscall.SIGTERM)
			return serveOnPort(port, honestHandler(fixtures.HTTPOptions{}))
		},
		"polite":       serveUntilTerminated,
		"accepts-only": acceptAndIgnore,
		"tls":          serveTLS,
		"dies-later": func(port string, _ []string) int {
			time.AfterFunc(
				300*time.Millisecond,
				func() { fmt.Fprintln(os.Stderr, "panic: index out of range"); os.Exit(7) },
			)
			return serveOnPort(port, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sleepForever() }))
		},
	}
}

// tire has a server that has answered 300 pings mistake what it refuses: it answers with the code of another error.
func tire() func(_ *fixtures.Conn, req, reply map[string]any) {
	var pings atomic.Int64
	return func(_ *fixtures.Conn, req, reply map[string]any) {
		if req["method"] == "ping" {
			pings.Add(1)
		}
		if reply["error"] != nil && pings.Load() > 300 {
			hooks.SetError(reply, -32000)
		}
	}
}

func honestHandler(w fixtures.HTTPOptions) http.Handler {
	return fixtures.Handler(context.Background(), w, fixtures.Fault{})
}

// serveUntilTerminated runs a conforming server that creates a file when it receives SIGTERM.
func serveUntilTerminated(port string, args []string) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		os.WriteFile(args[0], nil, 0o644)
		os.Exit(0)
	}()
	return serveOnPort(port, honestHandler(fixtures.HTTPOptions{}))
}

// cmdTaken listens on a port until the script ends, and stores the port in a variable.
func cmdTaken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: taken VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
}

// acceptAndIgnore accepts connections and never writes to them.
func acceptAndIgnore(port string, _ []string) int {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return 9
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return 9
		}
		go io.Copy(io.Discard, conn)
	}
}

// badHandlers are servers with invalid responses, by name.
func badHandlers() map[string]func(args []string) http.Handler {
	return map[string]func(args []string) http.Handler{
		"never": everyRequest(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"stall": everyRequest(func(w http.ResponseWriter, r *http.Request) {
			writeHeaders(w, "application/json")
			<-r.Context().Done()
		}),
		"stall-stream": everyRequest(func(w http.ResponseWriter, r *http.Request) {
			writeHeaders(w, "text/event-stream")
			<-r.Context().Done()
		}),
		"drip":        everyRequest(respondByteByByte("application/json", `{"jsonrpc":"2.0",`, time.Second)),
		"drip-stream": everyRequest(respondByteByByte("text/event-stream", "data: ", time.Second)),
		"endless-events": everyRequest(respondForever("text/event-stream", `data: {"jsonrpc":"2.0",`+
			`"method":"notifications/message","params":{"level":"info","data":"again"}}`+"\n\n")),
		"endless-comments": everyRequest(respondForever("text/event-stream",
			": "+strings.Repeat("all work and no play makes it a long comment, ", 6)+"and still no answer\n\n")),
		"endless-event": everyRequest(respondForever("text/event-stream",
			"data: "+strings.Repeat("all work and no play makes it a long event ", 20)+"\n")),
		"endless-json": everyRequest(respondForever("application/json", strings.Repeat("[1,2,3,4,5,6,7,8,9,10,", 20))),
		"huge":         everyRequest(respondHuge),
		"gzip-bomb":    everyRequest(respondGzipBomb),
		"redirect-loop": everyRequest(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, fmt.Sprintf("%s?%d", r.URL.Path, time.Now().UnixNano()), http.StatusTemporaryRedirect)
		}),
		"redirect-away": redirectToOtherOrigin,
		"redirect-home": func([]string) http.Handler { return redirectToHonest() },
		"redirect-see-other": everyRequest(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}),
		"too-short": everyRequest(respondRaw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
			"Content-Length: 1000\r\n\r\n" + `{"jsonrpc":"2.0","id":1`)),
		"too-long": everyRequest(respondRaw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
			"Content-Length: 10\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`)),
		"no-http": everyRequest(respondRaw("220 mail.example.com ESMTP\r\n")),
		"cut-event": everyRequest(
			respondRaw(
				"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: message\ndata: " +
					"{\"jsonrpc\":\"2.0\",\"id\":1,",
			),
		),
		"hang-up": everyRequest(respondRaw("")),
		"reset":   everyRequest(resetConnection),
		"utf8": everyRequest(
			respondWith(http.StatusOK, "application/json",
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\xfe\x80\"}"),
		),
		"html-200": everyRequest(respondWith(http.StatusOK, "text/html",
			"<!doctype html><title>Welcome</title><p>It works!")),
		"html-401": everyRequest(
			respondWith(http.StatusUnauthorized, "text/html", "<!doctype html><title>401</title><p>Who is it?"),
		),
		"text-401": everyRequest(respondWith(http.StatusUnauthorized, "text/plain", "who is it?")),
		"text-403": everyRequest(respondWith(http.StatusForbidden, "text/plain", "go away")),
		"text-500": everyRequest(respondWith(http.StatusInternalServerError, "text/plain", "oops")),
		"plain-to-tls": everyRequest(func(w http.ResponseWriter, _ *http.Request) { // as nginx answers
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "<html><title>400 The plain HTTP request was sent to HTTPS port</title>")
		}),
		"html-404": everyRequest(
			respondWith(http.StatusNotFound, "text/html", "<!doctype html><title>404</title><p>Not found"),
		),
		"web-page": everyRequest(
			respondWith(http.StatusNotImplemented, "text/html", "<!doctype html><p>Unsupported method"),
		),
		"json-200": everyRequest(respondWith(http.StatusOK, "application/json", `{"status":"ok"}`)),
		"html-502": everyRequest(
			respondWith(http.StatusBadGateway, "text/html", "<!doctype html><title>502</title><p>Bad gateway"),
		),
		"empty-200": everyRequest(respondWith(http.StatusOK, "", "")),
		"many-headers": everyRequest(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Padding", strings.Repeat("x", 64<<20))
		}),
	}
}

// everyRequest returns a handler that serves every request in the same way.
func everyRequest(serve http.HandlerFunc) func([]string) http.Handler {
	return func([]string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client leaves
			serve(w, r)
		})
	}
}

func writeHeaders(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush()
}

func respondWith(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = slices.Compact([]string{contentType})
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// respondByteByByte responds one byte at a time.
func respondByteByByte(contentType, begin string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeHeaders(w, contentType)
		io.WriteString(w, begin)
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
	}
}

// respondForever repeats a text without end.
func respondForever(contentType, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeHeaders(w, contentType)
		flood(w, content)
	}
}

// respondHuge responds with a valid message of a gigabyte.
func respondHuge(w http.ResponseWriter, _ *http.Request) {
	const begin, end = `{"jsonrpc":"2.0","id":1,"result":{"padding":"`, `"}}`
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(begin)+1<<30+len(end)))
	io.WriteString(w, begin)
	for chunk := bytes.Repeat([]byte("x"), 1<<20); ; {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// respondGzipBomb responds with a few kilobytes that decompress to a gigabyte, although the client did not ask for
// compression.
func respondGzipBomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	zeros := make([]byte, 1<<20)
	for range 1 << 10 {
		z.Write(zeros)
	}
	z.Close()
}

// redirectToOtherOrigin redirects to another origin, which creates a file when it receives a request.
func redirectToOtherOrigin(args []string) http.Handler {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return http.NotFoundHandler()
	}
	go http.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		os.WriteFile(args[0], []byte("came with "+r.Header.Get("Authorization")), 0o644)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusTemporaryRedirect
		if len(args) > 1 {
			status, _ = strconv.Atoi(args[1])
		}
		http.Redirect(w, r, "http://"+l.Addr().String()+"/mcp", status)
	})
}

// redirectToHonest redirects to a conforming server.
func redirectToHonest() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", honestHandler(fixtures.HTTPOptions{}))
	mux.Handle("/", http.RedirectHandler("/mcp", http.StatusPermanentRedirect))
	return mux
}

// respondRaw writes bytes to the connection and closes it.
func respondRaw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, answer)
	}
}

// resetConnection resets the connection.
func resetConnection(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// serveTLS serves over TLS, with a self-signed certificate that it writes to the file of its argument.
func serveTLS(port string, args []string) int {
	pair, err := loadCertificate(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	l, err := tls.Listen("tcp", "127.0.0.1:"+port, &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	http.Serve(l, honestHandler(fixtures.HTTPOptions{}))
	return 0
}

func loadCertificate(file string) (tls.Certificate, error) {
	if fileExists(file) {
		return tls.LoadX509KeyPair(file, file+".key")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(
			1,
		), Subject: pkix.Name{CommonName: "badserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().
			Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if err := errors.Join(os.WriteFile(file+".key", secret, 0o600), os.WriteFile(file, cert, 0o644)); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, secret)
}

// TestNoGoroutinesAreLeft proves that no connection and no goroutine for one is left after a run, whatever the server
// does.
func TestNoGoroutinesAreLeft(t *testing.T) {
	for mode, be := range badHandlers() {
		t.Run(mode, func(t *testing.T) {
			server := httptest.NewServer(be([]string{filepath.Join(t.TempDir(), "came")}))
			defer server.Close()
			defer server.CloseClientConnections()
			runAllChecks(t, server.URL+"/mcp")
			for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
				left := goroutineStacks("mcpcheck/suites/", "net/http.(*persistConn)")
				if left == "" {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("left behind:\n%s", left)
				}
			}
		})
	}
}

// runAllChecks runs all checks against a server at a URL, in this process.
func runAllChecks(t *testing.T, url string) {
	site, err := driver.NewSite(driver.SiteOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	reached := driver.Target{
		Site:         site,
		Limits:       driver.Limits{ReplyTimeout: 100 * time.Millisecond, StartTimeout: 200 * time.Millisecond},
		MemoryBudget: driver.NewMemoryBudget(target.MaxWireBytes),
	}
	defer site.Close(reached.Limits)
	server, first, err := discovery.Inspect(t.Context(), reached, catalogue.NewestLegacy)
	if err != nil {
		if first != nil {
			first.Close()
		}
		return
	}
	plan := engine.Plan(suites.Implemented(), suites.Checks(), server,
		func(*catalogue.Requirement) bool { return true })
	engine.Execute(t.Context(), reached, server, plan, engine.Options{DiscoverySession: first}).Wait()
}

// goroutineStacks returns the stacks of goroutines that are in one of the places.
func goroutineStacks(places ...string) (found string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if slices.ContainsFunc(places, func(place string) bool { return strings.Contains(stack, place) }) {
			found += stack + "\n\n"
		}
	}
	return found
}
