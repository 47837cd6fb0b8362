package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestIDKey(t *testing.T) {
	tests := []struct {
		a, b string
		same bool
	}{
		{"7", "7", true},
		{"7", "7.0", true},
		{"7", `"7"`, false},
		{`"a"`, `"\u0061"`, true},
		{`"a"`, `"A"`, false},
		{`"a\\b"`, `"a\u005cb"`, true},
		{`"a\"b"`, `"a\u0022b"`, true},
		{`"é"`, `"\u00e9"`, true},
		{`"\u007f"`, "\"\x7f\"", true},
		{`""`, `"\u0000"`, false},
		{"9007199254740991", "9007199254740991", true},
		{"9007199254740991", "9007199254740990", false},
		{"-1", "1", false},
		{"null", "null", true},
		{"null", `""`, false},
		{"0", `""`, false},
		{"1e999999999", "1", false},
		{"1e400", "10e399", true},
		{"18446744073709551615", "18446744073709551616", false},
		{"18446744073709551615", "1.8446744073709551615e19", true},
		{"100000000000000000000", "1e20", true},
		{"9007199254740993.0", "9007199254740992.0", false},
		{"-0", "0", true},
		{"1e" + strings.Repeat("9", 1<<20), "1e" + strings.Repeat("9", 1<<20), true},
		{"1e" + strings.Repeat("9", 1<<20), "2e" + strings.Repeat("9", 1<<20), false},
	}
	for _, tt := range tests {
		if got := SameID(json.RawMessage(tt.a), json.RawMessage(tt.b)); got != tt.same {
			t.Errorf("%.40s and %.40s: same is %v", tt.a, tt.b, got)
		}
	}
	if SameID(nil, nil) {
		t.Error("two absent ids are the same id")
	}
}

func TestFrameKinds(t *testing.T) {
	tests := []struct {
		raw                             string
		shape                           JSONKind
		response, request, notification bool
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, Object, true, false, false},
		{`{"jsonrpc":"2.0","id":null,"error":{}}`, Object, true, false, false},
		{`{"jsonrpc":"2.0","error":{}}`, Object, true, false, false},
		{`{"error":{"code":-32700,"message":"Parse error"}}`, Object, true, false, false},
		{`{"error":{"code":429,"message":"Too many requests"}}`, Object, false, false, false},
		{`{"id":1,"result":{}}`, Object, true, false, false},
		{`{"jsonrpc":"2.0","id":1}`, Object, true, false, false},
		{`{"level":30,"id":1,"msg":"listening"}`, Object, false, false, false},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, Object, false, true, false},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, Object, false, true, false},
		{`{"jsonrpc":"2.0","method":"ping"}`, Object, false, false, true},
		{`{"ID":1,"METHOD":"ping"}`, Object, false, false, false},
		{`[{"id":1,"result":{}}]`, Array, false, false, false},
		{"  {}\r", Object, false, false, false},
		{`7`, Scalar, false, false, false},
		{``, NotJSON, false, false, false},
		{`{"id":1`, NotJSON, false, false, false},
		{`Server is running`, NotJSON, false, false, false},
	}
	for _, tt := range tests {
		f := &Frame{Raw: Text(tt.raw)}
		f.parse()
		got := []any{f.Kind, f.IsResponse(), f.IsRequest(), f.IsNotification()}
		if want := []any{tt.shape, tt.response, tt.request, tt.notification}; !slices.Equal(got, want) {
			t.Errorf("%s: kind, response, request, notification are %v, want %v", tt.raw, got, want)
		}
	}
}

func TestBriefKeepsCharacters(t *testing.T) {
	if got := Brief([]byte(strings.Repeat("é", 500))); strings.ContainsRune(got, '\uFFFD') || len(got) > 200 {
		t.Errorf("got %q", got)
	}
}

// runSession runs a server and a client with a fake clock.
func runSession(t *testing.T, limits Limits, serve InProcessServer, client func(t *testing.T, s *Session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := Start(t.Context(), Target{Serve: serve, Limits: limits}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		client(t, s)
		s.Close()
	})
}

// respondingServer returns a server that answers every line with the result of a function.
func respondingServer(answer func(n int, line string) string) InProcessServer {
	return func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
		d := json.NewDecoder(in)
		for n := 1; ; n++ {
			var msg json.RawMessage
			if d.Decode(&msg) != nil {
				return 0
			}
			io.WriteString(out, answer(n, string(msg)))
		}
	}
}

