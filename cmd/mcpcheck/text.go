package main

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"
)

// oneLine is a text on one line, as errors of use have to be.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// errorLine says on one line what went wrong, which may be several things.
func errorLine(err error) string {
	switch err := err.(type) {
	case *exitError:
		if err.cause != nil {
			return errorLine(err.cause)
		}
	case interface{ Unwrap() []error }:
		return strings.Join(mapStrings(err.Unwrap(), errorLine), "; ")
	}
	return oneLine(err.Error())
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// mapStrings are the texts that a function makes of a list.
func mapStrings[T any](list []T, text func(T) string) (texts []string) {
	for _, item := range list {
		texts = append(texts, text(item))
	}
	return texts
}

// writeBuffered has something written, and says what went wrong with any of it.
func writeBuffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriter(w)
	return cmp.Or(write(b), b.Flush())
}
