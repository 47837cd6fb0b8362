package driver

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Parts visits what a JSON object or array is made of, in the order of the text: each member by its name, and each item
// without one. Nothing is decoded or copied, so that it costs little however long the text is, which must be JSON; of
// what is neither an object nor an array there are no parts.
func Parts(text []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		at := skip(text, 0, " \t\r\n")
		if at == len(text) || text[at] != '{' && text[at] != '[' {
			return
		}
		isObject := text[at] == '{'
		for at++; ; {
			at = skip(text, at, ", \t\r\n")
			if at == len(text) || text[at] == '}' || text[at] == ']' {
				return
			}
			name := ""
			if isObject {
				end := stringEnd(text, at)
				name = unquote(text[at:end])
				at = skip(text, end, ": \t\r\n")
			}
			end := valueEnd(text, at)
			if !yield(name, json.RawMessage(text[at:end:end])) {
				return
			}
			at = end
		}
	}
}

// Part is the member of that name in a JSON object, the last of several; nil when there is none.
func Part(text []byte, name string) (member json.RawMessage) {
	for n, value := range Parts(text) {
		if n == name {
			member = value
		}
	}
	return member
}

// skip is the first place from at on where none of the characters stands.
func skip(text []byte, at int, characters string) int {
	for at < len(text) && bytes.IndexByte([]byte(characters), text[at]) >= 0 {
		at++
	}
	return at
}

// valueEnd is where the JSON value ends that begins at a place.
func valueEnd(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			if at = stringEnd(text, at) - 1; depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of what a number stands in
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
	}
	return len(text)
}

// stringEnd is where the JSON string ends that begins at a place.
func stringEnd(text []byte, at int) int {
	for at++; at < len(text); at++ {
		next := bytes.IndexAny(text[at:], `"\`)
		if next < 0 {
			break
		}
		if at += next; text[at] == '"' {
			return at + 1
		}
		at++ // what is escaped
	}
	return len(text)
}

// unquote is the text that a JSON string stands for.
func unquote(literal []byte) (text string) {
	json.Unmarshal(literal, &text)
	return text
}
