package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// target is the server that is looked at, found to be within reach as far as that can be told without starting it.
type target struct {
	address
	reach       driver.Target
	credentials harness.Credentials
	redact      redactor
	shown       harness.TargetInfo // the address as reports show it
	quick       bool               // it is reached by one session
	direct      bool               // what its launcher runs is started without it
	leash       io.Reader          // with which the visit ends; nil: there is none
	wanted      context.Context    // ends when the operator does not want it any more; see heed
}

// aim finds the server that is asked for, and all that is wrong with how it is reached.
func aim(v values, stderr io.Writer) (*target, error) {
	if err := hasDirectory(); err != nil {
		return nil, err
	}
	if v.ignored != "" {
		fmt.Fprintf(stderr, "mcpcheck: %s is not read, since there is %s; remove one of them\n", v.ignored, v.name)
	}
	var s secrets
	a, err := locate(v, &s, stderr)
	if err != nil {
		return nil, err
	}
	if a.dir != "" && !reporters.IsDir(a.dir) {
		return nil, usage("%s %s is not a directory", v.origin("cwd"), a.dir)
	}
	for _, pair := range a.env {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage("--env wants KEY=VALUE, not %q", pair)
		}
		s.hide(value)
	}
	if len(a.command) > 0 {
		s.hideCommand(a.command)
		s.hideInherited(os.Environ())
	}
	t := &target{address: a, quick: v.flags.quick, reach: driver.Target{
		Limits: driver.Limits{Message: v.maxMessage, Reply: v.Timeout, Start: v.StartTimeout},
		Budget: driver.NewBudget(mostKept), Waits: &driver.Waits{},
	}}
	if a.url == "" {
		err = t.overStdio(v, &s)
	} else {
		err = t.overHTTP(v, &s)
	}
	return t, err
}

// mostKept is how many bytes of all wires are kept at a time.
const mostKept = 16 << 20

// overStdio makes the target of a command.
func (t *target) overStdio(v values, s *secrets) error {
	t.redact = s.redactor()
	if v.flags.needURL() {
		return usage("--header, --bearer-env, --insecure and the like want --url")
	}
	t.reach.Command, t.reach.Env, t.reach.Dir = t.command, plant(t.env), t.dir
	t.credentials.Planted = planted
	t.shown = harness.TargetInfo{Transport: "stdio", Command: t.redact.texts(t.command), Dir: t.dir}
	return lookUp(t.command, t.dir)
}

// planted is the value of a variable in the environment of the server that is named like a secret: none may log it.
const planted = "mcpcheck-planted-8f2c41d97b"

// plant adds it to the environment.
func plant(env []string) []string { return append(slices.Clone(env), "MCPCHECK_API_KEY="+planted) }

// overHTTP makes the target of a URL, and of the command that serves it if there is one.
func (t *target) overHTTP(v values, s *secrets) error {
	access, err := readAccess(v, t.address, s)
	if t.redact = s.redactor(); err != nil {
		return err
	}
	filled, err := t.withPort()
	if err != nil {
		return err
	}
	roots, err := readRoots(v.flags.remote.cacert)
	if err != nil {
		return err
	}
	if filled.sseURL != "" {
		if _, err := driver.ParseURL(filled.sseURL); err != nil {
			return usage("--sse-url: %w", err)
		}
	}
	t.credentials = access.credentials
	t.credentials.OldURL = filled.sseURL
	t.reach.Site, err = driver.NewSite(driver.SiteOptions{
		URL: filled.url, Header: access.header, Insecure: v.flags.remote.insecure, Roots: roots,
		Command: filled.command, Env: plant(filled.env), Dir: t.dir,
	})
	if err != nil {
		return usage("%s: %s", v.origin("url"), t.redact.text(err.Error()))
	}
	t.shown = harness.TargetInfo{
		Transport: "http", URL: t.redact.text(filled.url), Command: t.redact.texts(filled.command), Dir: t.dir,
	}
	if len(t.command) == 0 {
		return nil
	}
	t.credentials.Planted = planted
	return lookUp(t.command, t.dir)
}

// hasDirectory finds out whether there is a current directory, in which servers are started.
func hasDirectory() error {
	if _, err := os.Getwd(); err != nil {
		return usage("the current directory is gone; change to one that is there: %w", err)
	}
	return nil
}

