package driver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestBrokenResponsesAreFaults checks that a response that breaks off is a fault of the session, since another session
// may have ended the server. A complete response and one that the client aborted are not.
func TestBrokenResponsesAreFaults(t *testing.T) {
	const begins = `{"jsonrpc":"2.0","id":1,`
	ask := func(s *Session) { s.Call("ping", nil) }
	get := func(s *Session) { s.HTTP().Do(HTTPRequest{Method: http.MethodGet}).AwaitEnd() }
	tests := map[string]struct {
		media, body string
		breaks      bool
		try         func(s *Session)
		fault       bool
	}{
		"a body":               {"application/json", begins, true, ask, true},
		"a stream":             {"text/event-stream", "data: " + begins, true, ask, true},
		"a stream by hand":     {"text/event-stream", ": comment\n\n", true, get, true},
		"a stream in order":    {"text/event-stream", ": comment\n\n", false, get, false},
		"a request by hand":    {"application/json", begins, true, postManually, true},
		"dropped by ourselves": {"text/event-stream", ": comment\n\n", false, abortStream, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				io.WriteString(w, tt.body)
				w.(http.Flusher).Flush()
				switch {
				case tt.breaks:
					panic(http.ErrAbortHandler)
				case name == "dropped by ourselves":
					<-r.Context().Done()
				}
			}))
			s := startWith(t, server, Limits{ReplyTimeout: time.Minute})
			if tt.try(s); s.HasFault() != tt.fault {
				t.Errorf("has fault is %v", s.HasFault())
			}
		})
	}
}

// startWith starts a session with a server, which the end of the test closes.
func startWith(t *testing.T, server *httptest.Server, limits Limits) *Session {
	t.Helper()
	t.Cleanup(server.Close)
	site, err := NewSite(SiteOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Target{Site: site, Limits: limits}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func postManually(s *Session) {
	s.HTTP().Do(HTTPRequest{Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}).AwaitEnd()
}

// abortStream opens a stream and closes the connection.
func abortStream(s *Session) {
	x := s.HTTP().Do(HTTPRequest{Method: http.MethodGet})
	x.AwaitHeaders()
	x.Abort()
	x.AwaitEnd()
}

// TestRequestOnClosedConnectionIsSentAgain checks that a request is sent again on a new connection if the one that it
// came on brings no response, but not if that carried no other request before.
func TestRequestOnClosedConnectionIsSentAgain(t *testing.T) {
	const pong = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for name, tt := range map[string]struct {
		dropped int    // which request, from 1 on, gets no response
		rest    string // what is sent on its connection, in place of a response
		want    int    // how many requests reach the server
	}{
		"closed while idle":                 {dropped: 2, want: 3},
		"the rest of a response that ended": {dropped: 2, rest: `,"result":{}}`, want: 3},
		"closed in the headers":             {dropped: 2, rest: "HTTP/1.1 200 OK\r\nContent", want: 2},
		"closed at once":                    {dropped: 1, want: 2},
		"no HTTP":                           {dropped: 1, rest: `,"result":{}}`, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			count := 0 // requests come one after the other
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if count++; count == tt.dropped {
					conn, _, _ := w.(http.Hijacker).Hijack()
					io.WriteString(conn, tt.rest)
					conn.Close()
					return
				}
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, pong)
			}))
			s := startWith(t, server, Limits{ReplyTimeout: time.Minute})
			postManually(s)
			postManually(s)
			if isFaulty := tt.want == 2; count != tt.want || s.HasFault() != isFaulty {
				t.Errorf("the server got %d requests, want %d; has fault is %v", count, tt.want, s.HasFault())
			}
		})
	}
}
