package engine

import "slices"

// healthCheckUser is the user of the sessions of health checks. What only they show is triggered by the whole run,
// since they follow faults in the sessions of other checks.
const healthCheckUser = "control"

// WholeRun stands for all checks of a run in Result.TriggeredBy.
const WholeRun = "*"

// triggers returns the checks besides a watch that triggered one of its fails: the fail for which the fewest checks are
// needed. fails has the users of the sessions for each fail.
func (e *Execution) triggers(watch string, fails [][]string) (fewest []string) {
	for i, users := range fails {
		ids := e.triggerIDs(watch, users)
		all := slices.Contains(fewest, WholeRun)
		if i == 0 || all || len(ids) < len(fewest) && !slices.Contains(ids, WholeRun) {
			fewest = ids
		}
	}
	return fewest
}

// triggerIDs returns the checks besides a watch among the users of sessions. Of several that read the same step one is
// enough, and none is needed if the watch's setup reads it as well.
func (e *Execution) triggerIDs(watch string, users []string) (ids []string) {
	if slices.Contains(users, healthCheckUser) {
		return []string{WholeRun}
	}
	for _, user := range users {
		readers := e.run.StepChecks(user)
		if readers == nil {
			readers = []string{user}
		}
		if user != "" && !slices.Contains(readers, watch) {
			ids = append(ids, readers[0])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