// TestUnansweredMethods checks that the method of an unanswered request counts as unanswered until a later request with
// it is answered.
func TestUnansweredMethods(t *testing.T) {
	serve := respondingServer(func(n int, line string) string {
		if n == 1 {
			return ""
		}
		var request struct{ ID json.RawMessage }
		json.Unmarshal([]byte(line), &request)
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", request.ID)
	})
	for later, want := range map[string][]string{"tasks/get": {}, "ping": {"tasks/get"}} {
		runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
			s.Call("tasks/get", nil)
			s.Call(later, nil)
			if got, only := s.UnansweredMethods(); !slices.Equal(got,
				want) || !only || s.HasFault() != (len(want) > 0) {
				t.Errorf("after a response to %s: %v, has fault is %v", later, got, s.HasFault())
			}
		})
	}
}

// TestOpenStreamIsNotUnanswered checks that an open stream is not blamed for a later request without a response, unless
// nothing was answered since it was opened.
func TestOpenStreamIsNotUnanswered(t *testing.T) {
	serve := respondingServer(func(_ int, line string) string {
		if !strings.Contains(line, `"ping"`) {
			return ""
		}
		var request struct{ ID json.RawMessage }
		json.Unmarshal([]byte(line), &request)
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", request.ID)
	})
	for _, served := range []bool{true, false} {
		runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
			s.OpenStream("subscriptions/listen", nil)
			want := "subscriptions/listen"
			if served {
				want = "tasks/get"
				s.Call("ping", nil)
			}
			s.Call("tasks/get", nil)
			if got, _ := s.UnansweredMethods(); !slices.Equal(got, []string{want}) {
				t.Errorf("served is %v: %v counts as unanswered", served, got)
			}
		})
	}
}

func TestAnswersInAnyOrder(t *testing.T) {
	serve := respondingServer(func(n int, _ string) string {
		if n < 3 {
			return ""
		}
		return `{"id":3,"result":{"n":3}}` + "\n" + `{"method":"notifications/x"}` + "\n" +
			`{"id":1,"result":{"n":1}}` + "\n" + `{"id":2,"result":{"n":2}}` + "\n"
	})
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		var all []Pending
		for range 3 {
			all = append(all, s.Request("ping", nil))
		}
		for i, p := range all {
			if n := s.Await(p).Result()["n"]; n != json.Number(fmt.Sprint(i+1)) {
				t.Errorf("request %d got the response to %v", i+1, n)
			}
		}
	})
}

func TestTimeoutError(t *testing.T) {
	serve := respondingServer(func(int, string) string { return `{"id":1,` })
	runSession(t, Limits{ReplyTimeout: 3 * time.Second}, serve, func(t *testing.T, s *Session) {
		var timeout *TimeoutError
		r := s.Call("ping", nil)
		if !errors.As(r.Err, &timeout) || timeout.After != 3*time.Second || timeout.PartialBytes != 8 {
			t.Errorf("got %v", r.Err)
		}
		if !s.HasFault() {
			t.Error("a session with a silent server has no fault")
		}
	})
}

// TestTimeoutErrorWithoutWait checks that the error of AwaitFor with a zero duration has the time since the request was
// sent.
func TestTimeoutErrorWithoutWait(t *testing.T) {
	serve := respondingServer(func(int, string) string { return "" })
	runSession(t, Limits{ReplyTimeout: 3 * time.Second}, serve, func(t *testing.T, s *Session) {
		p := s.Request("ping", nil)
		time.Sleep(2 * time.Second)
		var timeout *TimeoutError
		if r := s.AwaitFor(p, 0); !errors.As(r.Err, &timeout) || timeout.After != 2*time.Second {
			t.Errorf("got %v", r.Err)
		}
	})
}

// TestIsReceiving checks that bytes of a response near the end of its time show that the server is slow. Neither an old
// beginning of a message nor a complete message does.
func TestIsReceiving(t *testing.T) {
	const reply = 4 * time.Second
	tests := map[string]struct {
		pieces []string // written every 700 ms
		want   bool
	}{
		"byte by byte":           {[]string{"{", `"id"`, ":", "1", ",", "}"}, true},
		"half, and no more":      {[]string{`{"id":1,`}, false},
		"half, and another line": {[]string{`{"id":1,`, "", "", "}\n"}, false},
		"nothing":                {nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			serve := func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
				for _, piece := range tt.pieces {
					io.WriteString(out, piece)
					time.Sleep(700 * time.Millisecond)
				}
				io.Copy(io.Discard, in)
				return 0
			}
			runSession(t, Limits{ReplyTimeout: reply}, serve, func(t *testing.T, s *Session) {
				var timeout *TimeoutError
				r := s.Call("ping", nil)
				if !errors.As(r.Err, &timeout) || timeout.Receiving != tt.want || s.IsReceiving(r.Request) != tt.want {
					t.Errorf("got %v, and later %v", r.Err, s.IsReceiving(r.Request))
				}
			})
		})
	}
}

