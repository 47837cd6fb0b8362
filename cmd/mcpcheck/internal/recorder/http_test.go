package recorder

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/trace"
	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/faults"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// testProxy is a recorder in front of a server.
type testProxy struct {
	URL    string
	trace  bytes.Buffer
	server *httptest.Server
	writer *traceWriter
}

// newTestProxy starts a recorder for the server at a URL.
func newTestProxy(t *testing.T, server string) *testProxy {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	s := &testProxy{}
	s.writer = newTraceWriter(&s.trace, report.TargetInfo{Transport: "http", URL: server},
		(&redact.Secrets{}).Redactor())
	s.server = httptest.NewServer(newProxy(u, true, newHTTPSessions(u, s.writer, redact.Secrets{})))
	s.URL = s.server.URL + u.RequestURI()
	t.Cleanup(s.server.Close)
	return s
}

// recordedTrace returns the trace after the last message.
func (s *testProxy) recordedTrace(t *testing.T) string {
	t.Helper()
	s.server.CloseClientConnections()
	s.server.Close()
	if err := s.writer.flush(); err != nil {
		t.Fatal(err)
	}
	return s.trace.String()
}

// sendRequest sends a request and returns the response with its body.
func sendRequest(t *testing.T, method, at, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(content)
}

// These are messages of a client.
const (
	initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initializedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	promptsListLine = `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`
	toolsListLine   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// runClientSession runs a short and complete session of a client.
func runClientSession(t *testing.T, at string) {
	t.Helper()
	resp, _ := sendRequest(t, http.MethodPost, at, initializeLine)
	session := "Mcp-Session-Id: " + resp.Header.Get("Mcp-Session-Id")
	for _, line := range []string{initializedLine, promptsListLine, toolsListLine} {
		sendRequest(t, http.MethodPost, at, line, session, "Mcp-Protocol-Version: 2025-11-25")
	}
	sendRequest(t, http.MethodDelete, at, "", session)
}

// judgeTrace judges a trace, and returns the failures and the exit code.
func judgeTrace(t *testing.T, trace string) (rep string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "record.jsonl")
	if err := os.WriteFile(file, []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&said)
	cmd.SetErr(&said)
	var verdict *exit.Error
	err := runner.JudgeTraces(cmd, []string{file}, configtest.ParseFlags(t, "--brief"))
	switch {
	case errors.As(err, &verdict):
		code = verdict.Code
	case err != nil:
		t.Fatal(err)
	}
	return said.String(), code
}

// TestJudgeRecordedHTTP proves that a recorded session is judged by what it shows of the transport: a conforming server
// passes, and each fault that the session shows is found.
func TestJudgeRecordedHTTP(t *testing.T) {
	for _, id := range []string{
		"", "http/response-content-type", "http/request-not-202", "http/json-reply-single-object:other",
		"http/success-status", "jsonrpc/version-field",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			var change fixtures.Fault
			if id != "" {
				var found bool
				if change, found = faults.Find(id); !found {
					t.Fatal("there is no such fault")
				}
			}
			server := httptest.NewServer(fixtures.Handler(t.Context(), fixtures.HTTPOptions{}, change))
			defer server.Close()
			s := newTestProxy(t, server.URL+"/mcp")
			runClientSession(t, s.URL)
			said, code := judgeTrace(t, s.recordedTrace(t))
			if id == "" {
				if code != 0 || !strings.Contains(said, "PASS") {
					t.Errorf("exit code %d:\n%s", code, said)
				}
				return
			}
			if !strings.Contains(said, " "+change.Check+" (") {
				t.Errorf("exit code %d, the fault was not found:\n%s", code, said)
			}
		})
	}
}

