package driver

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// HTTPRequest is an HTTP request that a check makes outside of the session's messages. Empty fields stand for the
// values of the session's own requests.
type HTTPRequest struct {
	// Method is the HTTP method; empty is POST.
	Method string
	// URL is absolute or a path on the server; empty is the endpoint.
	URL string
	// Header replaces headers of the session's own requests; a nil value removes one. Requests to another origin have
	// no other headers.
	Header http.Header
	// Host is the value of the header Host.
	Host string
	Body []byte

	// BodyReader is sent instead of Body, which then only stands for it in the record. It is for bodies that are too
	// big to keep in memory. BodySize is its length in bytes.
	BodyReader io.Reader
	BodySize   int64

	// OnNewConnection has the request sent on a connection that has carried no other, and carries none later.
	OnNewConnection bool
}

// Do makes an HTTP request outside of the session's messages and without waiting for its turn. Its result is for the
// caller alone: checks that watch the session ignore it.
func (h *HTTP) Do(r HTTPRequest) *RoundTrip {
	h.s.requireServer()
	target := h.resolve(r.URL)
	f := &Frame{Side: FromClient, Raw: Text(r.Body), Complete: true, Manual: true}
	f.parse()
	x := h.newRoundTrip(cmp.Or(r.Method, http.MethodPost), target, f)
	if x.isOtherOrigin = !h.isOwnOrigin(target); x.isOtherOrigin {
		x.Header = http.Header{"User-Agent": x.Header["User-Agent"]}
	}
	x.manual, x.Host, x.ChangedHeaders = true, r.Host, r.Header
	x.bodyReader, x.bodySize, x.isOnNewConnection = r.BodyReader, r.BodySize, r.OnNewConnection
	x.Header = mergeHeaders(x.Header, r.Header)
	h.addRequest(f)
	h.running.Go(func() { h.perform(x, func() {}) })
	return x
}

// resolve returns the URL for a reference; an empty one stands for the endpoint.
func (h *HTTP) resolve(reference string) string {
	endpoint := h.Endpoint()
	base, err := url.Parse(endpoint)
	if err != nil || reference == "" {
		return endpoint
	}
	u, err := base.Parse(reference)
	if err != nil {
		return endpoint
	}
	return u.String()
}

// isOwnOrigin reports whether a URL has the server's own origin. Headers of the operator and of the session are never
// sent to another one.
func (h *HTTP) isOwnOrigin(target string) bool {
	u, err := url.Parse(target)
	return err == nil && slices.ContainsFunc([]string{h.site.URL(), h.Endpoint()}, func(own string) bool {
		o, err := url.Parse(own)
		return err == nil && o.Scheme == u.Scheme && o.Host == u.Host
	})
}
