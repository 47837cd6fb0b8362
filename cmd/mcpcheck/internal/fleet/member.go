package fleet

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

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/hosts"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/runner"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// MemberCommand is the hidden command that tests one server of a fleet, like mcpcheck run. It ends when its stdin ends,
// hence together with the fleet.
const MemberCommand = "fleet-member"

// These are the names of the files in the directory of a server.
const (
	reportFile = "report.json"
	pageFile   = "report.html"
	RowFile    = "row.json" // written last: it exists only when the others do
)

// job is a server that is going to be tested.
type job struct {
	member
	// fingerprint identifies the server's entry and how it is tested; see fleet.fingerprint.
	fingerprint string
	memberArgs  []string
	server      hosts.Server
	// budget is the time budget of the run.
	budget time.Duration
}

// These bound how long a member may take in addition to its budget, and how long to end after it was told to.
const (
	budgetMargin = time.Minute
	exitTimeout  = 20 * time.Second
)

// clearMemberDir creates the directory of a server, and removes the files of an earlier run, the row first.
func clearMemberDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{RowFile, reportFile, pageFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// commandArgs returns the arguments of the command that tests the server. A server of a registry runs in its own
// directory, which contains the server.json that it is published with.
func (j job) commandArgs(dir string) ([]string, error) {
	words := []string{MemberCommand, "--server=" + j.name}
	if j.name == config.NoServerName {
		words = []string{MemberCommand, "--server", j.name}
	}
	words = append(words, "--servers-file", j.file, "-q", "--annotations", "off",
		"--json", filepath.Join(dir, reportFile), "--html", filepath.Join(dir, pageFile))
	if !j.server.IsFromRegistry || j.server.Command == "" {
		return words, nil
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	return append(words, "--cwd", work),
		files.Replace(filepath.Join(work, "server.json"), j.server.Source)
}

// newRow returns the row of a server whose run has ended.
func newRow(name, file string, code int, said string) reporters.FleetRow {
	row := reporters.FleetRow{SchemaVersion: 1, Name: name, Judged: true}
	content, err := files.ReadLimited(file, runner.MaxReportBytes)
	if errors.Is(err, fs.ErrNotExist) {
		row.ExitCode, row.Problem = code, reporters.PrintableLine(cmp.Or(said, "its run wrote no report"))
		if code == report.ExitConforms || code == report.ExitFails {
			row.ExitCode = report.ExitInternal // there is no report
		}
		return row
	}
	var r report.Report
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		row.ExitCode, row.Problem = report.ExitInternal, "its report cannot be read: "+files.WithoutPath(err).
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

// lastLine returns the last line that is not blank.
func (t *tailBuffer) lastLine() string {
	content := strings.TrimSpace(t.String())
	return content[strings.LastIndexByte(content, '\n')+1:]
}

// runMember tests a server in a process of its own, and writes its row. Problems of the server are in the row; the
// error is that of the directory.
func (f *fleet) runMember(ctx context.Context, j job) (reporters.FleetRow, error) {
	dir := filepath.Join(f.dir, filepath.FromSlash(j.dir))
	if err := clearMemberDir(dir); err != nil {
		return reporters.FleetRow{}, err
	}
	row := reporters.FleetRow{SchemaVersion: 1, Name: j.name, Judged: true}
	if j.server.EntryErr != nil {
		row.ExitCode, row.Problem = report.ExitUsage, reporters.PrintableLine(j.server.EntryErr.Error())
	} else {
		words, err := j.commandArgs(dir)
		if err != nil {
			return row, err
		}
		code, said := f.runProcess(ctx, append(words, j.memberArgs...), j.budget+budgetMargin)
		if ctx.Err() != nil {
			return row, ctx.Err()
		}
		row = newRow(j.name, filepath.Join(dir, reportFile), code, said)
	}
	row.Entry, row.TestedAt = j.fingerprint, time.Now().UTC().Truncate(time.Second)
	if files.IsRegular(filepath.Join(dir, pageFile)) {
		row.Dir = j.dir
	}
	content, err := json.Marshal(row)
	if err != nil {
		return row, err
	}
	return row, files.Replace(filepath.Join(dir, RowFile), append(content, '\n'))
}

// runProcess runs a member, and returns its exit code and its output on stderr. When the context ends or the time is
// over, it first closes the pipe, so that the member ends its servers, and then kills it.
func (f *fleet) runProcess(ctx context.Context, words []string, most time.Duration) (code int, said string) {
	cmd := exec.Command(f.program, words...)
	var stderr tailBuffer
	cmd.Stderr, cmd.SysProcAttr = &stderr, process.Attr()
	cmd.WaitDelay = time.Second // for processes that keep stderr open
	parentPipe, err := cmd.StdinPipe()
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
	parentPipe.Close()
	select {
	case <-ended:
	case <-time.After(exitTimeout):
		process.Forward(cmd.Process, os.Kill)
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
