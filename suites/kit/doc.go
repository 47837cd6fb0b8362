// Package kit has no code of its own; the packages below it hold what checks of several areas share, from the bottom
// up:
//
//   - protocol: capabilities, lists, no-op requests, and which check reports a violation of a schema
//   - roundtrip: HTTP requests that a check makes by hand, and their responses
//   - transcript: which response, progress notification and event stream belongs to which request of a session
//   - invalid: requests that no conforming client sends, and what the server answers
//   - handshake: legal but unusual ways to begin and end a session
//   - toolcall: the calls of tools, prompts and completions that several checks read
//   - requests: a valid request, and one to refuse, for each method that the server serves
//   - client: the client's side of sampling, roots and elicitation
//   - taskrun: tasks that are followed to their end
//   - kittest: messages for the tests of these packages
//
// A package imports only packages that stand before it in this list. TestImportsRunOneWay proves that.
package kit
