package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Those of package check.
const mostPages, mostRepeatedPages = 1000, 100

// TestListAll checks that lists are read to their end, however servers use cursors.
func TestListAll(t *testing.T) {
	page := func(nth int, items string, next ...string) rule {
		result := check.M{"items": json.RawMessage(items)}
		if len(next) > 0 {
			result["nextCursor"] = next[0]
		}
		return rule{method: "list", nth: nth, action: action{result: string(text.CompactJSON(result))}}
	}
	const circle = `the pages of list do not come to an end: the cursor "x" brings one that came before`
	tests := []struct {
		name   string
		script script
		// asked has the cursors that were sent, after that of the caller.
		asked string
		items string
		err   string
	}{
		{"one page", script{page(0, `[1,{"a":2}]`)}, "", `[1,{"a":2}]`, ""},
		{"two pages", script{page(1, "[1]", "x"), page(2, "[2]")}, " x", "[1,2]", ""},
		{"an empty page between", script{page(1, "[1]", "x"), page(2, "[]", "y"), page(3, "[2]")}, " x y", "[1,2]", ""},
		{"a repeated page", script{page(0, "[1]", "x")}, " x", "[1]", circle},
		{"a repeated page in another order", script{page(1, "[1,2]", "x"), page(2, "[2,1]", "x")}, " x", "[1,2]",
			circle},
		{"one cursor for all pages", script{
			page(1, "[1]", "x"), page(2, "[2]", "x"), page(3, "[3]"),
		}, " x x", "[1,2,3]", ""},
		{"a page with other cursors", script{
			page(1, "[1]", "x"), page(2, "[1]", "y"), page(3, "[2]"),
		}, " x y", "[1,1,2]", ""},
		{"pages after an empty cursor", script{
			page(1, "[1]", ""), page(2, "[2]", ""), page(3, "[3]"),
		}, "  ", "[1,2,3]", ""},
		{"an empty cursor that leads to the beginning", script{
			page(1, "[1]", "x"), page(2, "[2]", ""), page(3, "[1]", "y"),
		}, " x ", "[1,2]", ""},
		{"an empty cursor that causes an error", script{
			page(1, "[1]", ""), {method: "list", nth: 2, action: answersError(-32602)},
		}, " ", "[1]", ""},
		{"a cursor that is not a string", script{{
			method: "list", action: action{result: `{"items":[1],"nextCursor":7}`},
		}}, "", "[1]", ""},
		{"a page that is not a list", script{page(1, "[1]", "x"), page(2, "{}")}, " x", "[1]",
			`the result of list has no array "items" (of page 2 or later)`},
		{"an error", script{{method: "list", action: answersError(-7)}}, "", "null",
			"list was answered with error -7: no"},
		{"silence", script{{method: "list", action: staysSilent}}, "", "null",
			"no answer to list within 5s (--timeout)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items, asked, err := listAllItems(t, tt.script)
			if got := string(text.CompactJSON(items)); got != tt.items || fmt.Sprint(err) != fmt.Sprint(orNil(tt.err)) {
				t.Errorf("got %s, %v", got, err)
			}
			if asked != "mine"+tt.asked {
				t.Errorf("the cursors were %q", asked)
			}
		})
	}
}

// TestListAllIsBounded checks that endless lists are given up with the right error: for repeated pages, or for ever new
// ones.
func TestListAllIsBounded(t *testing.T) {
	many := func(items string) (all script) {
		for i := range 2 * mostPages {
			result := strings.ReplaceAll(fmt.Sprintf(`{"items":%s,"nextCursor":"c%d"}`, items, i), "N", fmt.Sprint(i))
			all = append(all, rule{method: "list", nth: i + 1, action: action{result: result}})
		}
		return all
	}
	items, _, err := listAllItems(t, many("[1]"))
	if endless := (*check.EndlessListError)(nil); !errors.As(err, &endless) || len(items) != mostRepeatedPages {
		t.Errorf("repeated pages: %d, %v", len(items), err)
	}
	if _, _, err = listAllItems(t, many("[N]")); !errors.Is(err, check.ErrTooManyPages) {
		t.Errorf("new pages: %v", err)
	}
}

// listAllItems requests all items of a list from a scripted server. It also returns the cursors that were sent.
func listAllItems(t *testing.T, script script) (items []any, asked string, err error) {
	synctest.Test(t, func(t *testing.T) {
		stage := &fakeServer{script: script}
		s := establishedSession(t, t.Context(), driver.Target{Serve: stage.serve})
		defer s.Close()
		items, err = check.ListAll(s, "list", "items", check.M{"cursor": "mine", "other": true})
		var cursors []string
		for _, f := range s.FramesSince(0) {
			if f.Method != "list" {
				continue
			}
			params, _ := f.JSON()["params"].(check.M)
			cursors = append(cursors, params["cursor"].(string))
			if params["other"] != true {
				t.Errorf("the other params were lost: %s", f.Raw.Bytes())
			}
		}
		asked = strings.Join(cursors, " ")
	})
	return items, asked, err
}

// orNil returns an error text as it would be printed, and nil for an empty one.
func orNil(message string) any {
	if message == "" {
		return nil
	}
	return message
}
