package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestResponsesUnderOtherIDs checks that over stdio a response belongs to the request whose id has the same text, even
// if the type differs, and to no other one.
func TestResponsesUnderOtherIDs(t *testing.T) {
	tests := []struct {
		id       any
		response string
		answered bool
	}{
		{7, `7`, true},
		{7, `"7"`, true},
		{"7", `7`, true},
		{"7", `7.0`, true},
		{"a", `"a"`, true},
		{7, `8`, false},
		{7, `null`, false},
		{"a", `"b"`, false},
	}
	for _, tt := range tests {
		serve := respondingServer(func(int, string) string {
			return `{"jsonrpc":"2.0","id":` + tt.response + `,"result":{}}` + "\n"
		})
		runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
			if r := s.Await(s.RequestWithID(tt.id, "ping", nil)); r.Answered() != tt.answered {
				t.Errorf("response %v to request %v: answered is %v", tt.response, tt.id, r.Answered())
			}
		})
	}
}

// TestAwaitReactionWithoutEarlierResponses checks that a response to an earlier request, which may arrive late or
// twice, is not taken for the reaction to a message.
func TestAwaitReactionWithoutEarlierResponses(t *testing.T) {
	const result = `{"jsonrpc":"2.0","id":1,"result":{}}`
	const failure = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`
	const unreadable = `{"id":{}}`
	tests := []struct {
		name     string
		before   any // the id of the earlier request
		sent     string
		response []string
		want     int
	}{
		{"another response to the earlier request", 1, unreadable, []string{result}, 0},
		{"another response after that", 1, unreadable, []string{result, failure}, 1},
		{"a response with an id that is used again", 1, `{"id":1,"method":"ping"}`, []string{result}, 1},
		{"an error after a request with id null", nil, unreadable, []string{failure}, 1},
		{"a request of the server", 1, unreadable, []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`}, 1},
	}
	for _, tt := range tests {
		serve := respondingServer(func(n int, line string) string {
			if n == 2 {
				return strings.Join(tt.response, "\n") + "\n"
			}
			id, _ := json.Marshal(Decode([]byte(line)).(M)["id"])
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		})
		runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
			s.Await(s.RequestWithID(tt.before, "ping", nil))
			s.idCount = 1
			mark := s.Mark()
			s.Send([]byte(tt.sent))
			if received, err := s.AwaitReaction(mark); err != nil || len(received) != tt.want {
				t.Errorf("%s: got %v and %v, want %d", tt.name, received, err, tt.want)
			}
		})
	}
}

// TestUnknownIDsAreNamed checks that a response whose id no request has answers nothing, and that the timeout error
// names its id.
func TestUnknownIDsAreNamed(t *testing.T) {
	for id, unknown := range map[string]string{"1": "", `"1"`: "", "2": "2", "null": "null", `"x"`: `"x"`} {
		serve := respondingServer(func(int, string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		})
		runSession(t, Limits{ReplyTimeout: 50 * time.Millisecond}, serve, func(t *testing.T, s *Session) {
			r, timeout := s.Call("ping", nil), new(TimeoutError)
			if errors.As(r.Err, &timeout); r.Answered() != (unknown == "") || string(timeout.UnknownID) != unknown {
				t.Errorf("%s: %v", id, r.Err)
			}
		})
	}
}

