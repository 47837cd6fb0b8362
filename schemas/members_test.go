package schemas

import "testing"

func TestHasMember(t *testing.T) {
	for _, tt := range []struct {
		revision, definition string
		steps                []string
		want                 bool
	}{
		{"2025-11-25", "ListToolsResult", nil, true},
		{"2025-11-25", "ListToolsResults", nil, false},
		{"2025-11-25", "ListToolsResult", []string{"tools", "*", "name"}, true},
		{"2025-11-25", "ListToolsResult", []string{"_meta"}, true},
		{"2025-11-25", "ListToolsResult", []string{"tools", "name"}, false},
		{"2025-11-25", "ListToolsResult", []string{"tools", "*", "nmae"}, false},
		{"2025-11-25", "ListToolsResult", []string{"tool", "**"}, false},
		{"2025-11-25", "ListToolsResult", []string{"**"}, true},
		{"2025-11-25", "ListToolsResult", []string{"*", "*", "name", "**"}, true},
		{"2025-06-18", "ListToolsResult", []string{"tools", "*", "icons"}, false},
		{"2025-11-25", "ListToolsResult", []string{"tools", "*", "icons"}, true},
		{"2025-11-25", "ServerCapabilities", []string{"experimental", "any"}, true},
		{"2025-11-25", "GetPromptResult", []string{"messages", "*", "role", "*"}, true},
		{"2025-11-25", "GetPromptResult", []string{"messages", "*", "role", "*", "*"}, false},
		{"2025-11-25", "CallToolResult", []string{"content", "*", "mimeType"}, true},
		{"2025-11-25", "", []string{"nextCursor"}, true},
		{"2025-11-25", "", []string{"nxtCursor"}, false},
		{"2025-11-25", "", []string{"**", "annotations", "audience", "**"}, true},
		{"2025-11-25", "", []string{"**", "annotations", "audiences", "**"}, false},
		{"2025-11-25", "LoggingMessageNotification", []string{"params", "data"}, true}, // may be anything
		{"2026-07-28", "", []string{"_meta", "io.modelcontextprotocol~1serverInfo", "name"}, true},
		{"2026-07-28", "InputRequiredResult", []string{"**", "params", "mode"}, true},
		{"2026-07-28", "CreateTaskResult", []string{"ttlMs"}, true}, // of an extension
	} {
		if got := HasMember(tt.revision, tt.definition, tt.steps...); got != tt.want {
			t.Errorf("%s %s %q: got %v", tt.revision, tt.definition, tt.steps, got)
		}
	}
}
