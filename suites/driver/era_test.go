package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// testEra is an imaginary era that differs from Legacy in everything: it has another request to connect, requests with
// the client's info, another no-op, a request that opens a stream, no responses to the server's requests, and another
// way to end a session.
type testEra struct {
	// headerCount counts the HTTP responses with the header Letters-Stamp.
	headerCount *atomic.Int32
}

func (testEra) connect(s *Session, params M) Reply {
	r := s.AwaitFirst(s.Request("letters/open", nil))
	terms, _ := r.Result()["terms"].(string)
	s.setConnectResult(r.Result(), terms)
	return r
}

func (testEra) finishConnect(s *Session, params M) { s.OpenStream("letters/await", params) }

func (testEra) noOp() (method string, params M) { return "letters/weigh", M{"letter": "none"} }

func (testEra) withMeta(s *Session, params M) M {
	merged := M{"_meta": M{"letters/from": s.ConnectParams["clientInfo"],
		"letters/terms": s.ConnectParams["protocolVersion"]}}
	maps.Copy(merged, params)
	return merged
}

func (testEra) response(*Session, *Frame) M { return nil }

func (testEra) cancel(s *Session, p Pending, _ string) { s.Notify("letters/recall", M{"letter": p.ID}) }

func (testEra) setHeaders(_ *HTTP, header http.Header, message *Frame) {
	header.Set("Letters-Subject", message.Method)
}

func (e testEra) onHeaders(_ *HTTP, x *RoundTrip) {
	if x.Response().Header.Get("Letters-Stamp") != "" {
		e.headerCount.Add(1)
	}
}

func (testEra) resumes() bool { return false }

func (testEra) closeSession(s *Session) {
	if s.HTTP() != nil {
		s.Call("letters/close", nil)
	}
}

// testEraServer is a server of testEra that keeps the requests it received.
type testEraServer struct {
	mu       sync.Mutex
	requests []seenRequest

	// streamOpened is closed when a client opens a stream.
	streamOpened chan struct{}
}

func newTestEraServer() *testEraServer { return &testEraServer{streamOpened: make(chan struct{})} }

// respond returns the messages that answer a request. Before the response to letters/list it sends a request.
func (p *testEraServer) respond(seen seenRequest) (messages []M) {
	p.mu.Lock()
	p.requests = append(p.requests, seen)
	p.mu.Unlock()
	result := M{}
	switch seen.Body["method"] {
	case "letters/await":
		close(p.streamOpened)
		return nil
	case "letters/lost":
		return nil
	case "letters/open":
		result = M{"terms": "letters-1", "capabilities": M{"stamps": M{}}}
	case "letters/list":
		messages = append(messages, M{"jsonrpc": "2.0", "id": "of-the-server", "method": "ping"})
	}
	return append(messages, M{"jsonrpc": "2.0", "id": seen.Body["id"], "result": result})
}

// ServeHTTP responds with event streams. That of letters/lost breaks off.
func (p *testEraServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body, _ := Decode(raw).(M)
	w.Header().Set("Letters-Stamp", "1d")
	w.Header().Set("Mcp-Session-Id", "of-another-era")
	writeStream(w, "id: 1\nretry: 1\ndata:\n\n")
	for _, m := range p.respond(seenRequest{r.Method, r.Header, body}) {
		writeStream(w, "data: "+string(encode(m))+"\n\n")
	}
	if body["method"] == "letters/await" {
		<-r.Context().Done()
	}
}

// serve is the server over stdio.
func (p *testEraServer) serve(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
	return serveMessages(in, out, p.respond)
}

// serveMessages answers all messages that arrive on stdin.
func serveMessages(in io.Reader, out io.Writer, answers func(seenRequest) []M) int {
	d, e := json.NewDecoder(in), json.NewEncoder(out)
	d.UseNumber()
	for {
		var body M
		if d.Decode(&body) != nil {
			return 0
		}
		for _, m := range answers(seenRequest{Body: body}) {
			e.Encode(m)
		}
	}
}

// methods returns the methods of the messages that the server received, in order, without no-op requests.
func (p *testEraServer) methods() (all []string) {
	for _, r := range p.requests {
		if method := fmt.Sprint(r.Body["method"]); method != "letters/weigh" {
			all = append(all, method)
		}
	}
	return all
}