// TestProxyChangesNothing proves that a response arrives unchanged, and that the record contains its messages.
func TestProxyChangesNothing(t *testing.T) {
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	io.WriteString(zip, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	zip.Close()
	const inStream = "200 OK; content-type: text/event-stream"
	long := `{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("a", maxLineBytes) + `"}}`
	for name, test := range map[string]struct {
		status int
		header string
		body   string
		// want are the lines of the record after the request.
		want []string
	}{
		"a result": {200, "Content-Type: application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{
			`received 200 OK; content-type: application/json: {"jsonrpc":"2.0","id":1,"result":{}}`,
		}},
		"nothing": {202, "X-Own: a", "", []string{"status 202 Accepted: "}},
		"an error of HTTP": {500, "Content-Type: application/json", `{"message":"no"}`, []string{
			`status 500 Internal Server Error; content-type: application/json: {"message":"no"}`,
		}},
		"gzip": {200, "Content-Encoding: gzip", zipped.String(), []string{
			`received 200 OK: {"jsonrpc":"2.0","id":1,"result":{}}`,
		}},
		"another coding": {200, "Content-Encoding: br", "\x01\x02", []string{"status 200 OK: … cut"}},
		"not UTF-8": {200, "Content-Type: text/plain", "\xff\xfe", []string{
			"status 200 OK; content-type: text/plain: \xff\xfe",
		}},
		"a long one": {200, "Content-Type: application/json", long, []string{
			"status 200 OK; content-type: application/json: " + long[:maxLineBytes] + "… cut",
		}},
		"a stream": {
			200, "Content-Type: text/event-stream",
			": hello\r\nid: 7\rdata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"a\"}\n\n" +
				"data:\n\nevent: other\ndata: x\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n",
			[]string{
				"received event; id: 7; " + inStream + ": {\"jsonrpc\":\"2.0\",\n\"method\":\"a\"}",
				"received event; " + inStream + `: {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
		},
		"a stream without the answer": {
			200, "Content-Type: text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n",
			[]string{"received event; " + inStream + `: {"jsonrpc":"2.0","method":"a"}`, "status " + inStream + ": "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = r.Host + " " + r.Header.Get("X-Client") + " " + string(body)
				field, value, _ := strings.Cut(test.header, ": ")
				w.Header().Set(field, value)
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			}))
			defer server.Close()
			s := newTestProxy(t, server.URL+"/mcp?a=b")
			resp, body := sendRequest(t, http.MethodPost, s.URL, promptsListLine, "X-Client: me")
			field, value, _ := strings.Cut(test.header, ": ")
			if body != test.body || resp.StatusCode != test.status || resp.Header.Get(field) != value {
				t.Errorf("%d bytes, want %d; %d, %v", len(body), len(test.body), resp.StatusCode, resp.Header)
			}
			if want := strings.TrimPrefix(server.URL, "http://") + " me " + promptsListLine; asked != want {
				t.Errorf("requests %s, want %s", asked, want)
			}
			sent := "sent POST /mcp?a=b; content-type: application/json: " + promptsListLine
			if diff := cmp.Diff(append([]string{sent}, test.want...),
				traceLinesWithHTTP(t, s.recordedTrace(t))); diff != "" {
				t.Errorf("(-want +got):\n%.2000s", diff)
			}
		})
	}
}

// traceLinesWithHTTP returns the lines of the only session in a trace, each with its HTTPInfo.
func traceLinesWithHTTP(t *testing.T, recording string) []string {
	t.Helper()
	return traceLines(t, strings.NewReader(recording), func(said driver.TraceLine) string {
		return fmt.Sprintf("%s: %s", said.HTTPInfo, said.Text)
	})
}

// TestProxyFlushesEvents proves that an event reaches the client before the server sends anything more.
func TestProxyFlushesEvents(t *testing.T) {
	heard := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-heard:
			case <-r.Context().Done():
			}
		}
	}))
	defer server.Close()
	s := newTestProxy(t, server.URL+"/mcp")
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			n++
			heard <- struct{}{}
		}
	}
	if n != 3 {
		t.Errorf("received %d events", n)
	}
	if got := len(traceLinesWithHTTP(t, s.recordedTrace(t))); got != 4 {
		t.Errorf("the record has %d lines", got)
	}
}

// TestProxyKeepsForeignHosts proves that a server can reject a request of a foreign web page through a local proxy, and
// that it gets its own name as the Host otherwise.
func TestProxyKeepsForeignHosts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Host)
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		local      bool
		host, want string
	}{
		{true, "localhost:9000", u.Host}, {true, "127.0.0.1:9000", u.Host}, {true, "evil.example", "evil.example"},
		{false, "recorder.example:9000", u.Host},
	} {
		s := newTraceWriter(io.Discard, report.TargetInfo{}, (&redact.Secrets{}).Redactor())
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = test.host
		w := httptest.NewRecorder()
		newProxy(u, test.local, newHTTPSessions(u, s, redact.Secrets{})).ServeHTTP(w, r)
		if got := w.Body.String(); got != test.want {
			t.Errorf("%s: the server got the Host %s, want %s", test.host, got, test.want)
		}
		s.flush()
	}
}

// TestProxyFullDuplex proves that a server may respond before it has read the whole request.
func TestProxyFullDuplex(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		io.Copy(w, r.Body)
	}))
	defer server.Close()
	s := newTestProxy(t, server.URL+"/mcp")
	body, rest := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.WriteString(rest, promptsListLine)
	rest.Close()
	if echo, err := io.ReadAll(resp.Body); err != nil || string(echo) != promptsListLine {
		t.Errorf("%q, %v", echo, err)
	}
}

// TestProxyWithoutServer proves that clients get an error when there is no server, and that the record contains it.
func TestProxyWithoutServer(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := newTestProxy(t, gone.URL+"/mcp")
	resp, body := sendRequest(t, http.MethodPost, s.URL, promptsListLine)
	const why = "mcpcheck record: the server cannot be reached: "
	if resp.StatusCode != http.StatusBadGateway || !strings.HasPrefix(body, why) {
		t.Errorf("%d: %s", resp.StatusCode, body)
	}
	if got := traceLinesWithHTTP(t, s.recordedTrace(t)); len(got) != 2 || !strings.HasPrefix(got[1],
		"status no HTTP answer: ") {
		t.Errorf("%q", got)
	}
}

// TestProxyConnectionLost proves that a connection that breaks before the response does not count against the server.
func TestProxyConnectionLost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	s := newTestProxy(t, server.URL+"/mcp")
	resp, err := http.Post(s.URL, "application/json", strings.NewReader(promptsListLine))
	if err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	got := traceLinesWithHTTP(t, s.recordedTrace(t))
	if len(got) != 2 || !strings.HasPrefix(got[1], "event : the connection") || !strings.HasSuffix(got[1], " gap") {
		t.Errorf("%q", got)
	}
}

// TestProxyClientGone proves that the record says when a client leaves before the response, and is judged up to there.
func TestProxyClientGone(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client leaves
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	s := newTestProxy(t, server.URL+"/mcp")
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(promptsListLine))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		t.Fatal(resp.Status)
	}
	got := traceLinesWithHTTP(t, s.recordedTrace(t))
	if len(got) != 2 || !strings.HasPrefix(got[1], "event : the client closed the connection") ||
		!strings.HasSuffix(got[1], " gap") {
		t.Errorf("%q", got)
	}
}

// TestProxySessions proves that sessions are told apart by the ids that a server issues, or by a client that
// initializes again. Requests for another path are forwarded and not recorded.
func TestProxySessions(t *testing.T) {
	for name, test := range map[string]struct {
		web  fixtures.HTTPOptions
		path string
		talk func(t *testing.T, at string)
		// want maps the methods of the requests in a session to its transport.
		want map[string]string
	}{
		"with ids": {fixtures.HTTPOptions{}, "/mcp", func(t *testing.T, at string) {
			a, _ := sendRequest(t, http.MethodPost, at, initializeLine)
			b, _ := sendRequest(t, http.MethodPost, at, initializeLine)
			for _, x := range []struct {
				of   *http.Response
				line string
			}{{a, initializedLine}, {b, initializedLine}, {b, toolsListLine}, {a, promptsListLine}} {
				sendRequest(t, http.MethodPost, at, x.line, "Mcp-Session-Id: "+x.of.Header.Get("Mcp-Session-Id"))
			}
		}, map[string]string{
			"initialize notifications/initialized tools/list":   "http",
			"initialize notifications/initialized prompts/list": "http",
		}},
		"without ids": {fixtures.HTTPOptions{Stateless: true}, "/mcp", func(t *testing.T, at string) {
			for _, line := range []string{initializeLine, initializedLine, toolsListLine, initializeLine,
				initializedLine, promptsListLine} {
				sendRequest(t, http.MethodPost, at, line)
			}
		}, map[string]string{
			"initialize notifications/initialized tools/list":   "http",
			"initialize notifications/initialized prompts/list": "http",
		}},
		"an id again": {fixtures.HTTPOptions{Stateless: true}, "/mcp", func(t *testing.T, at string) {
			for _, line := range []string{toolsListLine, promptsListLine, toolsListLine} {
				sendRequest(t, http.MethodPost, at, line)
			}
		}, map[string]string{"tools/list prompts/list": "http", "tools/list": "http"}},
		"another path": {fixtures.HTTPOptions{}, "/mcp", func(t *testing.T, at string) {
			sendRequest(t, http.MethodPost, at, toolsListLine)
			sendRequest(t, http.MethodGet, strings.TrimSuffix(at, "/mcp")+"/.well-known/oauth-authorization-server", "")
		}, map[string]string{"tools/list": "http"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(fixtures.Handler(t.Context(), test.web, fixtures.Fault{}))
			defer server.Close()
			s := newTestProxy(t, server.URL+test.path)
			test.talk(t, s.URL)
			sessions, err := trace.Read(strings.NewReader(s.recordedTrace(t)))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, r := range sessions {
				got[sentMethods(r)] = r.Header.Target.Transport
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// sentMethods returns the methods of the client's messages in a session.
func sentMethods(r *trace.Session) string {
	var methods []string
	for _, said := range r.Lines {
		if _, rest, found := strings.Cut(string(said.Text), `"method":"`); found && said.Side == driver.FromClient {
			method, _, _ := strings.Cut(rest, `"`)
			methods = append(methods, method)
		}
	}
	return strings.Join(methods, " ")
}

// TestProxyWrongPath proves that the operator is told when no request is for the recorded path.
func TestProxyWrongPath(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	for paths, want := range map[string]string{
		"": "", "/": "", "/mcp": "no request was for /, but some for /mcp", "/mcp /": "",
		"/a /b": "no request was for /, but some for /a",
	} {
		w := newHTTPSessions(u, nil, redact.Secrets{})
		for _, path := range strings.Fields(paths) {
			w.beginRoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
		}
		if got := w.notRecordedReason(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %q, want %q", paths, got, want)
		}
	}
}

// TestProxyResumedSession proves that a session that began before the recording is recorded and not judged.
func TestProxyResumedSession(t *testing.T) {
	server := httptest.NewServer(fixtures.Handler(t.Context(), fixtures.HTTPOptions{}, fixtures.Fault{}))
	defer server.Close()
	resp, _ := sendRequest(t, http.MethodPost, server.URL+"/mcp", initializeLine)
	s := newTestProxy(t, server.URL+"/mcp")
	sendRequest(t, http.MethodPost, s.URL, toolsListLine, "Mcp-Session-Id: "+resp.Header.Get("Mcp-Session-Id"))
	got := traceLinesWithHTTP(t, s.recordedTrace(t))
	if len(got) != 3 || got[0] != "event : the session began before it was recorded gap" {
		t.Errorf("%q", got)
	}
}

// TestProxySSE proves that over HTTP+SSE a session is the stream together with the requests to its endpoint.
func TestProxySSE(t *testing.T) {
	server := httptest.NewServer(fixtures.Handler(t.Context(), fixtures.HTTPOptions{SSE: true}, fixtures.Fault{}))
	defer server.Close()
	s := newTestProxy(t, server.URL+"/sse")
	stream, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := []string{strings.Replace(initializeLine, "2025-11-25", "2024-11-05", 1), promptsListLine, toolsListLine}
	endpoint := ""
	for in := bufio.NewScanner(stream.Body); len(lines) > 0 && in.Scan(); {
		data, isData := strings.CutPrefix(in.Text(), "data: ")
		switch {
		case !isData:
			continue
		case endpoint == "":
			endpoint = s.server.URL + data
		case len(lines) == 2:
			sendRequest(t, http.MethodPost, endpoint, initializedLine)
		}
		sendRequest(t, http.MethodPost, endpoint, lines[0])
		lines = lines[1:]
	}
	recording := s.recordedTrace(t)
	sessions, err := trace.Read(strings.NewReader(recording))
	if err != nil || len(sessions) != 1 || sessions[0].Header.Target.Transport != "sse" {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	if said, code := judgeTrace(t, recording); code != 0 || !strings.Contains(said, "PASS") {
		t.Errorf("exit code %d:\n%s", code, said)
	}
}

// TestHTTPRecordSecretsAreRedacted proves that secrets in the headers of clients are redacted wherever the server
// repeats them.
func TestHTTPRecordSecretsAreRedacted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"headers":%q,"url":%q}}`, fmt.Sprint(r.Header), r.URL)
	}))
	defer server.Close()
	s := newTestProxy(t, server.URL+"/mcp")
	_, body := sendRequest(t, http.MethodPost, s.URL+"?access_token=s3cret-in-the-query", promptsListLine,
		"Authorization: Bearer s3cret-bearer", "Cookie: session=s3cret-cookie", "X-Api-Key: s3cret-key")
	if strings.Count(body, "s3cret") != 4 {
		t.Errorf("the client does not get what was said: %s", body)
	}
	if recording := s.recordedTrace(t); strings.Contains(recording, "s3cret") || !strings.Contains(recording,
		redact.Placeholder) {
		t.Error(recording)
	}
}
