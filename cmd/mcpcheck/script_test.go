package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestMain lets the test binary be three programs: the tests, mcpcheck, and the misbehaving servers.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", raceOptions)
	disableLastRun()
	testscript.Main(limitedTests{m}, map[string]func(){"mcpcheck": mcpcheckMain, "badserver": badServerMain})
}

// disableLastRun makes runs store nothing in the user's cache directory, unless a test sets it. Go builds in the tests
// keep their cache.
func disableLastRun() {
	if os.Getenv("XDG_CACHE_HOME") != "" {
		return
	}
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		os.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	os.Setenv("XDG_CACHE_HOME", os.DevNull)
}

// raceOptions let processes exit immediately: the race detector otherwise waits a second for further races.
const raceOptions = "atexit_sleep_ms=0"

// mcpcheckMain is mcpcheck; it also writes how much memory it used.
func mcpcheckMain() {
	addLoad(1, 0)
	setMemoryLimits()
	in := &lineCounter{Reader: os.Stdin}
	code := run(os.Args[1:], in, os.Stdout, os.Stderr)
	addLoad(0, in.lines)
	if file := os.Getenv(peakFileVariable); file != "" {
		os.WriteFile(file, fmt.Append(nil, peakMemory()), 0o644)
	}
	os.Exit(code)
}

// These are environment variables of the tests.
const (
	peakFileVariable = "MCPCHECK_TEST_PEAK" // the file to which mcpcheck writes its peak memory
	markVariable     = "MCPCHECK_TEST_MARK" // identifies the processes of a test
)

// TestScript runs testdata/script: the behaviour of mcpcheck on the command line, one topic per file. These commands
// are additions to those of testscript:
//
//	status CODE COMMAND…    runs the command, which has to exit with the code
//	some CHECKS CODE RUN…   … and runs only these checks, except with -whole
//	misuse COMMAND…         … with code 2 and one line on stderr
//	interrupt FILE COMMAND… … sends SIGINT once the file is there; code 130
//	hangup, killed          … the same with SIGHUP, or with SIGKILL, after which there is no code
//	report FILE…            the files are reports: JSON that matches its schema, or JUnit XML
//	same FILE FILE          two JSON reports are equal except for times
//	verdicts FILE FILE      two JSON reports are equal except for times and evidence
//	memory MB               the last mcpcheck used less
//	taken VARIABLE          a listener occupies a port; the variable is set to it
//	variable NAME=VALUE…    sets variables of the environment of testdata/inside
//
// It also adds two conditions: [whole], and [nohup], which says that the tests run under nohup, and so do the programs
// that they start.
//
// After each script, none of its processes may be left. Each script has its own deadline, since the time for all of
// them depends on the load of the machine.
func TestScript(t *testing.T) {
	t.Parallel()
	for _, file := range scriptFiles(t, "script") {
		t.Run(scriptName(file), func(t *testing.T) {
			t.Parallel()
			runScript(t, file, setUpScript)
		})
	}
}

// TestScriptInside runs testdata/inside: what mcpcheck prints for wrong usage, and other output without a server. In
// these scripts status and misuse run mcpcheck in this process, hence one script after the other.
func TestScriptInside(t *testing.T) {
	for _, file := range scriptFiles(t, "inside") {
		t.Run(scriptName(file), func(t *testing.T) { runScript(t, file, setUpInside) })
	}
}

// scriptFiles returns the scripts in a directory of testdata.
func scriptFiles(t *testing.T, dir string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return paths
}

func scriptName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

func runScript(t *testing.T, file string, setup func(*testscript.Env) error) {
	t.Helper()
	testscript.RunT(scriptT{t}, testscript.Params{
		Files: []string{file}, Setup: setup, Cmds: scriptCommands,
		Condition: scriptCondition, RequireUniqueNames: true, Deadline: time.Now().Add(scriptTimeout),
	})
}

// These are generous timeouts: only a test that fails takes as long.
const (
	scriptTimeout = 8 * time.Minute // of a script
	waitTimeout   = time.Minute     // of one wait
)

var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"status": cmdStatus, "some": cmdSome, "misuse": cmdMisuse, "variable": cmdVariable, "report": cmdReport,
	"same":     cmdSame,
	"verdicts": cmdVerdicts, "memory": cmdMemory,
	"silent": cmdSilent, "taken": cmdTaken, "interrupt": cmdSignal(os.Interrupt,
		130), "hangup": cmdSignal(syscall.SIGHUP, 130),
	"killed": cmdSignal(os.Kill, -1),
}

