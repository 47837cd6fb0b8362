package driver

import "testing"

func TestIsRateLimited(t *testing.T) {
	for _, tt := range []struct {
		name, request, answer string
		want                  bool
	}{
		{"an error", `{}`, `{"error":{"code":-32000,"message":"Rate limit exceeded"}}`, true},
		{"a result", `{}`, `{"result":{"isError":true,"content":[{"type":"text","text":"Too many requests"}]}}`, true},
		{"a status", `{}`, `{"error":{"code":-32000,"message":"failed with status code: 429"}}`, true},
		{"of the upstream", `{}`, `{"error":{"code":1,"message":"Request was throttled."}}`, true},
		{"a success", `{}`, `{"result":{"content":[{"type":"text","text":"Rate limit: 5"}]}}`, false},
		{"another error", `{}`, `{"error":{"code":-32602,"message":"limit must be below 429"}}`, false},
		{"a tool of that name", `{"params":{"name":"rate_limit"}}`,
			`{"error":{"code":-32602,"message":"Unknown tool: rate_limit"}}`, false},
	} {
		m, _ := Decode([]byte(tt.answer)).(M)
		r := Reply{Request: &Frame{Raw: Text(tt.request)}, Frame: &Frame{}, Synthetic: m}
		if got := r.IsRateLimited(); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}
