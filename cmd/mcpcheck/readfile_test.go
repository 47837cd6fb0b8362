package main

import (
	"os"
	"strings"
	"testing"
)

// TestInputLimits proves that the files that users name are read up to a limit, and that the error says so in one line.
// Files of exactly that length are read.
func TestInputLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		name string
		most int
		// size is the limit as the error states it.
		size string
		args string
	}{
		{"mcpcheck.yaml", 1 << 20, "1 MiB", "run --plan -- no-such-command"},
		{"fleet.yaml", 1 << 20, "1 MiB", "run --server a --servers-file fleet.yaml"},
		{".mcp.json", 64 << 20, "64 MiB", "run --server a"},
		{"roots.pem", 8 << 20, "8 MiB", "run --url http://127.0.0.1:1 --cacert roots.pem"},
		{"report.json", 64 << 20, "64 MiB", "diff report.json report.json"},
		{"trace.jsonl", 256 << 20, "256 MiB", "judge trace.jsonl"},
		{"set.json", 8 << 20, "8 MiB", "run --set set.json -- no-such-command"},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := "it is longer than the " + test.size + " that are read"
			for _, more := range []int{0, 1} {
				if err := os.WriteFile(test.name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(test.name, int64(test.most+more)); err != nil {
					t.Fatal(err)
				}
				var stdout, stderr strings.Builder
				code := run(strings.Fields(test.args), strings.NewReader(""), &stdout, &stderr)
				said := stderr.String()
				if code != 2 || strings.Contains(said, want) != (more > 0) || strings.Count(said, "\n") != 1 {
					t.Errorf("with %d bytes more than are read: exit code %d, %s", more, code, said)
				}
			}
			os.Remove(test.name)
		})
	}
}
