package driver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestAwaitLate checks that only a message for the request, with any HTTP status, counts as a late response, and that
// such requests have the whole time later on.
func TestAwaitLate(t *testing.T) {
	const result, failure = `{"jsonrpc":"2.0","id":%d,"result":{}}`, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32600}}`
	tests := map[string]struct {
		status int
		body   string
		late   bool
	}{
		"a result":                 {http.StatusOK, result, true},
		"an error with status 400": {http.StatusBadRequest, failure, true},
		"202 Accepted":             {http.StatusAccepted, "", false},
		"the end of the session":   {http.StatusNotFound, "the session has ended", false},
		"a broken connection":      {0, "", false},
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
			s := startWith(t, server, Limits{ReplyTimeout: time.Millisecond})
			s.patience = &Patience{}
			r := s.Await(s.RequestWithID(id, "ping", nil))
			close(gaveUp)
			if r.Answered() {
				t.Fatalf("answered: %s", r.Frame.Raw)
			}
			if waited, slow := r.AwaitLate(time.Minute); !waited || (slow != nil) != tt.late {
				t.Errorf("waited is %v, the late response is %v", waited, slow)
			}
			if s.patience.answered[requestTarget(r.Request)] != tt.late {
				t.Errorf("answered: %v", s.patience.answered)
			}
		})
	}
}
