// Package process starts, signals and ends the processes of servers on each system, and explains why one does not
// start.
//
// LookUp finds out before anything is started whether a command exists, and StartError explains why one does not start:
// a package that is not installed, a script that is not executable, a path without its backslashes. Attr and Forward
// hold what differs between systems. InterruptContext is how every command handles signals: the first Ctrl-C ends its
// context, with ErrInterrupted as the cause, and the second ends the program.
//
// GuardCommand is the hidden command that ends the servers of a run that was killed; package driver starts it.
package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// ValidateWorkingDir returns an error when the current directory, in which servers start, does not exist.
func ValidateWorkingDir() error {
	if _, err := os.Getwd(); err != nil {
		return exit.Usagef("the current directory is gone; change to one that is there: %w", err)
	}
	return nil
}

// LookUp finds out whether a command exists, before anything is started. A relative path is relative to dir.
func LookUp(command []string, dir string) error {
	path := command[0]
	if separator := string(os.PathSeparator); dir != "" && strings.Contains(path, separator) &&
		!strings.HasPrefix(path, separator) {
		path = dir + separator + path
	}
	_, err := exec.LookPath(path)
	switch {
	case errors.Is(err, exec.ErrDot):
		return exit.Usagef("%s is in the current directory only; say ./%s", command[0], command[0])
	case err != nil:
		return StartError(command, err)
	}
	return nil
}

// StartError returns an error of usage for a command that does not start.
func StartError(command []string, err error) error {
	var wrapped *exec.Error
	var path *fs.PathError
	switch { // only what the message does not say already
	case errors.As(err, &wrapped):
		err = wrapped.Err
	case errors.As(err, &path):
		err = path.Err
	}
	name := command[0]
	words := strings.Fields(name)
	missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
	switch {
	case name == "":
		return exit.Usagef("the command is empty; say mcpcheck run -- COMMAND [ARG…]")
	case files.IsDir(name):
		return exit.Usagef("cannot run %s: it is a directory; name the program in it", name)
	case errors.Is(err, syscall.ENOEXEC):
		return exit.Usagef("cannot run %s: %w; a script needs a first line such as #!/usr/bin/env %s",
			name, err, interpreterOf(name))
	case missing && isCommand(name):
		return exit.Usagef("cannot run %s: %w; does its first line name a program that is there?", name, err)
	case missing && len(words) > 1 && isCommand(words[0]):
		return exit.Usagef(
			"cannot run %q: no such command; give the command and its arguments as words of their own: -- %s",
			name, name)
	case (missing || errors.Is(err, fs.ErrPermission)) && files.IsRegular(name):
		return exit.Usagef("cannot run %s: the file is not executable; begin with what runs it, such as -- %s %s",
			name, interpreterOf(name), text.Shell(command...))
	case missing:
		return commandNotFoundError(command)
	}
	return exit.Usagef("cannot run %s: %w", name, err)
}

// commandNotFoundError returns an error of usage for a command that does not exist, with a suggestion that depends on
// what it looks like.
func commandNotFoundError(command []string) error {
	name, all := command[0], text.Shell(command...)
	_, notURL := driver.ParseURL(name)
	switch {
	case notURL == nil:
		return exit.Usagef("%s is a URL; say mcpcheck run --url %s", name, text.Shell(name))
	case isScopedPackage(name):
		return exit.Usagef("cannot run %s: no such command; it looks like an npm package: -- npx -y %s", name, all)
	case LacksBackslashes(name):
		return exit.Usagef("cannot run %s: %s", name, QuotePathHint)
	}
	said := fmt.Sprintf("cannot run %s: no such command; check the path, or build the server first", name)
	if looksLikePackage(name) {
		said += fmt.Sprintf("; if it is an npm package: -- npx -y %s; one of Python: -- uvx %[1]s", all)
	}
	return exit.Usagef("%s", said)
}

// isScopedPackage reports whether a word is the name of an npm package with a scope, which no command has.
var isScopedPackage = regexp.MustCompile(`^@[a-z0-9~][a-z0-9._~-]*/[a-z0-9~][a-z0-9._~-]*(@[\w.^~-]+)?$`).MatchString

// looksLikePackage reports whether a word looks like the name of a server's package: mcp-server-time, server-memory.
var looksLikePackage = regexp.MustCompile(`^([a-z0-9.]+[-_])*(mcp|server)([-_][a-z0-9.]+)*(@[\w.^~-]+)?$`).MatchString

// LacksBackslashes reports whether a word looks like a Windows path from which a shell has removed the backslashes.
var LacksBackslashes = regexp.MustCompile(`^[A-Za-z]:[^\\/:]+\.\w+$`).MatchString

// QuotePathHint is the text of an error for a word that LacksBackslashes.
const QuotePathHint = "no backslashes are left in the path; quote it"

// interpreterOf returns the interpreter of a script, by its file name extension.
func interpreterOf(script string) string {
	by := map[string]string{".py": "python3", ".ts": "npx tsx", ".mts": "npx tsx", ".rb": "ruby", ".sh": "sh"}
	return cmp.Or(by[strings.ToLower(filepath.Ext(script))], "node")
}

func isCommand(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
