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
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// badWeb is a server over HTTP on a port of the loopback interface that is bad in a way: PORT MODE [ARG…]. With "late"
// before the mode, it shakes hands first.
func badWeb(args []string) int {
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
	if be, ok := badHosts()[mode]; ok {
		return be(port, rest)
	}
	be, ok := badHandlers()[mode]
	if !ok {
		fmt.Fprintln(os.Stderr, "badserver: no such mode of web:", mode)
		return 9
	}
	bad, honest := be(rest), fixtures.Handler(context.Background(), fixtures.Web{}, fixtures.Fault{})
	return listen(port, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if late && isHandshake(r) {
			honest.ServeHTTP(w, r)
			return
		}
		bad.ServeHTTP(w, r)
	}))
}

// listen serves until it is told to end.
func listen(port string, h http.Handler) int {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	http.Serve(l, h)
	return 0
}

// isHandshake reports whether a request belongs to how a session begins or ends.
func isHandshake(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r.Method != http.MethodPost || bytes.Contains(body, []byte(`"initialize`)) ||
		bytes.Contains(body, []byte("notifications/"))
}

// badHosts are servers that are bad before they answer anything.
func badHosts() map[string]func(port string, args []string) int {
	return map[string]func(port string, args []string) int{
		"honest": func(port string, _ []string) int { return listen(port, honestWeb(fixtures.Web{})) },
		"long": func(port string, args []string) int {
			return listen(port, fixtures.Handler(context.Background(), fixtures.Web{}, longResults[args[0]]()))
		},
		"old":           func(port string, _ []string) int { return listen(port, honestWeb(fixtures.Web{SSE: true})) },
		"dies":          func(string, []string) int { return exitAtStart(nil) },
		"never-listens": func(string, []string) int { fmt.Fprintln(os.Stderr, "loading the model"); return hang() },
		"deaf": func(port string, _ []string) int {
			signal.Ignore(syscall.SIGTERM)
			return listen(port, honestWeb(fixtures.Web{}))
		},
		"polite":       polite,
		"accepts-only": acceptOnly,
		"tls":          serveTLS,
		"dies-later": func(port string, _ []string) int {
			time.AfterFunc(
				300*time.Millisecond,
				func() { fmt.Fprintln(os.Stderr, "panic: index out of range"); os.Exit(7) },
			)
			return listen(port, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hang() }))
		},
	}
}

func honestWeb(w fixtures.Web) http.Handler {
	return fixtures.Handler(context.Background(), w, fixtures.Fault{})
}

// polite is honest, and says by a file that it was asked to end.
func polite(port string, args []string) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		os.WriteFile(args[0], nil, 0o644)
		os.Exit(0)
	}()
	return listen(port, honestWeb(fixtures.Web{}))
}

// taken listens on a port while the script lasts, and names it in a variable.
func taken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: taken VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
}

// acceptOnly takes connections, and says nothing on them.
func acceptOnly(port string, _ []string) int {
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

// badHandlers are servers whose answers are bad, by name.
func badHandlers() map[string]func(args []string) http.Handler {
	return map[string]func(args []string) http.Handler{
		"never": always(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"stall": always(func(w http.ResponseWriter, r *http.Request) {
			head(w, "application/json")
			<-r.Context().Done()
		}),
		"stall-stream": always(func(w http.ResponseWriter, r *http.Request) {
			head(w, "text/event-stream")
			<-r.Context().Done()
		}),
		"drip":        always(drip("application/json", `{"jsonrpc":"2.0",`, time.Second)),
		"drip-stream": always(drip("text/event-stream", "data: ", time.Second)),
		"endless-events": always(endless("text/event-stream", `data: {"jsonrpc":"2.0",`+
			`"method":"notifications/message","params":{"level":"info","data":"again"}}`+"\n\n")),
		"endless-comments": always(endless("text/event-stream",
			": "+strings.Repeat("all work and no play makes it a long comment, ", 6)+"and still no answer\n\n")),
		"endless-event": always(endless("text/event-stream",
			"data: "+strings.Repeat("all work and no play makes it a long event ", 20)+"\n")),
		"endless-json": always(endless("application/json", strings.Repeat("[1,2,3,4,5,6,7,8,9,10,", 20))),
		"huge":         always(huge),
		"gzip-bomb":    always(gzipBomb),
		"redirect-loop": always(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, fmt.Sprintf("%s?%d", r.URL.Path, time.Now().UnixNano()), http.StatusTemporaryRedirect)
		}),
		"redirect-away": redirectAway,
		"redirect-home": func([]string) http.Handler { return redirectHome() },
		"redirect-see-other": always(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}),
		"too-short": always(raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
			"Content-Length: 1000\r\n\r\n" + `{"jsonrpc":"2.0","id":1`)),
		"too-long": always(raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
			"Content-Length: 10\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`)),
		"no-http": always(raw("220 mail.example.com ESMTP\r\n")),
		"cut-event": always(
			raw(
				"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: message\ndata: " +
					"{\"jsonrpc\":\"2.0\",\"id\":1,",
			),
		),
		"hang-up": always(raw("")),
		"reset":   always(reset),
		"utf8": always(
			document(http.StatusOK, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\xfe\x80\"}"),
		),
		"html-200": always(document(http.StatusOK, "text/html", "<!doctype html><title>Welcome</title><p>It works!")),
		"html-401": always(
			document(http.StatusUnauthorized, "text/html", "<!doctype html><title>401</title><p>Who is it?"),
		),
		"text-401": always(document(http.StatusUnauthorized, "text/plain", "who is it?")),
		"text-403": always(document(http.StatusForbidden, "text/plain", "go away")),
		"text-500": always(document(http.StatusInternalServerError, "text/plain", "oops")),
		"plain-to-tls": always(func(w http.ResponseWriter, _ *http.Request) { // as nginx answers
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "<html><title>400 The plain HTTP request was sent to HTTPS port</title>")
		}),
		"html-404": always(
			document(http.StatusNotFound, "text/html", "<!doctype html><title>404</title><p>Not found"),
		),
		"web-page": always(
			document(http.StatusNotImplemented, "text/html", "<!doctype html><p>Unsupported method"),
		),
		"json-200": always(document(http.StatusOK, "application/json", `{"status":"ok"}`)),
		"html-502": always(
			document(http.StatusBadGateway, "text/html", "<!doctype html><title>502</title><p>Bad gateway"),
		),
		"empty-200": always(document(http.StatusOK, "", "")),
		"many-headers": always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Padding", strings.Repeat("x", 64<<20))
		}),
	}
}

