// Package report is what a run came to, as data: results with their evidence, the server, the options, how much of a
// revision was judged. Reporters are functions of a Report and need nothing else of mcpcheck.
//
// A report is read again from its JSON: MergeReports makes one of the reports of shards, Compare tells what has changed
// between two, and KnownFails are the failures that an operator accepts, which Apply to a result and are Stale when it
// passes. The fields of the JSON only grow; none is renamed or given another meaning.
package report
