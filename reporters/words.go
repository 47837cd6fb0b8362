package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// tally counts results as reports speak of them.
type tally struct {
	harness.Counts
	gatingFails int // of Fail; what else gates is inconclusive
}

func count(results []harness.Result) tally {
	t := tally{Counts: harness.Count(results)}
	for _, r := range results {
		if r.Verdict == harness.Fail && r.Gates {
			t.gatingFails++
		}
	}
	return t
}

// failures is "2 gating of 5 failures", or "" if there are none.
func (t tally) failures() string {
	switch {
	case t.Fail == 0:
		return ""
	case t.gatingFails == 0:
		return plural(t.Fail, "non-gating failure")
	case t.gatingFails == t.Fail:
		return plural(t.Fail, "gating failure")
	}
	return fmt.Sprintf("%d gating of %s", t.gatingFails, plural(t.Fail, "failure"))
}

// inconclusive is "3 inconclusive (1 gating)", or "" if there are none.
func (t tally) inconclusive() string {
	gating := t.Gating - t.gatingFails
	switch {
	case t.Inconclusive == 0:
		return ""
	case gating == 0:
		return fmt.Sprintf("%d inconclusive", t.Inconclusive)
	}
	return fmt.Sprintf("%d inconclusive (%d gating)", t.Inconclusive, gating)
}

// others are the counts that are not passes or failures, without the zeros.
func (t tally) others() (parts []string) {
	if t.Inconclusive > 0 {
		parts = append(parts, t.inconclusive())
	}
	if t.Skip > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", t.Skip))
	}
	if t.Error > 0 {
		parts = append(parts, plural(t.Error, "error")+" of mcpcheck")
	}
	return parts
}

// gateText says whether a result counts against the exit code, and why.
func gateText(g harness.Gate) string {
	switch g {
	case harness.NoGate:
		return "does not gate"
	case harness.GateChecklist:
		return "gates by the release checklist, not by the specification (--profile spec lets it pass)"
	case harness.GateStrict:
		return "gates by --profile strict"
	case harness.GateInconclusive:
		return "gates by --profile strict, which wants every MUST tried"
	}
	return "gates"
}

// judgedBy says which revision a server was judged by and how that came about.
func judgedBy(revisions []harness.RevisionInfo) string {
	switch len(revisions) {
	case 0:
		return ""
	case 1:
		return "judged by " + revisions[0].Revision + " (" + negotiation(revisions[0]) + ")"
	}
	return "judged by " + strings.Join(revisionsOf(revisions), ", ")
}

func negotiation(r harness.RevisionInfo) string {
	switch {
	case r.Requested != r.Revision:
		return "negotiated; asked for " + r.Requested
	case r.Revision == harness.Newest:
		return "newest handshake revision, negotiated"
	case r.Revision >= harness.Modern:
		return "asked for"
	}
	return "asked for, negotiated"
}

// revisionsOf are the revisions judged, each once.
func revisionsOf(infos []harness.RevisionInfo) (revisions []string) {
	for _, info := range infos {
		if !slices.Contains(revisions, info.Revision) {
			revisions = append(revisions, info.Revision)
		}
	}
	return revisions
}

// subjects are those of a result, unless its message names every one.
func subjects(r harness.Result) []string {
	for _, name := range r.Subjects {
		if !strings.Contains(r.Message, name) {
			return r.Subjects
		}
	}
	return nil
}

// group is results of several revisions or requirements that say the same.
type group []harness.Result

// grouped puts together results with the same key, in the order of the first
// of each.
func grouped(results []harness.Result, key func(harness.Result) string) (groups []group) {
	at := map[string]int{}
	for _, r := range results {
		k := key(r)
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// levelText is the level of a finding, and that of its requirement where the
// deviation is a lesser one.
func levelText(r harness.Result) string {
	if r.Level < r.Entry && r.Verdict == harness.Fail {
		return fmt.Sprintf("%s, a lesser deviation of a %s", r.Level, r.Entry)
	}
	return r.Level.String()
}

// sameFinding is the key of results that differ only in revision and wire.
func sameFinding(r harness.Result) string {
	return fmt.Sprint(r.ID, "\x00", r.Verdict, "\x00", r.Level, "\x00", r.GatedBy, "\x00", r.Message)
}

// sameReason is the key of results that could not be tried for one reason.
func sameReason(r harness.Result) string {
	return fmt.Sprint(headline(r.Message), "\x00", r.GatedBy)
}

// newest is the result that stands for the group.
func (g group) newest() harness.Result { return g[len(g)-1] }

// ids are the requirements of the group, each once.
func (g group) ids() []string {
	return g.names(func(r harness.Result) string { return r.ID })
}

// revisions are the revisions of the group, each once.
func (g group) revisions() []string {
	return g.names(func(r harness.Result) string { return r.Revision })
}

func (g group) names(name func(harness.Result) string) (names []string) {
	for _, r := range g {
		if n := name(r); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// only are the results that the predicate picks.
func only(results []harness.Result, pick func(harness.Result) bool) (picked []harness.Result) {
	for _, r := range results {
		if pick(r) {
			picked = append(picked, r)
		}
	}
	return picked
}
