package roundtrip

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// The media types of an answer with messages.
const (
	JSONType        = "application/json"
	EventStreamType = "text/event-stream"
)

// The headers that say which session a request belongs to, and which version that has negotiated.
const (
	SessionIDHeader = "Mcp-Session-Id"
	VersionHeader   = "Mcp-Protocol-Version"
)

// Request is a JSON-RPC request over HTTP that a check makes by hand, beside the messages of a session: watches leave
// it out.
type ManualRequest struct {
	ID     any         // default: the next one of the session
	Method string      // default: the harmless request of the session
	Params check.M     // nil: none
	Header http.Header // laid over the usual ones; a nil value leaves a header out
	URL    string      // default: the endpoint
	Host   string      // of the header Host; default: that of the URL
}

// PostRequest posts a request; the answer is had from the exchange.
func PostRequest(s *driver.Session, r ManualRequest) *driver.RoundTrip {
	if r.Method == "" {
		r.Method, r.Params = s.NoOp()
	}
	if r.ID == nil {
		r.ID = s.NextID()
	}
	body := text.CompactJSON(s.NewRequest(r.ID, r.Method, r.Params))
	return s.HTTP().Do(driver.HTTPRequest{URL: r.URL, Host: r.Host, Header: r.Header, Body: body})
}

// RetryWhileBusy makes a request of a session by hand and waits for the answer as AwaitResponse does. It is made in its
// turn.
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

// Post posts a text by hand, whatever it is.
func Post(s *driver.Session, body string) *driver.RoundTrip {
	return s.HTTP().Do(driver.HTTPRequest{Body: []byte(body)})
}

// NamedRoundTrip is an HTTP request that is judged as one of several, under a name.
type NamedRoundTrip struct {
	*driver.RoundTrip
	Subject check.Subject
}

// NewNamedRoundTrip names a request of a session. Reports show what is in the record of it by now.
func NewNamedRoundTrip(s *driver.Session, name string, x *driver.RoundTrip) NamedRoundTrip {
	a := NamedRoundTrip{RoundTrip: x, Subject: check.Subject{Name: name}}
	for _, f := range s.FramesSince(0) {
		if f.RoundTrip == x {
			a.Subject.Frames = append(a.Subject.Frames, f)
		}
	}
	return a
}

// EachNamedRoundTrip tries a check on requests. What fails is named as they are.
func EachNamedRoundTrip(t *check.T, attempts []NamedRoundTrip, run func(*check.T, NamedRoundTrip)) {
	check.Each(t, attempts, func(a NamedRoundTrip) check.Subject { return a.Subject }, run)
}

// NewManualSession begins a session by hand, without the standing stream that others have. It returns the headers of
// requests in it; the id is empty when the server issues none.
func NewManualSession(t *check.T, s *driver.Session) http.Header {
	hello := PostConnect(t, s, Header(SessionIDHeader))
	if r := hello.AwaitReply(); r.Result() == nil {
		t.Retry("no session: initialize was answered with %s", hello.Response())
	}
	h := Header(VersionHeader, t.Revision)
	if id := hello.Response().Header.Get(SessionIDHeader); id != "" {
		h.Set(SessionIDHeader, id)
	}
	PostInitialized(s, h).AwaitEnd()
	return h
}

// ConnectRequest is the request that a client begins with: initialize or, where there is no handshake, server/discover.
func ConnectRequest(t *check.T) (method string, params check.M) {
	if t.IsModern() {
		return "server/discover", nil
	}
	return "initialize", driver.ConnectParams(t.Revision)
}

// PostConnect posts the greeting, best in a session in which nothing was said. If the server takes it, the session that
// it issues ends with s.
func PostConnect(t *check.T, s *driver.Session, header http.Header) *driver.RoundTrip {
	method, params := ConnectRequest(t)
	return PostRequest(s, ManualRequest{Method: method, Params: params, Header: header})
}

// RequiredConnectHeaders are the headers with which the server takes an initialize request that it refuses without
// them.
func RequiredConnectHeaders(t *check.T, s *driver.Session) (with []string) {
	const made = "mcpcheck-0f8fad5b-d9cb-469f-a165-70867728950e"
	both := Header(VersionHeader, t.Revision)
	both.Set(SessionIDHeader, made)
	tries := []struct {
		with   string
		header http.Header
	}{
		{"with Mcp-Protocol-Version", http.Header{VersionHeader: {t.Revision}, SessionIDHeader: nil}},
		{"with Mcp-Session-Id", Header(SessionIDHeader, made)},
		{"with both", both},
	}
	var hellos []*driver.RoundTrip
	for _, try := range tries {
		hellos = append(hellos, PostConnect(t, s, try.header))
	}
	for i, x := range hellos {
		if x.AwaitReply().Result() != nil {
			with = append(with, "served "+tries[i].with)
		}
	}
	return with
}

// MayRequireSession reports whether an answer may say that a session id is lacking.
func MayRequireSession(a driver.HTTPResponse) bool {
	return a.StatusCode == http.StatusBadRequest || IsNotFound(a)
}

// Poll opens an event stream by hand, with other headers than usual. It stays open until the session ends or Abort is
// called.
func Get(s *driver.Session, header http.Header) *driver.RoundTrip {
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, Header: header})
}

// Header is one header; without a value it says that the header is to be left out.
func Header(name string, values ...string) http.Header { return http.Header{name: values} }

// BearerHeader is the Authorization header with a token.
func BearerHeader(token string) http.Header { return Header("Authorization", "Bearer "+token) }
