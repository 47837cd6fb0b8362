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

// Over stdio a response answers the request whose id it has, be it in another type, and no other one.
func TestResponsesUnderOtherIDs(t *testing.T) {
	tests := []struct {
		asked    any
		came     string
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
			return `{"jsonrpc":"2.0","id":` + tt.came + `,"result":{}}` + "\n"
		})
		runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
			if r := s.Await(s.RequestWithID(tt.asked, "ping", nil)); r.Answered() != tt.answered {
				t.Errorf("%v, when %v was asked: answered is %v", tt.came, tt.asked, r.Answered())
			}
		})
	}
}

// What comes of a message is not the answer to an earlier request, which may come late or once more.
func TestAwaitReactionWithoutEarlierResponses(t *testing.T) {
	const result = `{"jsonrpc":"2.0","id":1,"result":{}}`
	const failure = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`
	const unreadable = `{"id":{}}`
	tests := []struct {
		name   string
		before any // the id of the request before
		sent   string
		came   []string
		want   int
	}{
		{"another answer to the request before", 1, unreadable, []string{result}, 0},
		{"an answer after that", 1, unreadable, []string{result, failure}, 1},
		{"an answer under an id that is used again", 1, `{"id":1,"method":"ping"}`, []string{result}, 1},
		{"an error after a request with id null", nil, unreadable, []string{failure}, 1},
		{"a request of the server", 1, unreadable, []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`}, 1},
	}
	for _, tt := range tests {
		serve := respondingServer(func(n int, line string) string {
			if n == 2 {
				return strings.Join(tt.came, "\n") + "\n"
			}
			id, _ := json.Marshal(Decode([]byte(line)).(M)["id"])
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		})
		runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
			s.Await(s.RequestWithID(tt.before, "ping", nil))
			s.idCount = 1
			mark := s.Mark()
			s.Send([]byte(tt.sent))
			if came, err := s.AwaitReaction(mark); err != nil || len(came) != tt.want {
				t.Errorf("%s: got %v and %v, want %d", tt.name, came, err, tt.want)
			}
		})
	}
}

// A response under an id that no request has answers nothing, and is named where there is no answer.
func TestUnknownIDsAreNamed(t *testing.T) {
	for id, stray := range map[string]string{"1": "", `"1"`: "", "2": "2", "null": "null", `"x"`: `"x"`} {
		serve := respondingServer(func(int, string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		})
		runSession(t, Limits{ReplyTimeout: 50 * time.Millisecond}, serve, func(t *testing.T, s *Session) {
			r, silence := s.Call("ping", nil), new(TimeoutError)
			if errors.As(r.Err, &silence); r.Answered() != (stray == "") || string(silence.UnknownID) != stray {
				t.Errorf("%s: %v", id, r.Err)
			}
		})
	}
}

// A server that prints what it reads ends the session: what it prints cannot be told from what it says.
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
				t.Errorf("it was heard: %s", f.Raw)
			}
		}
	})
}

// When two requests have ids that are alike, each has its own answer.
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
				t.Errorf("the %s got the answer of the %v", want, got)
			}
		}
	})
}

// Over RoundTrip the response that comes with the exchange of a request is its answer, whatever the id; on a stream,
// unless the right one follows.
func TestResponsesOfRoundTrip(t *testing.T) {
	const wrong = `{"jsonrpc":"2.0","id":"nobody","result":{"is":"wrong"}}`
	tests := []struct {
		name  string
		serve func(w http.ResponseWriter, right string)
		want  any // of what was answered, the member is
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

// A response that another session has asked for is known as such, and left out of what came.
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
		t.Errorf("its own response: %v, crossed is %v", r.Err, b.HasCrossTalk())
	}
	if r := a.Call("mine", nil); !r.Answered() || !a.HasCrossTalk() || !a.HasFault() {
		t.Errorf("beside that of another: %v, crossed is %v", r.Err, a.HasCrossTalk())
	}
	if came := a.ReceivedSince(mark); len(came) != 1 {
		t.Errorf("%d responses came, want one", len(came))
	}
}

// Sessions of one server know of each other which ids were asked under.
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
		id               string
		besideA, besideB bool
	}{{`"of a"`, false, true}, {`"of both"`, true, true}, {`"of none"`, false, false}}
	for _, tt := range tests {
		id := json.RawMessage(tt.id)
		if a.OtherSessionUsedID(id) != tt.besideA || b.OtherSessionUsedID(id) != tt.besideB {
			t.Errorf("%s: asked beside a is %v, beside b %v", id, a.OtherSessionUsedID(id), b.OtherSessionUsedID(id))
		}
	}
}
