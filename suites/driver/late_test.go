package driver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// An answer that comes after the client gave up is late. What comes in its place over HTTP is none, unless it is a
// message for the request, with whatever status.
func TestLateAnswers(t *testing.T) {
	const result, failure = `{"jsonrpc":"2.0","id":%d,"result":{}}`, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32600}}`
	tests := map[string]struct {
		status int
		body   string
		late   bool
	}{
		"a result":                        {http.StatusOK, result, true},
		"an error with status 400":        {http.StatusBadRequest, failure, true},
		"nothing, which is accepted":      {http.StatusAccepted, "", false},
		"the end of the session":          {http.StatusNotFound, "the session has ended", false},
		"a connection that is broken off": {0, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			const id = 1
			gaveUp := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				<-gaveUp
				if tt.status == 0 {
					panic(http.ErrAbortHandler)
				}
				if tt.body != "" && tt.status != http.StatusNotFound {
					w.Header().Set("Content-Type", "application/json")
					tt.body = fmt.Sprintf(tt.body, id)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}))
			defer server.Close()
			site, err := NewSite(SiteOptions{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			s, err := Start(t.Context(), Target{Site: site, Limits: Limits{Reply: time.Millisecond}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r := s.Await(s.RequestID(id, "ping", nil))
			close(gaveUp)
			if r.Answered() {
				t.Fatalf("answered: %s", r.Frame.Raw)
			}
			if waited, slow := r.Late(time.Minute); !waited || (slow != nil) != tt.late {
				t.Errorf("waited is %v, and it was %v", waited, slow)
			}
		})
	}
}

// A server has twice the time after the last answer to its questions, and not for ever.
func TestQuestionsGiveTime(t *testing.T) {
	const limit = 10 * time.Second
	tests := []struct {
		name string
		asks int           // how often it asks before it answers
		each time.Duration // what it takes for each message
		late bool
	}{
		{"an answer in time after one question", 1, 15 * time.Second, true},
		{"no question, and too late", 0, 25 * time.Second, false},
		{"too late after the answer to a question", 1, 22 * time.Second, false},
		{"a question after the other", 9, 9 * time.Second, false},
	}
	for _, tt := range tests {
		serve := answering(func(n int, _ string) string {
			time.Sleep(tt.each)
			if n <= tt.asks {
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"ping"}`+"\n", n)
			}
			return `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
		})
		converse(t, Limits{Reply: limit}, serve, func(t *testing.T, s *Session) {
			r := s.Await(s.RequestID(1, "tools/call", nil))
			if _, slow := r.Late(2 * limit); r.Answered() || (slow != nil) != tt.late {
				t.Errorf("%s: answered is %v, late is %v", tt.name, r.Answered(), slow)
			}
		})
	}
}
