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
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// target is the server that is looked at, found to be within reach as far as that can be told without starting it.
type target struct {
	address
	driverTarget  driver.Target
	credentials   check.Credentials
	redactor      redactor
	info          report.TargetInfo // the address as reports show it
	quick         bool              // it is reached by one session
	skipsLauncher bool              // what its launcher runs is started without it
	parentPipe    io.Reader         // with which the visit ends; nil: there is none
	interruptCtx  context.Context   // ends when the operator does not want it any more; see heed
}

// resolveTarget finds the server that is asked for, and all that is wrong with how it is reached.
func resolveTarget(v options, stderr io.Writer) (*target, error) {
	if err := validateWorkingDir(); err != nil {
		return nil, err
	}
	if v.ignoredFile != "" {
		fmt.Fprintf(stderr, "mcpcheck: %s is not read, since there is %s; remove one of them\n", v.ignoredFile, v.name)
	}
	var s secrets
	a, err := resolveAddress(v, &s, stderr)
	if err != nil {
		return nil, err
	}
	if a.dir != "" && !reporters.IsDir(a.dir) {
		return nil, usageErrorf("%s %s is not a directory", v.origin("cwd"), a.dir)
	}
	for _, pair := range a.env {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usageErrorf("--env wants KEY=VALUE, not %q", pair)
		}
		s.add(value)
	}
	if len(a.command) > 0 {
		s.addCommand(a.command)
		s.addInherited(os.Environ())
	}
	t := &target{address: a, quick: v.flags.quick, driverTarget: driver.Target{
		Limits: driver.Limits{MaxMessageBytes: v.maxMessage, ReplyTimeout: v.Timeout,
			StartTimeout: v.StartTimeout},
		MemoryBudget: driver.NewMemoryBudget(maxWireBytes), Waits: &driver.Waits{},
	}}
	if a.url == "" {
		err = t.setUpStdio(v, &s)
	} else {
		err = t.setUpHTTP(v, &s)
	}
	return t, err
}

// maxWireBytes is how many bytes of all wires are kept at a time.
const maxWireBytes = 16 << 20

// setUpStdio makes the target of a command.
func (t *target) setUpStdio(v options, s *secrets) error {
	t.redactor = s.redactor()
	if v.flags.needsURL() {
		return usageErrorf("--header, --bearer-env, --insecure and the like want --url")
	}
	t.driverTarget.Command, t.driverTarget.Env, t.driverTarget.Dir = t.command, withMarkerSecret(t.env), t.dir
	t.credentials.EnvironmentSecret = markerSecret
	t.info = report.TargetInfo{Transport: "stdio", Command: t.redactor.texts(t.command), Dir: t.dir}
	return lookUpCommand(t.command, t.dir)
}

// markerSecret is the value of a variable in the environment of the server that is named like a secret: none may log
// it.
const markerSecret = "mcpcheck-planted-8f2c41d97b"

// withMarkerSecret adds it to the environment.
func withMarkerSecret(env []string) []string {
	return append(slices.Clone(env), "MCPCHECK_API_KEY="+markerSecret)
}

// setUpHTTP makes the target of a URL, and of the command that serves it if there is one.
func (t *target) setUpHTTP(v options, s *secrets) error {
	access, err := readCredentials(v, t.address, s)
	if t.redactor = s.redactor(); err != nil {
		return err
	}
	filled, err := t.withFreePort()
	if err != nil {
		return err
	}
	roots, err := readCACert(v.flags.remote.cacert)
	if err != nil {
		return err
	}
	if filled.sseURL != "" {
		if _, err := driver.ParseURL(filled.sseURL); err != nil {
			return usageErrorf("--sse-url: %w", err)
		}
	}
	t.credentials = access.tokens
	t.credentials.SSEURL = filled.sseURL
	t.driverTarget.Site, err = driver.NewSite(driver.SiteOptions{
		URL: filled.url, Header: access.header, Insecure: v.flags.remote.insecure, RootCAs: roots,
		Command: filled.command, Env: withMarkerSecret(filled.env), Dir: t.dir,
	})
	if err != nil {
		return usageErrorf("%s: %s", v.origin("url"), t.redactor.text(err.Error()))
	}
	t.info = report.TargetInfo{
		Transport: "http", URL: t.redactor.text(filled.url), Command: t.redactor.texts(filled.command), Dir: t.dir,
	}
	if len(t.command) == 0 {
		return nil
	}
	t.credentials.EnvironmentSecret = markerSecret
	return lookUpCommand(t.command, t.dir)
}

// validateWorkingDir finds out whether there is a current directory, in which servers are started.
func validateWorkingDir() error {
	if _, err := os.Getwd(); err != nil {
		return usageErrorf("the current directory is gone; change to one that is there: %w", err)
	}
	return nil
}

