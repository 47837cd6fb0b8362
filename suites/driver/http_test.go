package driver

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// testHTTPServer is a server over HTTP for one test. It answers initialize, and lets serve answer everything else.
type testHTTPServer struct {
	serve func(w http.ResponseWriter, r *http.Request, body M)

	mu       sync.Mutex
	received []seenRequest
}

// seenRequest is a request that a test server received.
type seenRequest struct {
	Method string
	Header http.Header
	Body   M
}

func (e *testHTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body, _ := Decode(raw).(M)
	e.mu.Lock()
	e.received = append(e.received, seenRequest{r.Method, r.Header, body})
	e.mu.Unlock()
	switch {
	case body["method"] == "initialize":
		w.Header().Set("Mcp-Session-Id", "id-1")
		result := M{"protocolVersion": "2025-06-18", "capabilities": M{}}
		writeJSON(w, M{"jsonrpc": "2.0", "id": body["id"], "result": result})
	case body["method"] == "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	case e.serve != nil:
		e.serve(w, r, body)
	case r.Method == http.MethodPost:
		writeJSON(w, M{"jsonrpc": "2.0", "id": body["id"], "result": M{}})
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// requests returns the requests that the endpoint received, by HTTP method and message: "POST ping".
func (e *testHTTPServer) requests() (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.received {
		text := r.Method
		if method, ok := r.Body["method"].(string); ok {
			text += " " + method
		}
		all = append(all, text)
	}
	return all
}

// find returns the first such request that the endpoint received.
func (e *testHTTPServer) find(t *testing.T, kind string) seenRequest {
	t.Helper()
	i := slices.Index(e.requests(), kind)
	if i < 0 {
		t.Fatalf("no %s among %q", kind, e.requests())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.received[i]
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func writeStream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, text)
	http.NewResponseController(w).Flush()
}

// connectTo opens a session at the endpoint and finishes the handshake.
func connectTo(t *testing.T, e http.Handler, o SiteOptions) *Session {
	t.Helper()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	o.URL = server.URL + "/mcp"
	site, err := NewSite(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Target{Site: site, Limits: Limits{ReplyTimeout: 10 * time.Second}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); site.Close(Limits{}) })
	if err := s.Open(ConnectParams("2025-06-18")); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHTTPSession(t *testing.T) {
	e := &testHTTPServer{}
	s := connectTo(t, e, SiteOptions{Header: http.Header{"Authorization": {"Bearer x"}}})
	if r := s.Call("ping", nil); r.Result() == nil {
		t.Fatalf("ping: got %+v", r)
	}
	s.Close()
	want := []string{"POST initialize", "POST notifications/initialized", "GET", "POST ping", "DELETE"}
	if got := e.requests(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	tests := []struct{ kind, header, want string }{
		{"POST initialize", "Accept", "application/json, text/event-stream"},
		{"POST initialize", "Content-Type", "application/json"},
		{"POST initialize", "Mcp-Session-Id", ""},
		{"POST initialize", "Mcp-Protocol-Version", ""},
		{"POST initialize", "Authorization", "Bearer x"},
		{"POST notifications/initialized", "Mcp-Session-Id", "id-1"},
		{"POST notifications/initialized", "Mcp-Protocol-Version", "2025-06-18"},
		{"GET", "Accept", "text/event-stream"},
		{"GET", "Mcp-Session-Id", "id-1"},
		{"GET", "Content-Type", ""},
		{"DELETE", "Mcp-Session-Id", "id-1"},
		{"DELETE", "Mcp-Protocol-Version", "2025-06-18"},
		{"DELETE", "Authorization", "Bearer x"},
	}
	for _, tt := range tests {
		if got := strings.Join(e.find(t, tt.kind).Header.Values(tt.header), " | "); got != tt.want {
			t.Errorf("%s: %s is %q, want %q", tt.kind, tt.header, got, tt.want)
		}
	}
}

func TestHTTPReplies(t *testing.T) {
	answer := func(id any) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"ok":true}}`, id) }
	tests := []struct {
		name  string
		serve func(w http.ResponseWriter, id any)
		check func(r Reply) bool
	}{
		{"JSON", func(w http.ResponseWriter, id any) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer(id))
		},
			func(r Reply) bool { return r.Result()["ok"] == true }},
		{"an event", func(w http.ResponseWriter, id any) { writeStream(w, "data: "+answer(id)+"\n\n") },
			func(r Reply) bool { return r.Result()["ok"] == true && r.Frame.Event != nil }},
		{"an event after others", func(w http.ResponseWriter, id any) {
			writeStream(w, "id: 1\ndata:\n\n: hello\n\n")
			writeStream(w,
				"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: "+answer(id)+"\n\n")
		}, func(r Reply) bool { return r.Result()["ok"] == true }},
		{"a bare error", func(w http.ResponseWriter, _ any) { http.Error(w, "no", http.StatusBadRequest) },
			func(r Reply) bool { _, hasCode := r.Code(); return r.IsStatusOnly() && r.Error() != nil && !hasCode }},
		{"an error without an id", func(w http.ResponseWriter, _ any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`)
		}, func(r Reply) bool { code, ok := r.Code(); return !r.IsStatusOnly() && ok && code == -32000 }},
		{"other JSON in an error", func(w http.ResponseWriter, _ any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":"invalid_token"}`)
		}, func(r Reply) bool { return r.IsStatusOnly() && r.Error() != nil }},
		{"accepted and no more", func(w http.ResponseWriter, _ any) { w.WriteHeader(http.StatusAccepted) },
			func(r Reply) bool { return !r.Answered() && errors.As(r.Err, new(*NoResponseError)) }},
		{"a stream without it", func(w http.ResponseWriter, _ any) { writeStream(w, ": nothing\n\n") },
			func(r Reply) bool { return !r.Answered() && errors.As(r.Err, new(*NoResponseError)) }},
		{"a stream that is cut", func(w http.ResponseWriter, id any) { writeStream(w, "data: "+answer(id)[:20]) },
			func(r Reply) bool { return !r.Answered() && errors.As(r.Err, new(*NoResponseError)) }},
		{"an event that is not ended", func(w http.ResponseWriter, id any) { writeStream(w, "data: "+answer(id)+"\n") },
			func(r Reply) bool { return r.Result()["ok"] == true && r.Frame.Event.Unended }},
		{"an error as a stream", func(w http.ResponseWriter, id any) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%v,\"error\":{\"code\":-32601}}\n\n", id)
		}, func(r Reply) bool { code, is := r.Code(); return is && code == -32601 && !r.IsStatusOnly() }},
		{"gzip that was not asked for", func(w http.ResponseWriter, id any) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			io.WriteString(zip, answer(id))
			zip.Close()
		}, func(r Reply) bool { return r.Result()["ok"] == true }},
		{"an unknown coding", func(w http.ResponseWriter, id any) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "mcpcheck")
			io.WriteString(w, answer(id))
		}, func(r Reply) bool { return !r.Answered() && errors.As(r.Err, new(*NoResponseError)) }},
		{"a closed connection", func(http.ResponseWriter, any) { panic(http.ErrAbortHandler) },
			func(r Reply) bool { return !r.Answered() && errors.As(r.Err, new(*NoResponseError)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := connectTo(t, &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
				if body["method"] == "ping" {
					tt.serve(w, body["id"])
				} else {
					w.WriteHeader(http.StatusMethodNotAllowed)
				}
			}}, SiteOptions{})
			if r := s.Call("ping", nil); !tt.check(r) {
				t.Errorf("got %+v, frame %+v", r, r.Frame)
			}
		})
	}
}

