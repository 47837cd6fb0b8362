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

// textSize is the size of texts that models are sent.
type textSize struct {
	bytes int
	// tokens is 0 where the bytes are so few that it need not be known: a token has at least one byte.
	tokens int
	// isTruncated reports that the count ended early, since there were too many tokens.
	isTruncated bool
}

// measureTexts counts the tokens of texts until there are too many in any case, so that endless ones cost no more.
func measureTexts(texts ...string) (s textSize) {
	for _, text := range texts {
		s.bytes += len(text)
	}
	if s.bytes <= maxTokens {
		return s
	}
	for i, text := range texts {
		s.tokens += countTokens(text)
		s.isTruncated = len(text) > longestText || s.tokens > 4*maxTokens && i+1 < len(texts)
		if s.isTruncated {
			break
		}
	}
	return s
}

func (s textSize) String() string {
	switch {
	case s.tokens == 0:
		return fmt.Sprintf("%d bytes", s.bytes)
	case s.isTruncated:
		return fmt.Sprintf("more than %d tokens (cl100k_base)", s.tokens)
	default:
		return fmt.Sprintf("about %d tokens (cl100k_base)", s.tokens)
	}
}

// countTokens returns the number of tokens of a text, or of its beginning if it is long.
func countTokens(text string) int {
	n, err := tokenizer().Count(text[:min(len(text), longestText)])
	if err != nil {
		return len(text) / 4
	}
	return n
}

// tokenizer returns a tokenizer of one family of models. Others come to counts of the same order. It takes 6 MB.
var tokenizer = sync.OnceValue(codec.NewCl100kBase)

// definitionTexts returns what models are sent of each tool.
func definitionTexts(tools []check.Subject) (texts []string) {
	for _, tool := range tools {
		shown := check.M{}
		for _, member := range []string{"name", "description", "inputSchema"} {
			if check.HasMember(tool.Value, member) {
				shown[member] = tool.Value[member]
			}
		}
		texts = append(texts, string(text.CompactJSON(shown)))
	}
	return texts
}
