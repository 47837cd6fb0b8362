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

// whole has the tests try what takes long: runs of all checks where they else try a few, and all builds.
var whole = flag.Bool("whole", false, "try all checks where the tests else try a few, and build all that is built")

// The most that a plain run of all tests may take of the two things that cost: else it takes minutes again, and nobody
// notices when that began. Whoever needs more looks first whether fewer checks prove the same (some, in scripts), or
// whether the program can run in this process (testdata/inside).
const (
	maxStarts   = 2500  // of programs: mcpcheck, its guards, and servers, each at 20 ms of CPU time
	maxMessages = 21000 // to mcpcheck serve over stdio: a run of all checks sends 1,500, in a second of CPU time
)

// requireWhole skips a test that takes seconds of CPU time for what few changes can break, unless all is wanted.
func requireWhole(t *testing.T, why string) {
	t.Helper()
	if !*whole {
		t.Skip("with -whole only: " + why)
	}
}

// testGOGC spares short runs of the program most of their garbage collections, a sixth of what they cost. Scripts that
// measure memory go without.
const testGOGC = "400"

// loadFileVariable is the variable of the environment that names the file in which each program notes what it takes.
const loadFileVariable = "MCPCHECK_TEST_EFFORT"

// addLoad adds to what all programs of the tests have taken.
func addLoad(starts, messages int) {
	if f, err := os.OpenFile(os.Getenv(loadFileVariable), os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(f, starts, messages)
		f.Close()
	}
}

// lineCounter counts the lines that are read.
type lineCounter struct {
	io.Reader
	lines int
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.lines += bytes.Count(p[:n], []byte("\n"))
	return n, err
}

// limitedTests are tests that fail when they take too much.
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

// setParallel has more tests run at a time than there are cores, unless it is said how many: most of them wait, for
// servers that are silent or that take their time. With the race detector, which makes starts dear, they are fewer.
func setParallel() {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue && !raceEnabled {
		parallel.Value.Set(strconv.Itoa(8 * runtime.GOMAXPROCS(0)))
	}
}

// onlyFlags are the flags by which a run tries these checks only; with -whole, or for none, it tries all.
func onlyFlags(checks string) []string {
	if *whole || checks == "" {
		return nil
	}
	return []string{"--only", checks}
}

// totalLoad is what has been noted.
func totalLoad(file string) (starts, messages int) {
	for _, line := range fileLines(file) {
		var s, m int
		fmt.Sscan(line, &s, &m)
		starts, messages = starts+s, messages+m
	}
	return starts, messages
}