// always serves every request in the same way.
func always(serve http.HandlerFunc) func([]string) http.Handler {
	return func([]string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // else the server does not see that the client goes
			serve(w, r)
		})
	}
}

func head(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush()
}

func document(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = slices.Compact([]string{contentType})
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// drip answers one byte at a time.
func drip(contentType, begin string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		head(w, contentType)
		io.WriteString(w, begin)
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
	}
}

// endless answers the same text again and again.
func endless(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		head(w, contentType)
		flood(w, text)
	}
}

// huge answers a valid message of a gigabyte.
func huge(w http.ResponseWriter, _ *http.Request) {
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

// gzipBomb answers a few kilobytes that unpack to a gigabyte, though nobody asked for compression.
func gzipBomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	zeros := make([]byte, 1<<20)
	for range 1 << 10 {
		z.Write(zeros)
	}
	z.Close()
}

// redirectAway redirects to another origin, which says by a file that something has come there.
func redirectAway(args []string) http.Handler {
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

// redirectHome redirects to where an honest server is.
func redirectHome() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", honestWeb(fixtures.Web{}))
	mux.Handle("/", http.RedirectHandler("/mcp", http.StatusPermanentRedirect))
	return mux
}

// raw answers these bytes and closes the connection.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, answer)
	}
}

// reset breaks the connection off.
func reset(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// serveTLS is the honest server behind TLS, with a certificate of its own that it keeps in the file of its argument.
func serveTLS(port string, args []string) int {
	pair, err := certificate(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	l, err := tls.Listen("tcp", "127.0.0.1:"+port, &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	http.Serve(l, honestWeb(fixtures.Web{}))
	return 0
}

func certificate(file string) (tls.Certificate, error) {
	if exists(file) {
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

// TestNothingGoesOn proves that no connection and nothing that serves one is left when a run is over, whatever the
// server did.
func TestNothingGoesOn(t *testing.T) {
	for mode, be := range badHandlers() {
		t.Run(mode, func(t *testing.T) {
			server := httptest.NewServer(be([]string{filepath.Join(t.TempDir(), "came")}))
			defer server.Close()
			defer server.CloseClientConnections()
			judge(t, server.URL+"/mcp")
			for deadline := time.Now().Add(soonPatience); ; time.Sleep(5 * time.Millisecond) {
				left := goroutines("mcpcheck/suites/", "net/http.(*persistConn)")
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

// judge runs all checks on a server at a URL, inside this process.
func judge(t *testing.T, url string) {
	site, err := driver.NewSite(driver.SiteOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	target := driver.Target{
		Site:   site,
		Limits: driver.Limits{Reply: 100 * time.Millisecond, Start: 200 * time.Millisecond},
		Budget: driver.NewBudget(mostKept),
	}
	defer site.Close(target.Limits)
	server, first, err := discovery.Server(t.Context(), target, harness.Newest)
	if err != nil {
		if first != nil {
			first.Close()
		}
		return
	}
	plan := harness.Plan(suites.Built(), suites.Checks(), server, func(*harness.Requirement) bool { return true })
	harness.Execute(t.Context(), target, server, plan, harness.Options{First: first}).Wait()
}

// goroutines are the stacks of those that are in one of the places.
func goroutines(places ...string) (found string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if slices.ContainsFunc(places, func(place string) bool { return strings.Contains(stack, place) }) {
			found += stack + "\n\n"
		}
	}
	return found
}
