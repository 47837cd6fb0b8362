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
func TestAnswersUnderOtherIDs(t *testing.T) {
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
		serve := answering(func(int, string) string {
			return `{"jsonrpc":"2.0","id":` + tt.came + `,"result":{}}` + "\n"
		})
		converse(t, Limits{}, serve, func(t *testing.T, s *Session) {
			if r := s.Await(s.RequestID(tt.asked, "ping", nil)); r.Answered() != tt.answered {
				t.Errorf("%v, when %v was asked: answered is %v", tt.came, tt.asked, r.Answered())
			}
		})
	}
}

// What comes of a message is not the answer to an earlier request, which may come late or once more.
func TestReactionsAnswerNoEarlierRequest(t *testing.T) {
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
		serve := answering(func(n int, line string) string {
			if n == 2 {
				return strings.Join(tt.came, "\n") + "\n"
			}
			id, _ := json.Marshal(Decode([]byte(line)).(M)["id"])
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		})
		converse(t, Limits{}, serve, func(t *testing.T, s *Session) {
			s.Await(s.RequestID(tt.before, "ping", nil))
			s.nextID = 1
			mark := s.Mark()
			s.Send([]byte(tt.sent))
			if came, err := s.React(mark); err != nil || len(came) != tt.want {
				t.Errorf("%s: got %v and %v, want %d", tt.name, came, err, tt.want)
			}
		})
	}
}

// A server that answers the greeting under an id that is off by some, and another request so that no request waits
// under that id, is off by as much with all; one that is wrong with the greeting only means what it says.
func TestAnswersUnderShiftedIDs(t *testing.T) {
	tests := []struct {
		name  string
		ids   []int // of the answers to the requests 1, 2, 3 and 4, the last two of which are sent together
		shift int64
	}{
		{"none", []int{1, 2, 3, 4}, 0},
		{"the greeting only", []int{2, 2, 3, 4}, 0},
		{"one more", []int{2, 3, 4, 5}, 1},
		{"one less", []int{0, 1, 2, 3}, -1},
		{"another each time", []int{2, 9, 3, 4}, 0},
	}
	for _, tt := range tests {
		serve := answering(func(n int, _ string) string {
			const answer = `{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2025-11-25","to":"%d"}}` + "\n"
			switch n {
			case 3:
				return ""
			case 4: // the later one first
				return fmt.Sprintf(answer+answer, tt.ids[3], 4, tt.ids[2], 3)
			}
			return fmt.Sprintf(answer, tt.ids[n-1], n)
		})
		converse(t, Limits{}, serve, func(t *testing.T, s *Session) {
			s.Greet(Hello("2025-11-25"))
			s.Await(s.Request("ping", nil))
			if got := s.Shift(); got != tt.shift {
				t.Errorf("%s: the shift is %d, not %d", tt.name, got, tt.shift)
			}
			for _, p := range []Pending{s.Request("ping", nil), s.Request("ping", nil)} {
				if got := s.Await(p).Result()["to"]; got != string(p.ID) {
					t.Errorf("%s: request %s got the answer to %v", tt.name, p.ID, got)
				}
			}
		})
	}
}

// When two requests have ids that are alike, each has its own answer.
func TestAlikeIDsAreKeptApart(t *testing.T) {
	serve := answering(func(n int, _ string) string {
		if n < 2 {
			return ""
		}
		return `{"id":"7","result":{"n":"text"}}` + "\n" + `{"id":7,"result":{"n":"number"}}` + "\n"
	})
	converse(t, Limits{}, serve, func(t *testing.T, s *Session) {
		number, text := s.RequestID(7, "ping", nil), s.RequestID("7", "ping", nil)
		for want, p := range map[string]Pending{"number": number, "text": text} {
			if got := s.Await(p).Result()["n"]; got != want {
				t.Errorf("the %s got the answer of the %v", want, got)
			}
		}
	})
}

// Over HTTP the response that comes with the exchange of a request is its answer, whatever the id; on a stream, unless
// the right one follows.
func TestAnswersOfTheExchange(t *testing.T) {
	const wrong = `{"jsonrpc":"2.0","id":"nobody","result":{"is":"wrong"}}`
	tests := []struct {
		name  string
		serve func(w http.ResponseWriter, right string)
		want  any // of what was answered, the member is
	}{
		{"body", func(w http.ResponseWriter, _ string) { answerJSON(w, json.RawMessage(wrong)) }, "wrong"},
		{"stream", func(w http.ResponseWriter, _ string) { stream(w, "data: "+wrong+"\n\n") }, "wrong"},
		{"stream that could be resumed", func(w http.ResponseWriter, _ string) {
			stream(w, "id: 1\ndata: "+wrong+"\n\n")
		}, "wrong"},
		{"both", func(w http.ResponseWriter, right string) {
			stream(w, "data: "+wrong+"\n\ndata: "+right+"\n\n")
		}, "right"},
		{"none", func(w http.ResponseWriter, _ string) { stream(w, ": nothing\n\n") }, nil},
	}
	for _, tt := range tests {
		s := visit(t, &endpoint{serve: func(w http.ResponseWriter, r *http.Request, body M) {
			if body["method"] == "ping" {
				tt.serve(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"is":"right"}}`, body["id"]))
			}
		}}, SiteOptions{})
		r := s.AwaitFor(s.Request("ping", nil), 10*time.Second)
		var none *Unanswered
		if got := r.Result()["is"]; got != tt.want || !r.Answered() && !errors.As(r.Err, &none) {
			t.Errorf("%s: got %v, %v", tt.name, got, r.Err)
		}
	}
}

// A response that another session has asked for is known as such, and left out of what came.
func TestStrays(t *testing.T) {
	var of sync.Map // ids by method
	e := &endpoint{serve: func(w http.ResponseWriter, r *http.Request, body M) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		of.Store(body["method"], body["id"])
		theirs, _ := of.Load("theirs")
		const event = "data: {\"id\":%v,\"result\":{}}\n\n"
		stream(w, fmt.Sprintf(event+event, theirs, body["id"]))
	}}
	a := visit(t, e, SiteOptions{})
	b, err := Start(t.Context(), Target{Site: a.HTTP().site}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	mark := a.Mark()
	if r := b.Exchange("theirs", nil); !r.Answered() || b.Crossed() {
		t.Errorf("its own response: %v, crossed is %v", r.Err, b.Crossed())
	}
	if r := a.Exchange("mine", nil); !r.Answered() || !a.Crossed() || !a.Troubled() {
		t.Errorf("beside that of another: %v, crossed is %v", r.Err, a.Crossed())
	}
	if came := a.Since(mark); len(came) != 1 {
		t.Errorf("%d responses came, want one", len(came))
	}
}

// Sessions of one server know of each other which ids were asked under.
func TestAskedBeside(t *testing.T) {
	e := &endpoint{}
	a := visit(t, e, SiteOptions{})
	b, err := Start(t.Context(), Target{Site: a.HTTP().site}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a.RequestID("of a", "ping", nil)
	a.RequestID("of both", "ping", nil)
	b.RequestID("of both", "ping", nil)
	tests := []struct {
		id               string
		besideA, besideB bool
	}{{`"of a"`, false, true}, {`"of both"`, true, true}, {`"of none"`, false, false}}
	for _, tt := range tests {
		id := json.RawMessage(tt.id)
		if a.AskedBeside(id) != tt.besideA || b.AskedBeside(id) != tt.besideB {
			t.Errorf("%s: asked beside a is %v, beside b %v", id, a.AskedBeside(id), b.AskedBeside(id))
		}
	}
}
