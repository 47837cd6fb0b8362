package recorder

import (
	"encoding/json"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// postInfo says how a posted body is to be answered.
type postInfo struct {
	method string
	// isInitialize says that the body has an initialize request.
	isInitialize bool
	// requestIDs holds the ids of the requests in the body.
	requestIDs []json.RawMessage
	// isRequest says that the body is one request, and no batch.
	isRequest bool
}

// newPostInfo reads a body that was sent with an HTTP method.
func newPostInfo(method string, body []byte) postInfo {
	f := driver.ParseBody(body)
	p := postInfo{method: method, isRequest: f.IsRequest()}
	for _, m := range f.Messages() {
		if m.IsRequest() {
			p.requestIDs = append(p.requestIDs, m.ID)
			p.isInitialize = p.isInitialize || m.Method == "initialize"
		}
	}
	return p
}

// carriesMessage says whether the body of a response with that status is a message.
func (p postInfo) carriesMessage(status int, body []byte, isSSE bool) bool {
	return !isSSE && driver.CarriesMessage(p.method, status, p.isRequest, driver.ParseBody(body))
}
