// Package recorder records the messages between a client and its server.
//
// Stdio runs the server between the streams of this process; HTTP is a proxy in front of the server. Both forward
// everything unchanged and without delay: a goroutine of traceWriter (writer.go) writes the lines, and when it cannot
// keep up, lines are omitted and the trace says so. Over HTTP a request with its response is a roundTrip, and
// httpSessions finds the session it belongs to: by the session id that the server issued, by the stream, or by a client
// that initializes again.
//
// The result is a trace of package trace, without secrets, which mcpcheck judge reads.
package recorder

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Stdio runs a server between the streams of this process, and records the messages in the file out.
func Stdio(command []string, out string) error {
	if err := process.LookUp(command, ""); err != nil {
		return err
	}
	file, err := openTraceFile(out)
	if err != nil {
		return err
	}
	defer file.Close()
	var hidden redact.Secrets
	hidden.AddCommand(command)
	hidden.AddInherited(os.Environ())
	defer driver.StartGuard(process.GuardCommand)()
	defer driver.KillOrphans() // processes that the server has left
	runtime.LockOSThread()     // the server ends with the thread that started it
	server := exec.Command(command[0], command[1:]...)
	server.Stderr, server.Env = os.Stderr, driver.WithRunMarker(os.Environ())
	server.SysProcAttr = process.Attr()
	stdin, err := server.StdinPipe()
	if err != nil {
		return err
	}
	stdout, stdoutOfServer, err := os.Pipe()
	if err != nil {
		return err
	}
	server.Stdout = stdoutOfServer
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, process.ForwardedSignals()...)
	if err := server.Start(); err != nil {
		return process.StartError(command, err)
	}
	stdoutOfServer.Close()
	hide := hidden.Redactor()
	s := newTraceWriter(file, report.TargetInfo{Transport: "stdio", Command: hide.Texts(command)}, hide)
	session := s.openSession(s.target.Transport)
	go func() {
		for s := range signals {
			process.Forward(server.Process, s)
		}
	}()
	go func() {
		session.copyStream(driver.FromClient, stdin, os.Stdin)
		stdin.Close()
		session.endInput()
	}()
	session.copyStream(driver.FromServer, os.Stdout, stdout)
	err = server.Wait()
	code := processExitCode(err)
	session.add(driver.TraceLine{Side: driver.SessionEvent,
		Text: fmt.Append(nil, "the server exited with status ", code)})
	s.finish(os.Stderr)
	if code != 0 {
		return exit.Status(code)
	}
	return nil
}

// openTraceFile opens a file to append sessions to it.
func openTraceFile(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, exit.Usagef("--out: %w", err)
	}
	return file, nil
}

// processExitCode returns the exit code of a process as a shell reports it.
func processExitCode(err error) int {
	var exited *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exited):
		return report.ExitInternal
	}
	if status, ok := exited.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exited.ExitCode()
}
