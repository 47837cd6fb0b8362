// Package check is what a check is, and how checks are planned and run.
//
// A Check is a script: a probe talks to the server in sessions of T, a watch judges what was on the wire of the whole
// run. Plan makes a Case of each requirement that applies to the server, Execute runs the cases, several at a time, and
// an Execution returns their results in the order of the plan.
//
// A conversation that several checks read is a Step, which is held once. What does not pass is tried again before it
// is a result: alone where it blocks, together with others where not, and when nothing else runs where it rests on a
// server that was silent or had ended. A failure whose cause has failed yields to it.
//
// The package sends nothing itself: sessions, processes and HTTP are those of package driver.
package check
