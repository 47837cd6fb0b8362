// Package mcptest judges a server inside go test, for its author: a subtest for each requirement of the specification.
//
//	func TestConformance(t *testing.T) {
//		mcptest.Run(t, mcptest.Pipe(func(ctx context.Context, in io.Reader, out io.Writer) error {
//			return myserver.New().Serve(ctx, in, out)
//		}))
//	}
//
// A requirement that does not apply to the server, or that could not be tried, is a skip that says why; so is one that
// the server breaks without that counting by the profile. Nothing is started but goroutines, so that a debugger, the
// race detector and coverage see the server. go test -run 'TestConformance/tools/list-works' tells of one requirement;
// Only also saves the time of all others.
package mcptest

import (
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

	"github.com/goccy/go-yaml"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Server is a server that can be judged: that of Pipe or URL.
type Server struct {
	serve driver.InProcessServer
	url   string
}

// Pipe is a server over standard streams. serve is called once for each session, several times at once, and serves it
// until in ends or ctx does, which stands for SIGTERM. An error but io.EOF and that of ctx stands for an exit status
// other than 0, as does a panic; what the server writes to os.Stderr is not seen. Each call should have state of its
// own, as each process of a server has.
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
			case <-ctx.Done(): // it is killed; a goroutine that goes on is left behind
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

// exitStatus is that of a program that ends with the error, which it tells on stderr.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintln(stderr, err)
	return 1
}

// URL is a server over HTTP that is there already, such as one of httptest.NewServer: Streamable HTTP, or HTTP+SSE if
// the URL speaks that.
func URL(url string) Server { return Server{url: url} }

// Option says how a server is judged.
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

// Profile says what counts as a failure, as mcpcheck run --profile does: release (the default), spec, strict or
// directory.
func Profile(name string) Option {
	return func(o *options) (err error) {
		o.profile, err = catalogue.ParseProfile(name)
		return err
	}
}

// Baseline is a file of known fails, which are skips, as mcpcheck baseline writes it. An entry that does not hold any
// more fails the test.
func Baseline(file string) Option {
	return func(o *options) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read the baseline: %w", err)
		}
		if err := yaml.UnmarshalWithOptions(text, &o.knownFails, yaml.Strict()); err != nil {
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

// Revision is the one by which the server is judged; without it, the newest that it speaks.
func Revision(revision string) Option {
	return func(o *options) error { o.revision = revision; return nil }
}

// Only selects what is judged: ids, globs (tools/*), areas, levels (must).
func Only(checks ...string) Option {
	return func(o *options) error { o.only = append(o.only, checks...); return nil }
}

// Skip leaves out what it selects.
func Skip(checks ...string) Option {
	return func(o *options) error { o.skip = append(o.skip, checks...); return nil }
}

// Calls says which tools may be called: safe (the default: read-only ones; with invalid arguments also those that say
// that they are not destructive), none, invalid (with invalid arguments all that are not marked destructive), or all.
func Calls(which string) Option {
	return func(o *options) (err error) {
		o.calls, err = report.ParseCallPolicy(which)
		return err
	}
}

// Arguments are valid for a tool, and harmless: it may be called with them.
func Arguments(tool string, arguments map[string]any) Option {
	return func(o *options) error { o.arguments[tool] = arguments; return nil }
}

// Header is a header of every HTTP request. What a test fails with may show it.
func Header(name, value string) Option {
	return func(o *options) error { o.header.Add(name, value); return nil }
}

// Timeout is how long the server has for one answer (5 s), and Budget for all of it (5 m).
func Timeout(d time.Duration) Option {
	return func(o *options) error { o.timeout = d; return nil }
}

// Budget is how long all of it may take (5 m). What has no verdict then fails the test.
func Budget(d time.Duration) Option {
	return func(o *options) error { o.budget = d; return nil }
}

// resolveOptions puts options together.
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
	if len(o.only) == 0 && o.profile != catalogue.Directory {
		skip = append([]string{"advice"}, skip...) // which gates nowhere else
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

// Run judges the server: a subtest for each requirement, below one for its area. It returns when the server has ended.
// It must not run beside itself within one test; several tests may run in parallel.
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
