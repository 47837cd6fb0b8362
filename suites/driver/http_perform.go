package driver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// perform carries an exchange out until its end; headed is called when the headers of an answer that may take long have
// come.
func (h *HTTP) perform(x *Exchange, headed func()) {
	ctx, stop := context.WithCancel(h.ctx)
	defer stop()
	h.s.mu.Lock()
	x.stop, x.left = stop, time.Now()
	h.s.mu.Unlock()
	req, err := x.request(ctx)
	if err != nil {
		h.fail(x, err)
		return
	}
	resp, err := h.site.do(req)
	if err != nil {
		h.broken(x, err)
		return
	}
	defer resp.Body.Close()
	h.head(x, resp)
	if !h.old && !x.foreign {
		h.s.Era().heard(h, x)
	}
	if x.asked != nil || x.stream {
		headed()
	}
	plain, err := decoded(resp)
	if err != nil {
		h.fail(x, err)
		return
	}
	body := bufio.NewReader(plain)
	if x.asked != nil && !x.elsewhere && isUnnamedStream(resp, body) {
		h.s.mu.Lock()
		x.stream = true
		h.s.mu.Unlock()
	}
	resp.Body = io.NopCloser(body)
	if x.stream {
		h.readStream(x, resp.Body)
		return
	}
	h.readBody(x, resp)
}

// decoded is the body of an answer without its coding. None is asked for, but any client can read gzip.
func decoded(resp *http.Response) (io.Reader, error) {
	switch encoding := resp.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return resp.Body, nil
	case "gzip":
		return gzip.NewReader(resp.Body)
	default:
		return nil, fmt.Errorf("it is encoded as %s, which was not asked for", Brief([]byte(encoding)))
	}
}

// isUnnamedStream reports whether the answer to a request is an event stream by another media type: that it is, a check
// says, and the others judge what comes on it.
func isUnnamedStream(resp *http.Response, body *bufio.Reader) bool {
	const longest = len("event:")
	if resp.StatusCode != http.StatusOK || slices.Contains([]string{"application/json", ""}, MediaType(resp.Header)) {
		return false
	}
	begin, _ := body.Peek(longest)
	return slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool {
		return bytes.HasPrefix(begin, []byte(field))
	})
}

// performFor is perform with an end after d.
func (h *HTTP) performFor(x *Exchange, d time.Duration) {
	ctx, cancel := context.WithTimeout(h.ctx, d)
	defer cancel()
	over := context.AfterFunc(ctx, x.Abort)
	defer over()
	h.perform(x, func() {})
}

// request is the exchange as the client of net/http takes it.
func (x *Exchange) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, x.Method, x.URL, bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	req.Header, req.Host = x.Header, x.Host
	switch {
	case x.sent != nil:
		req.Body, req.ContentLength, req.GetBody = io.NopCloser(x.sent), x.size, nil
	case len(x.Body) == 0:
		req.Body, req.ContentLength = http.NoBody, 0
	}
	return req, nil
}

// broken records an exchange that had no HTTP answer. When nobody listens any more, the session is over.
func (h *HTTP) broken(x *Exchange, err error) {
	if x.foreign { // which says nothing of the server
		h.fail(x, plainError(err))
		return
	}
	if h.host != nil && h.site.mourns(h.ctx, h.host) {
		h.died()
	}
	if cause := context.Cause(h.ctx); cause != nil {
		err = cause
	}
	h.fail(x, plainError(err))
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && h.ctx.Err() == nil {
		h.lose("the server cannot be reached any more: " + plainError(err).Error())
	}
}

// head records the headers of an answer.
func (h *HTTP) head(x *Exchange, resp *http.Response) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	a := &x.answer
	a.Status, a.Header, a.HeadAt = resp.StatusCode, resp.Header, time.Since(h.s.opened)
	x.stream = MediaType(resp.Header) == "text/event-stream" && a.OK()
	if x.isBusy() && !x.apart {
		h.site.serial.Store(true)
	}
	h.s.wake()
}

// fail records why an exchange has ended without a whole answer.
func (h *HTTP) fail(x *Exchange, err error) {
	h.broke(x, err)
	h.status(x, err)
	h.end(x, err)
}

