package driver

import "sync"

// tasks are goroutines that may be waited for while further ones begin, which a sync.WaitGroup forbids once none is
// left.
type tasks struct {
	mu      sync.Mutex
	running int
	none    chan struct{} // closed when none is running any more; nil: none ever was
}

// Go begins a task.
func (t *tasks) Go(task func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == 0 {
		t.none = make(chan struct{})
	}
	t.running++
	go func() {
		defer t.end()
		task()
	}()
}

func (t *tasks) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.running == 0 {
		close(t.none)
	}
}

// Wait returns once no task is running.
func (t *tasks) Wait() {
	t.mu.Lock()
	none := t.none
	t.mu.Unlock()
	if none != nil {
		<-none
	}
}
