package driver

import (
	"bytes"
	"encoding/json"
)

// MaxDepth is how deep mcpcheck reads JSON: encoding/json refuses what is nested more than 10,000 deep.
const MaxDepth = 9000

// IsJSON reports whether a text is JSON, as far down as mcpcheck reads it.
func IsJSON(raw []byte) bool {
	text, _ := textToMaxDepth(raw)
	return json.Valid(text)
}

// textToMaxDepth is a JSON text without what is nested deeper than MaxDepth: the arrays and objects there are empty.
// deep tells whether anything was left out, of which nothing is known.
func textToMaxDepth(raw []byte) (text []byte, deep bool) {
	if len(raw) <= MaxDepth || bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) <= MaxDepth {
		return raw, false
	}
	depth, kept := 0, 0 // what comes before kept is in the text, or left out
	quoted, escaped := false, false
	for i, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			if depth++; depth == MaxDepth {
				text, deep = append(text, raw[kept:i+1]...), true
				kept = len(raw)
			}
		case c == ']' || c == '}':
			if depth--; depth == MaxDepth-1 {
				kept = i
			}
		}
	}
	if !deep {
		return raw, false
	}
	return append(text, raw[kept:]...), true
}
