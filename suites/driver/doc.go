// Package driver connects to a server under test and exchanges raw JSON-RPC with it, over stdio or HTTP.
//
// It starts processes, records every byte of both directions with its time, answers the server's requests, limits the
// memory and the time that a server can cost, and ends what it started. It records and never judges: package engine and
// the checks decide what a response is worth. It is the only package that touches processes and sockets.
//
// Begin with Target, which says how the server is reached, Session, one connection to it, and Frame, one message in the
// session's record. A Pool starts, reuses and ends the sessions of a run. A Session is driven by one goroutine at a
// time; its record may be read by any. Frames and texts in the record do not change.
package driver
