package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// whole makes the tests run all checks where they otherwise run a few, and build everything that can be built.
var whole = flag.Bool("whole", false, "try all checks where the tests else try a few, and build all that is built")

// These limit what all tests together may use without -whole: otherwise they get slow again without anybody noticing.
// Whoever exceeds a limit should first find out whether fewer checks prove the same (some, in scripts), or whether the
// program can run in this process (testdata/inside).
const (
	maxStarts   = 2760  // programs: mcpcheck, its guards, and servers, each at 20 ms of CPU time
	maxMessages = 33000 // to mcpcheck serve over stdio: a run of all checks sends 2,000, in a second of CPU time
)

// requireWhole skips a test without -whole. It is for tests that take seconds of CPU time and rarely fail.
func requireWhole(t *testing.T, why string) {
	t.Helper()
	if !*whole {
		t.Skip("with -whole only: " + why)
	}
}

// testGOGC saves short runs of the program most garbage collections, which take a sixth of their time. Scripts that
// measure memory do not use it.
const testGOGC = "400"

// loadFileVariable is the environment variable with the file to which each program writes what it used.
const loadFileVariable = "MCPCHECK_TEST_EFFORT"

// addLoad adds to what all programs of the tests have used.
func addLoad(starts, messages int) {
	if f, err := os.OpenFile(os.Getenv(loadFileVariable), os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(f, starts, messages)
		f.Close()
	}
}

// lineCounter counts the lines that are read from it.
type lineCounter struct {
	io.Reader
	lines int
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.lines += bytes.Count(p[:n], []byte("\n"))
	return n, err
}

// limitedTests runs the tests and fails when they exceed the limits.
type limitedTests struct{ *testing.M }

func (b limitedTests) Run() int {
	dir, err := os.MkdirTemp("", "mcpcheck-effort")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "effort")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		panic(err)
	}
	os.Setenv(loadFileVariable, file)
	setParallel()
	if flag.Lookup("test.bench").Value.String() == "" {
		os.Setenv("GOGC", testGOGC)
	}
	code := b.M.Run()
	starts, messages := totalLoad(file)
	if testing.Verbose() {
		fmt.Printf("%d programs were started, and %d messages sent to mcpcheck serve\n", starts, messages)
	}
	once := flag.Lookup("test.count").Value.String() == "1"
	if once && !*whole && (starts > maxStarts || messages > maxMessages) {
		fmt.Printf("FAIL: the tests have started %d programs and sent %d messages to mcpcheck serve; "+
			"effort_test.go allows %d and %d, and says why\n", starts, messages, maxStarts, maxMessages)
		return max(code, 1)
	}
	return code
}

// setParallel runs more tests in parallel than there are cores, unless -parallel is given: most of them wait for
// servers. With the race detector, with which processes start slowly, it runs fewer.
func setParallel() {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue && !raceEnabled {
		parallel.Value.Set(strconv.Itoa(8 * runtime.GOMAXPROCS(0)))
	}
}

// onlyFlags returns the flags for a run of only these checks. It returns none with -whole, or for an empty list.
func onlyFlags(checks string) []string {
	if *whole || checks == "" {
		return nil
	}
	return []string{"--only", checks}
}

// totalLoad returns what all programs have used.
func totalLoad(file string) (starts, messages int) {
	for _, line := range fileLines(file) {
		var s, m int
		fmt.Sscan(line, &s, &m)
		starts, messages = starts+s, messages+m
	}
	return starts, messages
}
