package reporters

import (
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Headline returns the message of a result on one line of at most limit characters: what was expected and what was
// received. The line controls neither a terminal nor a workflow.
func Headline(r report.Result, limit int) string {
	return shorten(PrintableLine(headline(r.Message)), limit)
}

// PrintableLine returns a text as one line that controls neither a terminal nor a workflow.
func PrintableLine(text string) string { return withoutCommands(sentence(text)) }
