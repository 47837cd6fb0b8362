package protocol

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
)

// ExpectEnd requires the last page of a list to have no nextCursor. Some servers mean an empty one to say that, and
// begin anew or refuse it when it is sent. Modern clients have to send it, since an empty string is a cursor; earlier
// revisions do not say so.
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
	const want = "a last page without nextCursor"
	got := "an empty one, with which the list begins anew: %s"
	switch code, _ := r.Code(); {
	case code == errcode.InvalidParams && t.IsModern():
		got = "an empty one, which is refused: %s"
	case len(again) == 0 || slices.ContainsFunc(again, isNew):
		return
	}
	if !t.IsModern() {
		t.FailAt(catalogue.Advice, want, got, r)
	}
	t.Fail(want, got, r)
}
