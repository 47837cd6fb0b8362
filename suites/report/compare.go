package report

import (
	"cmp"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"slices"
)

// Comparison is how a run differs from an earlier one. A result is compared with the earlier one of the same
// requirement and revision or, where that was not judged, of the nearest revision.
type Comparison struct {
	SchemaVersion int      `json:"schemaVersion"` // of this format
	Old           RunInfo  `json:"old"`
	New           RunInfo  `json:"new"`
	Conditions    []string `json:"conditions,omitempty"` // what differs of how the runs were made
	Regressions   int      `json:"regressions"`          // changes that count against the exit code, and Problem
	Problem       string   `json:"problem,omitempty"`    // why the new run could not be finished, if the old one was

	NewlyFailing []Change `json:"newlyFailing"`
	NewlyPassing []Change `json:"newlyPassing"`
	NotJudged    []Change `json:"notJudged"` // any more: passed or failed before
	// the same verdict, with another level or text, or another gate
	Changed []Change `json:"changed"`
	// requirements that the old run did not judge in any revision
	Added              []Change            `json:"came"`
	Removed            []Change            `json:"went"`
	RequirementChanges []RequirementChange `json:"catalogue"` // what a requirement itself says otherwise
}

// RunInfo names a run that is compared.
type RunInfo struct {
	Program  catalogue.ProgramInfo `json:"tool"`
	Target   TargetInfo            `json:"target"`
	Server   ServerInfo            `json:"server"`
	Counts   Counts                `json:"counts"`
	ExitCode int                   `json:"exitCode"`
}

// Change is a result that is not what it was. Old is nil of what came, New of what went.
type Change struct {
	ID         string       `json:"id"`
	Title      string       `json:"title"`
	Regression bool         `json:"regression"`
	Old        *ResultState `json:"old,omitempty"`
	New        *ResultState `json:"new,omitempty"`
}

// ResultState is what a result says.
type ResultState struct {
	Revision string            `json:"revision"`
	Verdict  catalogue.Verdict `json:"verdict"`
	Level    catalogue.Level   `json:"level"`
	Gates    bool              `json:"gates"`
	Known    bool              `json:"known,omitempty"` // the baseline lists it
	Message  string            `json:"message,omitempty"`
}

// RequirementChange is a member of a requirement that says something else, in one revision.
type RequirementChange struct {
	ID       string `json:"id"`
	Revision string `json:"revision"`
	Member   string `json:"member"` // as in the report: title, entryLevel, spec, fix
	Old      string `json:"old"`
	New      string `json:"new"`
}

// CompareReports finds out how a run differs from an earlier one. A regression is a result that gates and did not,
// unless only the catalogue says so: a requirement that the earlier run did not judge, or one whose level was raised.
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

// nearestResult is the result of a revision, of the newest before it or of the oldest after it; nil when there is none.
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

// Add compares two results of a requirement.
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

// addRequirementChanges notes what the requirement itself says otherwise.
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

// conditions are what may make runs differ beside the server.
func conditions(old, new Report) (said []string) {
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
			said = append(said, part.what+": "+was+" → "+is)
		}
	}
	return slices.Clip(said)
}

// setDigests are the digests of the sets by which a run has judged, if the other one tells of its own as well.
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
