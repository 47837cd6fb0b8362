// Package mcptest tests a server in Go inside go test, with a subtest for each requirement of the specification.
//
//	func TestConformance(t *testing.T) {
//		mcptest.Run(t, mcptest.Pipe(func(ctx context.Context, in io.Reader, out io.Writer) error {
//			return myserver.New().Serve(ctx, in, out)
//		}))
//	}
//
// A requirement that does not apply to the server, or could not be tried, is a skip with the reason; so is a failure
// that does not block under the profile. The server runs in goroutines of the test process, so that a debugger, the
// race detector and coverage work.
//
// Begin with Run, Pipe and URL. go test -run 'TestConformance/tools/list-works' shows one requirement; the option Only
// also saves the time for the others. The package writes no files, and talks to nothing but the given server.
package mcptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Server is a server under test, created by Pipe or URL.
type Server struct {
	serve driver.InProcessServer
	url   string
}

// Pipe returns a server over standard streams. serve is called once for each session, several times concurrently, and
// serves the session until in ends or ctx is done, which stands for SIGTERM. An error other than io.EOF and that of ctx
// stands for an exit status other than 0, as does a panic. What the server writes to os.Stderr is not captured. Each
// call needs state of its own, as each process of a server has.
func Pipe(serve func(ctx context.Context, in io.Reader, out io.Writer) error) Server {
	return Server{serve: func(ctx context.Context, in io.Reader, out, stderr io.Writer, term <-chan struct{}) int {
		asked, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan int, 1)
		go func() {
			status := 2
			defer func() {
				if r := recover(); r != nil {
					fmt.Fprintf(stderr, "panic: %v\n%s", r, debug.Stack())
				}
				ended <- status
			}()
			status = exitStatus(serve(asked, in, out), stderr)
		}()
		for {
			select {
			case status := <-ended:
				return status
			case <-term:
				cancel()
			case <-ctx.Done(): // the server is killed; a goroutine that goes on is abandoned
				select {
				case status := <-ended:
					return status
				case <-time.After(time.Second):
					return 1
				}
			}
		}
	}}
}

// exitStatus returns the exit status of a program that ends with the error, and writes the error to stderr.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintln(stderr, err)
	return 1
}

// URL returns a server over HTTP that is already running, such as one of httptest.NewServer, with Streamable HTTP or
// HTTP+SSE.
func URL(url string) Server { return Server{url: url} }

// Option says how a server is tested.
type Option func(*options) error

type options struct {
	profile    catalogue.Profile
	revision   string
	only       []string
	skip       []string
	calls      report.CallPolicy
	arguments  map[string]check.M
	header     http.Header
	knownFails report.KnownFails
	timeout    time.Duration
	budget     time.Duration
}

// Profile sets what counts as a failure, as mcpcheck run --profile does: release (the default), spec, strict or
// directory.
func Profile(name string) Option {
	return func(o *options) (err error) {
		o.profile, err = catalogue.ParseProfile(name)
		return err
	}
}

// Baseline sets the file of known failures, which become skips, as mcpcheck baseline writes it. An entry that no longer
// applies fails the test.
func Baseline(file string) Option {
	return func(o *options) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read the baseline: %w", err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		if err := decoder.Decode(&o.knownFails); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s is not a baseline: %w", file, err)
		}
		for i, k := range o.knownFails {
			if _, err := path.Match(k.Check, ""); k.Check == "" || k.Reason == "" || err != nil {
				return fmt.Errorf("%s: entry %d wants a check, an id or a glob, and a reason", file, i+1)
			}
		}
		return nil
	}
}

// Revision sets the revision by which the server is judged; the default is the newest one that it supports.
func Revision(revision string) Option {
	return func(o *options) error { o.revision = revision; return nil }
}

// Only selects what is tested: ids, globs (tools/*), areas, levels (must).
func Only(checks ...string) Option {
	return func(o *options) error { o.only = append(o.only, checks...); return nil }
}

// Skip leaves out what its arguments select, which are those of Only.
func Skip(checks ...string) Option {
	return func(o *options) error { o.skip = append(o.skip, checks...); return nil }
}

// Calls sets which tools may be called: safe (the default: read-only tools; with invalid arguments also those that are
// marked as not destructive), none, invalid (with invalid arguments all that are not marked as destructive), or all.
func Calls(which string) Option {
	return func(o *options) (err error) {
		o.calls, err = report.ParseCallPolicy(which)
		return err
	}
}

// Arguments sets arguments for a tool that are valid and harmless, so that it may be called with them.
func Arguments(tool string, arguments map[string]any) Option {
	return func(o *options) error { o.arguments[tool] = arguments; return nil }
}

// Header adds a header to every HTTP request. Failures may show its value.
func Header(name, value string) Option {
	return func(o *options) error { o.header.Add(name, value); return nil }
}

// Timeout sets the timeout for a response; the default is 5 s.
func Timeout(d time.Duration) Option {
	return func(o *options) error { o.timeout = d; return nil }
}

// Budget sets the limit for the whole test; the default is 5 min. If requirements have no verdict then, the test fails.
func Budget(d time.Duration) Option {
	return func(o *options) error { o.budget = d; return nil }
}

// resolveOptions applies the options to the defaults.
func resolveOptions(list []Option) (o options, selected catalogue.Selector, err error) {
	o = options{
		profile: catalogue.Release, calls: report.CallsSafe, arguments: map[string]check.M{}, header: http.Header{},
		timeout: 5 * time.Second, budget: 5 * time.Minute,
	}
	for _, option := range list {
		if err := option(&o); err != nil {
			return o, nil, err
		}
	}
	if o.revision != "" && !isRevision(o.revision) {
		return o, nil, fmt.Errorf("unknown protocol revision %q (have %s)",
			o.revision, strings.Join(catalogue.Revisions, ", "))
	}
	skip := o.skip
	if len(o.only) == 0 && !o.profile.IsDirectory() {
		skip = append([]string{"advice"}, skip...) // advice blocks under no other profile
	}
	selected, err = catalogue.Select(suites.Implemented, o.only, skip)
	return o, selected, err
}

func isRevision(revision string) bool {
	for _, r := range catalogue.Revisions {
		if r == revision {
			return true
		}
	}
	return false
}

// Run tests the server, with a subtest for each area and in it one for each requirement. It returns when the server has
// ended. Do not call it concurrently in one test; several tests may run in parallel.
func Run(t *testing.T, s Server, list ...Option) {
	t.Helper()
	o, selected, err := resolveOptions(list)
	if err == nil {
		err = runPlan(t, s, o, selected)
	}
	if err != nil {
		t.Fatalf("mcptest: %v", err)
	}
}
