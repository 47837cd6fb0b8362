package reporters

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestMarkdownIsBounded checks that a page is never larger than GitHub accepts, and says what it leaves out.
func TestMarkdownIsBounded(t *testing.T) {
	long := maliciousReport()
	for i := range long.Results {
		x := &long.Results[i]
		x.ID, x.Spec = strings.Repeat(x.ID, 500), "https://"+strings.Repeat("x", 1e5)
		x.Title, x.Message = strings.Repeat(maliciousText, 500), strings.Repeat(maliciousText, 500)
		x.Subjects = []string{strings.Repeat(maliciousText, 500)}
	}
	long.Server.Name, long.Problem = strings.Repeat(maliciousText,
		500), strings.Repeat(strings.Repeat(maliciousText, 500), 10)
	for name, r := range map[string]report.Report{"crowd": largeReport(), "long": long} {
		if size := len(render(t, Markdown, r)); size > markdownLimit {
			t.Errorf("%s: has %d bytes, at most %d were wanted", name, size, markdownLimit)
		}
	}
	page := string(render(t, Markdown, largeReport()))
	for _, want := range []string{
		`(?m)^… and [0-9]+ more of 240\.$`,
		`(?m)^… and [0-9]+ more of 80\.$`,
		`The evidence of [0-9]+ failures is left out`,
	} {
		if !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("want %s in the page", want)
		}
	}
	if strings.Count(page, "<details>") != strings.Count(page, "</details>") {
		t.Error("a fold is not closed")
	}
}

// TestMarkdownKeepsServerTextInCode checks that text from a server is only inside of code, and therefore never markup.
func TestMarkdownKeepsServerTextInCode(t *testing.T) {
	page := string(render(t, Markdown, maliciousReport()))
	page = withoutFences(page)
	for line := range strings.Lines(page) {
		line = regexp.MustCompile("(`+)[^`].*?[^`]??(`+)").ReplaceAllStringFunc(line, withoutSpan)
		line = regexp.MustCompile(`^<!-- mcpcheck -->|</?(details|summary|code)>`).ReplaceAllString(line, "")
		line = regexp.MustCompile(`[@#]&#8203;`).ReplaceAllString(line, "")
		line = regexp.MustCompile(`&(amp|lt|gt|quot|#[0-9]+);`).ReplaceAllString(line, "")
		line = strings.TrimPrefix(line, "### ")
		if strings.HasPrefix(line, "|") {
			line = strings.ReplaceAll(line, "|", "")
		}
		if i := strings.IndexAny(line, "<>`@#&[]|\\$~"); i >= 0 {
			t.Errorf("%q is outside of code: %q", line[i], line)
		}
	}
}

// withoutFences removes the fenced blocks from a page.
func withoutFences(page string) string {
	var kept []string
	fence := ""
	for line := range strings.SplitSeq(page, "\n") {
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = strings.TrimSuffix(line, "text")
		case fence == "":
			kept = append(kept, line)
		case strings.HasPrefix(line, fence) && strings.Trim(line, "`") == "":
			fence = ""
		}
	}
	return strings.Join(kept, "\n")
}

// withoutSpan returns "" for a code span, and other text unchanged.
func withoutSpan(s string) string {
	open := len(s) - len(strings.TrimLeft(s, "`"))
	if strings.Repeat("`", open) != s[len(s)-open:] {
		return s
	}
	return ""
}

func TestCodeSpan(t *testing.T) {
	for in, want := range map[string]string{
		"":          "",
		"a":         "`a`",
		"a|b\\|":    "`a¦b\\¦`",
		"`":         "`` ` ``",
		"a ``b`` c": "```a ``b`` c```",
		" a":        "`  a `",
		"::error::": "`\\::error::`",
	} {
		if got := codeSpan(in); got != want {
			t.Errorf("code(%q)\nwant %s\n got %s", in, want, got)
		}
	}
}

func TestWantGot(t *testing.T) {
	for _, tt := range []struct {
		result report.Result
		want   [2]string
	}{
		{report.Result{Findings: []report.Finding{{Want: "a", Got: "b"}}}, [2]string{"a", "b"}},
		{report.Result{Findings: []report.Finding{{Want: "a", Got: "b"}, {Got: "c"}}}, [2]string{"a", "b"}},
		{report.Result{Findings: []report.Finding{{Want: "a", Got: "it died; its last lines:\nx"}}},
			[2]string{"a", "it died"}},
		{report.Result{Message: "it panicked\nat x.go"}, [2]string{"", "it panicked"}},
	} {
		if w, g := wantGot(tt.result); w != tt.want[0] || g != tt.want[1] {
			t.Errorf("%+v: want %q, got %q", tt.result, tt.want, [2]string{w, g})
		}
	}
}
