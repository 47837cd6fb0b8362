// Package report holds the results of a run as data: results with their evidence, the server, the options, and how much
// of each revision was judged.
//
// Begin with Report and Result. Reporters are functions of a Report and need nothing else. A report can be read back
// from its JSON: MergeReports combines the reports of shards into one, CompareReports returns what has changed between
// two runs, and KnownFails, the baseline, are the failures that an operator accepts.
//
// The package does no I/O and never talks to a server. The JSON of its types is described by
// schemas/report.schema.json: members may be added, but none is renamed or given another meaning.
package report
