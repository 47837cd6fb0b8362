package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestReadLimited: of a file that people name no more is read than it can be meant to have, and the error says so in
// one line. Files of exactly that length are read.
func TestReadLimited(t *testing.T) {
	t.Chdir(t.TempDir())
	host := func(name string) error {
		hosts := hostFlags{file: name}
		_, _, err := hosts.read()
		return err
	}
	for _, test := range []struct {
		name string
		most int
		read func(name string) error
	}{
		{"mcpcheck.yaml", maxConfigBytes, func(name string) error { _, err := readConfig(name); return err }},
		{"fleet.yaml", maxConfigBytes, host},
		{".mcp.json", maxHostsBytes, host},
		{".env", maxEnvFileBytes, func(name string) error {
			x := newExpander(hostServer{file: hostFile{".vscode/mcp.json", vsCode}, EnvFile: name})
			x.readEnvFile()
			return x.firstErr
		}},
		{"roots.pem", maxCACertBytes, func(name string) error { _, err := readCACert(name); return err }},
		{"report.json", maxReportBytes, func(name string) error { _, err := readReports([]string{name}); return err }},
		{"trace.jsonl", maxTraceLineBytes, func(name string) error {
			_, _, _, err := replayTraces([]string{name})
			return err
		}},
		{"set.json", maxSetBytes, func(name string) error { _, _, err := readSet(name); return err }},
		{memberRowFile, maxRowBytes, func(string) error { _, err := readRow("", fleetMember{}); return err }},
		{memberReportFile, maxReportBytes, func(name string) error {
			return usageErrorf("%s", newRow("one", name, 0, "").Problem)
		}},
		{memberPageFile, maxReportBytes, func(string) error { return copyMember("", "copy", fleetMember{}) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := "it is longer than the " + driver.FormatSize(test.most) + " that are read"
			for _, more := range []int{0, 1} {
				if err := os.WriteFile(test.name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(test.name, int64(test.most+more)); err != nil {
					t.Fatal(err)
				}
				err := test.read(test.name)
				said := err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "\n")
				if said != (more > 0) {
					t.Errorf("with %d bytes more than are read: %v", more, err)
				}
			}
			os.Remove(test.name)
		})
	}
}
