package harness

import (
	"sync"
	"testing"
	"time"
)

// Whoever looks at a run meanwhile learns how many cases have their result, and what is waited for.
func TestProgress(t *testing.T) {
	p := &Progress{}
	type look struct {
		settled int
		waiting string
		area    string
	}
	var mu sync.Mutex // each look has a goroutine of its own
	var seen []look
	scene{
		script: script{{method: "tools/call", does: takes(3 * time.Second)}},
		cast: []role{
			{id: "a/quick", check: Probe(func(t *T) { t.Skip("it is so") })},
			{id: "a/slow", check: Probe(func(t *T) {
				s := t.Own()
				for _, moment := range []time.Duration{500 * time.Millisecond, 2 * time.Second} {
					time.AfterFunc(moment, func() {
						mu.Lock()
						defer mu.Unlock()
						seen = append(seen, look{p.Settled(), p.Waiting(), p.Area()})
					})
				}
				t.Ask(s, "tools/call", M{"name": "slow_tool"})
			})},
		},
		options: Options{Jobs: 1, Progress: p},
	}.play(t)
	want := []look{{1, "", "a"}, {1, "tools/call slow_tool", "a"}}
	if len(seen) != len(want) || seen[0] != want[0] || seen[1] != want[1] {
		t.Errorf("saw %v, want %v", seen, want)
	}
	if last := (look{p.Settled(), p.Waiting(), p.Area()}); last != (look{2, "", ""}) {
		t.Errorf("in the end: %v", last)
	}
}
