package reporters

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// isAssumed returns a predicate for a revision in which the server could not be reached.
func isAssumed(revision string) func(report.RevisionInfo) bool {
	return func(i report.RevisionInfo) bool { return i.Assumed && i.Revision == revision }
}

// wasReached reports whether the server could be reached.
func wasReached(r report.Report) bool {
	return slices.ContainsFunc(r.Revisions, func(i report.RevisionInfo) bool { return !i.Assumed })
}

// isUnreachable reports whether a server was not tested because it could not be reached. The few results of such a
// report say nothing beyond the reason.
func isUnreachable(r report.Report) bool {
	return r.ExitCode == report.ExitUntestable && !wasReached(r)
}

// problem is a parsed reason why a run did not finish: the cause on one line, the last words of the server, and what to
// do about it.
type problem struct {
	cause       string
	quotedLines []string
	hints       []string
}

// parseProblem parses the problem of a report. The words of the server are indented in it. A line that introduces them
// is left out.
func parseProblem(said string) problem {
	cause, rest := splitHeadline(said)
	p := problem{cause: cause}
	for line := range strings.SplitSeq(rest, "\n") {
		switch word, quoted := strings.CutPrefix(line, "  "); {
		case quoted:
			p.quotedLines = append(p.quotedLines, word)
		case line != "" && !strings.HasSuffix(line, ":"):
			p.hints = append(p.hints, line)
		}
	}
	return p
}

// ProblemCause returns a problem in one sentence: the cause, and the most informative line of the server's last words.
func ProblemCause(said string) string {
	p := parseProblem(said)
	if why := text.ErrorLines(p.quotedLines); len(why) > 0 {
		return p.cause + ": " + strings.TrimSpace(why[0])
	}
	return p.cause
}

// ProblemSentence is ProblemCause with what to do about it.
func ProblemSentence(said string) string {
	return strings.Join(append([]string{ProblemCause(said)}, parseProblem(said).hints...), "; ")
}

// MissingVariable returns the environment variable that the last words of a server name as the cause of a problem;
// empty if they name none.
func MissingVariable(said string) string {
	return text.EnvVariable(strings.Join(text.ErrorLines(parseProblem(said).quotedLines), "\n"))
}

// untestedText returns the verdict on a server that was not tested, or not completely: the reason, the server's last
// words, what to do.
func (c *Console) untestedText(r report.Report) string {
	var b lineBuilder
	p := parseProblem(r.Problem)
	b.WriteString(c.wrappedLine("", c.palette.fail.Sprint("NOT TESTED")+"  "+p.cause))
	for _, line := range text.ErrorLines(p.quotedLines) {
		b.add("  " + shorten(strings.TrimSpace(line), c.limit(4*c.proseWidth())))
	}
	switch {
	case c.options.Verbosity == Normal:
		c.writeQuote(&b, "  ", text.OtherLinesExcerpt(p.quotedLines))
	case c.options.Verbosity > Normal:
		c.writeQuote(&b, "  ", text.OtherLines(p.quotedLines))
	}
	for _, hint := range p.hints {
		b.addIndented("  ", 2, text.Wrap(hint, c.proseWidth()-2))
	}
	if c.options.NextCommands != nil {
		b.WriteString(c.nextText(c.options.NextCommands(r)))
	}
	if !isUnreachable(r) {
		_, parts, more := verdict(r)
		b.WriteString(c.wrappedLine("  ", joinParts(append(append(parts[1:], more...), duration(r.Seconds))...)))
	}
	return b.String()
}
