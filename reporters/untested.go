package reporters

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// isAssumed recognises a revision in which the server could not be talked to.
func isAssumed(revision string) func(harness.RevisionInfo) bool {
	return func(i harness.RevisionInfo) bool { return i.Assumed && i.Revision == revision }
}

// met reports whether the server could be talked to.
func met(r harness.Report) bool {
	return slices.ContainsFunc(r.Revisions, func(i harness.RevisionInfo) bool { return !i.Assumed })
}

// unmet reports whether a server was not tested since it could not be talked to: what little was tried of it tells
// nothing beside why.
func unmet(r harness.Report) bool { return r.ExitCode == harness.ExitUntestable && !met(r) }

// problem is why a run did not come to its end, taken apart: the cause in one line, the last words of the server, and
// what to do about it.
type problem struct {
	cause string
	words []string
	hints []string
}

// apart takes the problem of a report apart. Words of the server are indented there; a line that leads to them is left
// out.
func apart(said string) problem {
	cause, rest := split(said)
	p := problem{cause: cause}
	for line := range strings.SplitSeq(rest, "\n") {
		switch word, quoted := strings.CutPrefix(line, "  "); {
		case quoted:
			p.words = append(p.words, word)
		case line != "" && !strings.HasSuffix(line, ":"):
			p.hints = append(p.hints, line)
		}
	}
	return p
}

// Reason is a problem in one sentence: the cause, and the line of the server's last words that tells most.
func Reason(said string) string {
	p := apart(said)
	if why := text.Why(p.words); len(why) > 0 {
		return p.cause + ": " + strings.TrimSpace(why[0])
	}
	return p.cause
}

// Sentence is Reason with what to do about it.
func Sentence(said string) string {
	return strings.Join(append([]string{Reason(said)}, apart(said).hints...), "; ")
}

// MissingVariable is the environment variable that the last words of a server name as the cause of a problem; empty
// when they name none.
func MissingVariable(said string) string {
	return text.Variable(strings.Join(text.Why(apart(said).words), "\n"))
}

// untested is the verdict on a server that was not tested, or not to the end: why, what the server said, what to do.
func (c *Console) untested(r harness.Report) string {
	var b lines
	p := apart(r.Problem)
	b.WriteString(c.folded("", c.paint.fail.Sprint("NOT TESTED")+"  "+p.cause))
	for _, line := range text.Why(p.words) {
		b.add("  " + shorten(strings.TrimSpace(line), c.limit(4*c.prose())))
	}
	switch {
	case c.o.Verbosity == Normal:
		c.quote(&b, "  ", text.Opening(p.words))
	case c.o.Verbosity > Normal:
		c.quote(&b, "  ", text.Others(p.words))
	}
	for _, hint := range p.hints {
		b.hang("  ", 2, text.Wrap(hint, c.prose()-2))
	}
	if c.o.Next != nil {
		b.WriteString(c.next(c.o.Next(r)))
	}
	if !unmet(r) {
		_, parts, more := verdict(r)
		b.WriteString(c.folded("  ", dotted(append(append(parts[1:], more...), duration(r.Seconds))...)))
	}
	return b.String()
}
