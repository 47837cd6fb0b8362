package driver

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Tasks can be waited for while others begin, and Wait returns no earlier than they end.
func TestReusableWaitGroup(t *testing.T) {
	var all reusableWaitGroup
	all.Wait() // there was none yet
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 1000 {
				var done atomic.Bool
				all.Go(func() { done.Store(true) })
				all.Wait()
				if !done.Load() {
					t.Error("Wait returned before the end of a task that had begun")
				}
			}
		})
	}
	workers.Wait()
}
