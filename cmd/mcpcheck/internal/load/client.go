package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// connection carries the messages of clients to the server.
type connection interface {
	// call sends a request and returns its response, which has to arrive within a time. The bytes are valid until the
	// next call of the same client.
	call(ctx context.Context, timeout time.Duration, m *message, text []byte, id int64) (raw []byte, err error)
	// notify sends a notification.
	notify(ctx context.Context, m *message, text []byte) error
	// cancel sends a request, and cancels it. A response may come or not.
	cancel(ctx context.Context, timeout time.Duration, m *message, text []byte, id int64) error
	// close ends the session.
	close()
}

// client is a client of the server: a session of its own over HTTP or HTTP+SSE or, over stdio, a part of the requests
// to a process.
type client struct {
	number int
	conn   connection
	// connects are the messages that its session begins with; none over stdio, where it shares a process.
	connects []*message
	lastID   int64
	// text is the request that is being sent.
	text []byte
	// sent counts its requests. hasCancelled says that it has cancelled one since.
	sent         int
	hasCancelled bool
}

// A refusedError says that the server wants fewer requests.
type refusedError struct{ status string }

func (e *refusedError) Error() string { return e.status + " with Retry-After" }

// A statusError is an HTTP status without a JSON-RPC response.
type statusError struct{ status string }

func (e *statusError) Error() string { return "HTTP " + e.status }

var (
	errNoResponse = errors.New("no response on the stream")
	errTooLarge   = errors.New("a response that is too large")
)

// idsPerClient keeps the ids of clients apart where they share a process. Over HTTP all clients use the same ids, which
// belong to their sessions.
const idsPerClient = 1_000_000_000

// connect begins the session of the client. Each response has to arrive within a time.
func (c *client) connect(ctx context.Context, timeout time.Duration) error {
	for _, m := range c.connects {
		if m.after == nil {
			if err := c.conn.notify(ctx, m, m.text(nil, 0, "")); err != nil {
				return err
			}
			continue
		}
		c.lastID++
		if _, err := c.conn.call(ctx, timeout, m, m.text(nil, c.lastID, ""), c.lastID); err != nil {
			return fmt.Errorf("no session: %w", err)
		}
	}
	return nil
}

// send sends a request, and returns what is wrong with its response and how long it took to arrive.
func (c *client) send(ctx context.Context, r *request, revision string, timeout time.Duration) (
	took time.Duration, wrong *finding, err error,
) {
	c.lastID++
	mark := ""
	if r.isMarked() {
		mark = markerOf(c.number)
	}
	c.text = r.text(c.text, c.lastID, mark)
	begin := time.Now()
	raw, err := c.conn.call(ctx, timeout, &r.message, c.text, c.lastID)
	if took = time.Since(begin); err != nil {
		c.text = nil // what sends it may still read it
		return took, nil, err
	}
	return took, r.verify(revision, raw, strconv.AppendInt(nil, c.lastID, 10), mark), nil
}

// cancel sends a request, and cancels it.
func (c *client) cancel(ctx context.Context, r *request, timeout time.Duration) error {
	c.lastID++
	return c.conn.cancel(ctx, timeout, &r.message, r.text(nil, c.lastID, ""), c.lastID)
}

// cancelledText is the notification that cancels a request.
func cancelledText(id int64) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}
