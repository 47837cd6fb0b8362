package load

import (
	"bufio"
	"context"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// processConnection is a process that several clients share: its requests are in flight at the same time.
type processConnection struct {
	*inbox
	process *driver.RawProcess
	// writing has an entry while a message is written. It is no mutex, since a process that does not read can keep a
	// writer for as long as the load lasts.
	writing chan struct{}
}

const errEnded endedError = "the server has closed its stdout"

func newProcessConnection(p *driver.RawProcess, limit int, stray func([]byte)) *processConnection {
	c := &processConnection{inbox: newInbox(stray), process: p, writing: make(chan struct{}, 1)}
	go c.read(limit)
	return c
}

// read passes each response to the client that waits for it. Requests of the server are refused.
func (c *processConnection) read(limit int) {
	defer c.end(errEnded)
	lines := bufio.NewScanner(c.process.Stdout)
	lines.Buffer(make([]byte, 64<<10), limit)
	for lines.Scan() {
		if refusal := c.receive(lines.Bytes()); refusal != nil {
			c.refusing.start(func() { // the reader must not wait for a process that does not read
				c.writeLine(context.Background(), refusal)
			})
		}
	}
}

// writeLine writes a message, once no other one is being written.
func (c *processConnection) writeLine(ctx context.Context, text []byte) error {
	select {
	case c.writing <- struct{}{}:
	case <-c.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writing }()
	_, err := c.process.Stdin.Write(append(text, '\n'))
	return err
}

func (c *processConnection) call(
	ctx context.Context, timeout time.Duration, _ *message, text []byte, id int64,
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	waits := c.expect(id)
	if err := c.writeLine(ctx, text); err != nil {
		return nil, err
	}
	return c.await(ctx, id, waits, nil)
}

func (c *processConnection) cancel(
	ctx context.Context, timeout time.Duration, _ *message, text []byte, id int64,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.ignore(id)
	if err := c.writeLine(ctx, text); err != nil {
		return err
	}
	return c.writeLine(ctx, cancelledText(id))
}

func (c *processConnection) notify(ctx context.Context, _ *message, text []byte) error {
	return c.writeLine(ctx, text)
}

// close leaves the process running: others use it.
func (c *processConnection) close() {}
