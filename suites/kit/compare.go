package kit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Compare tries another form of something whose usual form has brought want, and tells whether it makes a difference.
// Where it seems to, both forms are tried once more: when equal requests are not answered alike, then time, a counter
// or a limit may have made it, and the check ends as inconclusive.
func Compare[V any](t *T, alike func(a, b V) bool, want V, usual, other func() V) (got V, same bool) {
	if got = other(); alike(want, got) {
		return got, true
	}
	for _, pair := range [][2]V{{got, other()}, {want, usual()}} {
		if !alike(pair[0], pair[1]) {
			t.Again("the same request is answered in two ways: %s, then %s", Show(pair[0]), Show(pair[1]))
		}
	}
	return got, false
}

// Asking is a request for Compare, which can be made again.
func Asking(t *T, s *driver.Session, method string, params M) func() driver.Reply {
	return func() driver.Reply { return t.Ask(s, method, params) }
}

// SameKind reports whether two calls were answered in the same way, whatever the words.
func SameKind(a, b driver.Reply) bool { return KindOf(a) == KindOf(b) }

// BothServed reports whether two requests were both answered with a result, or neither.
func BothServed(a, b driver.Reply) bool { return (a.Result() != nil) == (b.Result() != nil) }

var word = regexp.MustCompile(`\pL+`)

// SayAlike reports whether two calls of tools were answered in the same way and words. Numbers do not count, nor do the
// words of either call's arguments and the names of the tools, which the texts may quote.
func SayAlike(a, b driver.Reply) bool {
	asked := slices.Concat(askedWords(a), askedWords(b))
	said := func(r driver.Reply) []string {
		return slices.DeleteFunc(words(r.Text()), func(w string) bool { return slices.Contains(asked, w) })
	}
	return SameKind(a, b) && slices.Equal(said(a), said(b))
}

func words(text string) []string { return word.FindAllString(strings.ToLower(text), -1) }

// askedWords are those of the name and the arguments with which a tool was called.
func askedWords(r driver.Reply) []string {
	if r.Request == nil {
		return nil
	}
	params, _ := r.Request.JSON()["params"].(M)
	return words(string(Compact([]any{params["name"], params["arguments"]})))
}
