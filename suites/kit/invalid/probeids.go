package invalid

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// maxProbedRequests is the number of requests for which idsByKind has ids.
const maxProbedRequests = 20

// longID is the number of characters of a long id.
const longID = 1000

// idsByKind are the ids of a kind for the nth request besides the no-op: of integers, negative ones and those that need
// more than 31, 32 or 52 bits; of strings, those with digits, one of one character and a long one.
var idsByKind = map[string]func(n int) []any{
	"integer": func(n int) []any {
		return []any{70200 + n, -1002 - n, 1<<53 - 2 - n, 1<<31 + 70280 + n, 1<<32 + 70300 + n}
	},
	"string": func(n int) []any {
		long := strings.Repeat(fmt.Sprintf("mcpcheck-%d ", n), longID/len("mcpcheck-"))
		return []any{
			fmt.Sprint(70230 + n), fmt.Sprintf("00702%d", 60+n), fmt.Sprintf("mcpcheck-c %d", n), long[:longID],
			string(rune('a' + n)),
		}
	},
	"unicode": func(n int) []any { return []any{fmt.Sprintf("%d é✓😀 e\u0301", n)} },
	"falsy":   func(n int) []any { return []any{0, ""}[n%2 : n%2+1] },
}

// Prefixes of ids that checks of ids use: of requests that are sent concurrently, and of many in a row.
const (
	PipelinedIDPrefix = "mcpcheck-pipelined-"
	ManyIDsPrefix     = "mcpcheck-many-"
)

// IDsOfKind are the ids of a kind for the nth request besides the no-op.
func IDsOfKind(kind string, n int) []any { return idsByKind[kind](min(n, maxProbedRequests-1)) }

// IsProbeID reports whether an id is one of IDsOfKind, or begins with one of the prefixes. The checks of ids judge the
// responses to these.
func IsProbeID(id json.RawMessage) bool {
	content, _ := driver.Decode(id).(string)
	if strings.HasPrefix(content, PipelinedIDPrefix) || strings.HasPrefix(content, ManyIDsPrefix) {
		return true
	}
	return probeIDs()[driver.IDKey(id)]
}

// probeIDs returns the keys of IsProbeID's ids.
var probeIDs = sync.OnceValue(func() map[string]bool {
	keys := map[string]bool{}
	for _, ids := range idsByKind {
		for n := range maxProbedRequests {
			for _, id := range ids(n) {
				keys[driver.IDKey(text.CompactJSON(id))] = true
			}
		}
	}
	return keys
})
