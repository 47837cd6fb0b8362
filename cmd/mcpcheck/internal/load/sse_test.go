package load

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/proof"
)

// TestSSE loads a server over HTTP+SSE by clients that wait for their responses, with faults that it shows under load.
func TestSSE(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fault   fixtures.Fault
		fails   []string
		problem string
	}{
		{"honest", fixtures.Fault{}, nil, ""},
		{"a POST that is answered after the response", fixtures.Fault{Middleware: acceptLate}, nil, ""},
		{"another id", fixtures.Fault{Reply: laterReplies(func(reply map[string]any) { reply["id"] = 7_000_000 })},
			[]string{Answered, Matched}, ""},
		{"the response of another client", fixtures.Fault{Reply: laterReplies(sayToAnother)}, []string{OwnSession}, ""},
		{"a POST that is refused", fixtures.Fault{Middleware: refuseLater}, nil,
			"429 Too Many Requests with Retry-After"},
		{"a POST that fails", fixtures.Fault{Middleware: breakLater}, []string{Answered}, ""},
		{"a stream that ends", fixtures.Fault{Middleware: endStreamLater}, []string{Answered}, errStreamEnded.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.fault.Middleware = chain(take(time.Millisecond), tt.fault.Middleware)
			l := loadFixture(t, proof.Deployments[5], tt.fault, "2025-03-26",
				Options{Clients: 4, Duration: 200 * time.Millisecond, Mix: Mix{"tools/call": 3, "ping": 1}})
			if got := failing(l); !slices.Equal(got, tt.fails) || !strings.HasSuffix(l.Problem, tt.problem) ||
				(l.Problem == "") != (tt.problem == "") {
				t.Errorf("%v fail, want %v; problem %q: %+v", got, tt.fails, l.Problem, l.Results)
			}
			if l.Connect.Count != 4 || l.Connect.P50 < 2 {
				t.Errorf("connect requests %+v: a GET and a POST take 1 ms each", l.Connect)
			}
			if tt.fails == nil && tt.problem == "" && (l.All.Count < 400 || l.All.Max > 2) {
				t.Errorf("%+v: a response takes 1 ms", l.All)
			}
		})
	}
}

// laterReplies changes the replies to calls of tools, but for the first ones.
func laterReplies(change func(reply map[string]any)) func(_ *fixtures.Conn, req, reply map[string]any) {
	var n atomic.Int64
	return func(_ *fixtures.Conn, req, reply map[string]any) {
		if req["method"] == "tools/call" && n.Add(1) > 30 {
			change(reply)
		}
	}
}

// sayToAnother has each text of a tool say what another client said.
func sayToAnother(reply map[string]any) {
	result, _ := reply["result"].(map[string]any)
	content, _ := result["content"].([]any)
	for _, block := range content {
		if b, _ := block.(map[string]any); b["text"] != nil {
			b["text"] = "for mcpcheck-load-000099"
		}
	}
}

// acceptLate answers each POST a while after it was served.
func acceptLate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w = lateWriter{w}
		}
		next.ServeHTTP(w, r)
	})
}

type lateWriter struct{ http.ResponseWriter }

func (w lateWriter) WriteHeader(status int) {
	time.Sleep(20 * time.Millisecond)
	w.ResponseWriter.WriteHeader(status)
}

// endStreamLater ends the streams with one of the calls of tools.
func endStreamLater(next http.Handler) http.Handler {
	end := make(chan struct{})
	var ended atomic.Bool
	later := laterCalls(next, func(w http.ResponseWriter, _ *http.Request) {
		if !ended.Swap(true) {
			close(end)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			later.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-end:
				cancel()
			case <-ctx.Done():
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
