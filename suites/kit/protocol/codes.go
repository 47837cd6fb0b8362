package protocol

// The errors that the specification defines for requests that stand alone.
const (
	InvalidParams      = -32602
	HeaderMismatch     = -32020
	UnsupportedVersion = -32022
)
