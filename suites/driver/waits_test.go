package driver

import (
	"testing"
	"testing/synctest"
	"time"
)

// The request that is waited for the longest is named, once it is waited for long enough.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		want := func(want string) {
			t.Helper()
			if got := w.Longest(time.Second); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		want("")
		call := &Frame{Raw: Plain([]byte(`{"method":"tools/call","params":{"name":"slow_tool"}}`))}
		call.parse()
		endCall := w.begin(Pending{Method: "tools/call", frame: call})
		time.Sleep(time.Second / 2)
		want("")
		endPing := w.begin(Pending{Method: "ping"})
		time.Sleep(time.Second / 2)
		want("tools/call slow_tool")
		endCall()
		want("")
		time.Sleep(time.Second / 2)
		want("ping")
		endPing()
		want("")
	})
}

// What is named are tools, prompts and resources; of anything else the method.
func TestWaitNames(t *testing.T) {
	for raw, want := range map[string]string{
		`{"method":"ping"}`: "ping",
		`{"method":"prompts/get","params":{"name":"p"}}`:       "prompts/get p",
		`{"method":"resources/read","params":{"uri":"a://b"}}`: "resources/read a://b",
		`{"method":"tools/call","params":{"name":7}}`:          "tools/call",
		`{"method":"tools/call","params":[]}`:                  "tools/call",
	} {
		f := &Frame{Raw: Plain([]byte(raw))}
		f.parse()
		if got := (Pending{Method: f.Method, frame: f}).name(); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
	var none *Waits
	none.begin(Pending{})()
}
