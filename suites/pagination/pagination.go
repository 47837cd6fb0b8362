// Package pagination holds the checks of lists in pages: the cursors, and whether following them ends and yields every
// item once. They cover tools, prompts, resources, resource templates and, for cursors, tasks.
//
// The checks read the steps of walkList, which follow each declared list once.
package pagination

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(cursorChecks, listChecks)

// cursorChecks are the checks of nextCursor, and of the replies to cursors.
var cursorChecks = check.Suite{
	"pagination/next-cursor-type": check.WatchWithSetup(requestLists, func(t *check.T, w check.Wire) {
		pages := w.Results().Negotiated(t.Revision).Filter("page of a list", isPage)
		t.Judge(pages, func(t *check.T, m check.Message) {
			if bytes.Contains(m.Raw.Bytes(), []byte("nextCursor")) { // the others need not be decoded
				t.Expect(check.Member(protocol.ResultOf(m), "nextCursor")).To(beStringOrAbsent())
			}
		})
	}),

	"pagination/cursor-continues": check.Probe(func(t *check.T) {
		eachLongList(t, func(t *check.T, l protocol.PagedList, w walk) {
			refused := w.refusedPage()
			if refused == nil {
				w.requirePages(t)
				return
			}
			const want = "a page for the cursor of the page before"
			if code, _ := refused.Reply.Code(); code == errcode.InternalError {
				t.FailAt(catalogue.Should, want, "%s", refused.Reply)
			}
			t.Fail(want, "%s", refused.Reply)
		})
	}),

	"pagination/stable-cursor": check.Probe(func(t *check.T) {
		eachLongList(t, func(t *check.T, l protocol.PagedList, _ walk) {
			s := t.Session()
			mark := s.Mark()
			var again driver.Reply
			for range maxTries {
				params := check.M{"cursor": skipUnlessSecondPage(t, s, l)}
				first := t.Send(s, l.Method, params)
				if again = first; first.Result() == nil {
					continue // another session may have used this cursor before
				}
				if again = t.Send(s, l.Method, params); sameItems(l, first, again) {
					return
				}
			}
			requireUnchanged(t, s, mark, l)
			t.Expect(again).To(check.ReportedBy("pagination/cursor-continues",
				check.Satisfy("the same items for the same cursor", func(driver.Reply) bool { return false })))
		})
	}),

	"pagination/no-cursor-first-page": check.Probe(func(t *check.T) {
		eachLongList(t, func(t *check.T, l protocol.PagedList, _ walk) {
			s := t.Session()
			var first, last driver.Reply
			for range maxTries {
				first = t.Send(s, l.Method, nil)
				next, _ := first.Result()["nextCursor"].(string)
				t.Send(s, l.Method, check.M{"cursor": next})
				if last = t.Send(s, l.Method, nil); sameItems(l, first, last) {
					return
				}
				if slices.ContainsFunc(l.Keys(last.Result()), isOneOf(l.Keys(first.Result()))) {
					t.NoVerdict(check.Undecided, "the list changes meanwhile: %s", protocol.Difference(
						l.Keys(first.Result()), l.Keys(last.Result())))
				}
			}
			t.Fail("the first page again for a request without a cursor", "%s", last)
		})
	}),

	"pagination/invalid-cursor": check.Probe(func(t *check.T) {
		eachList(t, func(t *check.T, l protocol.PagedList, w walk) {
			s := t.Session(check.ForInvalidInput)
			expectCursorOfOtherList(t, s, l)
			r := invalid.RequestInvalid(t, s, l.Method, check.M{"cursor": "mcpcheck-invalid-cursor"})
			if r.Result() != nil && !w.paged {
				t.FailAt(catalogue.Advice, "error -32602", "%s: the server has one page, and ignores cursors", r)
			}
			if w.isEndless() && r.Result() != nil {
				t.Yield("cursors are ignored")
			}
			t.Expect(r).To(check.BeError(errcode.InvalidParams))
			if s.IsUsable() {
				empty := invalid.TryInvalid(t, s, l.Method, check.M{"cursor": ""})
				t.Expect(empty).To(check.BeAnswered(), "the cursor \"\", which may be valid")
			}
		})
	}),

	"pagination/non-string-cursor": check.Probe(func(t *check.T) {
		eachList(t, func(t *check.T, l protocol.PagedList, _ walk) {
			r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), l.Method, check.M{"cursor": 42})
			invalid.SkipUnlessServerRejects(t, r)
			t.Expect(r).To(check.BeError(errcode.InvalidParams))
		})
	}),
}

