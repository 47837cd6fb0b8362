// Package driver reaches a server under test and talks to it in raw JSON-RPC.
//
// It launches processes, keeps every byte of both directions with its time, answers what the server asks, bounds what a
// hostile server can cost, and ends what it started. It records and never judges: what an answer is worth is the
// business of package harness and of the checks. It is the only package that touches processes and sockets.
package driver
