package driver

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// HTTPRequest is an RoundTrip request that a check makes by hand. Empty fields are as those of the session's own
// requests.
type HTTPRequest struct {
	Method string      // default POST
	URL    string      // absolute, or a path on the server; default the endpoint
	Header http.Header // laid over the ordinary ones, of which another origin gets none; nil values leave a header out
	Host   string      // of the header Host
	Body   []byte

	// BodyReader is sent in place of Body, which stands for it in the record: Size bytes, so many that they are better
	// made on the way than kept.
	BodyReader io.Reader
	BodySize   int64
}

// Do makes an RoundTrip request by hand, beside the session's messages and at once. What comes of it is for the caller
// alone: checks that watch the wire leave it out.
func (h *HTTP) Do(r HTTPRequest) *RoundTrip {
	target := h.resolve(r.URL)
	f := &Frame{Side: FromClient, Raw: Text(r.Body), Complete: true, Manual: true}
	f.parse()
	x := h.newRoundTrip(cmp.Or(r.Method, http.MethodPost), target, f)
	if x.isOtherOrigin = !h.isOwnOrigin(target); x.isOtherOrigin {
		x.Header = http.Header{"User-Agent": x.Header["User-Agent"]}
	}
	x.manual, x.Host, x.changedHeaders = true, r.Host, r.Header
	x.bodyReader, x.bodySize = r.BodyReader, r.BodySize
	x.Header = mergeHeaders(x.Header, r.Header)
	h.s.add(f)
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
func (h *HTTP) isOwnOrigin(target string) bool {
	u, err := url.Parse(target)
	return err == nil && slices.ContainsFunc([]string{h.site.URL(), h.Endpoint()}, func(own string) bool {
		o, err := url.Parse(own)
		return err == nil && o.Scheme == u.Scheme && o.Host == u.Host
	})
}
