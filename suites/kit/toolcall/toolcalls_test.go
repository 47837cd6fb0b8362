package toolcall

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/kittest"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestToolsInCallOrder proves that the order in which tools are called depends on the seed, and not on the list.
func TestToolsInCallOrder(t *testing.T) {
	var tools []check.M
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		tools = append(tools, check.M{"name": name, "annotations": check.M{"readOnlyHint": name > "c"}})
	}
	reversed := []check.M{tools[5], tools[4], tools[3], tools[2], tools[1], tools[0]}
	order := func(seed int64, tools []check.M) (names string) {
		for _, tool := range ToolsInCallOrder(&check.T{Server: &check.Server{Tools: tools}, Seed: seed}) {
			names += tool.Name
		}
		return names
	}
	first := order(1, tools)
	if again := order(1, reversed); again != first || first[:3] == "abc" || first[0] < 'd' || first[2] < 'd' {
		t.Errorf("got %s, then %s", first, again)
	}
	others := map[string]bool{}
	for seed := range int64(10) {
		others[order(seed, tools)] = true
	}
	if len(others) < 2 {
		t.Errorf("every seed yields %v", others)
	}
}

// TestCallBudget proves that a budget ends by time or by size.
func TestCallBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewCallBudget()
		for range 100 {
			if !a.Charge(kittest.CallReply(`{}`, kittest.ToolErrorJSON("no network"))) {
				t.Error("no budget left for short responses")
			}
		}
		for range 2 { // a process is started meanwhile
			time.Sleep(time.Minute)
			if why := a.ExhaustedReason(); why != "" {
				t.Errorf("after a pause: %q", why)
			}
			time.Sleep(4 * time.Second)
			a.Pause()
		}
		a.ExhaustedReason()
		time.Sleep(4 * time.Second)
		if why := a.ExhaustedReason(); why != "the time for tool calls was used up" {
			t.Errorf("after three times four seconds: %q", why)
		}
		a = NewCallBudget()
		if a.Charge(driver.Reply{Frame: &driver.Frame{Raw: driver.Text(make([]byte, 20<<20))}}) {
			t.Error("budget left for a response of 20 MiB")
		}
		if why := a.ExhaustedReason(); why != "there was no room left for more answers" {
			t.Errorf("after 20 MiB: %q", why)
		}
	})
}

// TestUncalledTools proves that a tool with several reasons is named once, with the first, and that a called one is not
// named.
func TestUncalledTools(t *testing.T) {
	tool := func(name string) check.Subject { return check.Subject{Name: name} }
	calls := ToolCalls{
		List: []ToolCall{{Tool: tool("called")}},
		Uncalled: []Uncalled{
			{Tool: tool("twice"), Detail: "it is not marked read-only", Forbidden: true},
			{Tool: tool("called"), Detail: "the time for tool calls was used up"},
			{Tool: tool("once"), Detail: "its schema cannot be read"},
			{Tool: tool("twice"), Detail: "the time for tool calls was used up"},
		},
	}
	want := []report.UncalledTool{
		{Name: "once", Reason: "its schema cannot be read"},
		{Name: "twice", Reason: "it is not marked read-only", Forbidden: true},
	}
	if got := calls.uncalledTools(); !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}
