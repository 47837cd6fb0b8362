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
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// perform carries out a round trip until its end. It calls headed when the headers of a response that may take long
// have been received.
func (h *HTTP) perform(x *RoundTrip, headed func()) {
	ctx, stop := context.WithCancel(h.ctx)
	defer stop()
	h.s.mu.Lock()
	x.stop = stop
	h.s.mu.Unlock()
	req, err := x.newHTTPRequest(ctx)
	if err != nil {
		h.recordFailure(x, err)
		return
	}
	if x.isOptional {
		h.site.crowding.add(x)
		defer h.site.crowding.remove(x)
	}
	resp, err := h.doUnrefused(x, req)
	if err != nil {
		h.handleError(x, err)
		return
	}
	defer resp.Body.Close()
	h.site.crowding.receivedHeaders(x)
	h.recordHeaders(x, resp)
	if !h.isSSE && !x.isOtherOrigin {
		h.s.Era().onHeaders(h, x)
	}
	if x.requestID != nil || x.stream {
		headed()
	}
	plain, err := decodedBody(resp)
	if err != nil {
		h.recordFailure(x, err)
		return
	}
	body := bufio.NewReader(plain)
	if x.requestID != nil && !x.isAnsweredOnStream && isUndeclaredStream(resp, body) {
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

// doUnrefused makes the HTTP request of a round trip, and makes it again if there were too many requests at that time.
func (h *HTTP) doUnrefused(x *RoundTrip, req *http.Request) (*http.Response, error) {
	for {
		x.setSent(time.Now())
		headed := h.watchHeaders(x)
		resp, err := h.doOnOpenConnection(x, req)
		headed()
		if err != nil || x.isOtherOrigin || x.bodyReader != nil || !h.site.pacer.isRefused(resp) {
			return resp, err
		}
		resp.Body.Close()
		x.setSent(time.Time{})
		h.site.pacer.await(req.Context())
		if req.GetBody != nil {
			req.Body, _ = req.GetBody()
		}
	}
}

// doOnOpenConnection makes the HTTP request of a round trip, and makes it again on a new connection if that on which it
// was sent had carried others and ended without a byte of the response, or with what does not begin like one: a server
// may close an idle connection at any time, also when the next request is on its way (RFC 9112, section 9.5), and the
// response before may have been longer than its Content-Length, so that its rest came.
func (h *HTTP) doOnOpenConnection(x *RoundTrip, req *http.Request) (*http.Response, error) {
	var isReused, hasBegun atomic.Bool
	traced := req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { isReused.Store(info.Reused) },
		GotFirstResponseByte: func() { hasBegun.Store(true) },
	}))
	resp, err := h.site.do(traced, x.isOnNewConnection)
	isRest := err != nil && strings.Contains(err.Error(), "malformed HTTP response")
	isLost := err != nil && isReused.Load() && (!hasBegun.Load() || isRest)
	if !isLost || x.bodyReader != nil || req.Context().Err() != nil {
		return resp, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		again.Body, _ = req.GetBody()
	}
	resp, errAgain := h.site.do(again, true)
	var dial *net.OpError
	if errors.As(errAgain, &dial) && dial.Op == "dial" {
		return nil, err // the server ended instead
	}
	return resp, errAgain
}

// decodedBody returns the body of a response without its content coding. mcpcheck requests none, but any client can
// read gzip.
func decodedBody(resp *http.Response) (io.Reader, error) {
	switch encoding := resp.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return resp.Body, nil
	case "gzip":
		return gzip.NewReader(resp.Body)
	default:
		return nil, fmt.Errorf("it is encoded as %s, which was not asked for", Brief([]byte(encoding)))
	}
}

// isUndeclaredStream reports whether the response to a request is an event stream with another media type. One check
// reports the media type; the others judge the content.
func isUndeclaredStream(resp *http.Response, body *bufio.Reader) bool {
	const longest = len("event:")
	if resp.StatusCode != http.StatusOK || slices.Contains([]string{"application/json", ""}, MediaType(resp.Header)) {
		return false
	}
	begin, _ := body.Peek(longest)
	return slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool {
		return bytes.HasPrefix(begin, []byte(field))
	})
}

func (h *HTTP) performFor(x *RoundTrip, d time.Duration) {
	ctx, cancel := context.WithTimeout(h.ctx, d)
	defer cancel()
	over := context.AfterFunc(ctx, x.Abort)
	defer over()
	h.perform(x, func() {})
}

func (x *RoundTrip) newHTTPRequest(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, x.Method, x.URL, bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	req.Header, req.Host = x.Header, x.Host
	switch {
	case x.bodyReader != nil:
		req.Body, req.ContentLength, req.GetBody = io.NopCloser(x.bodyReader), x.bodySize, nil
	case len(x.Body) == 0:
		req.Body, req.ContentLength = http.NoBody, 0
	}
	return req, nil
}

// handleError records a round trip without an HTTP response. If nothing listens any longer, the session is over.
func (h *HTTP) handleError(x *RoundTrip, err error) {
	if x.isOtherOrigin { // it says nothing about the server
		h.recordFailure(x, plainError(err))
		return
	}
	if h.proc != nil && h.site.exitsSoon(h.ctx, h.proc) {
		h.recordExit()
	}
	if cause := context.Cause(h.ctx); cause != nil {
		err = cause
	}
	h.recordFailure(x, plainError(err))
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && h.ctx.Err() == nil {
		h.endByLoss("the server cannot be reached any more: " + plainError(err).Error())
	}
}