// readRoots reads certificates that are trusted beside those of the system.
func readRoots(file string) (pem []byte, err error) {
	if file == "" {
		return nil, nil
	}
	if pem, err = readWhole(file, longestRoots); err != nil {
		return nil, usage("--cacert: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return nil, usage("--cacert %s holds no certificate in PEM", file)
	}
	return pem, nil
}

// lookUp finds out whether there is such a command, before anything is started.
func lookUp(command []string, dir string) error {
	path := command[0]
	if separator := string(os.PathSeparator); dir != "" && strings.Contains(path, separator) &&
		!strings.HasPrefix(path, separator) {
		path = dir + separator + path
	}
	_, err := exec.LookPath(path)
	switch {
	case errors.Is(err, exec.ErrDot):
		return usage("%s is in the current directory only; say ./%s", command[0], command[0])
	case err != nil:
		return cannotRun(command, err)
	}
	return nil
}

// cannotRun is the error of use for a command that does not start.
func cannotRun(command []string, err error) error {
	var wrapped *exec.Error
	var path *fs.PathError
	switch { // without what the message says already
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
		return usage("the command is empty; say mcpcheck run -- COMMAND [ARG…]")
	case reporters.IsDir(name):
		return usage("cannot run %s: it is a directory; name the program in it", name)
	case errors.Is(err, syscall.ENOEXEC):
		return usage("cannot run %s: %w; a script wants a first line such as #!/usr/bin/env %s",
			name, err, interpreter(name))
	case missing && isCommand(name):
		return usage("cannot run %s: %w; does its first line name a program that is there?", name, err)
	case missing && len(words) > 1 && isCommand(words[0]):
		return usage("cannot run %q: no such command; give the command and its arguments as words of their own: -- %s",
			name, name)
	case (missing || errors.Is(err, fs.ErrPermission)) && isFile(name):
		return usage("cannot run %s: the file is not executable; begin with what runs it, such as -- %s %s",
			name, interpreter(name), text.Shell(command...))
	case missing:
		return noSuchProgram(command)
	}
	return usage("cannot run %s: %w", name, err)
}

// noSuchProgram is the error of use for a command that is not there: what it looks like, and how to say that.
func noSuchProgram(command []string) error {
	name, all := command[0], text.Shell(command...)
	_, notURL := driver.ParseURL(name)
	switch {
	case notURL == nil:
		return usage("%s is a URL; say mcpcheck run --url %s", name, text.Shell(name))
	case isScopedPackage(name):
		return usage("cannot run %s: no such command; it looks like an npm package: -- npx -y %s", name, all)
	case lostBackslashes(name):
		return usage("cannot run %s: %s", name, quotePath)
	}
	said := fmt.Sprintf("cannot run %s: no such command; check the path, or build the server first", name)
	if mayBePackage(name) {
		said += fmt.Sprintf("; if it is an npm package: -- npx -y %s; one of Python: -- uvx %[1]s", all)
	}
	return usage("%s", said)
}

// isScopedPackage reports whether a word is the name of an npm package that has a scope, which no command has.
var isScopedPackage = regexp.MustCompile(`^@[a-z0-9~][a-z0-9._~-]*/[a-z0-9~][a-z0-9._~-]*(@[\w.^~-]+)?$`).MatchString

// mayBePackage reports whether a word is named as packages of servers are: mcp-server-time, server-memory.
var mayBePackage = regexp.MustCompile(`^([a-z0-9.]+[-_])*(mcp|server)([-_][a-z0-9.]+)*(@[\w.^~-]+)?$`).MatchString

// lostBackslashes reports whether a word looks like a path of Windows that a shell has taken the backslashes from.
var lostBackslashes = regexp.MustCompile(`^[A-Za-z]:[^\\/:]+\.\w+$`).MatchString

const quotePath = "no backslashes are left in the path; quote it"

// interpreter is what runs a script, by the end of its name.
func interpreter(script string) string {
	by := map[string]string{".py": "python3", ".ts": "npx tsx", ".mts": "npx tsx", ".rb": "ruby", ".sh": "sh"}
	return cmp.Or(by[strings.ToLower(filepath.Ext(script))], "node")
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func isCommand(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// problem is why the target could not be talked to, with what to do about it.
func (t *target) problem(err error) string {
	said := harness.ExplainAll(err).Error()
	if hint := t.hint(err); hint != "" {
		said += "\n" + hint
	}
	return t.redact.text(said)
}

// hint says what to do about an error of a server; empty when nobody knows, or the error says it.
func (t *target) hint(err error) string {
	var death *driver.Death
	var none *discovery.NotSpoken
	var unreachable *driver.Unreachable
	var elsewhere *driver.Elsewhere
	var redirected *discovery.Redirected
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	lost := slices.IndexFunc(t.command, lostBackslashes)
	switch {
	case errors.As(err, &death) && lost >= 0:
		return t.command[lost] + ": " + quotePath
	case errors.As(err, &none) && len(none.Speaks) > 0:
		return fmt.Sprintf("it speaks %s: --protocol %s",
			strings.Join(none.Speaks, ", "), none.Speaks[len(none.Speaks)-1])
	case errors.As(err, &redirected):
		return "if that is the endpoint: --url " + text.Shell(redirected.To)
	case errors.As(err, &elsewhere):
		return "mcpcheck does not follow it to another origin: --url " + text.Shell(elsewhere.To)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the server speaks no TLS here: is the URL http:// in place of https://?"
	case errors.As(err, &name):
		return "use a name that the certificate is for, or give --insecure to go without"
	case errors.As(err, &unknown), errors.As(err, &invalid):
		return "give --cacert FILE if you trust the issuer, or --insecure to go without"
	case errors.As(err, &unreachable) && errors.Is(err, syscall.ECONNREFUSED) && len(t.command) == 0:
		return "start the server first, or let mcpcheck start it: --url URL -- COMMAND"
	case strings.HasPrefix(t.url, "http://") && isCutOff(err):
		return "does it speak TLS? try https://"
	}
	return ""
}

// isCutOff reports whether a connection was closed or reset before there was an answer.
func isCutOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
