package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// memberCommand is the command by which a fleet judges one of its servers: run, on a leash. It ends with its stdin,
// which ends with the fleet, however that ends.
const memberCommand = "fleet-member"

func newFleetMember() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:    memberCommand,
		Short:  "Judge one server of a fleet",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.leash = cmd.InOrStdin()
			return judgeServer(cmd, f.read(cmd, args))
		},
	}
	f.add(cmd)
	addWire(cmd.Flags(), &f.wire)
	return cmd
}

// addWire defines the flag for evidence of all that a fleet's servers did.
func addWire(flags *pflag.FlagSet, wire *bool) {
	flags.BoolVar(wire, "wire", false, "keep the wire of everything in the reports, not only of what fails or blocks")
}

// evidenced reports whether a result keeps its wire. For each of many servers that of what passes is some megabytes.
func (f runFlags) evidenced(r harness.Result) bool {
	return f.leash == nil || f.wire || r.Gates || r.Verdict == harness.Fail || r.Verdict == harness.Error
}

// Files in the directory of a server.
const (
	memberReport = "report.json"
	memberPage   = "report.html"
	memberRow    = "row.json" // is there when the rest is
)

// job is a server that is to be judged.
type job struct {
	fleetMember
	entry  string // what it is, and how it is judged: see fleet.identity
	words  []string
	server hostServer
	most   time.Duration // that its run may take by itself
}

// How long a run may take beside its budget, and to end when it is told to.
const (
	besideBudget = time.Minute
	partingTime  = 20 * time.Second
)

// judge judges a server by a process of its own, and writes its row. A fault of it is told in the row; the error is one
// of the directory.
func (f *fleet) judge(ctx context.Context, j job) (reporters.FleetRow, error) {
	dir := filepath.Join(f.dir, filepath.FromSlash(j.dir))
	if err := clearMember(dir); err != nil {
		return reporters.FleetRow{}, err
	}
	row := reporters.FleetRow{SchemaVersion: 1, Name: j.name, Judged: true}
	if j.server.wrong != nil {
		row.ExitCode, row.Problem = harness.ExitUsage, reporters.Line(j.server.wrong.Error())
	} else {
		words, err := j.arguments(dir)
		if err != nil {
			return row, err
		}
		code, said := f.run(ctx, append(words, j.words...), j.most+besideBudget)
		if ctx.Err() != nil {
			return row, ctx.Err()
		}
		row = rowOf(j.name, filepath.Join(dir, memberReport), code, said)
	}
	row.Entry, row.Tested = j.entry, time.Now().UTC().Truncate(time.Second)
	if isFile(filepath.Join(dir, memberPage)) {
		row.Dir = j.dir
	}
	text, err := json.Marshal(row)
	if err != nil {
		return row, err
	}
	return row, reporters.ReplaceFile(filepath.Join(dir, memberRow), append(text, '\n'))
}

// clearMember makes the directory of a server, and takes out what another run has left, the row first.
func clearMember(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{memberRow, memberReport, memberPage} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// arguments are those of the command that judges the server. One of a registry needs no directory but its own; there it
// has the server.json that it is published with.
func (j job) arguments(dir string) ([]string, error) {
	words := []string{memberCommand, "--server=" + j.name}
	if j.name == noName {
		words = []string{memberCommand, "--server", j.name}
	}
	words = append(words, "--servers-file", j.file, "-q", "--annotations", "off",
		"--json", filepath.Join(dir, memberReport), "--html", filepath.Join(dir, memberPage))
	if !j.server.registered || j.server.Command == "" {
		return words, nil
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	return append(words, "--cwd", work),
		reporters.ReplaceFile(filepath.Join(work, "server.json"), j.server.source)
}

// run runs a member, and returns its exit code and what it said on stderr. It is ended with the context, and when it
// takes too long: it is let go, so that it ends its servers, and killed when it does not.
func (f *fleet) run(ctx context.Context, words []string, most time.Duration) (code int, said string) {
	cmd := exec.Command(f.self, words...)
	var stderr tail
	cmd.Stderr, cmd.SysProcAttr = &stderr, besideUs()
	cmd.WaitDelay = time.Second // for what holds stderr open
	leash, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return harness.ExitBroken, "mcpcheck could not be started: " + err.Error()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		said = fmt.Sprintf("its run did not end within %v, and was ended", most)
	case <-ctx.Done():
	}
	leash.Close()
	select {
	case <-ended:
	case <-time.After(partingTime):
		passOn(cmd.Process, os.Kill)
		cmd.Process.Kill()
		<-ended
	}
	code = cmd.ProcessState.ExitCode()
	if code < 0 {
		code = harness.ExitBroken
		said = cmp.Or(said, "its run ended otherwise than by itself: "+cmd.ProcessState.String())
	}
	return code, cmp.Or(said, strings.TrimPrefix(stderr.lastLine(), "mcpcheck: "))
}

// rowOf is the row of a server whose run is over.
func rowOf(name, file string, code int, said string) reporters.FleetRow {
	row := reporters.FleetRow{SchemaVersion: 1, Name: name, Judged: true}
	text, err := readWhole(file, longestReport)
	if errors.Is(err, fs.ErrNotExist) {
		row.ExitCode, row.Problem = code, reporters.Line(cmp.Or(said, "its run wrote no report"))
		if code == harness.ExitConforms || code == harness.ExitFails {
			row.ExitCode = harness.ExitBroken // it says so, and there is no report of it
		}
		return row
	}
	var r harness.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		row.ExitCode, row.Problem = harness.ExitBroken, "its report cannot be read: "+reporters.Bare(err).Error()
		return row
	}
	row = reporters.NewFleetRow(name, r)
	if code != r.ExitCode {
		row.ExitCode, row.Problem = harness.ExitBroken, reporters.Line(said)
	}
	return row
}

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	n, err := t.Buffer.Write(p)
	if extra := t.Len() - most; extra > 0 {
		t.Next(extra)
	}
	return n, err
}

// lastLine is the last that says something.
func (t *tail) lastLine() string {
	text := strings.TrimSpace(t.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}
