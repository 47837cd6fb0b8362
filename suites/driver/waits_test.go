package driver

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWaits checks that the oldest request that a session waits for is named when the wait is long enough.
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
		call := &Frame{Raw: Text(`{"method":"tools/call","params":{"name":"slow_tool"}}`)}
		call.parse()
		endCall := w.begin(Pending{Method: "tools/call", frame: call}, false)
		time.Sleep(time.Second / 2)
		want("")
		endPing := w.begin(Pending{Method: "ping"}, false)
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

// TestWaitNames checks that tools, prompts and resources are named, and for anything else the method.
func TestWaitNames(t *testing.T) {
	for raw, want := range map[string]string{
		`{"method":"ping"}`: "ping",
		`{"method":"prompts/get","params":{"name":"p"}}`:       "prompts/get p",
		`{"method":"resources/read","params":{"uri":"a://b"}}`: "resources/read a://b",
		`{"method":"tools/call","params":{"name":7}}`:          "tools/call",
		`{"method":"tools/call","params":[]}`:                  "tools/call",
	} {
		f := &Frame{Raw: Text(raw)}
		f.parse()
		if got := (Pending{Method: f.Method, frame: f}).label(); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
	var none *Waits
	none.begin(Pending{}, true)()
}

// TestStartStats checks that the starts of processes are counted, and how long each took.
func TestStartStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Waits
		for n := range 3 {
			end := w.begin(Pending{Method: "initialize"}, true)
			time.Sleep(time.Duration(n) * time.Second)
			end()
		}
		defer w.begin(Pending{Method: "initialize"}, true)()
		w.begin(Pending{Method: "initialize"}, false)()
		if n, each := w.StartStats(); n != 3 || each != time.Second {
			t.Errorf("got %d, %v", n, each)
		}
	})
}
