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
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// memberCommandName is the command by which a fleet judges one of its servers: run, on a leash. It ends with its stdin,
// which ends with the fleet, however that ends.
const memberCommandName = "fleet-member"

func newFleetMemberCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:    memberCommandName,
		Short:  "Judge one server of a fleet",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.parentPipe = cmd.InOrStdin()
			return runServer(cmd, f.withCommandLine(cmd, args))
		},
	}
	f.addFlags(cmd)
	addWireFlag(cmd.Flags(), &f.keepAllWire)
	return cmd
}

// addWireFlag defines the flag for evidence of all that a fleet's servers did.
func addWireFlag(flags *pflag.FlagSet, wire *bool) {
	flags.BoolVar(wire, "wire", false, "keep the wire of everything in the reports, not only of what fails or blocks")
}

// keepsWire reports whether a result keeps its wire. For each of many servers that of what passes is some megabytes.
func (f runFlags) keepsWire(r report.Result) bool {
	return f.parentPipe == nil || f.keepAllWire || r.Gates || r.Verdict == catalogue.Fail ||
		r.Verdict == catalogue.Error
}

// Files in the directory of a server.
const (
	memberReportFile = "report.json"
	memberPageFile   = "report.html"
	memberRowFile    = "row.json" // is there when the rest is
)

// newJob is a server that is to be judged.
type job struct {
	fleetMember
	fingerprint string // what it is, and how it is judged: see fleet.identity
	memberArgs  []string
	server      hostServer
	budget      time.Duration // that its run may take by itself
}

// How long a run may take beside its budget, and to end when it is told to.
const (
	budgetMargin = time.Minute
	exitTimeout  = 20 * time.Second
)

// judge judges a server by a process of its own, and writes its row. A fault of it is told in the row; the error is one
// of the directory.
func (f *fleet) runMember(ctx context.Context, j job) (reporters.FleetRow, error) {
	dir := filepath.Join(f.dir, filepath.FromSlash(j.dir))
	if err := clearMemberDir(dir); err != nil {
		return reporters.FleetRow{}, err
	}
	row := reporters.FleetRow{SchemaVersion: 1, Name: j.name, Judged: true}
	if j.server.entryErr != nil {
		row.ExitCode, row.Problem = report.ExitUsage, reporters.PrintableLine(j.server.entryErr.Error())
	} else {
		words, err := j.commandArgs(dir)
		if err != nil {
			return row, err
		}
		code, said := f.runProcess(ctx, append(words, j.memberArgs...), j.budget+budgetMargin)
		if ctx.Err() != nil {
			return row, ctx.Err()
		}
		row = newRow(j.name, filepath.Join(dir, memberReportFile), code, said)
	}
	row.Entry, row.TestedAt = j.fingerprint, time.Now().UTC().Truncate(time.Second)
	if isRegularFile(filepath.Join(dir, memberPageFile)) {
		row.Dir = j.dir
	}
	text, err := json.Marshal(row)
	if err != nil {
		return row, err
	}
	return row, reporters.ReplaceFile(filepath.Join(dir, memberRowFile), append(text, '\n'))
}

// clearMemberDir makes the directory of a server, and takes out what another run has left, the row first.
func clearMemberDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{memberRowFile, memberReportFile, memberPageFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// arguments are those of the command that judges the server. One of a registry needs no directory but its own; there it
// has the server.json that it is published with.
func (j job) commandArgs(dir string) ([]string, error) {
	words := []string{memberCommandName, "--server=" + j.name}
	if j.name == noServerName {
		words = []string{memberCommandName, "--server", j.name}
	}
	words = append(words, "--servers-file", j.file, "-q", "--annotations", "off",
		"--json", filepath.Join(dir, memberReportFile), "--html", filepath.Join(dir, memberPageFile))
	if !j.server.isFromRegistry || j.server.Command == "" {
		return words, nil
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	return append(words, "--cwd", work),
		reporters.ReplaceFile(filepath.Join(work, "server.json"), j.server.source)
}

// runProcess runs a member, and returns its exit code and what it said on stderr. It is ended with the context, and
// when it takes too long: it is let go, so that it ends its servers, and killed when it does not.
func (f *fleet) runProcess(ctx context.Context, words []string, most time.Duration) (code int, said string) {
	cmd := exec.Command(f.program, words...)
	var stderr tailBuffer
	cmd.Stderr, cmd.SysProcAttr = &stderr, childProcAttr()
	cmd.WaitDelay = time.Second // for what holds stderr open
	leash, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return report.ExitInternal, "mcpcheck could not be started: " + err.Error()
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
	case <-time.After(exitTimeout):
		forwardSignal(cmd.Process, os.Kill)
		cmd.Process.Kill()
		<-ended
	}
	code = cmd.ProcessState.ExitCode()
	if code < 0 {
		code = report.ExitInternal
		said = cmp.Or(said, "its run ended otherwise than by itself: "+cmd.ProcessState.String())
	}
	return code, cmp.Or(said, strings.TrimPrefix(stderr.lastLine(), "mcpcheck: "))
}

// newRow is the row of a server whose run is over.
func newRow(name, file string, code int, said string) reporters.FleetRow {
	row := reporters.FleetRow{SchemaVersion: 1, Name: name, Judged: true}
	text, err := readLimited(file, maxReportBytes)
	if errors.Is(err, fs.ErrNotExist) {
		row.ExitCode, row.Problem = code, reporters.PrintableLine(cmp.Or(said, "its run wrote no report"))
		if code == report.ExitConforms || code == report.ExitFails {
			row.ExitCode = report.ExitInternal // it says so, and there is no report of it
		}
		return row
	}
	var r report.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		row.ExitCode, row.Problem = report.ExitInternal, "its report cannot be read: "+reporters.WithoutPath(err).
			Error()
		return row
	}
	row = reporters.NewFleetRow(name, r)
	if code != r.ExitCode {
		row.ExitCode, row.Problem = report.ExitInternal, reporters.PrintableLine(said)
	}
	return row
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct{ bytes.Buffer }

func (t *tailBuffer) Write(p []byte) (int, error) {
	const most = 8 << 10
	n, err := t.Buffer.Write(p)
	if extra := t.Len() - most; extra > 0 {
		t.Next(extra)
	}
	return n, err
}

// lastLine is the last that says something.
func (t *tailBuffer) lastLine() string {
	text := strings.TrimSpace(t.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}
