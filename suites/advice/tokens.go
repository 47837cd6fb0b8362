package advice

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// maxTokens is how large all definitions may be.
const maxTokens = 25_000

// tokenizer splits texts into tokens as some models do; others come to other numbers of the same size.
var tokenizer = sync.OnceValue(codec.NewCl100kBase)

// definitionSize is how much of the context of a model the definitions of tools take.
type definitionSize struct {
	tools, tokens int
	truncated     bool // not all were counted
}

func (s definitionSize) String() string {
	about := "about"
	if s.truncated {
		about = "more than"
	}
	return fmt.Sprintf("%s %d tokens in the definitions of %d tools (cl100k_base)", about, s.tokens, s.tools)
}

// measureDefinitions counts what models are told of tools. It ends where there are too many whatever comes, so that it
// costs no more for a server that lists without measure.
func measureDefinitions(tools []check.Subject) (s definitionSize) {
	const enough, longest = 4 * maxTokens, 1 << 20
	for _, tool := range tools {
		told := check.M{}
		for _, member := range []string{"name", "description", "inputSchema"} {
			if check.HasMember(tool.Value, member) {
				told[member] = tool.Value[member]
			}
		}
		content := text.CompactJSON(told)
		content, s.truncated = content[:min(len(content), longest)], len(content) > longest
		if n, err := tokenizer().Count(string(content)); err == nil {
			s.tokens += n
		}
		if s.tools++; s.truncated || s.tokens > enough {
			s.truncated = s.truncated || s.tools < len(tools)
			break
		}
	}
	return s
}
