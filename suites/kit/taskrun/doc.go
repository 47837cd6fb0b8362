// Package taskrun follows tasks to their end.
//
// TaskRun is a task of the server that a call created, with all replies of tasks/get; FollowTasks polls several of them
// in the intervals that the server asks for. It serves the tasks of revision 2025-11-25 and those of the extension,
// whose differences the creator of a TaskRun fills in. A task that does not end in time is cancelled.
//
// ClientTask is the other direction: a client that runs sampling and elicitation as tasks (2025-11-25 only), and how
// the server polls these.
package taskrun
