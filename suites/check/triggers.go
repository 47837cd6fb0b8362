package check

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// users are who used the sessions in which a subject was seen, as far as they may have brought it about: who sent its
// requests or, if there are none, who used the session when it came, and who did before, since effects may be late.
func (s Subject) usedBy() (users []string) {
	frames := slices.Concat(s.Frames, s.SourceFrames)
	sent := func(f *driver.Frame) bool { return f != nil && f.Side == driver.FromClient }
	asked := slices.ContainsFunc(frames, sent)
	for _, f := range frames {
		switch {
		case sent(f):
			users = append(users, f.User)
		case f != nil && !asked:
			users = append(users, f.User, f.PreviousUser)
		}
	}
	return users
}

// healthCheckUser is the user of the sessions of control. What only they show, only the whole of a run brings about:
// they try what sessions of others came to.
const healthCheckUser = "control"

// WholeRun stands for all checks of a run in Result.TriggeredBy.
const WholeRun = "*"

// triggers are the checks beside a watch that brought about one of its fails, the one that takes the fewest: of each
// fail the users are given.
func (e *Execution) triggers(watch string, fails [][]string) (fewest []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, users := range fails {
		ids := e.triggerIDs(watch, users)
		all := slices.Contains(fewest, WholeRun)
		if i == 0 || all || len(ids) < len(fewest) && !slices.Contains(ids, WholeRun) {
			fewest = ids
		}
	}
	return fewest
}

// triggerIDs are the checks besides a watch among the users of sessions. Of several that read the same step one is
// enough, and none where the watch wants it as well. The caller holds mu.
func (e *Execution) triggerIDs(watch string, users []string) (ids []string) {
	if slices.Contains(users, healthCheckUser) {
		return []string{WholeRun}
	}
	for _, user := range users {
		wanting := []string{user}
		if step := e.steps[user]; step != nil {
			wanting = step.checks
		}
		if user != "" && !slices.Contains(wanting, watch) {
			ids = append(ids, wanting[0])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
