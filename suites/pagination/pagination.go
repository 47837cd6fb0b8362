// Package pagination judges lists in pages.
package pagination

import (
	"bytes"
	"errors"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are the checks of the area.
var Checks = Merge(cursors, walks)

// cursors are the checks of what a page names as the next one, and of what comes for it.
var cursors = Suite{
	"pagination/next-cursor-type": WatchAfter(askLists, func(t *T, w Wire) {
		pages := w.Results().Established(t.Revision).Filter("page of a list", isPage)
		t.Judge(pages, func(t *T, m Message) {
			if bytes.Contains(m.Raw.Bytes(), []byte("nextCursor")) { // else it need not be decoded
				t.Expect(Member(kit.ResultOf(m), "nextCursor")).To(beStringOrAbsent())
			}
		})
	}),

	"pagination/cursor-continues": Probe(func(t *T) {
		eachLongList(t, func(t *T, l kit.List, w walk) {
			refused := w.refused()
			if refused == nil {
				w.wantPages(t)
				return
			}
			const want = "a page for the cursor of the page before"
			if code, _ := refused.Reply.Code(); code == -32603 {
				t.FailAt(Should, want, "%s", refused.Reply)
			}
			t.Fail(want, "%s", refused.Reply)
		})
	}),

	"pagination/stable-cursor": Probe(func(t *T) {
		eachLongList(t, func(t *T, l kit.List, _ walk) {
			s := t.Session()
			mark := s.Mark()
			var again driver.Reply
			for range tries {
				params := M{"cursor": wantSecond(t, s, l)}
				first := t.Ask(s, l.Method, params)
				if first.Result() == nil {
					t.Because(NotObserved).Skip("the cursor is refused at once: %s", Got(first))
				}
				if again = t.Ask(s, l.Method, params); agree(l, first, again) {
					return
				}
			}
			wantUnchanged(t, s, mark, l)
			t.Fail("the same items for the same cursor", "%s", again)
		})
	}),

	"pagination/no-cursor-first-page": Probe(func(t *T) {
		eachLongList(t, func(t *T, l kit.List, _ walk) {
			s := t.Session()
			var first, last driver.Reply
			for range tries {
				first = t.Ask(s, l.Method, nil)
				next, _ := first.Result()["nextCursor"].(string)
				t.Ask(s, l.Method, M{"cursor": next})
				if last = t.Ask(s, l.Method, nil); agree(l, first, last) {
					return
				}
				if slices.ContainsFunc(l.Keys(last.Result()), oneOf(l.Keys(first.Result()))) {
					t.Inconclusive("the list changes meanwhile: %s", kit.Difference(
						l.Keys(first.Result()), l.Keys(last.Result())))
				}
			}
			t.Fail("the first page again for a request without a cursor", "%s", last)
		})
	}),

	"pagination/invalid-cursor": Probe(func(t *T) {
		eachList(t, func(t *T, l kit.List, w walk) {
			r := kit.AskAmiss(t, t.Hostile(), l.Method, M{"cursor": "mcpcheck-invalid-cursor"})
			if r.Result() != nil && !w.paged {
				t.FailAt(Advice, "error -32602", "%s: the server has one page, and ignores cursors", r)
			}
			t.Expect(r).To(BeError(kit.InvalidParams))
		})
	}),

	"pagination/non-string-cursor": Probe(func(t *T) {
		eachList(t, func(t *T, l kit.List, _ walk) {
			r := kit.TryAmiss(t, t.Hostile(), l.Method, M{"cursor": 42})
			kit.WantRefuser(t, r)
			t.Expect(r).To(BeError(kit.InvalidParams))
		})
	}),
}

// walks are the checks of lists that are followed from page to page.
var walks = Suite{
	"pagination/terminates": Probe(func(t *T) {
		eachLongList(t, func(t *T, l kit.List, w walk) {
			if l.Method == "tools/list" {
				t.Skip("tools have a check of their own")
			}
			if refused := w.refused(); refused != nil {
				t.Yield("%s", refused.Why)
			}
			endless := (*Endless)(nil)
			t.Expect(!errors.As(w.err, &endless)).To(Hold("a page without nextCursor in the end", "%v", w.err))
			w.wantEnd(t)
		})
	}),

	"pagination/no-duplicates-or-gaps": Probe(func(t *T) {
		eachLongList(t, func(t *T, l kit.List, w walk) {
			w.wantEnd(t)
			s := t.Session()
			mark := s.Mark()
			var before []string
			for n, after := 0, follow(t, s, l); n < tries; n++ {
				before, after = after, follow(t, s, l)
				switch same := slices.Equal(distinct(before), distinct(after)); {
				case same && isJudgedByName(l):
					return
				case same:
					t.Expect(twice(after)).To(BeEmptyList[string]("each item once"))
					return
				}
			}
			wantUnchanged(t, s, mark, l)
			t.Fail("the same items whenever the list is followed", "%s", kit.Difference(before, follow(t, s, l)))
		})
	}),
}

// tries is how often something is tried that a list which changes meanwhile may spoil.
const tries = 3

// askLists asks for each list that the server declares, so that there are pages to judge.
func askLists(t *T) {
	for _, l := range kit.DeclaredLists(t) {
		if KnownUnanswered(t, l.Method) == nil {
			t.Try(t.Session(), l.Method, nil)
		}
	}
}

// isPage reports whether a message is a page of a list that the specification lets have pages.
func isPage(m Message) bool {
	return m.Request != nil && (m.Request.Method == "tasks/list" ||
		slices.ContainsFunc(kit.Lists, func(l kit.List) bool { return l.Method == m.Request.Method }))
}

func beStringOrAbsent() types.GomegaMatcher {
	return That("a string, or no nextCursor", func(v any) bool {
		_, isString := v.(string)
		return isString || v == Absent{}
	})
}

// walk is a list that was followed as far as it goes.
type walk struct {
	paged bool  // some page has named a next one
	err   error // why the list was not read to its end; nil: it was
	ended bool  // so has the session
}

// walked follows a list, once for all checks. A session may end on the way, as the server likes: it is followed again
// in another one then.
func walked(t *T, l kit.List) walk {
	return Step(t, "walk through "+l.Method, func(t *T) (w walk) {
		if w.err = KnownUnanswered(t, l.Method); w.err != nil {
			return w
		}
		for range tries {
			s := t.Session()
			w = walk{}
			w.err = EachPage(s, l.Method, l.Member, M{}, func(page M) {
				_, more := page["nextCursor"].(string)
				w.paged = w.paged || more
			})
			if w.ended = !s.Usable(); !w.ended || w.unlisted() == nil {
				return w
			}
		}
		return w
	})
}

// refused is what came in place of a page for a cursor; nil when that was a page, or the end of the session.
func (w walk) refused() *Unlisted {
	if unlisted := w.unlisted(); !w.ended {
		return unlisted
	}
	return nil
}

func (w walk) unlisted() *Unlisted {
	if unlisted := (*Unlisted)(nil); errors.As(w.err, &unlisted) && w.paged {
		return unlisted
	}
	return nil
}

// wantPages ends a check when the list was not followed to the end, unless there is none.
func (w walk) wantPages(t *T) {
	endless := (*Endless)(nil)
	if w.err != nil && !errors.As(w.err, &endless) && !errors.Is(w.err, ErrManyPages) {
		t.Again("%v", Explain(w.err))
	}
}

// wantEnd ends a check that cannot do without the end of the list.
func (w walk) wantEnd(t *T) {
	w.wantPages(t)
	switch {
	case errors.Is(w.err, ErrManyPages):
		t.Because(Limit).Inconclusive("%v", w.err)
	case w.err != nil:
		t.Yield("%v", w.err)
	}
}

// eachList tries a check on each list that the server declares, as far as it is one. All are walked before it has a
// session for itself: who walks one may want that.
func eachList(t *T, run func(*T, kit.List, walk)) {
	all := kit.DeclaredLists(t)
	if len(all) == 0 {
		t.Because(NotDeclared).Skip("the server declares no list")
	}
	walks := make(map[kit.List]walk, len(all))
	for _, l := range all {
		walks[l] = walked(t, l)
	}
	Each(t, all, kit.List.Subject, func(t *T, l kit.List) {
		w := walks[l]
		if w.err != nil && !w.paged {
			t.Again("%v", Explain(w.err))
		}
		run(t, l, w)
	})
}

// eachLongList is eachList for those that have more than one page.
func eachLongList(t *T, run func(*T, kit.List, walk)) {
	eachList(t, func(t *T, l kit.List, w walk) {
		if !w.paged {
			t.Because(NotOffered).Skip("no list has more than one page")
		}
		run(t, l, w)
	})
}

// wantSecond is the cursor of the second page as the list is now.
func wantSecond(t *T, s *driver.Session, l kit.List) (cursor string) {
	first := t.Ask(s, l.Method, nil)
	cursor, paged := first.Result()["nextCursor"].(string)
	if !paged {
		t.Skip("the list has one page by now")
	}
	return cursor
}

// follow is what a list has, on all of its pages.
func follow(t *T, s *driver.Session, l kit.List) (keys []string) {
	FollowPages(t, s, l.Method, l.Member, func(page M) { keys = append(keys, l.Keys(page)...) })
	return keys
}

// wantUnchanged ends a check when the server has said since the mark that the list has changed.
func wantUnchanged(t *T, s *driver.Session, mark int, l kit.List) {
	if slices.ContainsFunc(s.Since(mark), func(f *driver.Frame) bool { return f.Method == l.Changed() }) {
		t.Inconclusive("the list changes all the time, as the server says itself")
	}
}

// agree reports whether two pages have the same items, in whatever order, as far as both go: how long a page is, the
// server decides each time.
func agree(l kit.List, a, b driver.Reply) bool {
	short, long := a.Result(), b.Result()
	if len(l.Keys(short)) > len(l.Keys(long)) {
		short, long = long, short
	}
	if short == nil {
		return false
	}
	some := len(l.Keys(short)) > 0 || len(l.Keys(long)) == 0 || Has(short, "nextCursor")
	isElsewhere := oneOf(l.Keys(long))
	return some && !slices.ContainsFunc(l.Keys(short), func(key string) bool { return !isElsewhere(key) })
}

func oneOf(keys []string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}

// distinct are the items, each once.
func distinct(keys []string) []string { return slices.Compact(kit.Sorted(keys)) }

// isJudgedByName reports whether another check judges that each item is listed once: one of names or URIs.
func isJudgedByName(l kit.List) bool { return l.Member != "resourceTemplates" }

// twice are the items that were listed before.
func twice(keys []string) (again []string) {
	known := map[string]bool{}
	for _, key := range keys {
		if known[key] {
			again = append(again, key)
		}
		known[key] = true
	}
	return again
}
