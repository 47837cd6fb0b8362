package driver

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// modernServer is a server of the modern era, over both transports, that keeps the requests it received.
type modernServer struct {
	// ignoresSubscriptions makes the server leave subscriptions/listen unanswered.
	ignoresSubscriptions bool
	// closed receives the methods of requests whose stream the client closed, unless it is nil.
	closed chan string
	// called receives an element for each tool call, unless it is nil.
	called chan bool

	mu       sync.Mutex
	requests []seenRequest
}

// respond returns the messages that answer a request.
func (o *modernServer) respond(seen seenRequest) (messages []M) {
	o.mu.Lock()
	o.requests = append(o.requests, seen)
	o.mu.Unlock()
	id, result := seen.Body["id"], M{"resultType": "complete"}
	switch seen.Body["method"] {
	case "tools/call":
		if o.called != nil {
			o.called <- true
		}
		return nil
	case "notifications/cancelled":
		return nil
	case "subscriptions/listen":
		if o.ignoresSubscriptions {
			return nil
		}
		meta := M{MetaSubscription: id}
		return []M{newMessage("notifications/subscriptions/acknowledged", M{"_meta": meta, "notifications": M{}})}
	case "server/discover":
		result["supportedVersions"] = []any{"2026-07-28"}
		result["capabilities"] = M{"tools": M{"listChanged": true}, "prompts": M{}, "resources": M{"listChanged": true}}
	}
	return []M{{"jsonrpc": "2.0", "id": id, "result": result}}
}

// ServeHTTP responds with event streams, which stay open if there is no response.
func (o *modernServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body, _ := Decode(raw).(M)
	w.Header().Set("Mcp-Session-Id", "of-another-era")
	writeStream(w, ": comment\n\n")
	messages := o.respond(seenRequest{r.Method, r.Header, body})
	for _, m := range messages {
		writeStream(w, "data: "+string(encode(m))+"\n\n")
	}
	if len(messages) == 1 && messages[0]["result"] != nil {
		return
	}
	<-r.Context().Done()
	if o.closed != nil {
		o.closed <- body["method"].(string)
	}
}

// serve is the server over stdio.
func (o *modernServer) serve(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
	return serveMessages(in, out, o.respond)
}

// methods returns the methods of the messages that the server received, without no-op requests.
func (o *modernServer) methods() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, r := range o.requests {
		if method, _ := r.Body["method"].(string); method != "server/discover" || i == 0 {
			all = append(all, method)
		}
	}
	return all
}

// runClient opens a session like a pool, calls a tool that does not answer, cancels the call, and ends the session.
func (o *modernServer) runClient(t *testing.T, target Target) {
	t.Helper()
	target.Era, target.Limits = Modern{Revision: "2026-07-28"}, Limits{}.withDefaults()
	pool := NewPool(t.Context(), target, "2026-07-28", 1, false)
	pool.Prestart(0)
	s, err := pool.GetUnused()
	if err != nil {
		t.Fatal(err)
	}
	if !s.IsOrdinary() || s.Revision != "2026-07-28" || s.Capabilities["tools"] == nil {
		t.Errorf("the session has negotiated %q and %v", s.Revision, s.Capabilities)
	}
	if r := s.Call("tools/list", M{"cursor": "c"}); r.Result() == nil {
		t.Errorf("got %+v", r)
	}
	call := s.Request("tools/call", M{"name": "wait"})
	if s.HTTP() != nil { // the call must have arrived before it is cancelled
		<-o.called
	} else if _, err := s.Barrier(0); err != nil {
		t.Error(err)
	}
	s.Cancel(call, "enough")
	if r := s.Call(s.NoOp()); r.Result() == nil || s.HasFault() {
		t.Errorf("after the cancellation: got %+v, has fault is %v", r, s.HasFault())
	}
	pool.CloseSession(s)
	pool.Wait()
}

// TestModernRejectsServerRequests checks that a request of the server is rejected over stdio: a tool may wait for it.
func TestModernRejectsServerRequests(t *testing.T) {
	asks := respondingServer(func(n int, line string) string {
		if n == 1 {
			return `{"jsonrpc":"2.0","id":"s1","method":"ping"}` + "\n"
		}
		return ""
	})
	runSession(t, Limits{}, asks, func(t *testing.T, s *Session) {
		s.SetEra(Modern{Revision: "2026-07-28"})
		s.Notify("begin", nil)
		f, err := s.Wait(0, time.Second, func(f *Frame) bool { return f.Side == FromClient && f.IsResponse() })
		if err != nil || !strings.Contains(f.Raw.String(), `"code":-32601`) || !SameID(f.ID, []byte(`"s1"`)) {
			t.Errorf("got %v, error %v", f, err)
		}
	})
}

