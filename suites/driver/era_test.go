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

// testEra is an era that never was. It differs from the handshake in everything that an era says: another greeting,
// requests that carry who sends them, another fence, a request by which it listens, no answer to a server that asks,
// and another leave.
type testEra struct {
	headerCount *atomic.Int32 // HTTP answers with a stamp
}

func (testEra) connect(s *Session, hello M) Reply {
	r := s.AwaitFirst(s.Request("letters/open", nil))
	terms, _ := r.Result()["terms"].(string)
	s.setConnectResult(r.Result(), terms)
	return r
}

func (testEra) finishConnect(s *Session, params M) { s.OpenStream("letters/await", params) }

func (testEra) noOp() (method string, params M) { return "letters/weigh", M{"letter": "none"} }

func (testEra) withMeta(s *Session, params M) M {
	dressed := M{"_meta": M{"letters/from": s.ConnectParams["clientInfo"],
		"letters/terms": s.ConnectParams["protocolVersion"]}}
	maps.Copy(dressed, params)
	return dressed
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

// testEraServer is a server of that era. It remembers what it was sent.
type testEraServer struct {
	mu       sync.Mutex
	requests []seenRequest

	streamOpened chan struct{} // closed once a client listens
}

func newTestEraServer() *testEraServer { return &testEraServer{streamOpened: make(chan struct{})} }

// answers are the messages with which it answers one: to a list, it asks something itself before.
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

// ServeHTTP answers with event streams. That of letters/lost breaks off.
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

// result is the server over stdio.
func (p *testEraServer) serve(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
	return serveMessages(in, out, p.respond)
}

// serveMessages answers all messages that come on stdin.
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

// methods are those of the messages that the server was sent, in their order, without the requests that prove order.
func (p *testEraServer) methods() (all []string) {
	for _, r := range p.requests {
		if method := fmt.Sprint(r.Body["method"]); method != "letters/weigh" {
			all = append(all, method)
		}
	}
	return all
}

// An era is one implementation of Era: the pool, sessions and both transports do what it says, and nothing of the
// handshake is left.
func TestEra(t *testing.T) {
	tests := []struct {
		name string
		open func(t *testing.T, p *testEraServer) Target
		want []string // that the server was sent
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
				t.Errorf("the session has agreed to %q and %v", s.Revision, s.Capabilities)
			}
			<-p.streamOpened // over RoundTrip, what is sent later may come sooner
			if r := s.Call("letters/list", M{"page": 1}); r.Result() == nil {
				t.Errorf("got %+v", r)
			}
			if _, err := s.Barrier(0); err != nil { // though the request by which it listens has no answer
				t.Error(err)
			}
			pool.CloseSession(s)
			pool.Wait()
			got := p.methods()
			if s.HTTP() != nil && len(got) == len(tt.want) { // a busy machine may have one overtake the other
				slices.Sort(got[1:3])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the server was sent\n%q, want\n%q", got, tt.want)
			}
			p.wantMeta(t)
			if answers := int(stamps.Load()); s.HTTP() != nil && answers != len(p.requests) {
				t.Errorf("%d stamps were heard of, want %d", answers, len(p.requests))
			}
		})
	}
}

// wantMeta wants each request as the era says, and over RoundTrip none of the headers of the handshake.
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

// A stream that breaks off is not asked for again in an era that does not do that.
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

// The era of a session can change, as discovery learns more of a server.
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
				t.Errorf("%T: %s brought %+v", tt.era, r.Method, r)
			}
		}
	})
}

// newTestSite is the site of a server for one test.
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
