package driver

import (
	"fmt"
	"io"
)

// copyAll drains r into w.
func copyAll(w io.Writer, r io.Reader) { io.Copy(w, r) }

func closeReader(r io.Reader) {
	if c, ok := r.(io.Closer); ok {
		c.Close()
	}
}

// size writes a number of bytes for people.
func size(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
