// Package check defines what a check is, and plans and runs checks.
//
// A Check is the script for one requirement: a probe sends requests in the sessions that its T provides, and a watch
// judges what was on the wire during the whole run. Plan makes a Case of each requirement that applies to the server.
// Execute runs the cases, several at a time, and the Execution returns their results in the order of the plan.
//
// What several checks read is requested once, in a Step. A check that does not pass on a session that others have used
// is tried again before that counts: alone where it would block, together with other checks where it would not, and
// with nothing else running where the server was silent or had exited. A failure whose cause (the entries named in
// yields_to) has failed is reported as a skip.
//
// The package does no I/O of its own: sessions, processes and HTTP are those of package driver. It never blames a
// server for a limit of mcpcheck: where one was reached, the result is inconclusive.
package check
