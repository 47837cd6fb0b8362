package protocol

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ExpectEnd requires the last page of a list to have no nextCursor. Some servers mean an empty one to say that, and
// begin anew when it is sent. Modern clients have to send it, since an empty string is a cursor; earlier revisions do
// not say so.
func ExpectEnd(t *check.T, l PagedList) {
	s := t.Session()
	var keys []string
	var next any
	check.FollowPages(t, s, l.Method, l.Member, func(page check.M) {
		keys = append(keys, l.Keys(page)...)
		next = check.Member(page, "nextCursor")
	})
	if next != "" {
		return
	}
	r := t.Send(s, l.Method, check.M{"cursor": ""}, check.AllowSilence)
	again := l.Keys(r.Result())
	isNew := func(key string) bool { return !slices.Contains(keys, key) }
	if len(again) == 0 || slices.ContainsFunc(again, isNew) {
		return
	}
	const want, got = "a last page without nextCursor", "an empty one, with which the list begins anew: %s"
	if !t.IsModern() {
		t.FailAt(catalogue.Advice, want, got, r)
	}
	t.Fail(want, got, r)
}