// TestEra checks that the pool, sessions and both transports do everything as an Era says, and nothing as in Legacy.
func TestEra(t *testing.T) {
	tests := []struct {
		name string
		open func(t *testing.T, p *testEraServer) Target
		want []string // methods that the server receives
	}{
		{"stdio", func(_ *testing.T, p *testEraServer) Target { return Target{Serve: p.serve} },
			[]string{"letters/open", "letters/await", "letters/list"}},
		{"HTTP", func(t *testing.T, p *testEraServer) Target { return Target{Site: newTestSite(t, p)} },
			[]string{"letters/open", "letters/await", "letters/list", "letters/close"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, stamps := newTestEraServer(), &atomic.Int32{}
			target := tt.open(t, p)
			target.Era, target.Limits = testEra{stamps}, Limits{}.withDefaults()
			pool := NewPool(t.Context(), target, "letters-1", 1, false)
			pool.Prestart(0)
			s, err := pool.GetUnused()
			if err != nil {
				t.Fatal(err)
			}
			if !s.IsOrdinary() || s.Revision != "letters-1" || s.Capabilities["stamps"] == nil {
				t.Errorf("the session has negotiated %q and %v", s.Revision, s.Capabilities)
			}
			<-p.streamOpened // over HTTP, later messages may arrive sooner
			if r := s.Call("letters/list", M{"page": 1}); r.Result() == nil {
				t.Errorf("got %+v", r)
			}
			if _, err := s.Barrier(0); err != nil { // although the request for the stream has no response
				t.Error(err)
			}
			pool.CloseSession(s)
			pool.Wait()
			got := p.methods()
			if s.HTTP() != nil && len(got) == len(tt.want) { // on a busy machine one may overtake the other
				slices.Sort(got[1:3])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the server was sent\n%q, want\n%q", got, tt.want)
			}
			p.wantMeta(t)
			if answers := int(stamps.Load()); s.HTTP() != nil && answers != len(p.requests) {
				t.Errorf("onHeaders saw %d stamps, want %d", answers, len(p.requests))
			}
		})
	}
}

// wantMeta checks that each request has the members of the era and, over HTTP, no header of Legacy.
func (p *testEraServer) wantMeta(t *testing.T) {
	t.Helper()
	const meta = `{"letters/from":{"name":"mcpcheck","version":"1"},"letters/terms":"letters-1"}`
	own := map[string]string{"letters/list": `"page":1`, "letters/weigh": `"letter":"none"`}
	for _, r := range p.requests {
		params, _ := r.Body["params"].(M)
		method, _ := r.Body["method"].(string)
		if got := string(encode(params["_meta"])); got != meta ||
			!strings.Contains(string(encode(params)), own[method]) {
			t.Errorf("%s has the params %s", method, encode(params))
		}
		if r.Method == "" { // over stdio
			continue
		}
		if got := r.Header.Get("Letters-Subject"); r.Method != http.MethodPost || got != method {
			t.Errorf("%s %s has the subject %q", r.Method, method, got)
		}
		for _, name := range []string{sessionHeader, revisionHeader} {
			if value := r.Header.Values(name); value != nil {
				t.Errorf("%s has the header %s: %q", method, name, value)
			}
		}
	}
}

// TestEraWithoutResumption checks that a broken stream is not resumed in an era without resumption.
func TestEraWithoutResumption(t *testing.T) {
	p := newTestEraServer()
	s, err := Start(t.Context(), Target{Site: newTestSite(t, p), Era: testEra{&atomic.Int32{}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Call("letters/lost", nil); !errors.As(r.Err, new(*NoResponseError)) {
		t.Errorf("got %+v", r)
	}
	if got := p.methods(); !slices.Equal(got, []string{"letters/lost"}) {
		t.Errorf("the server was sent %q", got)
	}
}

// TestSetEra checks that the era of a session can change, as it does when discovery learns more about a server.
func TestSetEra(t *testing.T) {
	tests := []struct {
		era  Era
		want string
	}{
		{nil, "ping"},
		{Legacy{}, "ping"},
		{Legacy{NoOpMethod: "tools/list"}, "tools/list"},
		{testEra{}, "letters/weigh"},
	}
	serve := respondingServer(func(n int, line string) string { return fmt.Sprintf(`{"id":%d,"result":{}}`+"\n", n) })
	runSession(t, Limits{ReplyTimeout: time.Second}, serve, func(t *testing.T, s *Session) {
		for _, tt := range tests {
			s.SetEra(tt.era)
			if r := s.Call(s.NoOp()); r.Result() == nil || r.Request.Method != tt.want {
				t.Errorf("%T: %s: got %+v", tt.era, r.Method, r)
			}
		}
	})
}

// newTestSite returns the site of a server for one test.
func newTestSite(t *testing.T, serve http.Handler) *Site {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	site, err := NewSite(SiteOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return site
}
