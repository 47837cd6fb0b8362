package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// maxPages limits how many pages of a list are read, and maxRepeatedPages how many of them in a row may contain items,
// but only items that earlier pages had.
const maxPages, maxRepeatedPages = 1000, 100

// EndlessListError says that the pages of a list never end, since its cursors lead back to earlier pages.
type EndlessListError struct {
	Method string
	// Cursor is the cursor with which an earlier page was received again.
	Cursor string
}

func (e *EndlessListError) Error() string {
	return fmt.Sprintf("the pages of %s do not come to an end: the cursor %s brings one that came before",
		e.Method, driver.Brief(text.CompactJSON(e.Cursor)))
}

// ErrTooManyPages says that a list has more pages than are read, the last of which still contained new items.
var ErrTooManyPages = errors.New("more pages than mcpcheck follows")

// EachPage reads a paginated list to its end and calls visit with each result; member is the name of the array in it.
// The session may be in any state. It returns an error for the first page that is not a list, and an EndlessListError
// when pages repeat.
//
// Every nextCursor is followed: also an empty one, and one that came before, as long as it leads to new items. Some
// servers send an empty one to mark the end: if that leads to an error, or only to items that came before, the list has
// ended.
// before, it is the end.
func EachPage(s *driver.Session, method, member string, params M, visit func(result M)) error {
	seen := seenPages{nextCursors: map[pageKey][]string{}, items: map[uint64]bool{}}
	stales := 0
	for n := 1; ; n++ {
		r := s.Call(method, params)
		cursor, _ := params["cursor"].(string)
		mayEnd := n > 1 && cursor == ""
		if mayEnd && r.Error() != nil {
			return nil
		}
		result := r.Result() // once: decoding may take long
		items, err := itemsOf(r, result, method, member)
		if unlisted := (*NotAListError)(nil); n > 1 && errors.As(err, &unlisted) {
			unlisted.Reason += " (of page 2 or later)"
		}
		if err != nil {
			return err
		}
		next, more := result["nextCursor"].(string)
		key, stale := seen.add(items)
		if mayEnd && stale {
			return nil
		}
		switch {
		case !stale:
			stales = 0
		case len(items) > 0: // a page may be empty
			stales++
		}
		if more {
			known, circle := seen.addCursor(key, next)
			switch {
			case circle, known && n == maxPages, stales == maxRepeatedPages:
				return &EndlessListError{method, cursor}
			case n == maxPages:
				return fmt.Errorf("%s has %w (%d)", method, ErrTooManyPages, maxPages)
			}
		}
		visit(result)
		if !more {
			return nil
		}
		params = maps.Clone(params)
		if params == nil {
			params = M{}
		}
		params["cursor"] = next
	}
}

// NotAListError says that the response to a list request is not a list.
type NotAListError struct {
	Reason string
	Reply  driver.Reply
}

func (e *NotAListError) Error() string { return e.Reason }

// itemsOf returns the items in the result of a page.
func itemsOf(r driver.Reply, result M, method, member string) ([]any, error) {
	switch items, isList := result[member].([]any); {
	case r.Err != nil:
		return nil, r.Err
	case result == nil:
		return nil, &NotAListError{fmt.Sprintf("%s was answered with %s", method, Got(r)), r}
	case !isList:
		return nil, &NotAListError{fmt.Sprintf("the result of %s has no array %q", method, member), r}
	default:
		return items, nil
	}
}

// seenPages are the pages received so far, each with the next cursors that it named. A page is identified by its items
// in any order, since some servers return them in random order.
// nextCursors are the cursors by page.
type seenPages struct {
	nextCursors map[pageKey][]string
	// items are the fingerprints of the items of all pages.
	items map[uint64]bool
}

// pageKey identifies a page by how many items it has, and by the sum of their fingerprints.
type pageKey struct {
	items int
	sum   uint64
}

// add adds a page. stale reports whether earlier pages had all of its items or, for a page without items, whether there
// was such a page before.
func (p seenPages) add(items []any) (key pageKey, stale bool) {
	if len(items) == 0 {
		_, stale = p.nextCursors[pageKey{}]
		return pageKey{}, stale
	}
	key.items, stale = len(items), true
	for _, item := range items {
		fingerprint := driver.Fingerprint(item)
		stale = stale && p.items[fingerprint]
		p.items[fingerprint] = true
		key.sum += fingerprint
	}
	return key, stale
}

// addCursor adds the next cursor of a page. known reports whether a page with the same items was received before, and
// circle whether it named the same cursor.
func (p seenPages) addCursor(key pageKey, next string) (known, circle bool) {
	nexts, known := p.nextCursors[key]
	p.nextCursors[key] = append(nexts, next)
	return known, slices.Contains(nexts, next)
}

// ListAll returns the items of all pages of a list; see EachPage.
func ListAll(s *driver.Session, method, member string, params M) (items []any, err error) {
	err = EachPage(s, method, member, params, func(result M) {
		page, _ := result[member].([]any)
		items = append(items, page...)
	})
	return items, err
}
