package kit

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

const (
	JSONType   = "application/json"
	StreamType = "text/event-stream"

	VersionHeader = "Mcp-Protocol-Version"
)

// Post posts a message by hand.
func Post(s *driver.Session, body string) *driver.Exchange {
	return s.Do(driver.HTTPRequest{Body: []byte(body)})
}

// SubjectOf is an HTTP request, to be judged as one of several.
func SubjectOf(s *driver.Session, name string, x *driver.Exchange) Subject {
	of := Subject{Name: name}
	for _, f := range s.Record(0) {
		if f.HTTP == x {
			of.Frames = append(of.Frames, f)
		}
	}
	return of
}

// AnswerOf is what came back of it, all of it.
func AnswerOf(request Subject) driver.Answer { return request.Frames[0].HTTP.End() }

const SessionIDHeader = "Mcp-Session-Id"

// HandMade posts a request by hand under an id that says what it is for.
func HandMade(s *driver.Session, id, method string, params M, header http.Header) *driver.Exchange {
	request := M{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		request["params"] = params
	}
	return s.Do(driver.HTTPRequest{Header: header, Body: Compact(request)})
}

// ByHandSession begins a session by hand, without the standing stream that others
// have. It returns the headers of requests in it; the id is empty when the server
// issues none.
func ByHandSession(t *T, s *driver.Session) http.Header {
	hello := HelloByHand(t, s, Header(SessionIDHeader))
	if r := hello.Reply(); r.Result() == nil {
		t.Again("no session: initialize was answered with %s", hello.Answer())
	}
	h := Header(VersionHeader, t.Revision)
	if id := hello.Answer().Header.Get(SessionIDHeader); id != "" {
		h.Set(SessionIDHeader, id)
	}
	s.Do(driver.HTTPRequest{Header: h, Body: Compact(M{"jsonrpc": "2.0", "method": "notifications/initialized"})}).End()
	return h
}

// What follows are requests over HTTP that are made by hand, for checks of the
// transport itself: beside the messages of a session, and left out by the checks
// that watch those.

// ByHand posts a request in a session, with other headers than usual: a nil value
// leaves one out. It has an id of its own; the answer is had from the exchange.
func ByHand(s *driver.Session, method string, params M, header http.Header) *driver.Exchange {
	request := M{"jsonrpc": "2.0", "id": fmt.Sprintf("mcpcheck-by-hand-%d", s.Mark()), "method": method}
	if params != nil {
		request["params"] = params
	}
	return s.Do(driver.HTTPRequest{Header: header, Body: Compact(request)})
}

// HelloByHand posts initialize, best in a session in which nothing was said. If the
// server takes it, the session that it issues ends with s.
func HelloByHand(t *T, s *driver.Session, header http.Header) *driver.Exchange {
	return ByHand(s, "initialize", driver.Hello(t.Revision), header)
}

// Get opens an event stream by hand, with other headers than usual. It stays open
// until the session ends or Abort is called.
func Get(s *driver.Session, header http.Header) *driver.Exchange {
	return s.Do(driver.HTTPRequest{Method: http.MethodGet, Header: header})
}

// Header is one header; without a value it says that the header is to be left out.
func Header(name string, values ...string) http.Header { return http.Header{name: values} }