// TestAwaitLongRunning checks that a long-running call without a response is not a fault of the session.
func TestAwaitLongRunning(t *testing.T) {
	serve := respondingServer(func(int, string) string { return "" })
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		if r := s.AwaitLongRunning(s.Request("tools/call", nil)); r.Answered() || s.HasFault() {
			t.Errorf("got %v, has fault is %v", r.Err, s.HasFault())
		}
		if s.Await(s.Request("ping", nil)); !s.HasFault() {
			t.Error("a session whose ping is not answered has no fault")
		}
	})
}

func TestSessionEndError(t *testing.T) {
	serve := func(_ context.Context, in io.Reader, _, errs io.Writer, _ <-chan struct{}) int {
		io.WriteString(errs, "no API key\n")
		io.ReadAtLeast(in, make([]byte, 1), 1)
		return 3
	}
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		var ended *SessionEndError
		r := s.Call("ping", nil)
		if !errors.As(r.Err, &ended) || ended.Cause != "the server exited with status 3" ||
			!slices.Equal(ended.Stderr, []string{"no API key"}) {
			t.Errorf("got %#v", r.Err)
		}
	})
}

func TestLongLineEndsTheSession(t *testing.T) {
	serve := respondingServer(func(int, string) string { return strings.Repeat("x", 5000) })
	runSession(t, Limits{MaxMessageBytes: 4096}, serve, func(t *testing.T, s *Session) {
		r := s.Call("ping", nil)
		if AsLimitError(r.Err) == nil ||
			r.Err.Error() != "the server wrote a line of more than 4 KiB, mcpcheck's own limit (--max-message)" {
			t.Errorf("got %v", r.Err)
		}
		if s.HasFault() {
			t.Error("a limit of mcpcheck counts as a fault of the server")
		}
	})
}

func TestWireIsBounded(t *testing.T) {
	serve := respondingServer(func(n int, line string) string {
		flood := strings.Repeat(`{"method":"notifications/x"}`+"\n", 1000)
		return flood + strings.Replace(line, `"method":"ping"`, `"result":{}`, 1) + "\n"
	})
	runSession(t, Limits{MaxWireBytes: 4096}, serve, func(t *testing.T, s *Session) {
		for range 5 {
			if r := s.Call("ping", nil); !r.Answered() {
				t.Fatal(r.Err)
			}
		}
		bytes := 0
		for _, f := range s.FramesSince(0) {
			bytes += f.Raw.Len()
		}
		if bytes > 4096 {
			t.Errorf("%d bytes are kept", bytes)
		}
	})
}

func TestServerRequestsAreAnswered(t *testing.T) {
	tests := []struct {
		method, want string
		client       M
	}{
		{"ping", `"result":{}`, M{}},
		{"roots/list", `"code":-32601`, M{}},
		{"roots/list", `"result":{"roots":[]}`, M{"roots": M{}}},
		{"elicitation/create", `"result":{"action":"decline"}`, M{"elicitation": M{}}},
		{"mcpcheck/unknown", `"code":-32601`, M{"roots": M{}}},
	}
	for _, tt := range tests {
		answers := make(chan string, 1)
		serve := respondingServer(func(n int, line string) string {
			if n == 1 {
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":"s1","method":%q}`+"\n", tt.method)
			}
			answers <- line
			return `{"id":1,"result":{}}` + "\n"
		})
		runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
			params := ConnectParams("2025-11-25")
			params["capabilities"] = tt.client
			s.Connect(params)
			if got := <-answers; !strings.Contains(got, tt.want) {
				t.Errorf("%s: got %s", tt.method, got)
			}
		})
	}
}

// TestHandleServerRequests checks that a handler responds to the requests that it takes, at any time, and the era to
// the others.
func TestHandleServerRequests(t *testing.T) {
	var server []string
	asks := respondingServer(func(n int, line string) string {
		server = append(server, line)
		if n == 1 {
			return `{"jsonrpc":"2.0","id":"a","method":"elicitation/create"}` + "\n" +
				`{"jsonrpc":"2.0","id":"b","method":"ping"}` + "\n"
		}
		return ""
	})
	runSession(t, Limits{}, asks, func(t *testing.T, s *Session) {
		s.HandleServerRequests(func(request *Frame) (taken bool) {
			if request.Method == "ping" {
				return false
			}
			time.AfterFunc(time.Second, func() { s.Respond(request, M{"result": M{"action": "cancel"}}) })
			return true
		})
		s.Notify("begin", nil)
		time.Sleep(2 * time.Second)
	})
	want := []string{
		`{"id":"b","jsonrpc":"2.0","result":{}}`, `{"id":"a","jsonrpc":"2.0","result":{"action":"cancel"}}`,
	}
	if !slices.Equal(server[1:], want) {
		t.Errorf("the server was sent %q, want %q", server[1:], want)
	}
}
