package report

import (
	"fmt"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"slices"
	"strings"
)

// CauseIDs are entries that a result yields to: those that failed, or have no verdict themselves, and those that were
// not tried. Neither has those that found nothing wrong.
type CauseIDs struct{ failed, undecided, NotTried []string }

// Add adds an entry by its result.
func (c *CauseIDs) Add(r Result) {
	switch {
	case r.Verdict == catalogue.Fail:
		c.failed = append(c.failed, r.ID)
	case r.Verdict == catalogue.Error, r.Verdict == catalogue.Pass && r.Message != "": // which leaves something out
		c.undecided = append(c.undecided, r.ID)
	case slices.Contains([]Reason{NotTried, Interrupted, Stopped, Budget, CallsOff, NotGiven}, r.Reason):
		c.NotTried = append(c.NotTried, r.ID)
	case len(r.Causes) > 0 && strings.HasSuffix(r.Message, SameCauseAs+JoinIDs(r.Causes)):
		c.failed = append(c.failed, r.Causes...)
	case len(r.Causes) > 0:
		c.NotTried = append(c.NotTried, r.Causes...)
	// it was not wrong about another one
	case r.Verdict == catalogue.Inconclusive && !strings.HasSuffix(r.Message, unreported):
		c.undecided = append(c.undecided, r.ID)
	}
}

// Join adds the causes of something else.
func (c *CauseIDs) Join(d CauseIDs) {
	c.failed, c.undecided = append(c.failed, d.failed...), append(c.undecided, d.undecided...)
	c.NotTried = append(c.NotTried, d.NotTried...)
}

// Ids are those that the result names, and whether they are the cause or, since they were not tried, may be.
func (c CauseIDs) Ids() (ids []string, same bool) {
	switch {
	case c.failed != nil:
		ids = c.failed
	case c.undecided != nil:
		ids = c.undecided
	default:
		ids = c.NotTried
	}
	slices.Sort(ids)
	return slices.Compact(ids), c.failed != nil || c.undecided != nil
}

// named are the ids of causes in a message, of many the first ones.
func JoinIDs(ids []string) string {
	if more := len(ids) - MaxFindings; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:MaxFindings], ", "), more)
	}
	return strings.Join(ids, ", ")
}

const (
	SameCauseAs = "same cause as "
)

const (
	judgesThat = " judges that"
)

const (
	judgeThat = " judge that"
)

// What a result says of its causes: in which state they are.
const (
	unreported = ", and no other check reports it"
)

// most is how many findings, and reasons, are told.
const MaxFindings = 5

// explain has a result without a verdict say which entries report the mistake. When none does, though all were tried,
// the check was wrong about that.
func (r *Result) SetCauses(c CauseIDs) {
	ids, same := c.Ids()
	r.Causes = ids
	switch named := JoinIDs(ids); {
	case same:
		r.Message += ": " + SameCauseAs + named
	case len(ids) == 1:
		r.Message += ": " + named + judgesThat
	case ids != nil:
		r.Message += ": " + named + judgeThat
	default:
		r.Verdict, r.Reason, r.Message = catalogue.Inconclusive, Undecided, r.Message+unreported
	}
}

// explain has the results that yield to entries of other shards say what these have come to.
func (m *merger) resolveCauses(profile catalogue.Profile) {
	for i, r := range m.results {
		named := ": " + JoinIDs(r.Causes)
		said, one := strings.CutSuffix(r.Message, named+judgesThat)
		said, several := strings.CutSuffix(said, named+judgeThat)
		if r.Reason != OtherCheck || !one && !several {
			continue
		}
		var c CauseIDs
		for _, id := range r.Causes {
			if j, tried := m.index[resultKey{r.Revision, id}]; tried {
				c.Add(m.results[j])
			} else {
				c.NotTried = append(c.NotTried, id)
			}
		}
		r.Message = said
		r.SetCauses(c)
		r.GatedBy = profile.Gate(r.Verdict, r.Level, r.EntryLevel, false, false)
		r.Gates = r.GatedBy != catalogue.NoGate
		m.results[i] = r
	}
}