// listChecks are the checks of lists that are followed from page to page.
var listChecks = check.Suite{
	"pagination/terminates": check.Probe(func(t *check.T) {
		eachLongList(t, func(t *check.T, l protocol.PagedList, w walk) {
			if l.Method == "tools/list" {
				t.Skip(check.NotApplicable, "tools have a check of their own")
			}
			if refused := w.refusedPage(); refused != nil {
				t.Yield("%s", refused.Reason)
			}
			if w.isEndless() && hasEndlessTools(t) {
				t.Yield("nor does tools/list come to an end")
			}
			t.Expect(!w.isEndless()).To(check.BeTrue("a page without nextCursor in the end", "%v", w.err))
			w.requireEnd(t)
			protocol.ExpectEnd(t, l)
		})
	}),

	"pagination/no-duplicates-or-gaps": check.Probe(func(t *check.T) {
		eachLongList(t, func(t *check.T, l protocol.PagedList, w walk) {
			w.requireEnd(t)
			s := t.Session()
			mark := s.Mark()
			var before []string
			for n, after := 0, listKeys(t, s, l); n < maxTries; n++ {
				before, after = after, listKeys(t, s, l)
				switch same := slices.Equal(uniqueKeys(before), uniqueKeys(after)); {
				case same && hasNameCheck(l):
					return
				case same:
					t.Expect(duplicateKeys(after)).To(check.BeEmptyList[string]("each item once"))
					return
				}
			}
			requireUnchanged(t, s, mark, l)
			t.Fail("the same items whenever the list is followed", "%s", protocol.Difference(before, listKeys(t, s, l)))
		})
	}),
}

// maxTries is how often an attempt is made that a list may disturb by changing meanwhile.
const maxTries = 3

// requestLists requests each list that the server declares, so that there are pages to judge.
func requestLists(t *check.T) {
	for _, l := range protocol.DeclaredLists(t) {
		if check.KnownUnanswered(t, l.Method) == nil {
			t.Send(t.Session(), l.Method, nil, check.AllowSilence)
		}
	}
}

// isPage reports whether a message is a page of a list that may have several pages.
func isPage(m check.Message) bool {
	return m.Request != nil && (m.Request.Method == "tasks/list" ||
		slices.ContainsFunc(protocol.PagedLists,
			func(l protocol.PagedList) bool { return l.Method == m.Request.Method }))
}

func beStringOrAbsent() types.GomegaMatcher {
	return check.Satisfy("a string, or no nextCursor", func(v any) bool {
		_, isString := v.(string)
		return isString || v == check.Absent{}
	})
}

// walk is the outcome of following a list.
type walk struct {
	// paged reports that some page had a nextCursor.
	paged bool
	// cursor is the first nextCursor that is not empty; empty when there is none.
	cursor string
	// err is why the list was not read to its end; nil if it was.
	err error
	// sessionEnded reports that the session ended on the way.
	sessionEnded bool
}

// walkList follows a list once for all checks. A server may end the session on the way; the list is then followed in
// another session.
func walkList(t *check.T, l protocol.PagedList) walk {
	return check.Step(t, "walk through "+l.Method, func(t *check.T) (w walk) {
		if w.err = check.KnownUnanswered(t, l.Method); w.err != nil {
			return w
		}
		for range maxTries {
			s := t.Session()
			w = walk{}
			w.err = check.EachPage(s, l.Method, l.Member, check.M{}, func(page check.M) {
				next, more := page["nextCursor"].(string)
				w.paged = w.paged || more
				w.cursor = cmp.Or(w.cursor, next)
			})
			if w.sessionEnded = !s.IsUsable(); !w.sessionEnded || w.unlisted() == nil {
				return w
			}
		}
		return w
	})
}

// refusedPage returns the error of a reply to a cursor that is not a page. It is nil if all replies are pages, or if
// the session ended.
func (w walk) refusedPage() *check.NotAListError {
	if unlisted := w.unlisted(); !w.sessionEnded {
		return unlisted
	}
	return nil
}

// unlisted returns the error of a reply to a cursor that is not a page.
func (w walk) unlisted() *check.NotAListError {
	if unlisted := (*check.NotAListError)(nil); errors.As(w.err, &unlisted) && w.paged {
		return unlisted
	}
	return nil
}

// isEndless reports whether a cursor brings a page that came before.
func (w walk) isEndless() bool { return errors.As(w.err, new(*check.EndlessListError)) }

// hasEndlessTools reports whether tools/list does not come to an end: a server that ignores cursors does so everywhere.
func hasEndlessTools(t *check.T) bool {
	return slices.ContainsFunc(protocol.DeclaredLists(t), func(l protocol.PagedList) bool {
		return l.Method == "tools/list" && walkList(t, l).isEndless()
	})
}

// requirePages ends the check if the list was not followed to its end for another reason than that it is endless or too
// long.
func (w walk) requirePages(t *check.T) {
	if w.err != nil && !w.isEndless() && !errors.Is(w.err, check.ErrTooManyPages) {
		t.Retry(check.Undecided, "%v", check.Explain(w.err))
	}
}

