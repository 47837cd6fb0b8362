// Package target connects to the server that is tested.
//
// Resolve makes a Target of the options: where the server is (address.go), the credentials for a server over HTTP
// (credentials.go), and the parameters of package driver. It finds every error in how the server is reached before
// anything is started. Lifetime begins and ends the time that mcpcheck spends with the server, and handles the
// operator's signals; Discover finds out what the server offers. Further processes of a server that is started by a
// launcher such as npx are started without it (launcher.go).
//
// A Notifier shows what is waited for. ErrorText puts errors into words, with a hint at the remedy, and without
// secrets.
package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Target is the server that is tested. Its address is valid as far as that can be decided without starting the server.
type Target struct {
	config.Address
	DriverTarget driver.Target
	Credentials  check.Credentials
	Redactor     redact.Redactor
	// Info is the address as reports show it.
	Info report.TargetInfo
	// quick says that only one session is used.
	quick bool
	// skipsLauncher says that processes are started without the launcher.
	skipsLauncher bool
	// ParentPipe is a pipe at whose end the run ends; nil means that there is none.
	ParentPipe io.Reader
	// interruptCtx ends when the operator interrupts the run; see NotifySignals.
	interruptCtx context.Context
}

// Resolve returns the target of the options, or an error of usage.
func Resolve(v config.Options, stderr io.Writer) (*Target, error) {
	if err := process.ValidateWorkingDir(); err != nil {
		return nil, err
	}
	if v.IgnoredFile != "" {
		fmt.Fprintf(stderr, "mcpcheck: %s is not read, since there is %s; remove one of them\n", v.IgnoredFile, v.Name)
	}
	var s redact.Secrets
	a, err := resolveAddress(v, &s, stderr)
	if err != nil {
		return nil, err
	}
	if a.Dir != "" && !files.IsDir(a.Dir) {
		return nil, exit.Usagef("%s %s is not a directory", v.Origin("cwd"), a.Dir)
	}
	for _, pair := range a.Env {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, exit.Usagef("--env needs KEY=VALUE, not %q", pair)
		}
		s.Add(value)
	}
	if len(a.Command) > 0 {
		s.AddCommand(a.Command)
		s.AddInherited(os.Environ())
	}
	t := &Target{Address: a, quick: v.Flags.Quick, DriverTarget: driver.Target{
		Limits: driver.Limits{MaxMessageBytes: v.MaxMessageBytes, ReplyTimeout: v.Timeout,
			StartTimeout: v.StartTimeout},
		MemoryBudget: driver.NewMemoryBudget(MaxWireBytes), Waits: &driver.Waits{},
	}}
	if a.URL == "" {
		err = t.setUpStdio(v, &s)
	} else {
		err = t.setUpHTTP(v, &s)
	}
	return t, err
}

// MaxWireBytes is how many bytes of recorded messages are kept in memory, for all sessions together.
const MaxWireBytes = 16 << 20

// setUpStdio sets up the target of a command.
func (t *Target) setUpStdio(v config.Options, s *redact.Secrets) error {
	t.Redactor = s.Redactor()
	if v.Flags.NeedsURL() {
		return exit.Usagef("--header, --bearer-env, --insecure and the like want --url")
	}
	t.DriverTarget.Command, t.DriverTarget.Env, t.DriverTarget.Dir = t.Command, WithMarkerSecret(t.Env), t.Dir
	if v.GateProfile.IsDirectory() {
		t.DriverTarget.UnconfiguredEnv = redact.WithoutSecrets(os.Environ())
	}
	t.Credentials.EnvironmentSecret = markerSecret
	t.Info = report.TargetInfo{Transport: "stdio", Command: t.Redactor.Texts(t.Command), Dir: t.Dir}
	return process.LookUp(t.Command, t.Dir)
}

// markerSecret is the value of a variable in the server's environment that has the name of a secret. No server may log
// it.
const markerSecret = "mcpcheck-planted-8f2c41d97b"

// WithMarkerSecret adds the variable with the marker secret to an environment.
func WithMarkerSecret(env []string) []string {
	return append(slices.Clone(env), "MCPCHECK_API_KEY="+markerSecret)
}

