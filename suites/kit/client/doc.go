// Package client is the client's side of what servers request: sampling, roots and elicitation.
//
// A Client declares capabilities and answers by a Responder: AcceptAll as a user who agrees to everything, RespondTo
// with one chosen response. CallInteractively calls each tool once as such a client and returns the calls
// (InteractiveCall) during which the server made a request (ServerRequest).
//
// Both eras look the same to a check: a legacy server sends a request of its own, a modern one an input request in a
// result, and both become a ServerRequest. No URL is opened, and no model or user is involved.
package client
