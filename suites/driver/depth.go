package driver

import (
	"bytes"
	"encoding/json"
)

// MaxDepth is the depth to which mcpcheck reads JSON. encoding/json refuses texts that are nested more than 10,000
// deep.
const MaxDepth = 9000

// IsJSON reports whether a text is JSON down to MaxDepth.
func IsJSON(raw []byte) bool {
	text, _ := textToMaxDepth(raw)
	return json.Valid(text)
}

// textToMaxDepth returns a JSON text without what is nested deeper than MaxDepth: the arrays and objects at that depth
// become empty. deep reports whether anything was left out.
func textToMaxDepth(raw []byte) (text []byte, deep bool) {
	if len(raw) <= MaxDepth || bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) <= MaxDepth {
		return raw, false
	}
	depth, kept := 0, 0 // raw[:kept] has been copied or left out
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
