package text

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// CompactJSON returns a value as JSON on one line, without escaping HTML, as servers write it.
func CompactJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Append(nil, v)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
