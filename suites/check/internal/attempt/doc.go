// Package attempt is what packages check and engine know of the attempts at checks, and authors of checks do not see.
//
// The engine makes a Run, which all attempts share, and for each execution of a script an Attempt with a Scope: the
// sessions that it uses and what it has noted. The T of package check works on both. Scope.Try runs the script and
// returns its Outcome, with the evidence; End ends a script with one. What is done in a Step is done once: an attempt
// that reads a step which another one is running ends, and its Outcome says what to wait for.
//
// Whoever has tried an attempt releases its sessions (Scope.Release). The methods of a Run may be called by any
// goroutine; an Attempt and its Scope belong to one, except for the parts of Attempt.Parallel, which have their own.
package attempt
