package driver

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHTTPInfo checks that ParseHTTPInfo returns what String was called for.
func TestHTTPInfo(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, ": ")
			h.Add(name, value)
		}
		return h
	}
	for text, c := range map[string]HTTPInfo{
		"POST /mcp?a=b": {Method: "POST", Path: "/mcp?a=b", Header: header()},
		"GET /mcp; last-event-id: 7; mcp-session-id: x": {
			Method: "GET", Path: "/mcp", Header: header("Last-Event-Id: 7", "Mcp-Session-Id: x"),
		},
		"202 Accepted":       {StatusCode: 202, Header: header()},
		"299":                {StatusCode: 299, Header: header()},
		"200 OK; allow: GET": {StatusCode: 200, Header: header("Allow: GET")},
		"200 OK; content-type: text/event-stream; charset=utf-8; mcp-session-id: x; y: z": {
			StatusCode: 200, Header: header("Content-Type: text/event-stream; charset=utf-8",
				"Mcp-Session-Id: x; y: z"),
		},
		"401 Unauthorized; www-authenticate: Bearer; www-authenticate: Basic": {
			StatusCode: 401, Header: header("Www-Authenticate: Bearer", "Www-Authenticate: Basic"),
		},
		"event": {Event: &StreamEvent{}, Header: header()},
		"event; id: 7; type: other; 200 OK; content-type: text/event-stream": {
			Event: &StreamEvent{ID: "7", HasID: true, Type: "other"}, StatusCode: 200,
			Header: header("Content-Type: text/event-stream"),
		},
		"no HTTP answer: EOF; 3 times": {Reason: "no HTTP answer: EOF; 3 times", Header: header()},
	} {
		if got := c.String(); got != text {
			t.Errorf("written %q, want %q", got, text)
		}
		if diff := cmp.Diff(c, ParseHTTPInfo(text)); diff != "" {
			t.Errorf("%s, read (-want +got):\n%s", text, diff)
		}
	}
}

// TestReplayOverHTTP checks that a recorded session over HTTP has the round trips that were made, as far as the trace
// has them.
func TestReplayOverHTTP(t *testing.T) {
	line := func(side Side, exchange int, by, text string) TraceLine {
		return TraceLine{Side: side, RoundTrip: exchange, HTTPInfo: by, Text: []byte(text)}
	}
	const answer, stream = `{"jsonrpc":"2.0","id":1,"result":{}}`, "200 OK; content-type: text/event-stream"
	for name, test := range map[string]struct {
		said   []TraceLine
		status int
		stream bool
		ended  bool
		events int
		broken bool
	}{
		"a body": {
			[]TraceLine{line(FromServer, 1, "200 OK; content-type: application/json",
				answer)}, 200, false, true, 0, false,
		},
		"a status": {[]TraceLine{line(StatusOnly, 1, "500 Internal Server Error", "oops")}, 500, false, true, 0, false},
		"a stream": {[]TraceLine{line(FromServer, 1, "event; id: 7; "+stream, answer)}, 200, true, false, 1, false},
		"a stream that ends": {
			[]TraceLine{
				line(FromServer, 1, "event; "+stream, `{"jsonrpc":"2.0","method":"a"}`), line(StatusOnly, 1, stream,
					""),
			}, 200, true, true, 1, false,
		},
		"an empty stream": {[]TraceLine{line(StatusOnly, 1, stream, "")}, 200, true, true, 0, false},
		"none":            {[]TraceLine{line(StatusOnly, 1, "no HTTP answer: EOF", "")}, 0, false, true, 0, true},
		"not yet":         {nil, 0, false, false, 0, false},
		"of another":      {[]TraceLine{line(FromServer, 2, "200 OK", answer)}, 0, false, false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			ask := line(FromClient, 1, "POST /mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			s, fault := Replay(time.Now(), "http", append([]TraceLine{ask}, test.said...), true)
			if fault != "" || s.HTTP() == nil || len(s.HTTP().RoundTrips()) != 1 {
				t.Fatalf("fault %q, %v", fault, s.HTTP().RoundTrips())
			}
			x := s.HTTP().RoundTrips()[0]
			a := x.Response()
			if x.Method != "POST" || x.URL != "/mcp" || string(x.RequestID()) != "1" {
				t.Errorf("%s %s asks %s", x.Method, x.URL, x.RequestID())
			}
			if a.StatusCode != test.status || a.IsStream != test.stream || a.Ended != test.ended ||
				len(a.Events) != test.events || (a.Err != nil) != test.broken {
				t.Errorf("%+v", a)
			}
		})
	}
}
