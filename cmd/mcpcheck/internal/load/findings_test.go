package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/hooks"
	"github.com/mcpcheck/mcpcheck/fixtures/proof"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestFindings checks that each way to be wrong under load is found under its name, although the quiet server is right.
func TestFindings(t *testing.T) {
	var n atomic.Int64
	later := func(change func(reply map[string]any)) fixtures.Fault {
		return fixtures.Fault{Reply: func(_ *fixtures.Conn, req, reply map[string]any) {
			if req["method"] == "tools/call" && n.Add(1) > 30 {
				change(reply)
			}
		}}
	}
	result := func(reply map[string]any) map[string]any { r, _ := reply["result"].(map[string]any); return r }
	for _, tt := range []struct {
		name  string
		fault fixtures.Fault
		want  string
		says  string
	}{
		{"another id", later(func(reply map[string]any) { reply["id"] = 5 }), Matched, "has id 5"},
		{"an error", later(func(reply map[string]any) { hooks.SetError(reply, -32603) }), SameKind, "error -32603"},
		{"a tool error", later(func(reply map[string]any) { result(reply)["isError"] = true }), SameKind, "isError"},
		{"an invalid result", later(func(reply map[string]any) { result(reply)["content"] = "text" }), Valid,
			"content"},
		{"the argument of another client", later(func(reply map[string]any) {
			result(reply)["content"] = []any{map[string]any{"type": "text", "text": "for mcpcheck-load-000099"}}
		}), OwnSession, "mcpcheck-load-000099"},
		{"503 without Retry-After", fixtures.Fault{Middleware: breakLater}, Answered, "HTTP 503"},
		{"a call after a cancelled one", fixtures.Fault{Middleware: hangAfterCancel}, AfterCancel,
			"no response within --timeout"},
		{"a time without a response", fixtures.Fault{Middleware: hangLater}, Answered, "no response within --timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.Store(0)
			tt.fault.Middleware = chain(take(time.Millisecond), tt.fault.Middleware)
			l := loadFixture(t, proof.Deployments[1], tt.fault, "2025-11-25",
				Options{Clients: 4, Duration: 100 * time.Millisecond, Mix: Mix{"tools/call": 3, "ping": 1},
					Cancel: 0.1})
			i := slices.IndexFunc(l.Results, func(r report.LoadResult) bool { return r.Name == tt.want })
			if i < 0 || l.Results[i].Verdict != catalogue.Fail ||
				!strings.Contains(strings.Join(l.Results[i].Findings, "\n"), tt.says) {
				t.Fatalf("%q does not fail with %q: %+v", tt.want, tt.says, l.Results)
			}
		})
	}
}

// TestNothingCounted checks that a load all of whose requests end too late to be counted is not a pass.
func TestNothingCounted(t *testing.T) {
	l := loadFixture(t, proof.Deployments[1], fixtures.Fault{Middleware: chain(take(time.Millisecond), hangLater)},
		"2025-11-25", Options{Clients: 4, Warmup: 500 * time.Millisecond, Duration: 100 * time.Millisecond,
			Mix: Mix{"tools/call": 1}})
	if got := failing(l); !slices.Equal(got, []string{Answered}) || l.Problem != errNoneCounted.Error() {
		t.Errorf("%v fail, problem %q: %+v", got, l.Problem, l.Results)
	}
}

func chain(a, b hooks.Middleware) hooks.Middleware {
	if b == nil {
		return a
	}
	return hooks.ChainMiddleware(a, b)
}

