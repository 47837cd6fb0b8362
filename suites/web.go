package suites

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// What follows are requests over HTTP that are made by hand, for checks of the
// transport itself: beside the messages of a session, and left out by the checks
// that watch those.

// byHand posts a request in a session, with other headers than usual: a nil value
// leaves one out. It has an id of its own; the answer is had from the exchange.
func byHand(s *driver.Session, method string, params M, header http.Header) *driver.Exchange {
	request := M{"jsonrpc": "2.0", "id": fmt.Sprintf("mcpcheck-by-hand-%d", s.Mark()), "method": method}
	if params != nil {
		request["params"] = params
	}
	return s.Do(driver.HTTPRequest{Header: header, Body: Compact(request)})
}

// helloByHand posts initialize, best in a session in which nothing was said. If the
// server takes it, the session that it issues ends with s.
func helloByHand(t *T, s *driver.Session, header http.Header) *driver.Exchange {
	return byHand(s, "initialize", driver.Hello(t.Revision), header)
}

// get opens an event stream by hand, with other headers than usual. It stays open
// until the session ends or Abort is called.
func get(s *driver.Session, header http.Header) *driver.Exchange {
	return s.Do(driver.HTTPRequest{Method: http.MethodGet, Header: header})
}

// header is one header; without a value it says that the header is to be left out.
func header(name string, values ...string) http.Header { return http.Header{name: values} }
