package driver

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// HTTPRequest is an HTTP request that a check makes by hand. Empty fields are as those of the session's own requests.
type HTTPRequest struct {
	Method string      // default POST
	URL    string      // absolute, or a path on the server; default the endpoint
	Header http.Header // laid over the ordinary ones, of which another origin gets none; nil values leave a header out
	Host   string      // of the header Host
	Body   []byte

	// Sent is sent in place of Body, which stands for it in the record: Size bytes, so many that they are better made
	// on the way than kept.
	Sent io.Reader
	Size int64
}

// Do makes an HTTP request by hand, beside the session's messages and at once. What comes of it is for the caller
// alone: checks that watch the wire leave it out.
func (h *HTTP) Do(r HTTPRequest) *Exchange {
	target := h.resolve(r.URL)
	f := &Frame{Side: FromClient, Raw: Text(r.Body), Ended: true, Apart: true}
	f.parse()
	x := h.exchange(cmp.Or(r.Method, http.MethodPost), target, f)
	if x.foreign = !h.ours(target); x.foreign {
		x.Header = http.Header{"User-Agent": x.Header["User-Agent"]}
	}
	x.apart, x.Host, x.unusual = true, r.Host, r.Header
	x.sent, x.size = r.Sent, r.Size
	x.Header = overlay(x.Header, r.Header)
	h.s.put(f)
	h.running.Go(func() { h.perform(x, func() {}) })
	return x
}

// resolve is the URL that a reference stands for; the endpoint, if it is empty.
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

// ours reports whether a URL is of the server's own origin. To any other one nothing goes of what belongs to the
// operator or to the session.
func (h *HTTP) ours(target string) bool {
	u, err := url.Parse(target)
	return err == nil && slices.ContainsFunc([]string{h.site.URL(), h.Endpoint()}, func(own string) bool {
		o, err := url.Parse(own)
		return err == nil && o.Scheme == u.Scheme && o.Host == u.Host
	})
}