// TestHTTPKeepsOrder checks that the server has accepted a message that needs no response before the next one is sent.
func TestHTTPKeepsOrder(t *testing.T) {
	released := make(chan struct{})
	e := &testHTTPServer{}
	e.serve = func(w http.ResponseWriter, r *http.Request, body M) {
		switch body["method"] {
		case "notifications/cancelled":
			<-released
			w.WriteHeader(http.StatusAccepted)
		case "ping":
			writeJSON(w, M{"jsonrpc": "2.0", "id": body["id"], "result": M{}})
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}
	s := connectTo(t, e, SiteOptions{})
	s.Notify("notifications/cancelled", M{"requestId": 1})
	ping := s.Request("ping", nil)
	if r := s.AwaitFor(ping, 100*time.Millisecond); r.Answered() {
		t.Error("the ping overtook the notification")
	}
	if before := ping.sentAt(); !before.Before(ping.sentAt()) {
		t.Error("sentAt of a ping that waits for its turn does not advance")
	}
	close(released)
	if r := s.Await(ping); r.Result() == nil {
		t.Errorf("ping: got %+v", r)
	}
	if sent := ping.sentAt(); !sent.Equal(ping.sentAt()) {
		t.Error("sentAt changes after the ping was sent")
	}
}

// TestHTTPStreamsThatStayOpen checks that streams that stay open after the response do not delay other requests.
func TestHTTPStreamsThatStayOpen(t *testing.T) {
	s := connectTo(t, &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
		if body["method"] != "ping" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		writeStream(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%v,\"result\":{}}\n\n", body["id"]))
		<-r.Context().Done()
	}}, SiteOptions{})
	const many = 300
	for range many {
		if r := s.Call("ping", nil); r.Result() == nil {
			t.Fatalf("ping: got %+v", r)
		}
	}
}