// broke notes that a request has no whole answer because the connection broke, when it did: what another session has
// done to the server may be the cause.
func (h *HTTP) broke(x *Exchange, err error) {
	ours := x.foreign || x.apart && errors.Is(err, context.Canceled)
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.broken = err != nil && !ours && !x.recalled && !h.s.eof && ExcessOf(err) == nil
	h.s.failed = h.s.failed || x.broken
}

// end records that nothing more will come. Whatever stands for the answer is in the record before, for those who wait
// for the end.
func (h *HTTP) end(x *Exchange, err error) {
	h.s.exceed(ExcessOf(err))
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.answer.Ended, x.answer.Err, x.answer.EndAt = true, err, time.Since(h.s.opened)
	h.s.wake()
}

// status records an answer that carries no message, and that ends with an error or simply.
func (h *HTTP) status(x *Exchange, err error) {
	a := x.Answer()
	a.Ended, a.Err = true, err
	h.s.put(&Frame{Side: Status, Raw: Text(a.String()), Ended: true, HTTP: x, Apart: x.apart})
}

// readBody reads an answer that is not an event stream: one message or, in a batch, several. Of a body that holds more
// than one document the first is taken for the answer: that there are others, a check says. A message that leaves the
// request without its answer leaves it so for good.
func (h *HTTP) readBody(x *Exchange, resp *http.Response) {
	taken := &intake{r: &h.s.record, part: &x.partial}
	defer taken.finish()
	body, err := h.readAll(resp, taken)
	h.s.mu.Lock()
	x.answer.Body = body
	h.s.mu.Unlock()
	h.broke(x, err)
	defer h.end(x, err)
	var f *Frame
	if err == nil {
		f = h.receiveBody(x, body)
	}
	if err == nil && f == nil {
		f = h.receiveBody(x, firstDocument(body))
	}
	if f == nil || x.asked != nil && !(Pending{ID: x.asked}).answeredBy(f) {
		h.status(x, err)
	}
}

// receiveBody hands a body on, or the beginning of one; nil when that is not a message.
func (h *HTTP) receiveBody(x *Exchange, body []byte) *Frame {
	f := &Frame{Raw: bytes.TrimSpace(body), Ended: true, HTTP: x, Apart: x.apart}
	f.parse()
	if !h.carries(x, f) {
		return nil
	}
	h.s.take(f)
	return f
}

// firstDocument is the JSON with which a body begins; nil when it begins with something else.
func firstDocument(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	if d.Decode(new(json.RawMessage)) != nil {
		return nil
	}
	return body[:d.InputOffset()]
}

// carries reports whether a body is a message. That of an HTTP error may be some other JSON, and so may the answer to a
// request.
func (h *HTTP) carries(x *Exchange, f *Frame) bool {
	switch {
	case h.old:
		return false // whatever it is, messages come with the stream
	case x.failed() && x.Method != http.MethodPost:
		return false // what is refused is the stream, not a request
	case x.failed():
		return f.Shape == Object && (f.HasError || f.HasResult) && f.HasVersion
	}
	return x.asked == nil && (f.Shape == Object || f.Shape == Array) ||
		slices.ContainsFunc(f.Members(), func(m *Frame) bool { return m.HasMethod || m.IsResponse() })
}

var errCutShort = errors.New("the body ended early")

// readAll reads a body up to the limit of a message.
func (h *HTTP) readAll(resp *http.Response, taken *intake) (Text, error) {
	tooLong := h.s.limits.tooLong("the body has")
	if resp.ContentLength > int64(h.s.limits.Message) {
		return nil, tooLong
	}
	var all bytes.Buffer
	chunk := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(chunk)
		if !taken.grow(n) {
			return nil, tooLong
		}
		all.Write(chunk[:n])
		taken.unended(all.Len())
		switch {
		case err == io.EOF:
			taken.unended(0)
			return drain(&all), nil
		case err != nil:
			return drain(&all), fmt.Errorf("%w: %w", errCutShort, plainError(err))
		}
	}
}