// scriptCondition evaluates the conditions that testscript does not have.
func scriptCondition(name string) (bool, error) {
	switch name {
	case "nohup":
		return signal.Ignored(syscall.SIGHUP), nil
	case "whole":
		return *whole, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// scriptT is the test of one script. It runs the script in the same test rather than in a parallel subtest, so that its
// deadline begins when the script does.
type scriptT struct{ *testing.T }

func (s scriptT) Run(_ string, run func(testscript.T)) { run(s) }
func (s scriptT) Parallel()                            {}
func (s scriptT) Verbose() bool                        { return testing.Verbose() }

func setUpScript(env *testscript.Env) error {
	own := markVariable + "=" + rand.Text()
	env.Vars = append(env.Vars, own, "GORACE="+raceOptions, "GOGC="+testGOGC,
		loadFileVariable+"="+os.Getenv(loadFileVariable), peakFileVariable+"="+filepath.Join(env.WorkDir, ".peak"))
	env.Values[initialEnvKey{}] = env.Vars
	env.Defer(func() { expectNoProcesses(env.T(), own) })
	return nil
}

// insideKey is the key of the test in whose process mcpcheck runs.
type insideKey struct{}

// setUpInside gives this process the environment of the script until the test ends.
func setUpInside(env *testscript.Env) error {
	t := env.T().(scriptT).T
	env.Values[insideKey{}] = t
	err := setUpScript(env)
	for _, v := range env.Vars {
		// Only the script itself uses the other variables.
		if name, value, _ := strings.Cut(v, "="); variableNamePattern.MatchString(name) {
			t.Setenv(name, value)
		}
	}
	return err
}

var variableNamePattern = regexp.MustCompile(`^\w+$`)

func cmdVariable(ts *testscript.TestScript, neg bool, args []string) {
	t, ok := ts.Value(insideKey{}).(*testing.T)
	if neg || !ok {
		ts.Fatalf("usage, in testdata/inside: variable NAME=VALUE…")
	}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		ts.Setenv(name, value)
		t.Setenv(name, value)
	}
}

// expectNoProcesses fails when a process with a variable in its environment does not exit.
func expectNoProcesses(t testscript.T, own string) {
	if !canListProcesses {
		t.Log("not looked for processes that are left behind: this system does not show whose they are")
	}
	var left []string
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = processesWith(own); len(left) == 0 {
			return
		}
	}
	t.Fatal("left behind:\n" + strings.Join(left, "\n"))
}

func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND…")
	}
	expectExit(ts, args[0], args[1:])
}

// cmdSome runs only the given checks, except with -whole.
func cmdSome(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: some CHECKS CODE mcpcheck run …")
	}
	expectExit(ts, args[1], slices.Insert(args[2:], 2, onlyFlags(args[0])...))
}

// expectExit runs a command, which has to exit with the code, and returns its output.
func expectExit(ts *testscript.TestScript, code string, command []string) (stdout, stderr string) {
	want, err := strconv.Atoi(code)
	ts.Check(err)
	got := 0
	if _, here := ts.Value(insideKey{}).(*testing.T); here && command[0] == "mcpcheck" {
		got, stdout, stderr = runInProcess(ts, command[1:])
	} else {
		got = exitCode(ts, ts.Exec(command[0], command[1:]...))
		stdout, stderr = ts.ReadFile("stdout"), ts.ReadFile("stderr")
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	return stdout, stderr
}

// runInProcess runs mcpcheck in this process, in the current directory of the script.
func runInProcess(ts *testscript.TestScript, args []string) (code int, stdout, stderr string) {
	before, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer os.Chdir(before)
	defer signal.Reset() // so that Ctrl-C ends the tests again
	var out, complaints bytes.Buffer
	code = run(args, strings.NewReader(""), io.MultiWriter(&out, ts.Stdout()), io.MultiWriter(&complaints, ts.Stderr()))
	return code, out.String(), complaints.String()
}

func exitCode(ts *testscript.TestScript, err error) int {
	var exited *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exited):
		return exited.ExitCode()
	}
	ts.Fatalf("%v", err)
	return -1
}

