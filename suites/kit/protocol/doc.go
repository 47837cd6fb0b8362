// Package protocol holds facts about MCP that checks of several areas need, and the simplest requests.
//
// It says what a client declares (AllCapabilities), which lists there are (PagedLists), which check reports a violation
// of a message's schema (OwnerOf), and which request every server answers (SendNoOp). Compare reports whether two forms
// of a request are answered alike.
//
// The package sends only valid requests, and keeps nothing between calls. Functions whose names begin with Require or
// SkipUnless end the check; all others leave the outcome to the caller.
package protocol