// TestModern checks a session of the modern era: server/discover, a stream for what the server declares, and a request
// that is cancelled in the way of the transport. Every request has its _meta, and nothing is done as in Legacy.
func TestModern(t *testing.T) {
	const listen, list, call, cancel = "subscriptions/listen", "tools/list", "tools/call", "notifications/cancelled"
	t.Run("stdio", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := &modernServer{}
			o.runClient(t, Target{Serve: o.serve})
			want := []string{"server/discover", listen, list, call, cancel, cancel}
			if got := o.methods(); !slices.Equal(got, want) {
				t.Errorf("the server was sent\n%q, want\n%q", got, want)
			}
			o.wantMeta(t)
		})
	})
	t.Run("HTTP", func(t *testing.T) {
		o := &modernServer{called: make(chan bool, 1)}
		o.runClient(t, Target{Site: newTestSite(t, o)})
		got := slices.Sorted(slices.Values(o.methods())) // on a busy machine they may overtake each other
		if want := []string{"server/discover", listen, call, list}; !slices.Equal(got, want) {
			t.Errorf("the server was sent %q, want %q", got, want)
		}
		o.wantMeta(t)
	})
}

// wantMeta wants each request as the era says, and over HTTP POSTs with the headers of the era alone.
func (o *modernServer) wantMeta(t *testing.T) {
	t.Helper()
	const meta = `{"io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"mcpcheck","version":"1"},` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, r := range o.requests {
		method, _ := r.Body["method"].(string)
		params, _ := r.Body["params"].(M)
		if got := string(encode(params["_meta"])); r.Body["id"] != nil && got != meta {
			t.Errorf("%s has the params %s", method, encode(params))
		}
		if method == "subscriptions/listen" {
			const filter = `{"resourcesListChanged":true,"toolsListChanged":true}`
			if got := string(encode(params["notifications"])); got != filter {
				t.Errorf("%s is for %s, want %s", method, got, filter)
			}
		}
		if r.Method == "" { // over stdio
			continue
		}
		if got := r.Header.Get("Mcp-Method"); r.Method != http.MethodPost || got != method ||
			r.Header.Get(revisionHeader) != "2026-07-28" || r.Header.Get(sessionHeader) != "" {
			t.Errorf("%s %s has the headers %v", r.Method, method, r.Header)
		}
	}
}

