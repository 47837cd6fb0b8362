package suites

import (
	"path"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// pending are the checks that are not written for the revisions without a handshake yet, by id or as area/*. Where an
// entry of theirs holds in such a revision, it counts as not checked.
var pending = []string{
	"batch/*",
}

// For are the checks of servers that are judged by a revision.
func For(revision string) harness.Suite {
	if !harness.IsModern(revision) {
		return Checks()
	}
	written := harness.Suite{}
	for id, check := range Checks() {
		if !isPending(id) {
			written[id] = check
		}
	}
	return written
}

func isPending(id string) bool {
	return slices.ContainsFunc(pending, func(pattern string) bool {
		matched, _ := path.Match(pattern, id)
		return matched
	})
}

// IsTried reports whether a check tries the requirement in a revision in which it holds.
func IsTried(r *harness.Requirement, revision string) bool {
	_, has := For(revision)[r.ID]
	return has && r.Holds(revision)
}