// TestHTTPResumes checks that a stream that ends before the response is resumed after its last event.
func TestHTTPResumes(t *testing.T) {
	var asked any
	s := connectTo(t, &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
		switch {
		case body["method"] == "ping":
			asked = body["id"]
			writeStream(w, "id: e1\nretry: 1\ndata:\n\n")
		case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "e1":
			writeStream(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%v,\"result\":{}}\n\n", asked))
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}}, SiteOptions{})
	if r := s.Call("ping", nil); r.Result() == nil {
		t.Errorf("ping: got %+v", r)
	}
}

// TestHTTPAnswersRequestsOfTheServer checks that the client posts its response to a request on the listening stream.
func TestHTTPAnswersRequestsOfTheServer(t *testing.T) {
	answered := make(chan M, 1)
	connectTo(t, &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
		switch {
		case r.Method == http.MethodGet:
			writeStream(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"ping\"}\n\n")
			<-r.Context().Done()
		case body["id"] == "s1":
			w.WriteHeader(http.StatusAccepted)
			answered <- body
		}
	}}, SiteOptions{})
	if body := <-answered; body["result"] == nil {
		t.Errorf("got %v", body)
	}
}

// TestHTTPLostSession checks that a session that the server has ended is not usable.
func TestHTTPLostSession(t *testing.T) {
	gone := func(w http.ResponseWriter, r *http.Request, _ M) { http.NotFound(w, r) }
	s := connectTo(t, &testHTTPServer{serve: gone}, SiteOptions{})
	s.Call("ping", nil)
	if s.IsUsable() {
		t.Error("the session is usable")
	}
}

// TestHTTPDo checks that a request of Do has other headers, and that its frames do not count for other checks.
func TestHTTPDo(t *testing.T) {
	e := &testHTTPServer{}
	s := connectTo(t, e, SiteOptions{Header: http.Header{"X-Key": {"secret"}}})
	x := s.HTTP().Do(HTTPRequest{
		Header: http.Header{"Accept": nil, "mcp-SESSION-id": {"other"}, "Origin": {"http://example.com"}},
		Host:   "example.com",
		Body:   []byte(`{"jsonrpc":"2.0","id":"h1","method":"tools/list"}`),
	})
	if r := x.AwaitReply(); r.Result() == nil {
		t.Errorf("got %+v", r)
	}
	seen := e.find(t, "POST tools/list").Header
	want := map[string][]string{
		"Accept": nil, "Mcp-Session-Id": {"other"}, "Origin": {"http://example.com"}, "X-Key": {"secret"},
	}
	for name, values := range want {
		if got := seen.Values(name); !slices.Equal(got, values) {
			t.Errorf("the header %s is %q, want %q", name, got, values)
		}
	}
	for _, f := range s.FramesSince(0) {
		if f.RoundTrip == x && !f.Manual {
			t.Errorf("the frame is not manual: %s", f.Raw.Bytes())
		}
	}
	const line = "POST /mcp; without Accept; Origin: http://example.com; mcp-SESSION-id: other; Host: example.com"
	if got := x.RequestLine(); got != line {
		t.Errorf("got  %s\nwant %s", got, line)
	}
}

// TestFollowRedirect checks that a redirect is followed once, and never to another origin.
func TestFollowRedirect(t *testing.T) {
	tests := []struct{ from, to, want string }{
		{"http://127.0.0.1:1/mcp", "/mcp/", "http://127.0.0.1:1/mcp/"},
		{"http://127.0.0.1:1/mcp", "http://127.0.0.1:1/other", "http://127.0.0.1:1/other"},
		{"http://127.0.0.1:1/mcp", "http://127.0.0.1:2/mcp", ""},
		{"http://127.0.0.1:1/mcp", "https://127.0.0.1:1/mcp", ""},
		{"http://127.0.0.1:1/mcp", "//example.com/mcp", ""},
		{"http://127.0.0.1:1/mcp", "", ""},
	}
	for _, tt := range tests {
		site, err := NewSite(SiteOptions{URL: tt.from})
		if err != nil {
			t.Fatal(err)
		}
		err = site.FollowRedirect(tt.from, tt.to)
		if ok := err == nil; ok != (tt.want != "") || ok && site.URL() != tt.want {
			t.Errorf("%s to %q: now %s, %v", tt.from, tt.to, site.URL(), err)
		}
		if err = site.FollowRedirect(tt.from, "/elsewhere"); tt.want != "" && (err != nil || site.URL() != tt.want) {
			t.Errorf("%s, which was followed to %q before: now %s, %v", tt.from, tt.to, site.URL(), err)
		}
	}
}

