package explore

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// encode returns a message with its members in an order that the seed decides; 0 sorts them.
func encode(message check.M, order uint64) []byte {
	if order == 0 {
		return text.CompactJSON(message)
	}
	return appendShuffled(nil, message, rand.New(rand.NewPCG(order, 0)))
}

// appendShuffled appends a value as JSON, with the members of its objects in any order.
func appendShuffled(dst []byte, value any, r *rand.Rand) []byte {
	object, isObject := value.(check.M)
	if !isObject {
		return append(dst, text.CompactJSON(value)...)
	}
	names := slices.Sorted(maps.Keys(object))
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, text.CompactJSON(name)...), ':')
		dst = appendShuffled(dst, object[name], r)
	}
	return append(dst, '}')
}

// ids are ids of all legal forms, as JSON. Each is used once in a session.
var ids = []string{
	`""`, `"a"`, `"1"`, `"0"`, `0`, `-1`, `-7`, `9007199254740991`, `-9007199254740991`, `2147483648`, `"null"`,
	`"é✓🙂"`, `"a b\tc\"d\\e/f"`, `"01JD2Q0Z9Q3V5B7N8M6K4H2G1F"`, `"7d4b7b1e-52a5-4a31-9f0e-0a4b8c1d2e3f"`,
	`"` + string(bytes.Repeat([]byte("long-id-"), 32)) + `"`,
}

// metas are members of _meta that any request may have.
var metas = []check.M{
	{"com.example/mcpcheck": check.M{"a": []any{1, "b"}}},
	{"com.example/mcpcheck": "é✓🙂"},
	{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "mcpcheck=1"},
	{"com.example.mcpcheck/flag": true},
}
