// Package load measures a server under load, and tests whether it is still right: mcpcheck load.
//
// Run prepares what is sent in one quiet session (workload.go): the messages that a session begins with, and requests
// of each method that the server serves, with what it answered. Clients (client.go; http.go, sse.go, stdio.go, with
// inbox.go) send these messages again under ids of their own, many at a time (generator.go), and hold each response
// against the quiet one (verify.go). Figures are kept by method (figures.go); the report is a report.Load.
//
// Contract: a tool is called only if report.CallPolicy permits it with valid arguments. Nothing is sent to a host that
// is not loopback unless the operator has named it. The load ends after its duration, at the latest two timeouts later,
// when the context ends, or when the server answers 429 or 503 with Retry-After. The last two are a problem of the
// load, and not a failure of the server.
package load
