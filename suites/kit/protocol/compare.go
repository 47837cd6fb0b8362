package protocol

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Compare tries another form of a request whose usual form was answered with want, and reports whether both forms are
// answered alike. Where they are not, it tries both again: if the same form is answered in two ways, then time, a
// counter or a limit may be the reason, and the check ends as inconclusive.
func Compare[V any](t *check.T, alike func(a, b V) bool, want V, usual, other func() V) (got V, same bool) {
	if got = other(); alike(want, got) {
		return got, true
	}
	for _, pair := range [][2]V{{got, other()}, {want, usual()}} {
		if !alike(pair[0], pair[1]) {
			t.Retry(check.Undecided, "the same request is answered in two ways: %s, then %s", check.Show(pair[0]),
				check.Show(pair[1]))
		}
	}
	return got, false
}

// AskFunc returns a function for Compare that sends the request each time.
func AskFunc(t *check.T, s *driver.Session, method string, params check.M) func() driver.Reply {
	return func() driver.Reply { return t.Send(s, method, params) }
}

// SameKind reports whether two calls have the same kind of answer, whatever the text.
func SameKind(a, b driver.Reply) bool { return ReplyKind(a) == ReplyKind(b) }

// SameSuccess reports whether both requests were answered with a result that is not an error of a tool, or neither was.
func SameSuccess(a, b driver.Reply) bool {
	served := func(r driver.Reply) bool { return r.Result() != nil && !r.IsFailure() }
	return served(a) == served(b)
}

var wordPattern = regexp.MustCompile(`\pL+`)

// SameText reports whether two calls of tools have answers of the same kind and text. Numbers do not count, nor do the
// words of the arguments and the names of the tools, which texts may quote.
func SameText(a, b driver.Reply) bool {
	asked := slices.Concat(requestWords(a), requestWords(b))
	said := func(r driver.Reply) []string {
		return slices.DeleteFunc(words(r.MessageText()), func(w string) bool { return slices.Contains(asked, w) })
	}
	return SameKind(a, b) && slices.Equal(said(a), said(b))
}

func words(text string) []string { return wordPattern.FindAllString(strings.ToLower(text), -1) }

// requestWords are the words in the name and the arguments of a tool call.
func requestWords(r driver.Reply) []string {
	if r.Request == nil {
		return nil
	}
	params, _ := r.Request.JSON()["params"].(check.M)
	return words(string(text.CompactJSON([]any{params["name"], params["arguments"]})))
}

// ReplyKind describes the kind of an answer: "error -32602", "isError" or "success".
func ReplyKind(r driver.Reply) string {
	switch {
	case r.Member("error") != nil:
		return "error " + check.Show(check.Member(r.Error(), "code"))
	case r.IsFailure():
		return "isError"
	}
	return "success"
}