// TestEchoEndsTheSession checks that the session of a server that prints what it reads ends, and that no echo counts as
// a message.
func TestEchoEndsTheSession(t *testing.T) {
	serve := respondingServer(func(_ int, line string) string {
		return line + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}` + "\n"
	})
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		if r := s.Connect(ConnectParams("2025-11-25")); !errors.As(r.Err,
			new(*SessionEndError)) || r.Err.Error() != errEcho.Error() {
			t.Errorf("got %v", r.Err)
		}
		for _, f := range s.ReceivedSince(0) {
			if f.Kind != Echo {
				t.Errorf("received as a message: %s", f.Raw)
			}
		}
	})
}

// TestSimilarIDsAreDistinguished checks that each of two requests whose ids have the same text gets its own response.
func TestSimilarIDsAreDistinguished(t *testing.T) {
	serve := respondingServer(func(n int, _ string) string {
		if n < 2 {
			return ""
		}
		return `{"id":"7","result":{"n":"text"}}` + "\n" + `{"id":7,"result":{"n":"number"}}` + "\n"
	})
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		number, text := s.RequestWithID(7, "ping", nil), s.RequestWithID("7", "ping", nil)
		for want, p := range map[string]Pending{"number": number, "text": text} {
			if got := s.Await(p).Result()["n"]; got != want {
				t.Errorf("the request with the id as %s got the response of the %v", want, got)
			}
		}
	})
}

// TestResponsesOfRoundTrip checks that over HTTP the response in the round trip of a request belongs to it, whatever
// its id is; on a stream, unless a response with the right id follows.
func TestResponsesOfRoundTrip(t *testing.T) {
	const wrong = `{"jsonrpc":"2.0","id":"unknown","result":{"is":"wrong"}}`
	tests := []struct {
		name  string
		serve func(w http.ResponseWriter, right string)
		want  any // the member is of the response
	}{
		{"body", func(w http.ResponseWriter, _ string) { writeJSON(w, json.RawMessage(wrong)) }, "wrong"},
		{"stream", func(w http.ResponseWriter, _ string) { writeStream(w, "data: "+wrong+"\n\n") }, "wrong"},
		{"stream that could be resumed", func(w http.ResponseWriter, _ string) {
			writeStream(w, "id: 1\ndata: "+wrong+"\n\n")
		}, "wrong"},
		{"both", func(w http.ResponseWriter, right string) {
			writeStream(w, "data: "+wrong+"\n\ndata: "+right+"\n\n")
		}, "right"},
		{"none", func(w http.ResponseWriter, _ string) { writeStream(w, ": nothing\n\n") }, nil},
	}
	for _, tt := range tests {
		s := connectTo(t, &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
			if body["method"] == "ping" {
				tt.serve(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"is":"right"}}`, body["id"]))
			}
		}}, SiteOptions{})
		r := s.AwaitFor(s.Request("ping", nil), 10*time.Second)
		var none *NoResponseError
		if got := r.Result()["is"]; got != tt.want || !r.Answered() && !errors.As(r.Err, &none) {
			t.Errorf("%s: got %v, %v", tt.name, got, r.Err)
		}
	}
}

// TestResponsesForOtherSession checks that a response to a request of another session is recognized and left out of
// what was received.
func TestResponsesForOtherSession(t *testing.T) {
	var of sync.Map // ids by method
	e := &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		of.Store(body["method"], body["id"])
		theirs, _ := of.Load("theirs")
		const event = "data: {\"id\":%v,\"result\":{}}\n\n"
		writeStream(w, fmt.Sprintf(event+event, theirs, body["id"]))
	}}
	a := connectTo(t, e, SiteOptions{})
	b, err := Start(t.Context(), Target{Site: a.HTTP().site}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	mark := a.Mark()
	if r := b.Call("theirs", nil); !r.Answered() || b.HasCrossTalk() {
		t.Errorf("only its own response: %v, cross talk is %v", r.Err, b.HasCrossTalk())
	}
	if r := a.Call("mine", nil); !r.Answered() || !a.HasCrossTalk() || !a.HasFault() {
		t.Errorf("with that of another session: %v, cross talk is %v", r.Err, a.HasCrossTalk())
	}
	if received := a.ReceivedSince(mark); len(received) != 1 {
		t.Errorf("received %d responses, want 1", len(received))
	}
}

// TestOtherSessionUsedID checks that each session of a server knows which ids the others have used.
func TestOtherSessionUsedID(t *testing.T) {
	e := &testHTTPServer{}
	a := connectTo(t, e, SiteOptions{})
	b, err := Start(t.Context(), Target{Site: a.HTTP().site}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a.RequestWithID("of a", "ping", nil)
	a.RequestWithID("of both", "ping", nil)
	b.RequestWithID("of both", "ping", nil)
	tests := []struct {
		id                     string
		otherThanA, otherThanB bool
	}{{`"of a"`, false, true}, {`"of both"`, true, true}, {`"of none"`, false, false}}
	for _, tt := range tests {
		id := json.RawMessage(tt.id)
		if a.OtherSessionUsedID(id) != tt.otherThanA || b.OtherSessionUsedID(id) != tt.otherThanB {
			t.Errorf("%s: used by others than a %v, than b %v", id, a.OtherSessionUsedID(id), b.OtherSessionUsedID(id))
		}
	}
}
