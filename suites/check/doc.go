// Package check is what an area imports to write checks.
//
// A Check is the script for one requirement: a probe sends requests in the sessions that its T provides, and a watch
// judges what was on the wire (Wire) during the whole run. An area exports its checks as a Suite. A script asserts
// something of what it received with T.Expect and a matcher, which ends the check with a fail if it does not hold, or
// ends it otherwise: T.Skip where it does not apply, T.NoVerdict where it could not be tried, T.Yield where another
// entry reports it. A script that returns has passed. What several checks read is requested once, in a Step.
//
// A script may be run more than once, at the same time as others: it keeps nothing outside its T.
//
// The package does no I/O of its own: sessions, processes and HTTP are those of package driver. It never blames a
// server for a limit of mcpcheck: where one was reached, the result is inconclusive. Package engine runs the checks;
// Script, ScriptOf and NewT are for it, and authors of checks need none of them.
package check
