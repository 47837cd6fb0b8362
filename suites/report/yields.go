package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// CauseIDs are the entries that a result yields to, by their outcomes: failed, without a verdict, and not tried.
// Entries that found nothing wrong are in none of the lists.
type CauseIDs struct{ failed, undecided, NotTried []string }

// Add adds an entry by its result.
func (c *CauseIDs) Add(r Result) {
	switch {
	case r.Verdict == catalogue.Fail:
		c.failed = append(c.failed, r.ID)
	case r.Verdict == catalogue.Error, r.Verdict == catalogue.Pass && r.Message != "": // the pass has a caveat
		c.undecided = append(c.undecided, r.ID)
	case slices.Contains([]Reason{NotTried, Interrupted, Stopped, Budget, CallsOff, NotGiven}, r.Reason):
		c.NotTried = append(c.NotTried, r.ID)
	case len(r.Causes) > 0 && strings.HasSuffix(r.Message, SameCauseAs+JoinIDs(r.Causes)):
		c.failed = append(c.failed, r.Causes...)
	case len(r.Causes) > 0:
		c.NotTried = append(c.NotTried, r.Causes...)
	// its own claim about another entry was right
	case r.Verdict == catalogue.Inconclusive && !strings.HasSuffix(r.Message, unreported):
		c.undecided = append(c.undecided, r.ID)
	}
}

// Join adds the causes of another result.
func (c *CauseIDs) Join(d CauseIDs) {
	c.failed, c.undecided = append(c.failed, d.failed...), append(c.undecided, d.undecided...)
	c.NotTried = append(c.NotTried, d.NotTried...)
}

// IDs returns the ids that the result names. same is true if they are the cause, and false if they only may be since
// they were not tried.
func (c CauseIDs) IDs() (ids []string, same bool) {
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

// JoinIDs returns the ids for a message; only the first MaxFindings if there are more.
func JoinIDs(ids []string) string {
	if more := len(ids) - MaxFindings; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:MaxFindings], ", "), more)
	}
	return strings.Join(ids, ", ")
}

const (
	// SameCauseAs precedes the ids of causes in a message.
	SameCauseAs = "same cause as "
	// judgesThat ends the message of a result with one cause that was not tried.
	judgesThat = " judges that"
	// judgeThat ends the message of a result with several causes that were not tried.
	judgeThat = " judge that"
)

// unreported ends the message of a result whose causes found nothing.
const (
	unreported = ", and no other check reports it"
)

// MaxFindings is how many findings, reasons or ids a message shows at most.
const MaxFindings = 5

// SetCauses names the causes in the message of a result without a verdict. If none of them reports the violation
// although all were tried, the check was wrong about that, and the result becomes inconclusive.
func (r *Result) SetCauses(c CauseIDs) {
	ids, same := c.IDs()
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

// resolveCauses updates the messages of results that yield to entries of other shards, now that their results are
// known.
func (m *merger) resolveCauses(profile catalogue.Profile) {
	for i, r := range m.results {
		named := ": " + JoinIDs(r.Causes)
		message, one := strings.CutSuffix(r.Message, named+judgesThat)
		message, several := strings.CutSuffix(message, named+judgeThat)
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
		r.Message = message
		r.SetCauses(c)
		r.GatedBy = profile.Gate(r.Verdict, r.Level, r.EntryLevel, false, nil)
		r.Gates = r.GatedBy != catalogue.NoGate
		m.results[i] = r
	}
}