// requireEnd ends the check if the list was not read to its end.
func (w walk) requireEnd(t *check.T) {
	w.requirePages(t)
	switch {
	case errors.Is(w.err, check.ErrTooManyPages):
		t.NoVerdict(check.Limit, "%v", w.err)
	case w.err != nil:
		t.Yield("%v", w.err)
	}
}

// eachList runs a check on each list that the server declares and returns. All lists are walked before the check opens
// an exclusive session, since a walk may need one.
func eachList(t *check.T, run func(*check.T, protocol.PagedList, walk)) {
	all := protocol.DeclaredLists(t)
	if len(all) == 0 {
		t.Skip(check.NotDeclared, "the server declares no list")
	}
	walks := make(map[protocol.PagedList]walk, len(all))
	for _, l := range all {
		walks[l] = walkList(t, l)
	}
	check.Each(t, all, protocol.PagedList.Subject, func(t *check.T, l protocol.PagedList) {
		w := walks[l]
		if w.err != nil && !w.paged {
			t.Retry(check.Undecided, "%v", check.Explain(w.err))
		}
		run(t, l, w)
	})
}

// eachLongList is eachList for lists with more than one page.
func eachLongList(t *check.T, run func(*check.T, protocol.PagedList, walk)) {
	eachList(t, func(t *check.T, l protocol.PagedList, w walk) {
		if !w.paged {
			t.Skip(check.NotOffered, "no list has more than one page")
		}
		run(t, l, w)
	})
}

// expectCursorOfOtherList requires that the server refuses a cursor of another list as invalid, if it refuses it. It
// may be one of this list as well, such as a number.
func expectCursorOfOtherList(t *check.T, s *driver.Session, l protocol.PagedList) {
	for _, other := range protocol.DeclaredLists(t) {
		cursor := walkList(t, other).cursor
		if other.Method == l.Method || cursor == "" {
			continue
		}
		if r := invalid.TryInvalid(t, s, l.Method, check.M{"cursor": cursor}); r.Error() != nil {
			t.Expect(r).To(check.BeError(errcode.InvalidParams), "a cursor of "+other.Method)
		}
		return
	}
}

// skipUnlessSecondPage returns the current cursor of the second page. If there is only one page, it ends the check as
// skip.
func skipUnlessSecondPage(t *check.T, s *driver.Session, l protocol.PagedList) (cursor string) {
	first := t.Send(s, l.Method, nil)
	cursor, paged := first.Result()["nextCursor"].(string)
	if !paged {
		t.Skip(check.NotApplicable, "the list has one page by now")
	}
	return cursor
}

// listKeys returns the keys of all items on all pages of a list.
func listKeys(t *check.T, s *driver.Session, l protocol.PagedList) (keys []string) {
	check.FollowPages(t, s, l.Method, l.Member, func(page check.M) { keys = append(keys, l.Keys(page)...) })
	return keys
}

// requireUnchanged ends the check if the server has announced since the mark that the list has changed.
func requireUnchanged(t *check.T, s *driver.Session, mark int, l protocol.PagedList) {
	if slices.ContainsFunc(s.ReceivedSince(mark), func(f *driver.Frame) bool { return f.Method == l.ChangedMethod() }) {
		t.NoVerdict(check.Undecided, "the list changes all the time, as the server says itself")
	}
}

// sameItems reports whether the items of the shorter of two pages are all on the longer one. The server may choose
// another page size each time.
func sameItems(l protocol.PagedList, a, b driver.Reply) bool {
	short, long := a.Result(), b.Result()
	if len(l.Keys(short)) > len(l.Keys(long)) {
		short, long = long, short
	}
	if short == nil {
		return false
	}
	some := len(l.Keys(short)) > 0 || len(l.Keys(long)) == 0 || check.HasMember(short, "nextCursor")
	isElsewhere := isOneOf(l.Keys(long))
	return some && !slices.ContainsFunc(l.Keys(short), func(key string) bool { return !isElsewhere(key) })
}

func isOneOf(keys []string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}

// uniqueKeys returns the keys without duplicates, sorted.
func uniqueKeys(keys []string) []string { return slices.Compact(protocol.Sorted(keys)) }

// hasNameCheck reports whether another check, of names or URIs, judges that each item is listed once.
func hasNameCheck(l protocol.PagedList) bool { return l.Member != "resourceTemplates" }

// duplicateKeys returns the keys of repeated items.
func duplicateKeys(keys []string) (again []string) {
	known := map[string]bool{}
	for _, key := range keys {
		if known[key] {
			again = append(again, key)
		}
		known[key] = true
	}
	return again
}
