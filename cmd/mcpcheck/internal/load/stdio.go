package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// processConnection is a process that several clients share: its requests are in flight at the same time.
type processConnection struct {
	process *driver.RawProcess
	// writing has an entry while a message is written. It is no mutex, since a process that does not read can keep a
	// writer for as long as the load lasts.
	writing chan struct{}

	mu sync.Mutex
	// waiting has the clients that wait for a response, by its id; nil for one that waits no longer.
	waiting map[string]chan []byte
	// stray is the first response that nobody waits for.
	stray []byte
	ended chan struct{}
}

// errEnded says that the process has closed its stdout.
var errEnded = errors.New("the server has closed its stdout")

func newProcessConnection(p *driver.RawProcess, limit int) *processConnection {
	c := &processConnection{process: p, writing: make(chan struct{}, 1), waiting: map[string]chan []byte{},
		ended: make(chan struct{})}
	go c.read(limit)
	return c
}

// read passes each response to the client that waits for it. Requests of the server are refused.
func (c *processConnection) read(limit int) {
	defer close(c.ended)
	lines := bufio.NewScanner(c.process.Stdout)
	lines.Buffer(make([]byte, 64<<10), limit)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method *string         `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Method != nil {
			c.refuse(m.ID, *m.Method)
			continue
		}
		c.mu.Lock()
		waits, known := c.waiting[string(m.ID)]
		if delete(c.waiting, string(m.ID)); !known && c.stray == nil {
			c.stray = bytes.Clone(lines.Bytes())
		}
		c.mu.Unlock()
		if waits != nil {
			waits <- bytes.Clone(lines.Bytes())
		}
	}
}

// refuse answers a request of the server: ping with a result, any other one with an error.
func (c *processConnection) refuse(id json.RawMessage, method string) {
	reply := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if method == "ping" {
		reply = append(reply, `,"result":{}}`...)
	} else {
		reply = append(reply, `,"error":{"code":-32601,"message":"Method not found"}}`...)
	}
	go c.writeLine(context.Background(), reply) // the reader must not wait for a process that does not read
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
	key, waits := strconv.FormatInt(id, 10), make(chan []byte, 1)
	c.mu.Lock()
	c.waiting[key] = waits
	c.mu.Unlock()
	if err := c.writeLine(ctx, text); err != nil {
		return nil, err
	}
	select {
	case raw := <-waits:
		return raw, nil
	case <-c.ended:
		return nil, errEnded
	case <-ctx.Done():
		c.mu.Lock()
		c.waiting[key] = nil
		c.mu.Unlock()
		return nil, ctx.Err()
	}
}

func (c *processConnection) cancel(
	ctx context.Context, timeout time.Duration, _ *message, text []byte, id int64,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.mu.Lock()
	c.waiting[strconv.FormatInt(id, 10)] = nil
	c.mu.Unlock()
	if err := c.writeLine(ctx, text); err != nil {
		return err
	}
	return c.writeLine(ctx, cancelledText(id))
}

func (c *processConnection) notify(ctx context.Context, _ *message, text []byte) error {
	return c.writeLine(ctx, text)
}

// firstStray is the first response that nobody waits for; nil if there was none.
func (c *processConnection) firstStray() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stray
}

// close leaves the process running: others use it.
func (c *processConnection) close() {}
