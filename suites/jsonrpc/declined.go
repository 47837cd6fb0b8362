package jsonrpc

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// endedAfterDecline reports whether the session ended with the call unanswered after a decline of, or an error to, a
// server request: no message of the server came after that of the client.
func endedAfterDecline(x *transcript.Call) bool {
	declined := false
	asked := map[string]bool{} // ids of server requests
	for _, f := range x.Session.FramesSince(0) {
		switch {
		case f == x.EndFrame:
			return declined
		case f.Side == driver.FromClient:
			declined = declined || f.IsResponse() && asked[driver.IDKey(f.ID)] && isDecline(f)
		case f.Side == driver.FromServer:
			declined = false
			if f.IsRequest() && client.CapabilityOfRequest[f.Method] != "" {
				asked[driver.IDKey(f.ID)] = true
			}
		}
	}
	return false
}

// isDecline reports whether a response to a server request is an error, or a result in which the user does not accept.
func isDecline(answer *driver.Frame) bool {
	message := answer.JSON()
	result, _ := message["result"].(check.M)
	return message["error"] != nil || check.HasMember(result, "action") && result["action"] != "accept"
}
