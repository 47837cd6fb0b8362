// Package schemas knows the form of what goes over the wire.
//
// It holds the JSON Schemas of everything that servers and clients send in the revisions of the protocol
// (messages.yaml, one text for all of them) and judges messages by them; and it reads the schemas that tools bring
// along.
//
// It starts nothing, reads nothing from the network, and knows neither levels nor verdicts: it says which rule a value
// breaks and where.
package schemas
