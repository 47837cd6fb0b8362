package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestLongFiles: of a file that people name no more is read than it can be meant to have, and the error says so in one
// line. Files of exactly that length are read.
func TestLongFiles(t *testing.T) {
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
		{"mcpcheck.yaml", longestConfig, func(name string) error { _, err := readConfig(name); return err }},
		{"fleet.yaml", longestConfig, host},
		{".mcp.json", longestHosts, host},
		{".env", longestEnv, func(name string) error {
			x := newExpansion(hostServer{file: hostFile{".vscode/mcp.json", vsCode}, EnvFile: name})
			x.envFile()
			return x.problem
		}},
		{"roots.pem", longestRoots, func(name string) error { _, err := readRoots(name); return err }},
		{"report.json", longestReport, func(name string) error { _, err := readReports([]string{name}); return err }},
		{"trace.jsonl", longestTraceLine, func(name string) error {
			_, _, _, err := replayed([]string{name})
			return err
		}},
		{"set.json", longestSet, func(name string) error { _, _, err := readSet(name); return err }},
		{memberRow, longestRow, func(string) error { _, err := readRow("", fleetMember{}); return err }},
		{memberReport, longestReport, func(name string) error {
			return usage("%s", rowOf("one", name, 0, "").Problem)
		}},
		{memberPage, longestReport, func(string) error { return copyMember("", "copy", fleetMember{}) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := "it is longer than the " + driver.Size(test.most) + " that are read"
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
