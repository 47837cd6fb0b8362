package suites

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bannedPhrases are expressions of texts that readers had to guess at, each with what to say.
var bannedPhrases = []struct{ expr, say string }{
	{`judged by [12a]`, "tested against"},
	{`also speaks`, "also supports"},
	{`asked for, not negotiated`, "requested; no handshake took place"},
	{`gating (failure|of )|non-gating|does not gate|· gates`, "blocking, not blocking"},
	{`lesser deviation`, "minor violation"},
	{`[Nn]othing of the kind (was|came)`, "not observed"},
	{`runs for long`, "runs long enough"},
	{`shakes? hands`, "supports the handshake"},
	{`got silence`, "no response"},
	{`, too early"`, "before initialize"},
	{`although there is`, "despite"},
	{`could not be had`, "could not be obtained, fetched, opened"},
	{`passed in part`, "passed partly"},
	{`for one cause`, "not decided"},
	{`there was no time left`, "the time was used up"},
	{`pieces? of advice|left undone`, "recommendations"},
	{`Tell about|Put JSON reports together|Look at a server and`, "Describe, Merge, Create"},
	{`[Kk]nown fails|the fails? |a fail (is|that|of)`, "failure"},
	{`wait so long`, "timeout"},
	{`\d came · `, "added, removed"},
	{`done already`, "already tested"},
	{`any area or none`, "any"},
	{`nothing at all`, "say what there is"},
	{`in the place of each`, "replace"},
	{`has the run fail`, "makes the run fail"},
	{`\bmend(s|ed)?\b`, "fix"},
	{`within bounds of`, "with its own limits"},
	{`Umbrella`, "a note to ourselves: leave it out"},
	{`slow, not silent`, "later than the --timeout"},
	{`says nothing of the request`, "is a proxy's or rate limiter's response"},
	{`left to itself`, "idle"},
	{`that can be asked, and`, "live server"},
	{`what came does not tell`, "the responses do not decide it"},
	{notThere + ` (is|are) no ([a-kn-z]|l[^o]|m[^o])`, "is not a"},
	{`(keeps|kept) the protocol`, "conforms to the protocol"},
	{`comes to an end`, "ends"},
	{`Trouble in`, "name the field"},
	{`"came"`, "got"},
	{`(other|specific) entr(y|ies)\b`, "check"},
	{`(entry of its|entries of their) own`, "check"},
	{`spoilt`, "injected fault"},
}

// notThere matches a word, unless it is "there".
const notThere = `(\w*[^e\W]|\w*[^r]e|\w*[^e]re|\w*[^h]ere|\w*[^tT]here)`

// TestTextsAvoidPhrases holds what users read against phrases that are no idiomatic technical English: texts in the
// code, the catalogue, and the documents.
func TestTextsAvoidPhrases(t *testing.T) {
	texts := map[string][]string{} // by file
	for _, pattern := range []string{
		"README.md", "CHANGELOG.md", "action.yml", "suites/*/*.yaml", "suites/*.yaml", "reporters/html/*",
		"cmd/mcpcheck/*.md", "reporters/*.md", ".github/action/*.md", ".goreleaser.yaml",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = strings.Split(string(content), "\n")
		}
	}
	for _, pattern := range []string{
		"cmd/mcpcheck/*.go", "reporters/*.go", "suites/*.go", "suites/*/*.go", "fixtures/*.go",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				texts[file] = stringsOf(t, file)
			}
		}
	}
	for _, phrase := range bannedPhrases {
		banned := regexp.MustCompile(phrase.expr)
		for file, all := range texts {
			for _, text := range all {
				if found := banned.FindString(text); found != "" {
					t.Errorf("%s: %q in %q; say: %s", strings.TrimPrefix(file, root), found, text, phrase.say)
				}
			}
		}
	}
}

// stringsOf are the strings in a Go file, tags of fields left out.
func stringsOf(t *testing.T, file string) (all []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}
