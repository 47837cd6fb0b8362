package fleet

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
)

// TestMemberFileLimits proves that the files of a member are read up to a limit, and that the error says so.
func TestMemberFileLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		name string
		most int
		read func(name string) string
	}{
		{RowFile, maxRowBytes, func(string) string { return errorTextOf(readRow("", member{})) }},
		{reportFile, runner.MaxReportBytes, func(name string) string { return newRow("one", name, 0, "").Problem }},
		{pageFile, runner.MaxReportBytes, func(string) string {
			return errorTextOf(0, copyMember("", "copy", member{}))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, more := range []int{0, 1} {
				if err := os.WriteFile(test.name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(test.name, int64(test.most+more)); err != nil {
					t.Fatal(err)
				}
				said := test.read(test.name)
				if strings.Contains(said, "it is longer than the ") != (more > 0) || strings.Contains(said, "\n") {
					t.Errorf("with %d bytes more than are read: %s", more, said)
				}
			}
			os.Remove(test.name)
		})
	}
}

func errorTextOf[T any](_ T, err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
