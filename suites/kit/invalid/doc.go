// Package invalid sends what no conforming client sends, and reads what the server answers.
//
// SendMalformed sends a line that breaks the protocol, and RequestInvalid a well-formed request that is to be refused.
// ProbeID sends a valid request whose id is unusual. VaryingBits says how much of an id has to be guessed.
//
// Some servers refuse nothing, and some leave unanswered what they refuse. That is one violation, which
// jsonrpc/unknown-method-is-error reports, and not one for each check of an invalid request: SkipUnlessServerRejects
// ends such checks. Each line and each request is sent once, however many checks read the result.
package invalid
