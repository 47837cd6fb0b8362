package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

func newRecord() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "record --out FILE -- COMMAND [ARG…]",
		Short: "Record a session of a real client",
		Long: `Stand between a client and its server over stdio, and write down what they say.
A host launches it in the place of the server: no byte is changed, signals are
passed on, and it exits as the server does. What the server leaves behind is
ended, as run does.

  mcpcheck record --out session.jsonl -- node dist/index.js
  mcpcheck judge session.jsonl

What the file has of earlier sessions stays. Secrets in the command and in the
environment are redacted in it.`,
		RunE: func(_ *cobra.Command, command []string) error {
			if out == "" {
				return usage("record wants --out FILE, for what is said")
			}
			if len(command) == 0 {
				return usage("record wants a command; say mcpcheck record --out FILE -- COMMAND [ARG…]")
			}
			return record(command, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to add the session to")
	return cmd
}

// record runs a server between this process's streams, and writes down what passes.
func record(command []string, out string) error {
	if err := lookUp(command[0], ""); err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return usage("--out: %w", err)
	}
	defer file.Close()
	var hidden secrets
	hidden.hideCommand(command)
	hidden.hideInherited(os.Environ())
	defer driver.Guard(guardCommand)()
	defer driver.Sweep()   // what the server leaves behind
	runtime.LockOSThread() // the server dies with the thread that has started it
	server := exec.Command(command[0], command[1:]...)
	server.Stderr, server.Env = os.Stderr, driver.Marked(os.Environ())
	server.SysProcAttr = besideUs()
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
	signal.Notify(signals, passedOn()...)
	if err := server.Start(); err != nil {
		return cannotRun(command[0], err)
	}
	stdoutOfServer.Close()
	redact := hidden.redactor()
	s := newScribe(file, harness.TargetInfo{Transport: "stdio", Command: redact.texts(command)}, redact)
	session := s.open()
	go func() {
		for s := range signals {
			passOn(server.Process, s)
		}
	}()
	go func() {
		session.copy(driver.FromClient, stdin, os.Stdin)
		stdin.Close()
		session.end()
	}()
	session.copy(driver.FromServer, os.Stdout, stdout)
	err = server.Wait()
	code := exitStatus(err)
	session.note(driver.Saying{Side: driver.Event, Text: fmt.Append(nil, "the server exited with status ", code)}, "")
	if err := s.flush(); err != nil {
		fmt.Fprintln(os.Stderr, "mcpcheck: the session was not recorded to its end:", err)
	}
	if code != 0 {
		return &exit{code: code}
	}
	return nil
}

// exitStatus is the status of a process as a shell has it.
func exitStatus(err error) int {
	var exited *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exited):
		return harness.ExitBroken
	}
	if status, ok := exited.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exited.ExitCode()
}
