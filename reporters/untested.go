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

// unmet reports whether the server could not be talked to: what little was tried of it tells nothing beside why.
func unmet(r harness.Report) bool {
	met := func(i harness.RevisionInfo) bool { return !i.Assumed }
	return r.Problem != "" && r.ExitCode == harness.ExitUntestable && !slices.ContainsFunc(r.Revisions, met)
}

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
	if line, _ := text.Reason(p.words); line != "" {
		return p.cause + ": " + strings.TrimSpace(line)
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
	line, _ := text.Reason(apart(said).words)
	return text.Variable(line)
}

// untested is the verdict on a server that was not tested, or not to the end: why, what the server said, what to do.
func (c *Console) untested(r harness.Report) string {
	var b lines
	p := apart(r.Problem)
	b.WriteString(c.folded("", c.paint.fail.Sprint("NOT TESTED")+"  "+p.cause))
	if line, _ := text.Reason(p.words); line != "" {
		b.add("  " + shorten(strings.TrimSpace(line), c.limit(4*c.prose())))
	}
	switch {
	case c.o.Verbosity == Normal:
		c.quote(&b, "  ", text.Opening(p.words))
	case c.o.Verbosity > Normal:
		c.quote(&b, "  ", p.words)
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
