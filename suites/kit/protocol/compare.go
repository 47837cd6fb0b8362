package protocol

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Compare tries another form of something whose usual form has brought want, and tells whether it makes a difference.
// Where it seems to, both forms are tried once more: when equal requests are not answered alike, then time, a counter
// or a limit may have made it, and the check ends as inconclusive.
func Compare[V any](t *check.T, alike func(a, b V) bool, want V, usual, other func() V) (got V, same bool) {
	if got = other(); alike(want, got) {
		return got, true
	}
	for _, pair := range [][2]V{{got, other()}, {want, usual()}} {
		if !alike(pair[0], pair[1]) {
			t.Retry("the same request is answered in two ways: %s, then %s", check.Show(pair[0]), check.Show(pair[1]))
		}
	}
	return got, false
}

// AskFunc is a request for Compare, which can be made again.
func AskFunc(t *check.T, s *driver.Session, method string, params check.M) func() driver.Reply {
	return func() driver.Reply { return t.Request(s, method, params) }
}

// SameKind reports whether two calls were answered in the same way, whatever the words.
func SameKind(a, b driver.Reply) bool { return ReplyKind(a) == ReplyKind(b) }

// SameSuccess reports whether two requests were both answered with a result, or neither.
func SameSuccess(a, b driver.Reply) bool { return (a.Result() != nil) == (b.Result() != nil) }

var wordPattern = regexp.MustCompile(`\pL+`)

// SameText reports whether two calls of tools were answered in the same way and words. Numbers do not count, nor do the
// words of either call's arguments and the names of the tools, which the texts may quote.
func SameText(a, b driver.Reply) bool {
	asked := slices.Concat(requestWords(a), requestWords(b))
	said := func(r driver.Reply) []string {
		return slices.DeleteFunc(words(r.MessageText()), func(w string) bool { return slices.Contains(asked, w) })
	}
	return SameKind(a, b) && slices.Equal(said(a), said(b))
}

func words(text string) []string { return wordPattern.FindAllString(strings.ToLower(text), -1) }

// requestWords are those of the name and the arguments with which a tool was called.
func requestWords(r driver.Reply) []string {
	if r.Request == nil {
		return nil
	}
	params, _ := r.Request.JSON()["params"].(check.M)
	return words(string(text.CompactJSON([]any{params["name"], params["arguments"]})))
}

// ReplyKind says how a call was answered: "error -32602", "isError", "success".
func ReplyKind(r driver.Reply) string {
	switch {
	case r.Member("error") != nil:
		return "error " + check.Show(check.Member(r.Error(), "code"))
	case r.IsFailure():
		return "isError"
	}
	return "success"
}
