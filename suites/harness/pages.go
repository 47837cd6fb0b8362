package harness

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// mostPages bounds how far a list is followed, and mostStale for how many pages in a row that have items, but none that
// did not come before.
const mostPages, mostStale = 1000, 100

// Endless says that the pages of a list do not come to an end: its cursors lead to what came before.
type Endless struct {
	Method string
	Cursor string // with which a page came that had come before
}

func (e *Endless) Error() string {
	return fmt.Sprintf("the pages of %s do not come to an end: the cursor %s brings one that came before",
		e.Method, driver.Brief(Compact(e.Cursor)))
}

// ErrManyPages says that a list has more pages than are followed, of which the last still brought something new.
var ErrManyPages = errors.New("more pages than mcpcheck follows")

// EachPage follows a paginated list to its end and visits the results, whose member is the array. Asked in a session of
// any state; it fails on the first page that is not a list, and with Endless when pages come again.
//
// Whatever nextCursor is there is followed: an empty one, and also one that came before, as long as it brings something
// new. Some servers mean the end by an empty one; where that leads to an error, or to nothing but items that came
// before, it is the end.
func EachPage(s *driver.Session, method, member string, params M, visit func(result M)) error {
	came := pages{as: map[page][]string{}, items: map[uint64]bool{}}
	stales := 0
	for n := 1; ; n++ {
		r := s.Exchange(method, params)
		cursor, _ := params["cursor"].(string)
		mayEnd := n > 1 && cursor == ""
		if mayEnd && r.Error() != nil {
			return nil
		}
		result := r.Result() // once: it may be long
		items, err := itemsOf(r, result, method, member)
		if unlisted := (*Unlisted)(nil); n > 1 && errors.As(err, &unlisted) {
			unlisted.Why += " (of page 2 or later)"
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
			known, circle := came.name(key, next)
			switch {
			case circle, known && n == mostPages, stales == mostStale:
				return &Endless{method, cursor}
			case n == mostPages:
				return fmt.Errorf("%s has %w (%d)", method, ErrManyPages, mostPages)
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

// tooLong is the error with which a list was given up that has more pages than are followed; nil when it was not.
func (e *Execution) tooLong(method string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.long[method]; err != nil {
		return err
	}
	return e.server.TooLong[method] // as discovery has found
}

// follow is EachPage, which remembers the lists that are too long.
func (e *Execution) follow(s *driver.Session, method, member string, params M, visit func(result M)) error {
	err := EachPage(s, method, member, params, visit)
	if errors.Is(err, ErrManyPages) {
		e.mu.Lock()
		e.long[method] = err
		e.mu.Unlock()
	}
	return err
}

// Unlisted says that what was answered to a list is not one.
type Unlisted struct {
	Why   string
	Reply driver.Reply
}

func (e *Unlisted) Error() string { return e.Why }

// itemsOf is the list in a page, the result of a reply.
func itemsOf(r driver.Reply, result M, method, member string) ([]any, error) {
	switch items, isList := result[member].([]any); {
	case r.Err != nil:
		return nil, r.Err
	case result == nil:
		return nil, &Unlisted{fmt.Sprintf("%s was answered with %s", method, Got(r)), r}
	case !isList:
		return nil, &Unlisted{fmt.Sprintf("the result of %s has no array %q", method, member), r}
	default:
		return items, nil
	}
}

// pages are those that came, each with the cursors that it named as the next. Some servers list in any order: a page is
// known by its items, whatever their order.
type pages struct {
	as    map[page][]string
	items map[uint64]bool // that were on any
}

// page is how many items a page has, and the sum of what they are.
type page struct {
	items int
	sum   uint64
}

// add also tells whether all of the page came before: each item or, of one without items, such a page.
func (p pages) add(items []any) (key page, stale bool) {
	if len(items) == 0 {
		_, stale = p.as[page{}]
		return page{}, stale
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

// name notes the next cursor of a page. It tells whether a page with the same items came before, and whether that
// named the same one.
func (p pages) name(key page, next string) (known, circle bool) {
	nexts, known := p.as[key]
	p.as[key] = append(nexts, next)
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
