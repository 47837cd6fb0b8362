package roundtrip

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// JSONType is the media type of a message.
const JSONType = "application/json"

// Headers of Streamable HTTP that name the session of a request and its negotiated version.
const (
	SessionIDHeader = "Mcp-Session-Id"
	VersionHeader   = "Mcp-Protocol-Version"
)

// The host and origin of a foreign web page. Nothing is ever sent to this host.
const (
	ForeignHost   = "mcpcheck-evil.example"
	ForeignOrigin = "http://" + ForeignHost
)

// LookalikeOrigins are foreign origins that pass for local ones when only their beginning, end or a part is compared.
var LookalikeOrigins = []string{
	"http://localhost." + ForeignHost,
	"http://127.0.0.1." + ForeignHost,
	"http://mcpcheck-evil-localhost",
}

// ManualRequest is a JSON-RPC request over HTTP that a check makes by hand. Watches leave it out.
type ManualRequest struct {
	// ID is the id of the request; nil is the next one of the session.
	ID any
	// Method is the method; empty is the no-op of the session, and then Params is not read.
	Method string
	// Params are the params; nil is none.
	Params check.M
	// Header is added to the usual headers; a nil value removes a header.
	Header http.Header
	// URL is where the request is sent; empty is the endpoint.
	URL string
	// Host is the header Host; empty is the host of the URL.
	Host string
	// OnNewConnection has it sent on a connection of its own: a server may keep something for a connection.
	OnNewConnection bool
}

// PostRequest posts a request. The round trip that it returns gives access to the response.
func PostRequest(s *driver.Session, r ManualRequest) *driver.RoundTrip {
	if r.Method == "" {
		r.Method, r.Params = s.NoOp()
	}
	if r.ID == nil {
		r.ID = s.NextID()
	}
	body := text.CompactJSON(s.NewRequest(r.ID, r.Method, r.Params))
	return s.HTTP().Do(driver.HTTPRequest{URL: r.URL, Host: r.Host, Header: r.Header, Body: body,
		OnNewConnection: r.OnNewConnection})
}

// RetryWhileBusy makes a manual request of a session and waits for the response as AwaitResponse does. It makes the
// request again as long as the server is busy with others.
func RetryWhileBusy(s *driver.Session, make func() *driver.RoundTrip) (x *driver.RoundTrip) {
	s.RetryWhileBusy(func() (busy bool) {
		x = make()
		AwaitResponse(x)
		return x.IsBusy()
	})
	return x
}

// PostInitialized posts the notification that ends the handshake.
func PostInitialized(s *driver.Session, header http.Header) *driver.RoundTrip {
	note := check.M{"jsonrpc": "2.0", "method": "notifications/initialized"}
	return s.HTTP().Do(driver.HTTPRequest{Header: header, Body: text.CompactJSON(note)})
}

// NamedRoundTrip is one of several HTTP requests that a check judges, with its name.
type NamedRoundTrip struct {
	*driver.RoundTrip
	Subject check.Subject
}

// NewNamedRoundTrip names a request of a session. Reports show what the transcript holds of it by now.
func NewNamedRoundTrip(s *driver.Session, name string, x *driver.RoundTrip) NamedRoundTrip {
	a := NamedRoundTrip{RoundTrip: x, Subject: check.Subject{Name: name}}
	for _, f := range s.FramesSince(0) {
		if f.RoundTrip == x {
			a.Subject.Frames = append(a.Subject.Frames, f)
		}
	}
	return a
}

// ConnectRequest is the request that a client begins with: initialize, or server/discover in a modern revision.
func ConnectRequest(t *check.T) (method string, params check.M) {
	if t.IsModern() {
		return "server/discover", nil
	}
	return "initialize", driver.ConnectParams(t.Revision)
}

// PostConnect posts the request that a client begins with, best in a session in which nothing was sent yet. If the
// server accepts it, the session that it issues ends with s.
func PostConnect(t *check.T, s *driver.Session, header http.Header) *driver.RoundTrip {
	method, params := ConnectRequest(t)
	return PostRequest(s, ManualRequest{Method: method, Params: params, Header: header})
}

// IsServedWithHeaders reports whether the server serves an initialize request that names its version, or that and a
// session.
func IsServedWithHeaders(t *check.T, s *driver.Session) bool {
	version := http.Header{VersionHeader: {t.Revision}, SessionIDHeader: nil}
	both := http.Header{VersionHeader: {t.Revision}, SessionIDHeader: {"mcpcheck-0f8fad5b-d9cb-469f-a165-70867728950e"}}
	return slices.ContainsFunc([]http.Header{version, both},
		func(header http.Header) bool { return PostConnect(t, s, header).AwaitReply().Result() != nil })
}

// MayRequireSession reports whether a response may mean that the session id is missing.
func MayRequireSession(a driver.HTTPResponse) bool {
	return a.StatusCode == http.StatusBadRequest || IsNotFound(a)
}

// Get opens an event stream by hand, with this header added to the usual ones. It stays open until the session ends or
// Abort is called.
func Get(s *driver.Session, header http.Header) *driver.RoundTrip {
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, Header: header})
}

// Header is a single header; without a value, it removes the header from a request.
func Header(name string, values ...string) http.Header { return http.Header{name: values} }

// BearerHeader is the Authorization header with a bearer token.
func BearerHeader(token string) http.Header { return Header("Authorization", "Bearer "+token) }