func TestNewSiteErrors(t *testing.T) {
	wrong := []string{"", "127.0.0.1:80/mcp", "ftp://127.0.0.1/", "http://", "http://127.0.0.1/#a", "http://[::1/mcp"}
	for _, u := range wrong {
		if _, err := NewSite(SiteOptions{URL: u}); err == nil {
			t.Errorf("%q is accepted", u)
		}
	}
}

// TestRefusedConnections checks how long a server that accepts no connections is tried: two seconds if others have
// started it, and the start timeout if this run has.
func TestRefusedConnections(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	run := func(ctx context.Context, _ io.Reader, _, _ io.Writer, _ <-chan struct{}) int { <-ctx.Done(); return 0 }
	for _, tt := range []struct {
		name  string
		serve InProcessServer
		start time.Duration
		want  time.Duration
	}{
		{"not started by this run", nil, 15 * time.Second, 2 * time.Second},
		{"not started by this run, short timeout", nil, time.Second, time.Second},
		{"started by this run", run, 15 * time.Second, 15 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, err := NewSite(SiteOptions{URL: "http://127.0.0.1:1/mcp", Serve: tt.serve, Dial: refuse})
				if err != nil {
					t.Fatal(err)
				}
				defer site.Close(Limits{})
				begin := time.Now()
				err = site.AwaitReady(t.Context(), Limits{StartTimeout: tt.start})
				if took := time.Since(begin).Round(100 * time.Millisecond); err == nil || took != tt.want {
					t.Errorf("%v after %v, want an error after %v", err, took, tt.want)
				}
			})
		})
	}
}

// TestSiteRestarts checks that a server that ends is started again for the next session, and that its earlier sessions
// know why it ended.
func TestSiteRestarts(t *testing.T) {
	var listening atomic.Bool
	started := make(chan struct{}, 2)
	exit := make(chan struct{}, 1)
	serve := func(ctx context.Context, _ io.Reader, _, stderr io.Writer, term <-chan struct{}) int {
		listening.Store(true)
		started <- struct{}{}
		fmt.Fprintln(stderr, "last words")
		select {
		case <-exit:
			return 7
		case <-term:
		case <-ctx.Done():
		}
		return 0
	}
	dial := func(context.Context, string, string) (net.Conn, error) {
		if !listening.Load() {
			return nil, syscall.ECONNREFUSED
		}
		conn, _ := net.Pipe()
		return conn, nil
	}
	site, err := NewSite(SiteOptions{URL: "http://127.0.0.1:1/mcp", Serve: serve, Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Site: site}
	first, err := Start(t.Context(), target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	exit <- struct{}{}
	first.Wait(0, 10*time.Second, func(*Frame) bool { return false })
	var ended *SessionEndError
	if !errors.As(first.EndErr(), &ended) || ended.Cause != "the server exited with status 7" ||
		!slices.Contains(ended.Stderr, "last words") {
		t.Errorf("got %+v", ended)
	}
	<-started
	second, err := Start(t.Context(), target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	<-started // the second process
	first.Close()
	second.Close()
	site.Close(Limits{})
}

// TestBusyServerIsAskedAgain checks that a request that a busy server rejects is sent again a few times.
func TestBusyServerIsAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		busy     int // how often the server is busy
		asked    int
		answered bool // with a result
	}{{0, 1, true}, {2, 3, true}, {100, 4, false}} {
		asked := 0
		s := connectTo(t, &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
			if body["method"] != "ping" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			if asked++; asked <= tt.busy {
				http.Error(w, "another request is being served", http.StatusConflict)
				return
			}
			writeJSON(w, M{"jsonrpc": "2.0", "id": body["id"], "result": M{}})
		}}, SiteOptions{})
		if r := s.Call("ping", nil); asked != tt.asked || (r.Result() != nil) != tt.answered {
			t.Errorf("busy %d times: got %d requests, %v, %v", tt.busy, asked, r.Message(), r.Err)
		}
	}
}

// TestSharesProcess checks that sessions over HTTP share the process that serves them, and none that was started after
// it.
func TestSharesProcess(t *testing.T) {
	first, second := &process{}, &process{}
	in := func(host *process) *Session {
		s := &Session{}
		s.transport = &HTTP{s: s, proc: host}
		return s
	}
	for _, tt := range []struct {
		name string
		a, b *Session
		want bool
	}{
		{"one process", in(first), in(first), true},
		{"a process and its successor", in(first), in(second), false},
		{"a server that others have started", in(nil), in(nil), true},
		{"without HTTP", &Session{}, &Session{}, false},
	} {
		if got := tt.a.SharesProcess(tt.b); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
