// Package http has the checks of Streamable HTTP: methods, headers, statuses, sessions, event streams, resumption, and
// the protection of local servers (Origin, Host, binding, CORS).
//
// They cover the page "Transports" of the specification, and for modern revisions the headers that mirror the body:
// Mcp-Method, Mcp-Name and Mcp-Param-*. Many read the event streams of all sessions (sseStream), for which
// postConcurrently provides some. Requests that break the rules are made by hand (package roundtrip), and are left out
// by watches.
//
// originProbes, deletedSession, resumption and mismatchedRequest are the outcomes that several checks share. Statuses
// count only if the server itself sent them: an intermediary's response makes a check inconclusive.
package http
