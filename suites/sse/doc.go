// Package sse has the checks of HTTP+SSE, the transport of revision 2024-11-05, and of how later servers stay
// compatible with its clients.
//
// An sseClient opens the event stream and posts messages to the endpoint that the stream announces. All its requests
// are made by hand, so that a server without a working session is judged as well. sharedClient and sharedInitialize are
// the steps that several checks read; the others open clients of their own. Nothing is sent to an endpoint of another
// origin.
package sse
