package driver

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestReusableWaitGroup checks that tasks can be waited for while others begin, and that Wait does not return before
// they end.
func TestReusableWaitGroup(t *testing.T) {
	var all reusableWaitGroup
	all.Wait() // no task has begun yet
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 1000 {
				var done atomic.Bool
				all.Go(func() { done.Store(true) })
				all.Wait()
				if !done.Load() {
					t.Error("Wait returned before the end of a task")
				}
			}
		})
	}
	workers.Wait()
}