// laterCalls passes the first calls of tools, and serves all later ones in another way.
func laterCalls(next http.Handler, serve http.HandlerFunc) http.Handler {
	var n atomic.Int64
	isCall := hooks.ByMessageMethod("tools/call")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isCall(r) && n.Add(1) > 30 {
			serve(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuseLater(next http.Handler) http.Handler {
	return laterCalls(next, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	})
}

func breakLater(next http.Handler) http.Handler {
	return laterCalls(next, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not now", http.StatusServiceUnavailable)
	})
}

func hangLater(next http.Handler) http.Handler {
	return laterCalls(next, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

// TestSecondResponse checks that a response to no request is found over stdio, such as a second one to the same
// request.
func TestSecondResponse(t *testing.T) {
	repeating := func(t *testing.T) driver.Target {
		target, _ := proof.Deployments[0].Target(t, fixtures.Fault{})
		serve, processes := target.Serve, 0
		target.Serve = func(ctx context.Context, in io.Reader, out, err io.Writer, term <-chan struct{}) int {
			if processes++; processes > 1 { // the first one is that of the quiet session
				out = &repeatWriter{out: out}
			}
			return serve(ctx, in, out, err, term)
		}
		return target
	}
	l := loadServer(t, repeating, "2025-11-25",
		Options{Clients: 2, PerSecond: 100, Duration: time.Second, Mix: Mix{"ping": 1}})
	i := slices.IndexFunc(l.Results, func(r report.LoadResult) bool { return r.Name == Matched })
	if got := failing(l); !slices.Equal(got, []string{Matched}) ||
		!strings.Contains(l.Results[i].Findings[0], "a response to no request") {
		t.Errorf("%v fail: %+v", got, l.Results)
	}
}

// repeatWriter repeats what is written to it as the thirtieth.
type repeatWriter struct {
	out io.Writer
	n   int
}

func (w *repeatWriter) Write(p []byte) (int, error) {
	if w.n++; w.n == 30 {
		w.out.Write(p)
	}
	return w.out.Write(p)
}

// TestVaryingServers checks that a server may answer in several ways, if it does so when it is quiet.
func TestVaryingServers(t *testing.T) {
	var n atomic.Int64
	var said atomic.Value
	everyOther := func(change func(result map[string]any)) fixtures.Fault {
		reply := func(_ *fixtures.Conn, req, reply map[string]any) {
			if result, ok := reply["result"].(map[string]any); ok && req["method"] == "tools/call" && n.Add(1)%2 == 0 {
				change(result)
			}
		}
		return fixtures.Fault{Middleware: take(time.Millisecond), Reply: reply}
	}
	for _, tt := range []struct {
		name  string
		fault fixtures.Fault
	}{
		{"another kind of content", everyOther(func(result map[string]any) {
			result["content"] = []any{map[string]any{"type": "image", "data": "AAAA", "mimeType": "image/png"}}
		})},
		{"a tool that fails when it is called again", everyOther(func(result map[string]any) {
			result["isError"] = true
		})},
		{"a tool that shows what was said before", fixtures.Fault{Middleware: take(time.Millisecond),
			Reply: func(_ *fixtures.Conn, req, reply map[string]any) {
				params, _ := req["params"].(map[string]any)
				args, _ := params["arguments"].(map[string]any)
				text, _ := args["text"].(string)
				if result, ok := reply["result"].(map[string]any); ok && params["name"] == "echo" {
					last, _ := said.Swap(text).(string)
					result["content"] = []any{map[string]any{"type": "text", "text": last + " " + text}}
				}
			}}},
		{"a resource that shows what tools were told", fixtures.Fault{Middleware: take(time.Millisecond),
			Reply: showSaid("resources/read")}},
		{"a tool that shows what all tools were told before", fixtures.Fault{Middleware: take(time.Millisecond),
			Reply: showSaid("tools/call")}},
		{"a list that grows", fixtures.Fault{Middleware: take(time.Millisecond),
			Reply: func(_ *fixtures.Conn, req, reply map[string]any) {
				result, _ := reply["result"].(map[string]any)
				if params, _ := req["params"].(map[string]any); req["method"] == "prompts/list" && params == nil &&
					n.Add(1) > 30 {
					result["nextCursor"] = "more"
				}
			}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.Store(0)
			l := loadFixture(t, proof.Deployments[1], tt.fault, "2025-11-25",
				Options{Clients: 4, Duration: 100 * time.Millisecond})
			if got := failing(l); got != nil || l.Problem != "" {
				t.Errorf("%v fail: %+v %s", got, l.Results, l.Problem)
			}
		})
	}
}

// showSaid shows in the results of a method all that tools were told before, in any session.
func showSaid(method string) func(_ *fixtures.Conn, req, reply map[string]any) {
	var mu sync.Mutex
	said := "said:"
	return func(_ *fixtures.Conn, req, reply map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		params, _ := req["params"].(map[string]any)
		result, _ := reply["result"].(map[string]any)
		if result != nil && req["method"] == method {
			result["content"] = []any{map[string]any{"type": "text", "text": said}}
			result["contents"] = []any{map[string]any{"uri": params["uri"], "text": said}}
		}
		if req["method"] == "tools/call" {
			said = fmt.Sprint(said, " ", params["arguments"])
		}
	}
}

// TestState checks that what tools may have changed is not held against the server, but all else is.
func TestState(t *testing.T) {
	later := func(method string, change func(reply map[string]any)) fixtures.Fault {
		var n atomic.Int64
		reply := func(_ *fixtures.Conn, req, reply map[string]any) {
			result, _ := reply["result"].(map[string]any)
			tools, _ := result["tools"].([]any)
			for _, tool := range tools {
				delete(tool.(map[string]any), "annotations")
			}
			if req["method"] == method && n.Add(1) > 60 {
				change(reply)
			}
		}
		return fixtures.Fault{Middleware: take(time.Millisecond), Reply: reply}
	}
	fail := func(reply map[string]any) { hooks.SetError(reply, -32002) }
	for _, tt := range []struct {
		name  string
		fault fixtures.Fault
		want  []string
	}{
		{"a resource that is gone", later("resources/read", fail), nil},
		{"a call that comes to an error", later("tools/call", fail), nil},
		{"a call that fails, and repeats nothing", later("tools/call", func(reply map[string]any) {
			reply["result"] = map[string]any{"content": []any{}, "isError": true}
		}), nil},
		{"a list that comes to an error", later("tools/list", fail), []string{SameKind + ListsOnly}},
		{"an invalid result", later("tools/call", func(reply map[string]any) {
			reply["result"] = map[string]any{"content": "text"}
		}), []string{Valid}},
		{"what belongs to another client", later("tools/call", sayToAnother), []string{OwnSession}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loadFixture(t, proof.Deployments[1], tt.fault, "2025-11-25",
				Options{Clients: 4, Duration: 200 * time.Millisecond, Calls: report.CallsAll,
					Mix: Mix{"tools/call": 3, "tools/list": 1, "resources/read": 1}})
			if got := failing(l); !slices.Equal(got, tt.want) || l.Problem != "" {
				t.Errorf("%v fail, want %v; problem %q: %+v", got, tt.want, l.Problem, l.Results)
			}
		})
	}
}

// TestNoMarkers checks that a load in which nobody has anything of their own says nothing of that.
func TestNoMarkers(t *testing.T) {
	l := loadFixture(t, proof.Deployments[1], fixtures.Fault{Middleware: take(time.Millisecond)}, "2025-11-25",
		Options{Clients: 4, Duration: 100 * time.Millisecond, Mix: Mix{"ping": 1}})
	for _, r := range l.Results {
		if r.Name == OwnSession {
			t.Errorf("%s: %s", r.Name, r.Verdict)
		}
	}
}

// hangAfterCancel leaves the message after a cancellation without a response.
func hangAfterCancel(next http.Handler) http.Handler {
	var cancelled sync.Map // by session
	isCancel := hooks.ByMessageMethod("notifications/cancelled")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := r.Header.Get("Mcp-Session-Id")
		if _, was := cancelled.LoadAndDelete(session); was && r.Method == http.MethodPost {
			io.Copy(io.Discard, r.Body) // from then on the server notices the end of the connection
			<-r.Context().Done()
			return
		}
		if isCancel(r) {
			cancelled.Store(session, true)
		}
		next.ServeHTTP(w, r)
	})
}

// TestEqualIDs checks that a server that tells requests apart by their ids alone is found: the clients of a load use
// the same ids at the same time.
func TestEqualIDs(t *testing.T) {
	var mu sync.Mutex
	texts := map[string]string{} // the first session with an id and its text, by id
	byID := func(_ *fixtures.Conn, req, reply map[string]any) {
		result, _ := reply["result"].(map[string]any)
		params, _ := req["params"].(map[string]any)
		args, _ := params["arguments"].(map[string]any)
		text, isText := args["text"].(string)
		if params["name"] != "echo" || !isText || result == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		id := fmt.Sprint(req["id"])
		if first, used := texts[id]; used {
			text = first
		}
		texts[id] = text
		result["content"] = []any{map[string]any{"type": "text", "text": text}}
	}
	l := loadFixture(t, proof.Deployments[1], fixtures.Fault{Reply: byID, Middleware: take(time.Millisecond)},
		"2025-11-25", Options{Clients: 4, Duration: 100 * time.Millisecond, Mix: Mix{"tools/call": 1}})
	if got := failing(l); !slices.Equal(got, []string{OwnSession}) {
		t.Errorf("%v fail, want %s alone: %+v", got, OwnSession, l.Results)
	}
}
