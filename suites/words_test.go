package suites

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bannedWords are words that this code base once used in a sense of its own. CONTRIBUTING.md has those to use instead.
var bannedWords = strings.Fields(`
	accost amiss beside canary carriage chore chores desk dialogue donate endure foresee foreseen goodbye
	greet greeted greeting hearken heed hello hostile inquiry knock leash lend lent linger misfit misfits mourn mourns
	newcomer owe owed parting provoke provoked scene scribe senseless shelf spoil spoiled stranger strangers sullen
	thrifty undress ungreeted upset visitor welcome
`)

// bannedPhrases are turns of phrase that no comment uses, with what to write instead.
var bannedPhrases = map[*regexp.Regexp]string{
	regexp.MustCompile(`\b(what|all that) came of\b`):  "the result of",
	regexp.MustCompile(`\bonce more\b`):                "again",
	regexp.MustCompile(`\bbeside (it|them|that)\b`):    "besides",
	regexp.MustCompile(`\bshakes? hands\b|\bshaken\b`): "initialize, handshake",
	regexp.MustCompile(`\bis had\b|\bwas had\b`):       "is obtained",
}

// exceptions are identifiers and comments that use a banned word as the specification or a tool does.
var exceptions = []string{"HelloWorld", "hello world", "Hello world", "hello.d", ".ci/hello"}

// TestNoBannedWords holds the names of files, exported identifiers and comments to the vocabulary.
func TestNoBannedWords(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, word := range wordsOf(strings.TrimSuffix(path.Base(file), ".go")) {
			if slices.Contains(bannedWords, word) {
				t.Errorf("%s: the name of the file uses %q; CONTRIBUTING.md has the words", file, word)
			}
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, filepath.Join(root, file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && ast.IsExported(id.Name) && id.Obj != nil {
				reportBannedWords(t, fset.Position(id.Pos()), id.Name, wordsOf(id.Name))
			}
			return true
		})
		for _, group := range parsed.Comments {
			for _, c := range group.List {
				reportBannedWords(t, fset.Position(c.Pos()), c.Text, wordsOf(c.Text))
				for phrase, instead := range bannedPhrases {
					if found := phrase.FindString(c.Text); found != "" {
						t.Errorf("%s: %q; write: %s", position(fset.Position(c.Pos())), found, instead)
					}
				}
			}
		}
	}
}

func reportBannedWords(t *testing.T, at token.Position, text string, words []string) {
	t.Helper()
	for _, e := range exceptions {
		if strings.Contains(text, e) {
			return
		}
	}
	for _, word := range words {
		if slices.Contains(bannedWords, word) {
			t.Errorf("%s: %q; CONTRIBUTING.md has the words to use", position(at), word)
		}
	}
}

func position(p token.Position) string {
	p.Filename = strings.TrimPrefix(p.Filename, root+string(filepath.Separator))
	return p.String()
}

var wordPattern = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// wordsOf are the words of a text or of a name in camel case, in lower case.
func wordsOf(text string) (words []string) {
	for _, word := range wordPattern.FindAllString(text, -1) {
		words = append(words, strings.ToLower(word))
	}
	return words
}
