package driver

import (
	"context"
	"io"
	"time"
)

func closeReader(r io.Reader) {
	if c, ok := r.(io.Closer); ok {
		c.Close()
	}
}

// isClosed reports whether a channel on which nothing is sent is closed. It is false for a nil channel.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// closesWithin waits until a channel on which nothing is sent is closed, at most for d or until the context is done. It
// reports whether the channel is closed.
func closesWithin(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	select {
	case <-done:
	case <-time.After(d):
	case <-ctx.Done():
	}
	return isClosed(done)
}
