package driver

import "sync"

// reusableWaitGroup are goroutines that may be waited for while further ones begin, which a sync.WaitGroup forbids once
// none is left.
type reusableWaitGroup struct {
	mu      sync.Mutex
	running int
	allDone chan struct{} // closed when none is running any more; nil: none ever was
}

// Go begins a task.
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

// Wait returns once no task is running.
func (t *reusableWaitGroup) Wait() {
	t.mu.Lock()
	none := t.allDone
	t.mu.Unlock()
	if none != nil {
		<-none
	}
}
