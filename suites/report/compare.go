package report

import (
	"cmp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// Comparison is how a run differs from an earlier one. A result is compared with the earlier result of the same
// requirement and revision or, if there is none, of the nearest revision.
type Comparison struct {
	// SchemaVersion is that of the JSON of a Comparison.
	SchemaVersion int     `json:"schemaVersion"`
	Old           RunInfo `json:"old"`
	New           RunInfo `json:"new"`
	// Conditions are the differences in how the runs were made.
	Conditions []string `json:"conditions,omitempty"`
	// Regressions counts the changes that count against the exit code, including Problem.
	Regressions int `json:"regressions"`
	// Problem says why the new run is not complete, if the old one was.
	Problem string `json:"problem,omitempty"`

	NewlyFailing []Change `json:"newlyFailing"`
	NewlyPassing []Change `json:"newlyPassing"`
	// NotJudged are results that passed or failed before, and no longer do either.
	NotJudged []Change `json:"notJudged"`
	// Changed are results with the same verdict, but another level, message or gate.
	Changed []Change `json:"changed"`
	// Added are results of requirements that the old run did not judge in any revision, and Removed those of
	// requirements that the new run did not judge.
	Added   []Change `json:"came"`
	Removed []Change `json:"went"`
	// RequirementChanges are changes in the requirements themselves.
	RequirementChanges []RequirementChange `json:"catalogue"`
}

// RunInfo identifies one of the compared runs.
type RunInfo struct {
	Program  catalogue.ProgramInfo `json:"tool"`
	Target   TargetInfo            `json:"target"`
	Server   ServerInfo            `json:"server"`
	Counts   Counts                `json:"counts"`
	ExitCode int                   `json:"exitCode"`
}

// Change is a result that has changed. Old is nil if the result was added, New if it was removed.
type Change struct {
	ID         string       `json:"id"`
	Title      string       `json:"title"`
	Regression bool         `json:"regression"`
	Old        *ResultState `json:"old,omitempty"`
	New        *ResultState `json:"new,omitempty"`
}

// ResultState is the state of a result in one of the runs.
type ResultState struct {
	Revision string            `json:"revision"`
	Verdict  catalogue.Verdict `json:"verdict"`
	Level    catalogue.Level   `json:"level"`
	Gates    bool              `json:"gates"`
	// Known says that the baseline lists the failure.
	Known   bool   `json:"known,omitempty"`
	Message string `json:"message,omitempty"`
}

// RequirementChange is a change of a member of a requirement in one revision.
type RequirementChange struct {
	ID       string `json:"id"`
	Revision string `json:"revision"`
	// Member is the name of the member in the report: title, entryLevel, spec or fix.
	Member string `json:"member"`
	Old    string `json:"old"`
	New    string `json:"new"`
}

// CompareReports returns how a run differs from an earlier one. A regression is a result that blocks and did not
// before, unless only the catalogue has changed: by a new requirement, or by a higher level.
func CompareReports(old, new Report) Comparison {
	c := Comparison{
		SchemaVersion: 1, Old: old.runInfo(), New: new.runInfo(), Conditions: conditions(old, new),
		NewlyFailing: []Change{}, NewlyPassing: []Change{}, NotJudged: []Change{}, Changed: []Change{},
		Added: []Change{}, Removed: []Change{}, RequirementChanges: []RequirementChange{},
	}
	before, after := byID(old.Results), byID(new.Results)
	for _, r := range new.Results {
		was := nearestResult(before[r.ID], r.Revision)
		if was == nil {
			c.Added = append(c.Added, Change{ID: r.ID, Title: r.Title, New: stateOf(r)})
			continue
		}
		c.add(*was, r)
	}
	for _, r := range old.Results {
		if nearestResult(after[r.ID], r.Revision) == nil {
			c.Removed = append(c.Removed, Change{ID: r.ID, Title: r.Title, Old: stateOf(r)})
		}
	}
	if new.ExitCode >= ExitUntestable && old.ExitCode < ExitUntestable {
		c.Problem = cmp.Or(new.Problem, "the new run was not finished")
		c.Regressions++
	}
	return c
}

func (r Report) runInfo() RunInfo {
	return RunInfo{r.Program, r.Target, r.Server, r.Counts, r.ExitCode}
}

func stateOf(r Result) *ResultState {
	return &ResultState{r.Revision, r.Verdict, r.Level, r.Gates, r.Known != nil, r.Message}
}

func byID(results []Result) map[string][]Result {
	by := map[string][]Result{}
	for _, r := range results {
		by[r.ID] = append(by[r.ID], r)
	}
	return by
}

// nearestResult returns the result of a revision, else that of the newest one before it, else that of the oldest one
// after it; nil when there is none.
func nearestResult(results []Result, revision string) *Result {
	var best *Result
	for i, r := range results {
		switch {
		case best == nil, best.Revision < r.Revision && r.Revision <= revision,
			best.Revision > revision && r.Revision < best.Revision:
			best = &results[i]
		}
	}
	return best
}

// add compares two results of a requirement.
func (c *Comparison) add(was, is Result) {
	if was.Revision == is.Revision {
		c.addRequirementChanges(was, is)
	}
	change := Change{ID: is.ID, Title: is.Title, Old: stateOf(was), New: stateOf(is)}
	raised := was.Verdict == is.Verdict && is.Level == is.EntryLevel && was.Level == was.EntryLevel &&
		is.EntryLevel > was.EntryLevel
	change.Regression = is.Gates && !was.Gates && !raised
	judged := func(v catalogue.Verdict) bool { return v == catalogue.Pass || v == catalogue.Fail }
	list := &c.Changed
	switch {
	case was.Verdict != catalogue.Fail && is.Verdict == catalogue.Fail:
		list = &c.NewlyFailing
	case was.Verdict != catalogue.Pass && is.Verdict == catalogue.Pass:
		list = &c.NewlyPassing
	case judged(was.Verdict) && !judged(is.Verdict):
		list = &c.NotJudged
	case was.Verdict == is.Verdict && was.Level == is.Level && was.Gates == is.Gates && was.Message == is.Message:
		return
	}
	if *list = append(*list, change); change.Regression {
		c.Regressions++
	}
}

// addRequirementChanges notes the changes in the requirement itself.
func (c *Comparison) addRequirementChanges(was, is Result) {
	for _, member := range []struct{ name, old, new string }{
		{"title", was.Title, is.Title}, {"entryLevel", was.EntryLevel.String(), is.EntryLevel.String()},
		{"spec", was.Spec, is.Spec}, {"fix", was.Fix, is.Fix},
	} {
		if member.old != member.new {
			c.RequirementChanges = append(c.RequirementChanges,
				RequirementChange{is.ID, is.Revision, member.name, member.old, member.new})
		}
	}
}

// conditions returns what may explain differences between the runs, besides the server.
func conditions(old, new Report) (lines []string) {
	for _, part := range []struct {
		what string
		a, b any
	}{
		{"mcpcheck", old.Program.Version, new.Program.Version},
		{"transport", old.Target.Transport, new.Target.Transport},
		{"target", comparableTarget(old.Target), comparableTarget(new.Target)},
		{"server", []string{old.Server.Name, old.Server.Version}, []string{new.Server.Name, new.Server.Version}},
		{"profile", old.Profile, new.Profile},
		{"options", old.Options, new.Options},
		{"revisions", revisionNames(old), revisionNames(new)},
		{"sets", setDigests(old, new), setDigests(new, old)},
	} {
		if was, is := differences(part.a, part.b); was != is {
			lines = append(lines, part.what+": "+was+" → "+is)
		}
	}
	return slices.Clip(lines)
}

// setDigests returns the digests of the requirement sets that a run was judged by, if the other run names its own as
// well.
func setDigests(r, other Report) (digests []string) {
	named := func(judged RevisionInfo) bool { return judged.Set != nil }
	if !slices.ContainsFunc(other.Revisions, named) {
		return nil
	}
	for _, judged := range r.Revisions {
		if judged.Set != nil {
			digests = append(digests, judged.Set.Digest)
		}
	}
	return digests
}

func revisionNames(r Report) (names []string) {
	for _, judged := range r.Revisions {
		names = append(names, judged.Revision)
	}
	return names
}