func (h *HTTP) recordHeaders(x *RoundTrip, resp *http.Response) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	a := &x.response
	a.StatusCode, a.Header, a.HeadersAt = resp.StatusCode, resp.Header, time.Since(h.s.opened)
	x.stream = MediaType(resp.Header) == "text/event-stream" && a.OK()
	if x.snapshot().isBusy() && !x.manual {
		h.site.serial.Store(true)
	}
	h.s.wake()
}

// recordFailure records why a round trip ended without a complete response.
func (h *HTTP) recordFailure(x *RoundTrip, err error) {
	h.noteBroken(x, err)
	h.recordStatus(x, err)
	h.recordEnd(x, err)
}

// noteBroken notes that a request has no complete response because the connection broke. Another session's effect on
// the server may be the cause.
func (h *HTTP) noteBroken(x *RoundTrip, err error) {
	ours := x.isOtherOrigin || x.manual && errors.Is(err, context.Canceled)
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.broken = err != nil && !ours && !x.IsCancelled() && !h.s.shutdown && AsLimitError(err) == nil
	h.s.connectionFailed = h.s.connectionFailed || x.broken
}

// recordEnd records that nothing more will be received. The frame for the response must be in the record before, for
// those who wait for the end.
func (h *HTTP) recordEnd(x *RoundTrip, err error) {
	h.s.setLimitErr(AsLimitError(err))
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	x.response.Ended, x.response.Err, x.response.EndedAt = true, err, time.Since(h.s.opened)
	h.s.wake()
}

// recordStatus records a response that carries no message. err is why it ended, if not normally.
func (h *HTTP) recordStatus(x *RoundTrip, err error) {
	a := x.Response()
	a.Ended, a.Err = true, err
	h.s.add(&Frame{Side: StatusOnly, Raw: Text(a.String()), Complete: true, RoundTrip: x, Manual: x.manual})
}

// readBody reads a response that is not an event stream: one message or, in a batch, several. If the body holds more
// than one document, the first one counts; one check reports the others. If the message is not the response to the
// request, none will come.
func (h *HTTP) readBody(x *RoundTrip, resp *http.Response) {
	taken := &readQuota{record: &h.s.record, partial: &x.partial}
	defer taken.release()
	body, err := h.readAll(resp, taken)
	h.s.mu.Lock()
	x.response.Body = body
	h.s.mu.Unlock()
	h.noteBroken(x, err)
	defer h.recordEnd(x, err)
	var f *Frame
	if err == nil {
		f = h.receiveBody(x, body)
	}
	if err == nil && h.isSSE {
		f = h.receiveInPost(x, body)
	}
	if err == nil && f == nil {
		f = h.receiveBody(x, firstDocument(body))
	}
	if err == nil && f == nil && MediaType(resp.Header) == "text/event-stream" {
		f = h.receiveBody(x, h.lastEventData(x, body))
	}
	if f == nil || x.requestID != nil && !(Pending{ID: x.requestID}).isAnsweredBy(f) {
		h.recordStatus(x, err)
	}
}

// receiveBody records a body, or the beginning of one, as a frame. It returns nil if it is not a message.
func (h *HTTP) receiveBody(x *RoundTrip, body []byte) *Frame {
	f := &Frame{Raw: bytes.TrimSpace(body), Complete: true, RoundTrip: x, Manual: x.manual}
	f.parse()
	if h.isSSE || !CarriesMessage(x.Method, x.response.StatusCode, x.requestID != nil, f) {
		return nil // over HTTP+SSE, messages arrive on the stream only
	}
	h.s.receive(f)
	return f
}

// lastEventData returns the data of the last event in the body of an HTTP error, which may be an event stream as that
// of a success.
func (h *HTTP) lastEventData(x *RoundTrip, body []byte) (data []byte) {
	taken := &readQuota{record: &h.s.record, partial: &x.partial}
	readEvents(bytes.NewReader(body), taken, func(e StreamEvent) {
		if e.IsDispatched() {
			data = e.Data.Bytes()
		}
	}, func() {})
	return data
}

// firstDocument returns the JSON with which a body begins, or nil if it begins with something else.
func firstDocument(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	if d.Decode(new(json.RawMessage)) != nil {
		return nil
	}
	return body[:d.InputOffset()]
}

// CarriesMessage reports whether the body of the response to an HTTP request with this method is a message. The body of
// an HTTP error may be some other JSON, and so may that of the response to a JSON-RPC request.
func CarriesMessage(method string, status int, toRequest bool, f *Frame) bool {
	switch {
	case method != http.MethodPost:
		return false // it asks for a stream, or ends the session: the body does not answer a message
	case status >= http.StatusBadRequest:
		return f.Kind == Object && (f.HasError || f.HasResult) && f.HasJSONRPC
	}
	return !toRequest && (f.Kind == Object || f.Kind == Array) ||
		slices.ContainsFunc(f.Messages(), func(m *Frame) bool { return m.HasMethod || m.IsResponse() })
}

var errBodyTruncated = errors.New("the body ended early")

// readAll reads a body up to the limit for messages.
func (h *HTTP) readAll(resp *http.Response, taken *readQuota) (Text, error) {
	tooLong := h.s.limits.tooLong("the body has")
	if resp.ContentLength > int64(h.s.limits.MaxMessageBytes) {
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
		taken.notePartial(all.Len())
		switch {
		case err == io.EOF:
			taken.notePartial(0)
			return drain(&all), nil
		case err != nil:
			return drain(&all), fmt.Errorf("%w: %w", errBodyTruncated, plainError(err))
		}
	}
}
