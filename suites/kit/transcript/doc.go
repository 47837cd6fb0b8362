// Package transcript reads what was sent and received in a session, and says what belongs together.
//
// SessionTranscript has the requests of a session with their responses (Call, Response), also where an id is missing or
// wrong. SessionProgress has the progress notifications with the requests that they are about, and SessionSubscriptions
// the subscriptions of modern revisions.
//
// The package judges nothing: a Call says whether the server exited, closed the connection or ran into one of
// mcpcheck's limits, and the check decides what follows. Everything ends where the client stopped conforming, since
// nothing after that can be held against the server. Only Subscribe and its relatives send messages.
package transcript
