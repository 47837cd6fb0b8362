package explain

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

func sentence(page string, ordinal int, ids ...string) catalogue.Sentence {
	return catalogue.Sentence{Revision: "2025-11-25", Page: page, Ordinal: ordinal, Keyword: "MUST",
		Binds: catalogue.BindsServer, IDs: ids}
}

func TestSentencesOf(t *testing.T) {
	all := []catalogue.Sentence{
		sentence("a", 1, "ping/prompt"), sentence("a", 2), sentence("a#b", 1, "ping/prompt", "ping/periodic"),
		sentence("a#b", 2, "ping/prompt"), sentence("a#b", 3, "ping/periodic"), sentence("a#b", 4, "ping/prompt"),
	}
	for id, want := range map[string]string{
		"ping/prompt":       "2025-11-25 a 1\n2025-11-25 a#b 1-2, 4",
		"ping/periodic":     "2025-11-25 a#b 1, 3",
		"ping/configurable": "",
	} {
		if got := sentencesOf(id, all); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

// TestTotals proves that each sentence that binds servers is counted in one column, and a revision without sentences is
// said to be missing.
func TestTotals(t *testing.T) {
	reason, client := sentence("a", 5), sentence("a", 6, "ping/prompt")
	reason.Reason, client.Binds = "Nobody can see it.", catalogue.BindsClient
	part := specPart{"2025-11-25", []catalogue.Sentence{
		sentence("a", 1, "ping/prompt"), sentence("a", 2, "ping/periodic", "ping/prompt"),
		sentence("a", 3, "ping/prompt"), sentence("a", 4, "ping/periodic"), reason, client,
	}}
	var b strings.Builder
	writeTotals(&b, part)
	writeTotals(&b, specPart{title: "2024-11-05"})
	want := "| [2025-11-25](#2025-11-25) | 6 | 5 | 3 | 1 | 1 | 1 |\n| 2024-11-05 | not counted yet | | | | | |\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSpecPart(t *testing.T) {
	reason, client := sentence("server/tools#tool", 2), sentence("server/tools#tool", 3)
	reason.Reason, client.Binds = "Nobody can see a_b.", catalogue.BindsClient
	var b strings.Builder
	writeSpecPart(&b, specPart{"2025-11-25", []catalogue.Sentence{
		sentence("server/tools", 1, "ping/prompt"), sentence("server/tools#tool", 1, "ping/prompt", "ping/periodic"),
		reason, client,
	}})
	const spec = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools"
	want := "\n## 2025-11-25\n\n### server/tools\n\n" +
		"| heading | sentences | judged by | not testable | not judged | bind others |\n|---|---|---|---|---|---|\n" +
		"| [(at the top)](" + spec + ") | 1 | 1: [ping/prompt] |  |  |  |\n" +
		"| [tool](" + spec + "#tool) | 3 | 1: [ping/prompt] | 1: [ping/periodic] | " +
		"2: Nobody can see a\\_b. | 3: client |\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTargets(t *testing.T) {
	var b strings.Builder
	if err := writeTargets(&b, map[string]bool{"ping/prompt": true, "ping/periodic": true}); err != nil {
		t.Fatal(err)
	}
	const want = "\n[ping/periodic]: #ping/periodic\n[ping/prompt]: ping/README.md#ping/prompt\n"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