// TestModernCancelsOverHTTP checks that over HTTP closing the stream cancels a request.
func TestModernCancelsOverHTTP(t *testing.T) {
	o := &modernServer{closed: make(chan string, 1)}
	s, err := Start(t.Context(), Target{Site: newTestSite(t, o), Era: Modern{Revision: "2026-07-28"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := s.Request("tools/call", M{"name": "wait"})
	call.frame.RoundTrip.AwaitHeaders()
	s.Cancel(call, "enough")
	if method := <-o.closed; method != "tools/call" {
		t.Errorf("the server has seen the end of the stream of %s", method)
	}
	if r := s.AwaitLongRunning(call); r.Answered() || s.HasFault() {
		t.Errorf("got %+v, has fault is %v", r, s.HasFault())
	}
}

// TestModernSubscriptionUnanswered checks that an unanswered subscription delays a session only briefly, and does not
// count as an unanswered request.
func TestModernSubscriptionUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &modernServer{ignoresSubscriptions: true}
		begin := time.Now()
		o.runClient(t, Target{Serve: o.serve})
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestModernWithMeta(t *testing.T) {
	const revision = `"2026-07-28"`
	const all = `"io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"mcpcheck","version":"1"},` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	tests := map[string]struct {
		params M
		want   string
	}{
		"nothing":     {nil, `{"_meta":{` + all + `}}`},
		"own members": {M{"a": 1, "_meta": M{"b": 2}}, `{"_meta":{"b":2,` + all + `},"a":1}`},
		"replaced": {
			M{"_meta": M{MetaRevision: 7}}, `{"_meta":{` + strings.Replace(all, revision, "7", 1) + `}}`,
		},
		"one left out": {
			M{"_meta": M{MetaRevision: Omitted}}, `{"_meta":{` + all[:strings.LastIndex(all, ",")] + `}}`,
		},
		"all left out":  {M{"_meta": Omitted, "a": 1}, `{"a":1}`},
		"not an object": {M{"_meta": 7}, `{"_meta":7}`},
	}
	serve := respondingServer(func(int, string) string { return "" })
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		for name, tt := range tests {
			before := string(encode(tt.params))
			if got := string(encode(Modern{Revision: "2026-07-28"}.withMeta(s, tt.params))); got != tt.want {
				t.Errorf("%s: got\n%s, want\n%s", name, got, tt.want)
			}
			if string(encode(tt.params)) != before {
				t.Errorf("%s: the params have changed", name)
			}
		}
		s.SetEra(Modern{Revision: "2026-07-28"})
		s.Connect(M{"protocolVersion": "2027-01-01", "capabilities": M{"roots": M{}}})
		want := `{"io.modelcontextprotocol/clientCapabilities":{"roots":{}},` +
			`"io.modelcontextprotocol/protocolVersion":"2027-01-01"}`
		if got := string(encode(s.Era().withMeta(s, nil)["_meta"])); got != want {
			t.Errorf("after Connect with other params: got %s, want %s", got, want)
		}
	})
}

// TestFieldValue checks the examples in the page of the specification on Streamable HTTP.
func TestFieldValue(t *testing.T) {
	tests := []struct{ text, want string }{
		{"us-west1", "us-west1"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?base64?open", "=?base64?open"},
		{"a\tb c~", "a\tb c~"},
		{"tab\t", "=?base64?dGFiCQ==?="},
		{"\x7f", "=?base64?fw==?="},
		{"", ""},
	}
	for _, tt := range tests {
		if got := FieldValue(tt.text); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestModernSetHeaders(t *testing.T) {
	sql := M{"name": "sql", "inputSchema": Decode([]byte(`{"type": "object", "properties": {
		"region": {"type": "string", "x-mcp-header": "Region"},
		"limit": {"type": "integer", "x-mcp-header": "Limit"},
		"dry": {"type": "boolean", "x-mcp-header": "Dry"},
		"none": {"type": "string", "x-mcp-header": "None"},
		"wrong": {"type": "string", "x-mcp-header": "not a token"},
		"inner": {"type": "object", "x-mcp-header": "Inner", "properties": {"tenant": {"x-mcp-header": "Tenant"}}},
		"list": {"type": "array", "items": {"type": "object", "properties": {"in": {"x-mcp-header": "In"}}}}}}`))}
	tests := map[string]struct {
		message string
		want    map[string]string // besides the revision
		other   string            // another revision than that of the session
	}{
		"list": {message: `{"id":1,"method":"tools/list"}`, want: map[string]string{"Mcp-Method": "tools/list"}},
		"call": {
			message: `{"id":1,"method":"tools/call","params":{"name":"sql","arguments":{"region":"us","limit":4.2e1,` +
				`"dry":true,"none":null,"wrong":"w","inner":{"tenant":"é"},"list":[{"in":"i"}]}}}`,
			want: map[string]string{
				"Mcp-Method": "tools/call", "Mcp-Name": "sql", "Mcp-Param-Region": "us", "Mcp-Param-Limit": "42",
				"Mcp-Param-Dry": "true", "Mcp-Param-Tenant": "=?base64?w6k=?=",
			},
		},
		"call of another tool": {
			message: `{"id":1,"method":"tools/call","params":{"name":"sq l ","arguments":{"region":"us"}}}`,
			want:    map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?c3EgbCA=?="},
		},
		"call without a name": {
			message: `{"id":1,"method":"tools/call","params":{"arguments":{"region":"us"}}}`,
			want:    map[string]string{"Mcp-Method": "tools/call"},
		},
		"read": {
			message: `{"id":1,"method":"resources/read","params":{"uri":"file:///é","name":"n"}}`,
			want:    map[string]string{"Mcp-Method": "resources/read", "Mcp-Name": "=?base64?ZmlsZTovLy/DqQ==?="},
		},
		"get": {
			message: `{"id":1,"method":"prompts/get","params":{"name":"p","uri":"u"}}`,
			want:    map[string]string{"Mcp-Method": "prompts/get", "Mcp-Name": "p"},
		},
		"task": {
			message: `{"id":1,"method":"tasks/get","params":{"taskId":"t 1","name":"n"}}`,
			want:    map[string]string{"Mcp-Method": "tasks/get", "Mcp-Name": "t 1"},
		},
		"another revision": {
			message: `{"id":1,"method":"m",` +
				`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}`,
			want: map[string]string{"Mcp-Method": "m"}, other: "1900-01-01",
		},
		"an invalid revision": {
			message: `{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}`,
			want:    map[string]string{"Mcp-Method": "m"},
		},
		"a method that cannot be sent": {message: `{"id":1,"method":"m\n"}`},
		"not a message":                {message: `[`, want: map[string]string{"Mcp-Method": "server/discover"}},
	}
	e := Modern{Revision: "2026-07-28", Tools: []M{{"name": "other"}, sql}}
	s, err := Start(t.Context(), Target{Site: newTestSite(t, http.NotFoundHandler()), Era: e}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, tt := range tests {
		f, header := &Frame{Raw: Text(tt.message)}, http.Header{}
		f.parse()
		e.setHeaders(s.HTTP(), header, f)
		if tt.want == nil {
			tt.want = map[string]string{}
		}
		tt.want[revisionHeader] = "2026-07-28"
		if tt.other != "" {
			tt.want[revisionHeader] = tt.other
		}
		for field := range header {
			if got := header[field]; !slices.Equal(got, []string{tt.want[field]}) {
				t.Errorf("%s: %s is %q, want %q", name, field, got, tt.want[field])
			}
		}
		if len(header) != len(tt.want) {
			t.Errorf("%s: got %v, want %v", name, header, tt.want)
		}
	}
}
