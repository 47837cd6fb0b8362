package reporters

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// JSON writes the report as indented JSON, valid by schemas/report.schema.json. Lists are never null. Bytes that are
// not UTF-8, which JSON cannot contain, become \xNN in texts from the server.
func JSON(w io.Writer, r report.Report) error {
	if r.Revisions == nil {
		r.Revisions = []report.RevisionInfo{}
	}
	if r.Results == nil {
		r.Results = []report.Result{}
	}
	r.Problem = validUTF8(r.Problem)
	r.Server.Name, r.Server.Version = validUTF8(r.Server.Name), validUTF8(r.Server.Version)
	r.Coverage = mapEach(r.Coverage, func(c report.Coverage) report.Coverage {
		c.CalledTools = mapEach(c.CalledTools, func(u report.ToolUse) report.ToolUse {
			u.Message = validUTF8(u.Message)
			return u
		})
		return c
	})
	results := mapEach(r.Results, func(x report.Result) jsonResult {
		x.Message = validUTF8(x.Message)
		x.Findings = mapEach(x.Findings, func(f report.Finding) report.Finding {
			return report.Finding{Subject: validUTF8(f.Subject), Want: validUTF8(f.Want), Got: validUTF8(f.Got)}
		})
		x.Subjects = mapEach(x.Subjects, validUTF8)
		x.Evidence = mapEach(x.Evidence, func(l report.Line) report.Line {
			l.HTTP, l.Text, l.Stderr = validUTF8(l.HTTP), validUTF8(l.Text), mapEach(l.Stderr, validUTF8)
			return l
		})
		return jsonResult{x, x.RequirementText()}
	})
	return writeJSON(w, jsonReport{r, results})
}

// jsonReport is a report whose results contain their requirement as a sentence.
type jsonReport struct {
	report.Report
	Results []jsonResult `json:"results"`
}

type jsonResult struct {
	report.Result
	Requirement string `json:"requirement"`
}

// writeJSON writes a value as indented JSON without commands to GitHub's runner: no line begins with "::", and "##[" is
// escaped. Invisible characters are escaped as well, because the file may be shown in a terminal.
func writeJSON(w io.Writer, v any) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(visibleWriter{out})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return out.Flush()
}

// visibleWriter escapes "##[" and the invisible characters that the encoder leaves unchanged. Each call of Write has to
// pass a whole JSON text.
type visibleWriter struct{ w *bufio.Writer }

func (v visibleWriter) Write(text []byte) (int, error) {
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		switch r, size = utf8.DecodeRune(text[i:]); {
		case r == '[' && bytes.HasSuffix(text[:i], []byte("##")):
			v.w.WriteString(`\u005b`)
		case r == '\n', unicode.IsPrint(r):
			v.w.Write(text[i : i+size])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(v.w, `\u%04x`, unit)
			}
		}
	}
	return len(text), nil // Errors of the buffered writer persist until Flush returns them.
}
