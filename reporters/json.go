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
	// Encoded all at once, the results would take several times their size.
	text, err := indentedJSON(jsonReport{r, []report.Result{}}, "")
	if err != nil {
		return err
	}
	const end = "]\n}\n"
	out := bufio.NewWriter(w)
	writeVisible(out, bytes.TrimSuffix(text, []byte(end)))
	for i, x := range r.Results {
		const indent = "    "
		text, err := indentedJSON(newJSONResult(x), indent)
		if err != nil {
			return err
		}
		separator := ",\n"
		if i == 0 {
			separator = "\n"
		}
		out.WriteString(separator + indent)
		writeVisible(out, bytes.TrimSpace(text))
	}
	if len(r.Results) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString(end)
	return out.Flush()
}

// jsonReport is a report whose results come last.
type jsonReport struct {
	report.Report
	Results []report.Result `json:"results"`
}

// jsonResult is a result with its requirement as a sentence.
type jsonResult struct {
	report.Result
	Requirement string `json:"requirement"`
}

func newJSONResult(x report.Result) jsonResult {
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
}

// writeJSON writes a value as indented JSON without commands to GitHub's runner: no line begins with "::", and "##[" is
// escaped. Invisible characters are escaped as well, because the file may be shown in a terminal.
func writeJSON(w io.Writer, v any) error {
	text, err := indentedJSON(v, "")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	writeVisible(out, text)
	return out.Flush()
}

// indentedJSON returns the indented JSON of a value. Each line but the first begins with the prefix.
func indentedJSON(v any, prefix string) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	err := enc.Encode(v)
	return text.Bytes(), err
}

// writeVisible writes JSON and escapes "##[" and the invisible characters that the encoder leaves unchanged. Errors
// persist until Flush returns them.
func writeVisible(w *bufio.Writer, text []byte) {
	begin := 0 // of what is written as it is
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRune(text[i:])
		isCommand := r == '[' && bytes.HasSuffix(text[:i], []byte("##"))
		if !isCommand && (r == '\n' || unicode.IsPrint(r)) {
			continue
		}
		w.Write(text[begin:i])
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(w, `\u%04x`, unit)
		}
		begin = i + size
	}
	w.Write(text[begin:])
}
