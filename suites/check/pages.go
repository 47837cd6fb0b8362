package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// maxPages bounds how far a list is followed, and maxRepeatedPages for how many pages in a row that have items, but
// none that did not come before.
const maxPages, maxRepeatedPages = 1000, 100

// EndlessListError says that the pages of a list do not come to an end: its cursors lead to what came before.
type EndlessListError struct {
	Method string
	Cursor string // with which a page came that had come before
}

func (e *EndlessListError) Error() string {
	return fmt.Sprintf("the pages of %s do not come to an end: the cursor %s brings one that came before",
		e.Method, driver.Brief(text.CompactJSON(e.Cursor)))
}

// ErrTooManyPages says that a list has more pages than are followed, of which the last still brought something new.
var ErrTooManyPages = errors.New("more pages than mcpcheck follows")

// EachPage follows a paginated list to its end and visits the results, whose member is the array. Asked in a session of
// any state; it fails on the first page that is not a list, and with EndlessListError when pages come again.
//
// Whatever nextCursor is there is followed: an empty one, and also one that came before, as long as it brings something
// new. Some servers mean the end by an empty one; where that leads to an error, or to nothing but items that came
// before, it is the end.
func EachPage(s *driver.Session, method, member string, params M, visit func(result M)) error {
	came := seenPages{nextCursors: map[pageKey][]string{}, items: map[uint64]bool{}}
	stales := 0
	for n := 1; ; n++ {
		r := s.Call(method, params)
		cursor, _ := params["cursor"].(string)
		mayEnd := n > 1 && cursor == ""
		if mayEnd && r.Error() != nil {
			return nil
		}
		result := r.Result() // once: it may be long
		items, err := itemsOf(r, result, method, member)
		if unlisted := (*NotAListError)(nil); n > 1 && errors.As(err, &unlisted) {
			unlisted.Reason += " (of page 2 or later)"
		}
		if err != nil {
			return err
		}
		next, more := result["nextCursor"].(string)
		key, stale := came.add(items)
		if mayEnd && stale {
			return nil
		}
		switch {
		case !stale:
			stales = 0
		case len(items) > 0: // a page may have none
			stales++
		}
		if more {
			known, circle := came.addCursor(key, next)
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

// tooLongError is the error with which a list was given up that has more pages than are followed; nil when it was not.
func (e *Execution) tooLongError(method string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.tooLongLists[method]; err != nil {
		return err
	}
	return e.server.TooLongLists[method] // as discovery has found
}

// eachPage is EachPage, which remembers the lists that are too long.
func (e *Execution) eachPage(s *driver.Session, method, member string, params M, visit func(result M)) error {
	err := EachPage(s, method, member, params, visit)
	if errors.Is(err, ErrTooManyPages) {
		e.mu.Lock()
		e.tooLongLists[method] = err
		e.mu.Unlock()
	}
	return err
}

// NotAListError says that what was answered to a list is not one.
type NotAListError struct {
	Reason string
	Reply  driver.Reply
}

func (e *NotAListError) Error() string { return e.Reason }

// itemsOf is the list in a page, the result of a reply.
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

// seenPages are those that came, each with the cursors that it named as the next. Some servers list in any order: a
// page is known by its items, whatever their order.
type seenPages struct {
	nextCursors map[pageKey][]string
	items       map[uint64]bool // that were on any
}

// pageKey is how many items a page has, and the sum of what they are.
type pageKey struct {
	items int
	sum   uint64
}

// Add also tells whether all of the page came before: each item or, of one without items, such a page.
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

// addCursor notes the next cursor of a page. It tells whether a page with the same items came before, and whether that
// named the same one.
func (p seenPages) addCursor(key pageKey, next string) (known, circle bool) {
	nexts, known := p.nextCursors[key]
	p.nextCursors[key] = append(nexts, next)
	return known, slices.Contains(nexts, next)
}

// ListAll returns the items of all pages of a list.
func ListAll(s *driver.Session, method, member string, params M) (items []any, err error) {
	err = EachPage(s, method, member, params, func(result M) {
		page, _ := result[member].([]any)
		items = append(items, page...)
	})
	return items, err
}
