package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// httpConnection is a session over Streamable HTTP.
type httpConnection struct {
	client *http.Client
	url    string
	// sessionID is what the server issued; empty if it issued none.
	sessionID string
	// cancelled has the headers of notifications/cancelled; nil where a request is cancelled by the end of its stream.
	cancelled *message
	body      bytes.Buffer
	limit     int
	// refusing are the answers to requests of the server that are being sent.
	refusing refusals
}

func (c *httpConnection) call(
	ctx context.Context, timeout time.Duration, m *message, text []byte, _ int64,
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	resp, err := c.post(ctx, m, text)
	if err != nil {
		cancel()
		return nil, err
	}
	if issued := resp.Header.Get(sessionHeader); issued != "" && c.sessionID == "" {
		c.sessionID = issued
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		defer func() { go drain(resp.Body, cancel) }()
		return c.readStream(ctx, resp.Body)
	}
	defer cancel()
	defer resp.Body.Close()
	return c.readBody(resp)
}

// readBody reads a body that is the response.
func (c *httpConnection) readBody(resp *http.Response) ([]byte, error) {
	c.body.Reset()
	if _, err := c.body.ReadFrom(io.LimitReader(resp.Body, int64(c.limit)+1)); err != nil {
		return nil, err
	}
	raw := c.body.Bytes()
	err := statusErrorOf(resp)
	refused := (*refusedError)(nil)
	switch {
	case len(raw) > c.limit:
		return nil, errTooLarge
	case errors.As(err, &refused) || err != nil && !driver.IsResponseBody(raw):
		return nil, err
	}
	return raw, nil
}

// statusErrorOf returns the error of a status that does not accept a message; nil for any other one.
func statusErrorOf(resp *http.Response) error {
	switch {
	case (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) &&
		resp.Header.Get("Retry-After") != "":
		return &refusedError{resp.Status}
	case resp.StatusCode >= 300:
		return &statusError{resp.Status}
	}
	return nil
}

// drainTime is how long the end of an event stream is awaited after the response.
const drainTime = 100 * time.Millisecond

// drain reads an event stream to its end, so that its connection can be used again. A server may leave the stream open:
// then the connection is closed.
func drain(body io.ReadCloser, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	io.Copy(io.Discard, body)
	body.Close()
	cancel()
}

// readStream reads an event stream up to the response. Requests of the server are refused: one may wait for that before
// it responds.
func (c *httpConnection) readStream(ctx context.Context, body io.Reader) (raw []byte, err error) {
	parser := driver.NewEventStreamParser(c.limit, func(e driver.StreamEvent) {
		data := e.Data.Bytes()
		switch {
		case raw != nil:
		case isResponse(data):
			raw = bytes.Clone(data)
		default:
			c.refuse(ctx, data)
		}
	})
	buffer := make([]byte, 4<<10)
	for read := 0; raw == nil; {
		n, err := body.Read(buffer)
		if read += n; read > c.limit {
			return nil, errTooLarge
		}
		if _, wrong := parser.Write(buffer[:n]); wrong != nil {
			return nil, wrong
		}
		switch {
		case raw != nil:
		case err == io.EOF:
			return nil, errNoResponse
		case err != nil:
			return nil, err
		}
	}
	return raw, nil
}

// isResponse reports whether a message is a response, and not a request or a notification of the server.
func isResponse(raw []byte) bool {
	var m struct {
		Method *json.RawMessage `json:"method"`
	}
	return json.Unmarshal(raw, &m) == nil && m.Method == nil
}

// refuse answers a message, if that is a request of the server. There are none in a protocol without a handshake.
func (c *httpConnection) refuse(ctx context.Context, raw []byte) {
	refusal := refusalOf(raw)
	if refusal == nil || c.cancelled == nil {
		return
	}
	req, err := c.request(ctx, c.cancelled, refusal)
	if err != nil {
		return
	}
	c.refusing.start(func() {
		if resp, err := c.client.Do(req); err == nil {
			resp.Body.Close()
		}
	})
}

// cancel cancels a request once it has been sent: with a notification, which is what a session expects, and by the end
// of the stream, which is what there is without sessions.
func (c *httpConnection) cancel(
	ctx context.Context, timeout time.Duration, m *message, text []byte, id int64,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sent, ended := make(chan struct{}), make(chan struct{})
	var once sync.Once
	request, abandon := context.WithCancel(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { once.Do(func() { close(sent) }) },
	}))
	go func() {
		defer close(ended)
		if resp, err := c.post(request, m, text); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	select {
	case <-sent:
	case <-ended:
	}
	var err error
	if c.cancelled != nil {
		err = c.notify(ctx, c.cancelled, cancelledText(id))
	}
	abandon()
	<-ended
	return err
}

func (c *httpConnection) notify(ctx context.Context, m *message, text []byte) error {
	resp, err := c.post(ctx, m, text)
	if err != nil {
		return err
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, int64(c.limit)))
	resp.Body.Close()
	return statusErrorOf(resp)
}

func (c *httpConnection) post(ctx context.Context, m *message, text []byte) (*http.Response, error) {
	req, err := c.request(ctx, m, text)
	if err != nil {
		return nil, err
	}
	return c.client.Do(req)
}

func (c *httpConnection) request(ctx context.Context, m *message, text []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header = m.header
	if c.sessionID != "" {
		req.Header = m.header.Clone()
		req.Header[sessionHeader] = []string{c.sessionID}
	}
	return req, nil
}

func (c *httpConnection) close() {
	defer c.client.CloseIdleConnections()
	if c.sessionID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url, nil)
	if err != nil {
		return
	}
	req.Header[sessionHeader] = []string{c.sessionID}
	if resp, err := c.client.Do(req); err == nil {
		resp.Body.Close()
	}
}
