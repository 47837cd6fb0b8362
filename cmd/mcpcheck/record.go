package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newRecordCommand() *cobra.Command {
	var out, server, listen string
	cmd := &cobra.Command{
		Use:   "record --out FILE {-- COMMAND [ARG…] | --url URL --listen ADDRESS}",
		Short: "Record a session of a real client",
		Long: `Run between a client and its server over stdio, and record their messages. A host
launches it instead of the server: no byte is changed, signals are passed on, and it
exits as the server does. Processes that the server leaves behind are ended, as run
does.

  mcpcheck record --out session.jsonl -- node dist/index.js
  mcpcheck judge session.jsonl

With --url, it is a proxy between clients and a server over HTTP, until Ctrl-C: give
the clients the address that it listens on. Event streams are not buffered. Requests
for other paths than that of the URL, such as authorization, are passed on and not
recorded.

  mcpcheck record --out session.jsonl --url http://127.0.0.1:3001/mcp --listen 127.0.0.1:9000

Appends to the file. Secrets in the command and in the environment are redacted in
it, and over HTTP those in the URL and in the headers of clients.`,
		RunE: func(cmd *cobra.Command, command []string) error {
			switch {
			case out == "":
				return usageErrorf("record wants --out FILE, for what is said")
			case server != "" && len(command) > 0:
				return usageErrorf(
					"--url and a command exclude each other: start the server separately, and leave out %s",
					strings.Join(command, " "))
			case server != "" && listen == "":
				return usageErrorf("--url wants --listen ADDRESS, such as 127.0.0.1:9000, where clients find it")
			case server != "":
				return recordHTTP(server, listen, out, cmd.ErrOrStderr())
			case listen != "":
				return usageErrorf("--listen wants --url URL, the server for which it stands")
			case len(command) == 0:
				return usageErrorf("record wants a command, or --url; say mcpcheck record --out FILE -- COMMAND [ARG…]")
			}
			return recordStdio(command, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to append the session to")
	cmd.Flags().StringVar(&server, "url", "", "`URL` of the server to record")
	cmd.Flags().StringVar(&listen, "listen", "", "`ADDRESS` to listen on, such as 127.0.0.1:9000")
	return cmd
}

// recordStdio runs a server between this process's streams, and writes down what passes.
func recordStdio(command []string, out string) error {
	if err := lookUpCommand(command, ""); err != nil {
		return err
	}
	file, err := openTraceFile(out)
	if err != nil {
		return err
	}
	defer file.Close()
	var hidden secrets
	hidden.addCommand(command)
	hidden.addInherited(os.Environ())
	defer driver.StartGuard(guardCommandName)()
	defer driver.KillOrphans() // what the server leaves behind
	runtime.LockOSThread()     // the server dies with the thread that has started it
	server := exec.Command(command[0], command[1:]...)
	server.Stderr, server.Env = os.Stderr, driver.WithRunMarker(os.Environ())
	server.SysProcAttr = childProcAttr()
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
	signal.Notify(signals, forwardedSignals()...)
	if err := server.Start(); err != nil {
		return commandError(command, err)
	}
	stdoutOfServer.Close()
	redact := hidden.redactor()
	s := newTraceWriter(file, report.TargetInfo{Transport: "stdio", Command: redact.texts(command)}, redact)
	session := s.openSession(s.target.Transport)
	go func() {
		for s := range signals {
			forwardSignal(server.Process, s)
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
		return &exitError{code: code}
	}
	return nil
}

// openTraceFile opens a file to which sessions are added.
func openTraceFile(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, usageErrorf("--out: %w", err)
	}
	return file, nil
}

// processExitCode is the status of a process as a shell has it.
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
