package harness

import (
	"fmt"
	"path"
	"slices"
	"time"
)

// KnownFail is an entry of a baseline: fails that are accepted for now.
type KnownFail struct {
	Check     string `yaml:"check"`     // id, or glob of ids
	Revision  string `yaml:"revision"`  // in this one only; empty: in all
	Transport string `yaml:"transport"` // over this one only; empty: over all
	Subject   string `yaml:"subject"`   // of this tool, resource … only; empty: of all
	Reason    string `yaml:"reason"`    // why it is accepted
	Expires   string `yaml:"expires"`   // last day on which it is, as 2026-12-31; empty: never
	Flaky     bool   `yaml:"flaky"`     // it may pass as well

	Line int `yaml:"-"` // in the file
}

// Matches reports whether the entry is about the check of that id.
func (k KnownFail) Matches(id string) bool {
	ok, _ := path.Match(k.Check, id)
	return ok || k.Check == id
}

// expired reports whether the last day of the entry is over.
func (k KnownFail) expired(today time.Time) bool {
	return k.Expires != "" && today.Format(time.DateOnly) > k.Expires
}

// Accept applies a baseline to the results of a run: fails that it lists gate no
// more. It returns the entries that do not hold any more. selected reports whether
// the run was to try a check; what it was not to try says nothing of an entry.
func Accept(entries []KnownFail, report *Report, today time.Time, selected func(id string) bool) (stale []Stale) {
	verdicts := make([][]Verdict, len(entries))
	for i := range report.Results {
		r := &report.Results[i]
		covering := func(subject string) int {
			return slices.IndexFunc(entries, func(k KnownFail) bool {
				return !k.expired(today) && k.covers(*r, report.Target.Transport, subject)
			})
		}
		for n, k := range entries {
			if k.about(*r, report.Target.Transport) {
				verdicts[n] = append(verdicts[n], k.verdict(*r))
			}
		}
		if r.Verdict == Fail {
			r.accept(entries, covering)
		}
	}
	for n, k := range entries {
		if why := k.stale(verdicts[n], report, today, selected); why != "" {
			stale = append(stale, Stale{Entry: k.Check, Line: k.Line, Why: why})
		}
	}
	return stale
}

// about reports whether the entry says something of a result, be it a fail or not.
func (k KnownFail) about(r Result, transport string) bool {
	return k.Matches(r.ID) && (k.Revision == "" || k.Revision == r.Revision) && (k.Transport == "" || k.Transport == transport)
}

// covers reports whether the entry accepts the fail of a subject.
func (k KnownFail) covers(r Result, transport, subject string) bool {
	return k.about(r, transport) && (k.Subject == "" || k.Subject == subject)
}

// verdict is what a result says of the entry: for a subject that is not among those
// that failed, a fail is a pass.
func (k KnownFail) verdict(r Result) Verdict {
	if r.Verdict == Fail && k.Subject != "" && !slices.Contains(r.Subjects, k.Subject) {
		return Pass
	}
	return r.Verdict
}

// accept makes a fail a known one if each of its subjects is covered by an entry.
func (r *Result) accept(entries []KnownFail, covering func(subject string) int) {
	subjects := r.Subjects
	if len(subjects) == 0 {
		subjects = []string{""}
	}
	first := -1
	for _, subject := range subjects {
		at := covering(subject)
		if at < 0 {
			return
		}
		if first < 0 {
			first = at
		}
	}
	k := entries[first]
	r.Known = &Known{Reason: k.Reason, Expires: k.Expires, Flaky: k.Flaky, Line: k.Line}
	r.Gates, r.GatedBy = false, NoGate
}

// stale says why an entry does not hold any more; empty when it does, or when the
// run does not tell.
func (k KnownFail) stale(verdicts []Verdict, report *Report, today time.Time, selected func(id string) bool) string {
	judged := func(r RevisionInfo) bool { return k.Revision == "" || k.Revision == r.Revision }
	switch {
	case k.expired(today):
		return "it expired on " + k.Expires
	case slices.Contains(verdicts, Fail):
		return ""
	case k.Transport != "" && k.Transport != report.Target.Transport, !slices.ContainsFunc(report.Revisions, judged):
		return ""
	case len(verdicts) == 0 && selected(k.Check):
		return fmt.Sprintf("it matches nothing over %s in %s", report.Target.Transport, revisionsOf(report))
	case !k.Flaky && slices.Contains(verdicts, Pass) && !slices.Contains(verdicts, Inconclusive):
		return "it passes now"
	}
	return ""
}

func revisionsOf(report *Report) (text string) {
	for i, r := range report.Revisions {
		if i > 0 {
			text += ", "
		}
		text += r.Revision
	}
	return text
}
