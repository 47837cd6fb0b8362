// Package invalid sends what no conforming client sends, and reads what the server answers.
//
// SendMalformed sends a line that breaks the protocol, and RequestInvalid a well-formed request that is to be refused.
// ProbeID sends a valid request whose id is unusual. PredictablePattern and VaryingBits say whether ids can be guessed.
//
// Some servers refuse nothing, and some leave unanswered what they refuse. That is one violation, which
// jsonrpc/unknown-method-is-error reports, and not one for each check of an invalid request: SkipUnlessServerRejects
// ends such checks. Each line and each request is sent once, however many checks read the result.
package invalid
