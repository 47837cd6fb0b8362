package kit

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// The media types of an answer with messages.
const (
	JSONType   = "application/json"
	StreamType = "text/event-stream"
)

// The headers that say which session a request belongs to, and which version that has negotiated.
const (
	SessionIDHeader = "Mcp-Session-Id"
	VersionHeader   = "Mcp-Protocol-Version"
)

// Request is a JSON-RPC request over HTTP that a check makes by hand, beside the messages of a session: watches leave
// it out.
type Request struct {
	ID     any         // default: the next one of the session
	Method string      // default: the harmless request of the session
	Params M           // nil: none
	Header http.Header // laid over the usual ones; a nil value leaves a header out
	URL    string      // default: the endpoint
	Host   string      // of the header Host; default: that of the URL
}

// ByHand posts a request; the answer is had from the exchange.
func ByHand(s *driver.Session, r Request) *driver.Exchange {
	if r.Method == "" {
		r.Method, r.Params = s.Harmless()
	}
	if r.ID == nil {
		r.ID = s.NextID()
	}
	body := Compact(s.Message(r.ID, r.Method, r.Params))
	return s.HTTP().Do(driver.HTTPRequest{URL: r.URL, Host: r.Host, Header: r.Header, Body: body})
}

// InTurn makes a request of a session by hand and waits for the answer as CameOf does. It is made in its turn.
func InTurn(s *driver.Session, make func() *driver.Exchange) (x *driver.Exchange) {
	s.InTurn(func() (busy bool) {
		x = make()
		CameOf(x)
		return x.IsBusy()
	})
	return x
}

// InitializedByHand posts the notification that ends the handshake.
func InitializedByHand(s *driver.Session, header http.Header) *driver.Exchange {
	note := M{"jsonrpc": "2.0", "method": "notifications/initialized"}
	return s.HTTP().Do(driver.HTTPRequest{Header: header, Body: Compact(note)})
}

// Post posts a text by hand, whatever it is.
func Post(s *driver.Session, body string) *driver.Exchange {
	return s.HTTP().Do(driver.HTTPRequest{Body: []byte(body)})
}

// Attempt is an HTTP request that is judged as one of several, under a name.
type Attempt struct {
	*driver.Exchange
	Subject Subject
}

// AttemptOf names a request of a session. Reports show what is in the record of it by now.
func AttemptOf(s *driver.Session, name string, x *driver.Exchange) Attempt {
	a := Attempt{Exchange: x, Subject: Subject{Name: name}}
	for _, f := range s.Record(0) {
		if f.HTTP == x {
			a.Subject.Frames = append(a.Subject.Frames, f)
		}
	}
	return a
}

// EachAttempt tries a check on requests. What fails is named as they are.
func EachAttempt(t *T, attempts []Attempt, run func(*T, Attempt)) {
	Each(t, attempts, func(a Attempt) Subject { return a.Subject }, run)
}

// ByHandSession begins a session by hand, without the standing stream that others have. It returns the headers of
// requests in it; the id is empty when the server issues none.
func ByHandSession(t *T, s *driver.Session) http.Header {
	hello := HelloByHand(t, s, Header(SessionIDHeader))
	if r := hello.Reply(); r.Result() == nil {
		t.Again("no session: initialize was answered with %s", hello.Answer())
	}
	h := Header(VersionHeader, t.Revision)
	if id := hello.Answer().Header.Get(SessionIDHeader); id != "" {
		h.Set(SessionIDHeader, id)
	}
	InitializedByHand(s, h).End()
	return h
}

// Greeting is the request that a client begins with: initialize or, where there is no handshake, server/discover.
func Greeting(t *T) (method string, params M) {
	if t.Modern() {
		return "server/discover", nil
	}
	return "initialize", driver.Hello(t.Revision)
}

// HelloByHand posts the greeting, best in a session in which nothing was said. If the server takes it, the session that
// it issues ends with s.
func HelloByHand(t *T, s *driver.Session, header http.Header) *driver.Exchange {
	method, params := Greeting(t)
	return ByHand(s, Request{Method: method, Params: params, Header: header})
}

// HelloTakenWith are the headers with which the server takes an initialize request that it refuses without them.
func HelloTakenWith(t *T, s *driver.Session) (with []string) {
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
	var hellos []*driver.Exchange
	for _, try := range tries {
		hellos = append(hellos, HelloByHand(t, s, try.header))
	}
	for i, x := range hellos {
		if x.Reply().Result() != nil {
			with = append(with, "served "+tries[i].with)
		}
	}
	return with
}

// DemandsSession reports whether an answer may say that a session id is lacking.
func DemandsSession(a driver.Answer) bool {
	return a.Status == http.StatusBadRequest || IsNotFound(a)
}

// Get opens an event stream by hand, with other headers than usual. It stays open until the session ends or Abort is
// called.
func Get(s *driver.Session, header http.Header) *driver.Exchange {
	return s.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, Header: header})
}

// Header is one header; without a value it says that the header is to be left out.
func Header(name string, values ...string) http.Header { return http.Header{name: values} }

// Bearing is the Authorization header with a token.
func Bearing(token string) http.Header { return Header("Authorization", "Bearer "+token) }
