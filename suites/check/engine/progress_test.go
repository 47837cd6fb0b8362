package engine

import (
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestRunProgress checks that other goroutines see how many cases have their result, and what the run waits for.
func TestRunProgress(t *testing.T) {
	p := &RunProgress{}
	type look struct {
		settled int
		waiting string
		area    string
	}
	var mu sync.Mutex // each look at the progress has its own goroutine
	var seen []look
	testRun{
		script: script{{method: "tools/call", action: delays(3 * time.Second)}},
		checks: []testCheck{
			{id: "a/quick", check: check.Probe(func(t *check.T) { t.Skip(check.NotApplicable, "it is so") })},
			{id: "a/slow", check: check.Probe(func(t *check.T) {
				s := t.Session(check.Exclusive)
				for _, moment := range []time.Duration{500 * time.Millisecond, 2 * time.Second} {
					time.AfterFunc(moment, func() {
						mu.Lock()
						defer mu.Unlock()
						seen = append(seen, look{p.Completed(), p.Waiting(), p.Area()})
					})
				}
				t.Send(s, "tools/call", check.M{"name": "slow_tool"})
			})},
		},
		options: Options{Jobs: 1, Progress: p},
	}.run(t)
	want := []look{{1, "", "a"}, {1, "tools/call slow_tool", "a"}}
	if len(seen) != len(want) || seen[0] != want[0] || seen[1] != want[1] {
		t.Errorf("got %v, want %v", seen, want)
	}
	if last := (look{p.Completed(), p.Waiting(), p.Area()}); last != (look{2, "", ""}) {
		t.Errorf("at the end of the run: %v", last)
	}
}
