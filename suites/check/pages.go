package check

import (
	"errors"
	"fmt"
	"maps"

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
func EachPage(s *driver.Session, method, member string, params M, visit func(result M)) error {
	items, cursors, stales := map[uint64]bool{}, map[string]bool{}, 0 // what came so far
	for n := 1; ; n++ {
		r := s.Call(method, params)
		cursor, _ := params["cursor"].(string)
		mayEnd := n > 1 && cursor == ""
		if mayEnd && r.Error() != nil {
			return nil
		}
		result := r.Result() // once: decoding may take long
		page, err := itemsOf(r, result, method, member)
		if unlisted := (*NotAListError)(nil); n > 1 && errors.As(err, &unlisted) {
			unlisted.Reason += " (of page 2 or later)"
		}
		if err != nil {
			return err
		}
		next, more := result["nextCursor"].(string)
		stale := !addNew(items, page) && n > 1
		if mayEnd && stale {
			return nil
		}
		switch {
		case !stale:
			stales = 0
		case len(page) > 0: // a page may be empty
			stales++
		}
		switch {
		case !more:
		case stale && (cursors[next] || n == maxPages), stales == maxRepeatedPages:
			return &EndlessListError{method, cursor}
		case n == maxPages:
			return fmt.Errorf("%s has %w (%d)", method, ErrTooManyPages, maxPages)
		}
		cursors[next] = true
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

// addNew adds the fingerprints of a page's items to those of earlier pages, and reports whether any is new.
func addNew(known map[uint64]bool, page []any) (isAnyNew bool) {
	for _, item := range page {
		fingerprint := driver.Fingerprint(item)
		isAnyNew = isAnyNew || !known[fingerprint]
		known[fingerprint] = true
	}
	return isAnyNew
}

// ListAll returns the items of all pages of a list; see EachPage.
func ListAll(s *driver.Session, method, member string, params M) (items []any, err error) {
	err = EachPage(s, method, member, params, func(result M) {
		page, _ := result[member].([]any)
		items = append(items, page...)
	})
	return items, err
}
