package driver

import "sync"

// reusableWaitGroup waits for goroutines while others may begin. A sync.WaitGroup forbids that when its counter is
// zero.
type reusableWaitGroup struct {
	mu      sync.Mutex
	running int
	// allDone is closed when no task is running; nil if there never was one.
	allDone chan struct{}
}

// Go runs a task in a goroutine.
func (t *reusableWaitGroup) Go(task func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == 0 {
		t.allDone = make(chan struct{})
	}
	t.running++
	go func() {
		defer t.end()
		task()
	}()
}

func (t *reusableWaitGroup) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.running == 0 {
		close(t.allDone)
	}
}

// Wait returns when no task is running.
func (t *reusableWaitGroup) Wait() {
	t.mu.Lock()
	allDone := t.allDone
	t.mu.Unlock()
	if allDone != nil {
		<-allDone
	}
}
