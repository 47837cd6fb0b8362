package text

import (
	"encoding/json"
	"io"
	"strings"
)

// OneLine is a text on one line, as errors of use have to be.
func OneLine(content string) string { return strings.Join(strings.Fields(content), " ") }

// Map are the texts that a function makes of a list.
func Map[T any](list []T, content func(T) string) (texts []string) {
	for _, item := range list {
		texts = append(texts, content(item))
	}
	return texts
}

// NearestOrAll names the nearest of the names that there are, or all of them.
func NearestOrAll(word string, names []string) string {
	if len(names) == 0 {
		return " (there is none)"
	}
	return Suggestion(word, names, " (have "+strings.Join(names, ", ")+")")
}

// WriteJSON writes a value as JSON for people: indented, and with the characters of HTML as they are.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
