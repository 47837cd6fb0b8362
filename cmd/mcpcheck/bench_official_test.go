//go:build unix

package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// BenchmarkOfficialSuite compares mcpcheck with other suites on the same server over HTTP, in turn: how long each
// takes, and how many checks have a verdict. A suite is a command to which the URL is appended; MCPCHECK_BENCH_OFFICIAL
// names the official one.
func BenchmarkOfficialSuite(b *testing.B) {
	self := buildProgram(b)
	server := httptest.NewServer(fixtures.Handler(b.Context(), fixtures.HTTPOptions{OfficialSuite: true},
		fixtures.Fault{}))
	defer server.Close()
	site := server.URL + "/mcp"
	judges := []struct {
		name  string
		judge func(b *testing.B) (checks int)
	}{
		{"mcpcheck/" + catalogue.NewestLegacy, func(b *testing.B) int {
			return fullRun(b, self, "--protocol", catalogue.NewestLegacy, "--url", site).checks
		}},
		{"mcpcheck/" + catalogue.ModernRevisions[len(catalogue.ModernRevisions)-1], func(b *testing.B) int {
			return fullRun(b, self, "--url", site).checks
		}},
		{"official", func(b *testing.B) int { return runOfficialSuite(b, site) }},
	}
	for _, j := range judges {
		b.Run(j.name, func(b *testing.B) {
			for b.Loop() {
				var took []time.Duration
				var checks int
				for range 3 {
					begin := time.Now()
					checks = j.judge(b)
					took = append(took, time.Since(begin))
				}
				slices.Sort(took)
				b.ReportMetric(took[1].Seconds(), "s-full")
				b.ReportMetric(float64(checks), "checks")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// runOfficialSuite runs the official suite; all of its server scenarios have to pass.
func runOfficialSuite(b *testing.B, site string) (checks int) {
	command := strings.Fields(os.Getenv("MCPCHECK_BENCH_OFFICIAL"))
	if len(command) == 0 {
		b.Skip("MCPCHECK_BENCH_OFFICIAL names no suite: make bench fetches it where there is npm")
	}
	cmd := exec.Command(command[0], append(command[1:], "--url", site)...)
	cmd.Dir = b.TempDir() // it writes its results there
	out, err := cmd.CombinedOutput()
	if total := regexp.MustCompile(`(?m)^Total: (\d+) passed, 0 failed`).FindSubmatch(out); err == nil && total != nil {
		fmt.Sscan(string(total[1]), &checks)
		return checks
	}
	b.Fatalf("%v\n%s", err, out[max(0, len(out)-2000):])
	return 0
}