func cmdMisuse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: misuse COMMAND…")
	}
	stdout, stderr := expectExit(ts, "2", args)
	if stdout != "" {
		ts.Fatalf("wrote to stdout: %s", stdout)
	}
	line, rest, ended := strings.Cut(stderr, "\n")
	if !strings.HasPrefix(line, "mcpcheck: ") || !ended || rest != "" {
		ts.Fatalf("not exactly one line of mcpcheck")
	}
}

// cmdSignal returns a command that runs another one, in the environment at the start of the script, and signals it.
func cmdSignal(with os.Signal, want int) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: interrupt, hangup or killed FILE COMMAND…")
		}
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Env = ts.Value(initialEnvKey{}).([]string)
		cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), ts.Stdout(), ts.Stderr()
		ts.Check(cmd.Start())
		gone := make(chan struct{})
		go func() {
			if awaitFile(ts.MkAbs(args[0]), gone) {
				cmd.Process.Signal(with)
			}
		}()
		guard := time.AfterFunc(scriptTimeout, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		guard.Stop()
		close(gone)
		if got := exitCode(ts, err); got != want {
			ts.Fatalf("exit code %d, want %d", got, want)
		}
	}
}

// initialEnvKey is the key of the environment at the start of the script.
type initialEnvKey struct{}

func awaitFile(name string, stop <-chan struct{}) (there bool) {
	for {
		if fileExists(name) {
			return true
		}
		select {
		case <-stop:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func cmdReport(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		content := []byte(ts.ReadFile(name))
		check := validateReport
		if strings.HasSuffix(name, ".xml") {
			check = validateXML
		}
		if err := check(content); err != nil {
			ts.Fatalf("%s: %v\n%s", name, err, content)
		}
	}
}

// validateReport returns an error when a report does not match its schema.
func validateReport(content []byte) error {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "schemas", "report.schema.json"))
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

func validateXML(content []byte) error {
	d := xml.NewDecoder(bytes.NewReader(content))
	for n := 0; ; n++ {
		switch _, err := d.Token(); {
		case err == io.EOF && n == 0:
			return errors.New("empty")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// cmdSame compares two JSON reports without times. Since calls are parallel, it ignores the order and the ids of
// messages.
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same FILE FILE")
	}
	a, b := wireMessages(ts, args[0]), wireMessages(ts, args[1])
	if diff := cmp.Diff(a, b); (diff == "") == neg {
		ts.Fatalf("%s and %s, differences:\n%s", args[0], args[1], diff)
	}
}

// cmdVerdicts compares two JSON reports without times and evidence: ids and order there depend on which checks used a
// session before.
func cmdVerdicts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: verdicts FILE FILE")
	}
	var reports [2]report.Report
	for i, name := range args {
		r := &reports[i]
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), r))
		r.Started, r.Seconds = time.Time{}, 0
		for j := range r.Results {
			r.Results[j].Seconds, r.Results[j].Evidence = 0, nil
		}
	}
	if diff := cmp.Diff(reports[0], reports[1]); diff != "" {
		ts.Fatalf("%s and %s, differences:\n%s", args[0], args[1], diff)
	}
}

func wireMessages(ts *testscript.TestScript, name string) (messages []string) {
	var r report.Report
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &r))
	for _, result := range r.Results {
		for _, line := range result.Evidence {
			messages = append(messages, result.ID+" "+line.Arrow+" "+idPattern.ReplaceAllString(line.Text, `"id":0`))
		}
	}
	slices.Sort(messages)
	return messages
}

var idPattern = regexp.MustCompile(`"id":\d+`)

// progressPattern matches the progress that a slow run writes to a pipe.
var progressPattern = regexp.MustCompile(`(?m)^mcpcheck: (\S+ · )?(\d+/\d+ · )?\d+ s( · .*)?\n`)

// cmdSilent checks that the previous command wrote nothing to stderr except progress.
func cmdSilent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: silent")
	}
	if said := progressPattern.ReplaceAllString(ts.ReadFile("stderr"), ""); said != "" {
		ts.Fatalf("on stderr:\n%s", said)
	}
}

func cmdMemory(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: memory MB")
	}
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	peak, err := strconv.Atoi(ts.ReadFile(".peak"))
	ts.Check(err)
	took := peak >> 20
	ts.Logf("%d MB at the peak", took)
	if took > most && !raceEnabled { // the race detector multiplies memory
		ts.Fatalf("mcpcheck took %d MB, more than %d", took, most)
	}
}
