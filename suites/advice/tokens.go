package advice

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// maxTokens is the largest size of a result, and of all definitions together, that is good practice. A result may be
// larger by a fifth, since models split texts in different ways.
const maxTokens, tolerated = 25_000, 30_000

// longestText is how much of a text is split into tokens, in bytes.
const longestText = 1 << 20

// countTokens returns the number of tokens of a text, or of its beginning if it is long. A token has at least one byte.
func countTokens(text string) int {
	if len(text) <= 4 {
		return len(text)
	}
	n, err := tokenizer().Count(text[:min(len(text), longestText)])
	if err != nil {
		return len(text) / 4
	}
	return n
}

// tokenizer returns a tokenizer of one family of models. Others come to counts of the same order.
var tokenizer = sync.OnceValue(codec.NewCl100kBase)

// definitionSize is the part of a model's context that the definitions of tools take.
type definitionSize struct {
	tools, tokens int
	// truncated reports that the count ended early, since there were too many tokens.
	truncated bool
}

func (s definitionSize) String() string {
	about := "about"
	if s.truncated {
		about = "more than"
	}
	return fmt.Sprintf("%s %d tokens in the definitions of %d tools (cl100k_base)", about, s.tokens, s.tools)
}

// measureDefinitions counts the tokens that models are sent for tools. It stops when there are too many in any case, so
// that a server with an endless list costs no more.
func measureDefinitions(tools []check.Subject) (s definitionSize) {
	const enough, longest = 4 * maxTokens, 1 << 20
	for _, tool := range tools {
		shown := check.M{}
		for _, member := range []string{"name", "description", "inputSchema"} {
			if check.HasMember(tool.Value, member) {
				shown[member] = tool.Value[member]
			}
		}
		said := text.CompactJSON(shown)
		said, s.truncated = said[:min(len(said), longest)], len(said) > longest
		if n, err := tokenizer().Count(string(said)); err == nil {
			s.tokens += n
		}
		if s.tools++; s.truncated || s.tokens > enough {
			s.truncated = s.truncated || s.tools < len(tools)
			break
		}
	}
	return s
}
