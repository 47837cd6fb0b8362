package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

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
passed on, and it exits as the server does.

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
	runtime.LockOSThread() // the server dies with the thread that has started it
	server := exec.Command(command[0], command[1:]...)
	server.Stderr = os.Stderr
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
	r := newRecorder(file, command, hidden.redactor())
	go func() {
		for s := range signals {
			passOn(server.Process, s)
		}
	}()
	go func() {
		r.copy(driver.FromClient, stdin, os.Stdin)
		stdin.Close()
		r.end()
	}()
	r.copy(driver.FromServer, os.Stdout, stdout)
	err = server.Wait()
	code := exitStatus(err)
	r.note(driver.Saying{Side: driver.Event, Text: []byte("the server exited with status " + fmt.Sprint(code))})
	if err := r.flush(); err != nil {
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

// recorder writes a session down beside those who talk, who never wait for it.
type recorder struct {
	session string
	opened  time.Time
	redact  redactor
	enc     *json.Encoder
	done    chan error

	mu     sync.Mutex
	more   *sync.Cond
	lines  []driver.Saying
	ended  bool // the client has ended its stream
	closed bool
}

func newRecorder(w io.Writer, command []string, redact redactor) *recorder {
	r := &recorder{
		session: fmt.Sprintf("%d-%d", time.Now().UnixNano(), os.Getpid()), opened: time.Now(), redact: redact,
		enc: json.NewEncoder(w), done: make(chan error, 1),
	}
	r.more = sync.NewCond(&r.mu)
	r.enc.SetEscapeHTML(false)
	head := traceHead{
		Trace: traceVersion, Session: r.session, Tool: harness.Tool{Name: "mcpcheck", Version: toolVersion()},
		Target: harness.TargetInfo{Transport: "stdio", Command: redact.texts(command)}, Opened: r.opened.UTC(),
	}
	go func() { r.done <- r.write(head) }()
	return r
}

// write writes lines as they come, until all are written after flush. After an error it only takes them.
func (r *recorder) write(head traceHead) error {
	failed := r.enc.Encode(head)
	for {
		r.mu.Lock()
		for len(r.lines) == 0 && !r.closed {
			r.more.Wait()
		}
		lines, over := r.lines, r.closed && len(r.lines) == 0
		r.lines = nil
		r.mu.Unlock()
		if over {
			return failed
		}
		for _, said := range lines {
			if failed == nil {
				failed = r.enc.Encode(lineOf(r.session, said, "", r.redact))
			}
		}
	}
}

// note keeps a line for write.
func (r *recorder) note(said driver.Saying) {
	r.mu.Lock()
	said.At, said.AfterEOF = time.Since(r.opened), r.ended
	r.lines = append(r.lines, said)
	r.mu.Unlock()
	r.more.Signal()
}

// end notes that the client has ended its stream.
func (r *recorder) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// flush waits until all is written.
func (r *recorder) flush() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.more.Signal()
	return <-r.done
}

// copy passes on what comes, byte for byte and at once, and notes the lines in it.
func (r *recorder) copy(side driver.Side, to io.Writer, from io.Reader) {
	chunk := make([]byte, 64<<10)
	var line []byte
	for {
		n, err := from.Read(chunk)
		for rest := chunk[:n]; len(rest) > 0; {
			head, tail, found := bytes.Cut(rest, []byte{'\n'})
			line = append(line, head...)
			if found { // before it is passed on: so what it brings comes after it
				r.note(driver.Saying{Side: side, Text: line})
				line = nil
			}
			rest = tail
		}
		if n > 0 {
			if _, failed := to.Write(chunk[:n]); failed != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if len(line) > 0 {
		r.note(driver.Saying{Side: side, Text: line, Unended: true})
	}
}
