// Package engine plans and runs checks against one server.
//
// Plan makes a Case of each requirement that has a check and applies to the server. Execute runs the cases, several at
// a time, and the Execution returns their results in the order of the plan; JudgeRecorded does so for the watches, with
// sessions that were recorded. Every case has one result, also when the run is interrupted.
//
// A check that does not pass on a session that others have used is tried again before that counts: alone where it would
// block, together with other checks where it would not, and with nothing else running where the server was silent or
// had exited. A run whose server no longer serves is stopped. A failure whose cause (the entries named in yields_to)
// has failed is reported as a skip.
//
// What a script does in an attempt is that of package check; the engine decides when it runs, how often, and what its
// outcome comes to. No area imports it.
package engine
