package driver

import (
	"bufio"
	"context"
	"io"
	"testing"
	"time"
)

// TestUnreadableResponsesAreNotAwaited checks that a response that cannot be read is not waited for until the timeout,
// and that logs on stdout, which a response follows, do not end the wait.
func TestUnreadableResponsesAreNotAwaited(t *testing.T) {
	const limit, response = 5 * time.Second, `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	const withoutID = `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}` + "\n"
	for name, tt := range map[string]struct {
		first       string
		delay       time.Duration
		answered    bool
		atMost, min time.Duration
	}{
		"several lines": {first: "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"error\": {\n    \"code\": -32601,\n" +
			"    \"message\": \"Method not found\"\n  }\n}\n", atMost: time.Second},
		"cut off":          {first: `{"jsonrpc":"2.0","id":1,"err` + "\n", atMost: time.Second},
		"a NUL at the end": {first: `{"jsonrpc":"2.0","id":1,"result":{}}` + "\x00", atMost: time.Second},
		"an error with id null, which may be about a notification": {first: withoutID,
			delay: 4 * time.Second, answered: true, atMost: limit},
		"of another request": {first: `{"jsonrpc":"2.0","id":11,"err` + "\n", atMost: limit, min: limit},
		"a log of the request": {first: "{\n  jsonrpc: '2.0',\n  id: 1,\n  method: 'ping'\n}\n", delay: 4 * time.Second,
			answered: true, atMost: limit},
		"a log with an id": {first: "{\n  time: 7,\n  id: 1\n}\n", delay: 4 * time.Second,
			answered: true, atMost: limit},
		"a log of the response": {first: "{ jsonrpc: '2.0', id: 1, result: {} }\n", delay: 4 * time.Second,
			answered: true, atMost: limit},
		"a log of the response as JSON": {first: "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n",
			delay: 400 * time.Millisecond, answered: true, atMost: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			serve := func(ctx context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
				bufio.NewReader(in).ReadString('\n')
				io.WriteString(out, tt.first)
				if time.Sleep(tt.delay); tt.answered {
					io.WriteString(out, response)
				}
				<-ctx.Done()
				return 0
			}
			runSession(t, Limits{ReplyTimeout: limit}, serve, func(t *testing.T, s *Session) {
				begin := time.Now()
				r := s.Await(s.RequestWithID(1, "ping", nil))
				if took := time.Since(begin); r.Answered() != tt.answered || took > tt.atMost || took < tt.min {
					t.Errorf("answered is %v (%v) after %v", r.Answered(), r.Err, took)
				}
			})
		})
	}
}
