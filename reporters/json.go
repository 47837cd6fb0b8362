package reporters

import (
	"encoding/json"
	"io"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// JSON writes the report as indented JSON, valid by schemas/report.schema.json.
// Lists are never null. Bytes that are not UTF-8, which JSON cannot hold, stand
// as \xNN in the texts that a server can reach.
func JSON(w io.Writer, r harness.Report) error {
	if r.Revisions == nil {
		r.Revisions = []harness.RevisionInfo{}
	}
	if r.Results == nil {
		r.Results = []harness.Result{}
	}
	r.Problem = validUTF8(r.Problem)
	r.Server.Name, r.Server.Version = validUTF8(r.Server.Name), validUTF8(r.Server.Version)
	r.Results = each(r.Results, func(x harness.Result) harness.Result {
		x.Message = validUTF8(x.Message)
		x.Subjects = each(x.Subjects, validUTF8)
		x.Wire = each(x.Wire, func(l harness.Line) harness.Line {
			l.HTTP, l.Text = validUTF8(l.HTTP), validUTF8(l.Text)
			return l
		})
		return x
	})
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
