package load

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// httpConnection is a session over Streamable HTTP.
type httpConnection struct {
	client *http.Client
	url    string
	// sessionID is what the server issued; empty if it issued none.
	sessionID string
	body      bytes.Buffer
	limit     int
}

func (c *httpConnection) call(ctx context.Context, m *message, text []byte, id int64) ([]byte, error) {
	resp, err := c.post(ctx, m, text)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if issued := resp.Header.Get(sessionHeader); issued != "" && c.sessionID == "" {
		c.sessionID = issued
	}
	c.body.Reset()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return c.readStream(resp.Body)
	}
	if _, err = c.body.ReadFrom(io.LimitReader(resp.Body, int64(c.limit)+1)); err != nil {
		return nil, err
	}
	raw := c.body.Bytes()
	switch {
	case len(raw) > c.limit:
		return nil, errTooLarge
	case (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) &&
		resp.Header.Get("Retry-After") != "":
		return nil, &refusedError{resp.Status}
	case resp.StatusCode >= 300 && !driver.IsResponseBody(raw):
		return nil, &statusError{resp.Status}
	}
	return raw, nil
}

// readStream reads an event stream up to the response, and then to its end, so that the connection can be used again.
func (c *httpConnection) readStream(body io.Reader) (raw []byte, err error) {
	parser := driver.NewEventStreamParser(c.limit, func(e driver.StreamEvent) {
		if data := e.Data.Bytes(); raw == nil && isResponse(data) {
			raw = bytes.Clone(data)
		}
	})
	if _, err = io.Copy(parser, io.LimitReader(body, int64(c.limit)+1)); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errNoResponse
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

func (c *httpConnection) notify(ctx context.Context, m *message, text []byte) error {
	resp, err := c.post(ctx, m, text)
	if err != nil {
		return err
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, int64(c.limit)))
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		return &statusError{resp.Status}
	}
	return nil
}

func (c *httpConnection) post(ctx context.Context, m *message, text []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header = m.header
	if c.sessionID != "" {
		req.Header = m.header.Clone()
		req.Header[sessionHeader] = []string{c.sessionID}
	}
	return c.client.Do(req)
}

func (c *httpConnection) close() {
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
