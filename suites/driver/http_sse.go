package driver

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// openSSEStream opens the one stream of HTTP+SSE, and waits for the event that names the endpoint.
func (h *HTTP) openSSEStream() error {
	x := h.newListeningStream()
	h.running.Go(func() {
		h.perform(x, func() {})
		if h.ctx.Err() == nil {
			h.endByLoss("the event stream ended: " + x.Response().String())
		}
	})
	limits := h.s.limits
	a := x.awaitFor(limits.StartTimeout, func(a *HTTPResponse) bool { return a.StatusCode != 0 })
	if !a.IsStream {
		a = x.AwaitEndFor(timing.EndlessBody)
		return &EndpointError{fmt.Sprintf("GET %s opened no event stream: %s", h.site.redactedURL(), a),
			a.OK() && !a.Ended}
	}
	e, came := x.AwaitEventFor(limits.ReplyTimeout, StreamEvent.IsEndpoint)
	if !came {
		a = x.Response()
		why := fmt.Sprintf("GET %s brought no endpoint event: %s", h.site.redactedURL(), a)
		return &EndpointError{why, slices.ContainsFunc(a.Events, StreamEvent.IsDispatched)}
	}
	if err := h.setEndpoint(e.Data.String()); err != nil {
		return &EndpointError{err.Error(), true}
	}
	return nil
}

// EndpointError says that the stream of HTTP+SSE is missing or unusable.
type EndpointError struct {
	Reason string
	// IsSSE reports whether the server nevertheless speaks HTTP+SSE, with a mistake.
	IsSSE bool
}

func (e *EndpointError) Error() string { return e.Reason }

// IsEndpoint reports whether the event names the endpoint of HTTP+SSE.
func (e StreamEvent) IsEndpoint() bool { return e.Type == "endpoint" }

// setEndpoint makes the endpoint of HTTP+SSE the URL for messages.
func (h *HTTP) setEndpoint(reference string) error {
	u, err := h.site.EndpointURL(reference)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.endpoint = u.String()
	h.mu.Unlock()
	return nil
}

// EndpointURL returns the URL for messages from the data of an endpoint event. It fails for another origin; a different
// name of the loopback host is replaced by that of the site.
func (site *Site) EndpointURL(reference string) (*url.URL, error) {
	base := site.url.Load()
	u, err := ParseEndpoint(base, reference)
	if err != nil {
		return nil, fmt.Errorf("the endpoint event holds no URI: %w", err)
	}
	if IsLoopback(base.Hostname()) && IsLoopback(u.Hostname()) && u.Port() == base.Port() {
		u.Host = base.Host
	}
	if u.Scheme != base.Scheme || u.Host != base.Host {
		return nil, fmt.Errorf("the endpoint event names another origin, %s: nothing is sent there", u.Redacted())
	}
	return u, nil
}

// ParseEndpoint resolves the data of an endpoint event, a URI reference. It rejects JSON, which some servers send.
func ParseEndpoint(base *url.URL, reference string) (*url.URL, error) {
	switch {
	case reference == "":
		return nil, errors.New("its data is empty")
	case strings.ContainsAny(reference[:1], "\"{["):
		return nil, errors.New("its data is JSON")
	case strings.ContainsFunc(reference, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, errors.New("its data has white space in it")
	}
	return base.Parse(reference)
}

// receiveInPost records the response to a request that came in the body of its POST. It returns nil if there is none,
// or if the stream, where it belongs, brings it as well. Of each method that is waited for once.
func (h *HTTP) receiveInPost(x *RoundTrip, body []byte) *Frame {
	f := &Frame{Raw: bytes.TrimSpace(body), Complete: true, RoundTrip: x}
	if f.parse(); x.manual || x.hasErrorStatus() || !f.IsResponse() || !SameID(f.ID, x.requestID) {
		return nil
	}
	method, patience := x.requestFrame.Method, timing.ShortWait
	if _, known := h.site.answeredInPost.Load(method); known {
		patience = 0
	}
	p := Pending{ID: x.requestID}
	if _, err := h.s.Wait(x.requestFrame.Position.index, patience, p.isAnsweredBy); !errors.Is(err, errTimeout) {
		return nil
	}
	h.site.answeredInPost.Store(method, true)
	h.s.receive(f)
	return f
}
