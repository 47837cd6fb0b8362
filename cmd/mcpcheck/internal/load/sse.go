package load

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// sseConnection is a session over HTTP+SSE: messages are posted to the endpoint that the event stream names, and all
// responses arrive on that stream. The session ends with it.
type sseConnection struct {
	*inbox
	// posts sends messages. Its URL is that of the endpoint, once the stream is open.
	posts httpConnection
	site  *driver.Site
	// opened is closed when the endpoint is known.
	opened chan struct{}
	// leave ends the stream; nil before it is opened.
	leave context.CancelFunc
}

const errStreamEnded endedError = "the server has ended the event stream of a session"

func newSSEConnection(site *driver.Site, posts httpConnection, stray func([]byte)) *sseConnection {
	return &sseConnection{inbox: newInbox(stray), posts: posts, site: site, opened: make(chan struct{})}
}

// open opens the stream, which ends with the context, and waits for the endpoint.
func (c *sseConnection) open(ctx context.Context, timeout time.Duration, m *message) error {
	ctx, c.leave = context.WithCancel(ctx)
	header := m.header.Clone()
	header.Del("Content-Type")
	header.Set("Accept", "text/event-stream")
	go func() { c.end(c.read(ctx, header)) }()
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-c.opened:
		return nil
	case <-c.ended:
		return c.endErr
	case <-late.C:
		return context.DeadlineExceeded
	}
}

// read reads the stream, and returns why it ends.
func (c *sseConnection) read(ctx context.Context, header http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.site.URL(), nil)
	if err != nil {
		return err
	}
	req.Header = header
	resp, err := c.posts.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := statusErrorOf(resp); err != nil {
		return err
	}
	var wrong error
	parser := driver.NewEventStreamParser(c.posts.limit, func(e driver.StreamEvent) {
		if err := c.handle(ctx, header, e); err != nil {
			wrong = err
		}
	})
	buffer := make([]byte, 32<<10)
	for wrong == nil {
		n, err := resp.Body.Read(buffer)
		if _, long := parser.Write(buffer[:n]); long != nil {
			return long
		}
		if err != nil {
			return errStreamEnded
		}
	}
	return wrong
}

// handle takes the endpoint from the first event that names it, and passes on what other events have.
func (c *sseConnection) handle(ctx context.Context, header http.Header, e driver.StreamEvent) error {
	if e.IsEndpoint() && c.posts.url == "" {
		u, err := c.site.EndpointURL(e.Data.String())
		if err != nil {
			return err
		}
		c.posts.url = u.String()
		close(c.opened)
		return nil
	}
	if refusal := c.receive(e.Data.Bytes()); refusal != nil && c.posts.url != "" {
		header = header.Clone()
		header.Set("Content-Type", "application/json")
		c.refusing.start(func() { c.posts.notify(ctx, &message{header: header}, refusal) })
	}
	return nil
}

func (c *sseConnection) call(
	ctx context.Context, timeout time.Duration, m *message, text []byte, id int64,
) ([]byte, error) {
	if c.leave == nil {
		if err := c.open(ctx, timeout, m); err != nil {
			return nil, err
		}
	}
	waits, failed := c.expect(id), make(chan error, 1)
	text = bytes.Clone(text) // the response may arrive before the POST is answered
	posting, done := context.WithTimeout(ctx, timeout)
	go func() {
		defer done()
		if err := c.posts.notify(posting, m, text); err != nil {
			failed <- err
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.await(ctx, id, waits, failed)
}

func (c *sseConnection) notify(ctx context.Context, m *message, text []byte) error {
	return c.posts.notify(ctx, m, text)
}

func (c *sseConnection) cancel(
	ctx context.Context, timeout time.Duration, m *message, text []byte, id int64,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.ignore(id)
	if err := c.posts.notify(ctx, m, text); err != nil {
		return err
	}
	return c.posts.notify(ctx, c.posts.cancelled, cancelledText(id))
}

// close ends the stream, and with it the session: HTTP+SSE has no DELETE.
func (c *sseConnection) close() {
	if c.leave != nil {
		c.leave()
		<-c.ended
	}
	c.posts.client.CloseIdleConnections()
}
