package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

func TestObjects(t *testing.T) {
	got := Objects([]any{1, M{"a": 1}, nil, "x", M{}})
	if diff := cmp.Diff([]M{{"a": 1}, {}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInfo(t *testing.T) {
	server := &Server{
		ConnectResult: M{"serverInfo": M{"name": "n", "version": 7}},
		Capabilities:  M{"tools": M{}, "logging": M{}, "prompts": nil}, Tools: []M{{}, {}},
	}
	want := report.ServerInfo{Name: "n", Capabilities: []string{"logging", "tools"}, Tools: 2}
	if diff := cmp.Diff(want, server.Info()); diff != "" {
		t.Error(diff)
	}
	if !server.Declares("tools") || server.Declares("prompts") || server.Declares("tasks") {
		t.Error("Declares is wrong")
	}
}