// readCACert reads certificates that are trusted beside those of the system.
func readCACert(file string) (pem []byte, err error) {
	if file == "" {
		return nil, nil
	}
	if pem, err = readLimited(file, maxCACertBytes); err != nil {
		return nil, usageErrorf("--cacert: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return nil, usageErrorf("--cacert %s holds no certificate in PEM", file)
	}
	return pem, nil
}

// lookUpCommand finds out whether there is such a command, before anything is started.
func lookUpCommand(command []string, dir string) error {
	path := command[0]
	if separator := string(os.PathSeparator); dir != "" && strings.Contains(path, separator) &&
		!strings.HasPrefix(path, separator) {
		path = dir + separator + path
	}
	_, err := exec.LookPath(path)
	switch {
	case errors.Is(err, exec.ErrDot):
		return usageErrorf("%s is in the current directory only; say ./%s", command[0], command[0])
	case err != nil:
		return commandError(command, err)
	}
	return nil
}

// commandError is the error of use for a command that does not start.
func commandError(command []string, err error) error {
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
		return usageErrorf("the command is empty; say mcpcheck run -- COMMAND [ARG…]")
	case reporters.IsDir(name):
		return usageErrorf("cannot run %s: it is a directory; name the program in it", name)
	case errors.Is(err, syscall.ENOEXEC):
		return usageErrorf("cannot run %s: %w; a script wants a first line such as #!/usr/bin/env %s",
			name, err, interpreterOf(name))
	case missing && isCommand(name):
		return usageErrorf("cannot run %s: %w; does its first line name a program that is there?", name, err)
	case missing && len(words) > 1 && isCommand(words[0]):
		return usageErrorf(
			"cannot run %q: no such command; give the command and its arguments as words of their own: -- %s",
			name, name)
	case (missing || errors.Is(err, fs.ErrPermission)) && isRegularFile(name):
		return usageErrorf("cannot run %s: the file is not executable; begin with what runs it, such as -- %s %s",
			name, interpreterOf(name), text.Shell(command...))
	case missing:
		return commandNotFoundError(command)
	}
	return usageErrorf("cannot run %s: %w", name, err)
}

// commandNotFoundError is the error of use for a command that is not there: what it looks like, and how to say that.
func commandNotFoundError(command []string) error {
	name, all := command[0], text.Shell(command...)
	_, notURL := driver.ParseURL(name)
	switch {
	case notURL == nil:
		return usageErrorf("%s is a URL; say mcpcheck run --url %s", name, text.Shell(name))
	case isScopedPackage(name):
		return usageErrorf("cannot run %s: no such command; it looks like an npm package: -- npx -y %s", name, all)
	case lacksBackslashes(name):
		return usageErrorf("cannot run %s: %s", name, quotePathHint)
	}
	said := fmt.Sprintf("cannot run %s: no such command; check the path, or build the server first", name)
	if looksLikePackage(name) {
		said += fmt.Sprintf("; if it is an npm package: -- npx -y %s; one of Python: -- uvx %[1]s", all)
	}
	return usageErrorf("%s", said)
}

// isScopedPackage reports whether a word is the name of an npm package that has a scope, which no command has.
var isScopedPackage = regexp.MustCompile(`^@[a-z0-9~][a-z0-9._~-]*/[a-z0-9~][a-z0-9._~-]*(@[\w.^~-]+)?$`).MatchString

// looksLikePackage reports whether a word is named as packages of servers are: mcp-server-time, server-memory.
var looksLikePackage = regexp.MustCompile(`^([a-z0-9.]+[-_])*(mcp|server)([-_][a-z0-9.]+)*(@[\w.^~-]+)?$`).MatchString

// lacksBackslashes reports whether a word looks like a path of Windows that a shell has taken the backslashes from.
var lacksBackslashes = regexp.MustCompile(`^[A-Za-z]:[^\\/:]+\.\w+$`).MatchString

const quotePathHint = "no backslashes are left in the path; quote it"

// interpreterOf is what runs a script, by the end of its name.
func interpreterOf(script string) string {
	by := map[string]string{".py": "python3", ".ts": "npx tsx", ".mts": "npx tsx", ".rb": "ruby", ".sh": "sh"}
	return cmp.Or(by[strings.ToLower(filepath.Ext(script))], "node")
}

func isRegularFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func isCommand(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// problem is why the target could not be talked to, with what to do about it.
func (t *target) errorText(err error) string {
	said := check.ExplainAll(err).Error()
	if hint := t.hint(err); hint != "" {
		said += "\n" + hint
	}
	return t.redactor.text(said)
}

// hint says what to do about an error of a server; empty when nobody knows, or the error says it.
func (t *target) hint(err error) string {
	var death *driver.SessionEndError
	var none *discovery.UnsupportedRevisionError
	var unreachable *driver.UnreachableError
	var elsewhere *driver.CrossOriginRedirectError
	var redirected *discovery.RedirectError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	lost := slices.IndexFunc(t.command, lacksBackslashes)
	switch {
	case errors.As(err, &death) && lost >= 0:
		return t.command[lost] + ": " + quotePathHint
	case errors.As(err, &none) && len(none.Supported) > 0:
		return fmt.Sprintf("it speaks %s: --protocol %s",
			strings.Join(none.Supported, ", "), none.Supported[len(none.Supported)-1])
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
	case strings.HasPrefix(t.url, "http://") && isConnectionLost(err):
		return "does it speak TLS? try https://"
	}
	return ""
}

// isConnectionLost reports whether a connection was closed or reset before there was an answer.
func isConnectionLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
