// Package errcode has the error codes of JSON-RPC 2.0 and of MCP, under the names that the specification gives them.
// They are the code member of the error of a response.
package errcode

// The codes of JSON-RPC 2.0, section 5.1, which every revision of MCP takes over.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// The codes that revision 2026-07-28 defines (basic#error-codes, schema.ts).
const (
	HeaderMismatch                  = -32020
	MissingRequiredClientCapability = -32021
	UnsupportedProtocolVersion      = -32022
)

// The codes that earlier revisions defined, and that 2026-07-28 forbids.
const (
	ResourceNotFound       = -32002 // server/resources#error-handling, up to 2025-11-25
	URLElicitationRequired = -32042 // client/elicitation#error-handling, of 2025-11-25
)
