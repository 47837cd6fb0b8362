package reporters

import (
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Headline is what a result came to, in one line of at most so many characters that commands neither a terminal nor a
// workflow: what was wanted and what came.
func Headline(r report.Result, limit int) string {
	return shorten(PrintableLine(headline(r.Message)), limit)
}

// PrintableLine is a text as one line that commands neither a terminal nor a workflow.
func PrintableLine(text string) string { return withoutCommands(sentence(text)) }
