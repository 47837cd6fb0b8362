// Package roundtrip makes HTTP requests by hand, next to the messages of a session, and says what their responses are.
//
// ManualRequest with PostRequest, and Get, send a request with chosen headers, URL or id. AwaitResponse waits for the
// response. RequireHTTPResponse ends a check whose request got no response of the server itself.
//
// Watches leave these requests out, so they may break the rules of Streamable HTTP. All that a check opens by hand is
// closed with its session at the latest.
package roundtrip
