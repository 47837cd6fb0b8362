package main

import (
	"slices"
	"strings"
)

// oneLine is a text on one line, as errors of use have to be.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// shellJoin writes words as a shell takes them.
func shellJoin(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?[](){}<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// each are the texts that a function makes of a list.
func each[T any](list []T, text func(T) string) (texts []string) {
	for _, item := range list {
		texts = append(texts, text(item))
	}
	return texts
}
