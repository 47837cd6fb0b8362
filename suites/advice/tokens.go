package advice

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// mostTokens is how large all definitions may be.
const mostTokens = 25_000

// encoding splits texts into tokens as some models do; others come to other numbers of the same size.
var encoding = sync.OnceValue(codec.NewCl100kBase)

// size is how much of the context of a model the definitions of tools take.
type size struct {
	tools, tokens int
	more          bool // not all were counted
}

func (s size) String() string {
	about := "about"
	if s.more {
		about = "more than"
	}
	return fmt.Sprintf("%s %d tokens in the definitions of %d tools (cl100k_base)", about, s.tokens, s.tools)
}

// sizeOf counts what models are told of tools. It ends where there are too many whatever comes, so that it costs no
// more for a server that lists without measure.
func sizeOf(tools []Subject) (s size) {
	const enough, longest = 4 * mostTokens, 1 << 20
	for _, tool := range tools {
		told := M{}
		for _, member := range []string{"name", "description", "inputSchema"} {
			if Has(tool.Value, member) {
				told[member] = tool.Value[member]
			}
		}
		text := Compact(told)
		text, s.more = text[:min(len(text), longest)], len(text) > longest
		if n, err := encoding().Count(string(text)); err == nil {
			s.tokens += n
		}
		if s.tools++; s.more || s.tokens > enough {
			s.more = s.more || s.tools < len(tools)
			break
		}
	}
	return s
}
