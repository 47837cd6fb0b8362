package driver

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// openStream opens the one stream of HTTP+SSE, and waits until the server has said where messages go.
func (h *HTTP) openStream() error {
	x := h.listen()
	h.running.Go(func() {
		h.perform(x, func() {})
		if h.ctx.Err() == nil {
			h.lose("the event stream ended: " + x.Answer().String())
		}
	})
	limits := h.s.limits
	a := x.awaitFor(limits.Start, func(a *Answer) bool { return a.Status != 0 })
	if !a.IsStream {
		a = x.EndFor(unending)
		return &NoEndpoint{fmt.Sprintf("GET %s opened no event stream: %s", h.site.redacted(), a), a.OK() && !a.Ended}
	}
	e, came := x.AwaitEventFor(limits.Reply, StreamEvent.IsEndpoint)
	if !came {
		a = x.Answer()
		why := fmt.Sprintf("GET %s brought no endpoint event: %s", h.site.redacted(), a)
		return &NoEndpoint{why, slices.ContainsFunc(a.Events, StreamEvent.Dispatched)}
	}
	if err := h.postTo(e.Data.String()); err != nil {
		return &NoEndpoint{err.Error(), true}
	}
	return nil
}

// unending is how long a body goes on that is meant to be a stream.
const unending = 500 * time.Millisecond

// NoEndpoint says that a stream of HTTP+SSE cannot be used, or that there is none.
type NoEndpoint struct {
	Why    string
	Speaks bool // it is HTTP+SSE all the same, with something wrong
}

func (e *NoEndpoint) Error() string { return e.Why }

// IsEndpoint reports whether an event is the one that says where messages go.
func (e StreamEvent) IsEndpoint() bool { return e.Type == "endpoint" }

// postTo takes the endpoint of HTTP+SSE for the URL of messages.
func (h *HTTP) postTo(reference string) error {
	u, err := h.site.Endpoint(reference)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.endpoint = u.String()
	h.mu.Unlock()
	return nil
}

// Endpoint is where messages go, by the data of an endpoint event. It fails for another origin; one loopback name in
// place of another is put right.
func (site *Site) Endpoint(reference string) (*url.URL, error) {
	base := site.parsed()
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

// ParseEndpoint resolves the data of an endpoint event, a URI reference. JSON is not one, though some servers send it.
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