// setUpHTTP sets up the target of a URL, and of the command that serves it if there is one.
func (t *Target) setUpHTTP(v config.Options, s *redact.Secrets) error {
	access, err := readCredentials(v, t.Address, s)
	if t.Redactor = s.Redactor(); err != nil {
		return err
	}
	filled, err := withFreePort(t.Address)
	if err != nil {
		return err
	}
	roots, err := readCACert(v.Flags.Remote.Cacert)
	if err != nil {
		return err
	}
	if filled.SSEURL != "" {
		if _, err := driver.ParseURL(filled.SSEURL); err != nil {
			return exit.Usagef("--sse-url: %w", err)
		}
	}
	t.Credentials = access.tokens
	t.Credentials.SSEURL = filled.SSEURL
	t.DriverTarget.Site, err = driver.NewSite(driver.SiteOptions{
		URL: filled.URL, Header: access.header, Insecure: v.Flags.Remote.Insecure, RootCAs: roots,
		RatePerSecond: float64(v.Rate), Command: filled.Command, Env: WithMarkerSecret(filled.Env), Dir: t.Dir,
	})
	if err != nil {
		return exit.Usagef("%s: %s", v.Origin("url"), t.Redactor.Text(err.Error()))
	}
	t.Info = report.TargetInfo{
		Transport: "http", URL: t.Redactor.Text(filled.URL), Command: t.Redactor.Texts(filled.Command), Dir: t.Dir,
	}
	if len(t.Command) == 0 {
		return nil
	}
	t.Credentials.EnvironmentSecret = markerSecret
	return process.LookUp(t.Command, t.Dir)
}

// readCACert reads certificates that are trusted in addition to those of the system.
func readCACert(file string) (pem []byte, err error) {
	if file == "" {
		return nil, nil
	}
	if pem, err = files.ReadLimited(file, maxCACertBytes); err != nil {
		return nil, exit.Usagef("--cacert: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return nil, exit.Usagef("--cacert %s holds no certificate in PEM", file)
	}
	return pem, nil
}

// ErrorText describes why mcpcheck could not communicate with the target, and what to do about it.
func (t *Target) ErrorText(err error) string {
	said := check.ExplainAll(err).Error()
	if hint := t.hint(err); hint != "" {
		said += "\n" + hint
	}
	return t.Redactor.Text(said)
}

// hint says what to do about an error of a server; it is empty when that is unknown, or the error says it.
func (t *Target) hint(err error) string {
	var death *driver.SessionEndError
	var none *discovery.UnsupportedRevisionError
	var unreachable *driver.UnreachableError
	var redirected *driver.RedirectError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	lost := slices.IndexFunc(t.Command, process.LacksBackslashes)
	switch {
	case errors.As(err, &death) && lost >= 0:
		return t.Command[lost] + ": " + process.QuotePathHint
	case errors.As(err, &none) && len(none.Supported) > 0:
		return fmt.Sprintf("it supports %s: --protocol %s",
			strings.Join(none.Supported, ", "), none.Supported[len(none.Supported)-1])
	case errors.As(err, &redirected) && redirected.IsOtherOrigin:
		return "mcpcheck does not follow it to another origin: --url " + text.Shell(redirected.To)
	case errors.As(err, &redirected):
		return "if that is the endpoint: --url " + text.Shell(redirected.To)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not use TLS here: does the URL begin with http:// rather than https://?"
	case errors.As(err, &name):
		return "use a name that the certificate is for, or give --insecure to go without"
	case errors.As(err, &unknown), errors.As(err, &invalid):
		return "give --cacert FILE if you trust the issuer, or --insecure to go without"
	case errors.As(err, &unreachable) && errors.Is(err, syscall.ECONNREFUSED) && len(t.Command) == 0:
		return "start the server first, or let mcpcheck start it: --url URL -- COMMAND"
	case strings.HasPrefix(t.URL, "http://") && isConnectionLost(err):
		return "does it speak TLS? try https://"
	}
	return ""
}

// isConnectionLost reports whether a connection was closed or reset before the response.
func isConnectionLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// maxCACertBytes is the size limit of a certificate file; the bundle of a system has a quarter of a MiB.
const maxCACertBytes = 8 << 20
