package explain

import (
	"strings"
	"testing"
)

func TestEscapeMarkdown(t *testing.T) {
	for content, want := range map[string]string{
		"plain text, with a dash - and {}": "plain text, with a dash - and {}",
		"_meta and *any*":                  `\_meta and \*any\*`,
		"a[0] of [x](y)":                   `a\[0\] of \[x\](y)`,
		"<id> & `code`":                    "\\<id\\> \\& \\`code\\`",
		"$ref and $defs":                   "&#36;ref and &#36;defs",
		"C:\\dir | ~~no~~":                 `C:\\dir \| \~\~no\~\~`,
		"one\ntwo\n":                       "one<br>two",
	} {
		if got := escapeMarkdown(content); got != want {
			t.Errorf("escapeMarkdown(%q) = %q, want %q", content, got, want)
		}
	}
}

// TestWriteSection proves that a section is indented to the right of its title, in lines of at most 88 characters.
func TestWriteSection(t *testing.T) {
	var b strings.Builder
	writeSection(&b, "fix", strings.Repeat("words ", 14)+"at the\nend")
	want := "\nfix         " + strings.Repeat("words ", 11) + "words\n" +
		"            words words at the\n" +
		"            end\n"
	if got := b.String(); got != want {
		t.Errorf("want %q\n got %q", want, got)
	}
	b.Reset()
	if writeSection(&b, "notes", ""); b.Len() > 0 {
		t.Errorf("no text: got %q", b.String())
	}
}
