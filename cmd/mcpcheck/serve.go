package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/faults"
	"github.com/mcpcheck/mcpcheck/fixtures/variations"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// serveFlags are the flags of serve, which say how the built-in server behaves.
type serveFlags struct {
	fault      string
	variation  string
	listFaults bool
	moreTools  int
	everything bool
	protocol   string
	address    string
	sse        bool
	stateless  bool
	auth       bool
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the built-in reference server, over stdio or HTTP",
		Long: `Run the built-in reference server: conforming in every revision, or with one fault.
Faults are named after the check that detects them. A variation is a legal change,
which no check may report; mcpcheck list --variations shows them. With either, the
newest revision that the server supports is one in which it shows.

  mcpcheck serve                                  over stdio
  mcpcheck serve --protocol 2026-07-28            without a handshake
  mcpcheck serve --http 127.0.0.1:8765            Streamable HTTP at /mcp
  mcpcheck serve --http 127.0.0.1:8765 --sse      HTTP+SSE of 2024-11-05 at /sse
  mcpcheck serve --http 127.0.0.1:8765 --auth     protected; the tokens are on stderr
  mcpcheck serve --http 127.0.0.1:8765 --everything
                                                  with everything that the official suite
                                                  @modelcontextprotocol/conformance needs`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.address, "http", "", "serve over HTTP on this `ADDRESS`, as 127.0.0.1:8765")
	flags.BoolVar(&f.sse, "sse", false, "over HTTP: the transport HTTP+SSE of 2024-11-05")
	flags.BoolVar(&f.stateless, "stateless", false, "over HTTP: without sessions")
	flags.BoolVar(&f.auth, "auth", false,
		"over HTTP: require a bearer token; valid and invalid ones are listed on stderr")
	flags.StringVar(&f.protocol, "protocol", "", "support only this `REVISION`")
	flags.StringVar(&f.fault, "fault", "", "serve with the fault `ID`")
	flags.StringVar(&f.variation, "variation", "", "serve with the variation `ID`")
	flags.IntVar(&f.moreTools, "tools", 0, "list `N` more tools, in pages of fifty")
	flags.BoolVar(&f.everything, "everything", false, "also offer what the official conformance suite needs; no pages")
	flags.BoolVar(&f.listFaults, "list-faults", false, "list the faults")
	return cmd
}

func (f serveFlags) serve(cmd *cobra.Command) error {
	if f.listFaults {
		for _, f := range faults.All() {
			fmt.Fprintln(cmd.OutOrStdout(), f.ID())
		}
		return nil
	}
	change, until, err := f.serverChange()
	switch {
	case f.fault != "" && f.variation != "":
		return exit.Usagef("--fault and --variation exclude each other")
	case f.moreTools < 0:
		return exit.Usagef("--tools must not be less than 0")
	case err != nil:
		return err
	case f.protocol != "" && !slices.Contains(fixtures.Revisions, f.protocol):
		return exit.Usagef("no revision %q; have %s", f.protocol, strings.Join(fixtures.Revisions, ", "))
	case f.address != "":
		return f.serveHTTP(cmd, change, until)
	case f.sse || f.stateless || f.auth:
		return exit.Usagef("--sse, --stateless and --auth want --http ADDRESS")
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	defer signal.Stop(term)
	return serverExit(fixtures.Serve(context.Background(), fixtures.Stdio{
		In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Term: signalEvents(term),
		ExtraTools: f.moreTools, OfficialSuite: f.everything, Revision: f.protocol, NewestRevision: until,
	}, change))
}

// serverExit returns the error for the exit status of a server.
func serverExit(code int) error {
	if code != 0 {
		return exit.Status(code)
	}
	return nil
}

// serveHTTP serves over HTTP until a signal arrives.
func (f serveFlags) serveHTTP(cmd *cobra.Command, change fixtures.Fault, until string) error {
	if f.sse && f.stateless {
		return exit.Usagef("--sse and --stateless exclude each other: every stream of HTTP+SSE is a session")
	}
	if f.sse && slices.Contains(fixtures.Modern, f.protocol) {
		return exit.Usagef("--sse has no %s: every stream of HTTP+SSE is a session", f.protocol)
	}
	l, err := net.Listen("tcp", f.address)
	if err != nil {
		return exit.Usagef("--http %s: %w", f.address, err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exited := make(chan int, 1)
	origin := "http://" + l.Addr().String()
	web := f.webOptions(cmd, origin, exited)
	web.NewestRevision, web.Closing = until, ctx.Done()
	server := &http.Server{
		Handler:           fixtures.Handler(cmd.Context(), web, change),
		ReadHeaderTimeout: 10 * time.Second,
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "listening on %s%s\n", origin, map[bool]string{false: "/mcp", true: "/sse"}[f.sse])
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	defer server.Close()
	select {
	case code := <-exited:
		return serverExit(code)
	case <-ctx.Done():
		const moment = 200 * time.Millisecond
		ctx, cancel := context.WithTimeout(context.Background(), moment)
		defer cancel()
		server.Shutdown(ctx) // aborts requests that take longer
		return nil
	case err := <-failed:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
}

// webOptions returns the options of the server over HTTP; for a protected server it prints the tokens.
func (f serveFlags) webOptions(cmd *cobra.Command, origin string, exited chan<- int) fixtures.HTTPOptions {
	w := fixtures.HTTPOptions{
		SSE: f.sse, Stateless: f.stateless, ExtraTools: f.moreTools, OfficialSuite: f.everything, Revision: f.protocol,
		Log: cmd.ErrOrStderr(), Exit: func(code int) { exited <- code },
	}
	if f.auth {
		var tokens fixtures.Tokens
		w.Protection, tokens = fixtures.NewDemoProtection(origin)
		for _, t := range []struct{ kind, token string }{
			{"good", tokens.Valid}, {"second", tokens.Second}, {"expired", tokens.Expired},
			{"narrow", tokens.InsufficientScope}, {"broad", tokens.BroadScope},
			{"other-audience", tokens.OtherAudience},
		} {
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s: %s\n", t.kind, t.token)
		}
	}
	return w
}

// serverChange returns the change to the conforming server, and the newest revision that it supports: the requested
// one, or else the one in which the change has an effect. Empty means the newest of all.
func (f serveFlags) serverChange() (change fixtures.Fault, until string, err error) {
	if f.variation == "" {
		change, err = findFault(f.fault)
		until = revisionOfFault(change)
	} else {
		v, ok := variations.Find(f.variation)
		if !ok {
			return change, "", exit.Usagef("no variation %q; mcpcheck list --variations shows them all", f.variation)
		}
		change, until = v.Change, v.Until
	}
	if f.protocol != "" {
		until = ""
	}
	return change, until, err
}

// revisionOfFault returns the newest revision in which the check of a fault runs, or the one that the fault names; it
// is empty without a fault. It parses only a part of the catalogue, since a run starts the server twenty times.
func revisionOfFault(f fixtures.Fault) string {
	name, _, _ := strings.Cut(f.Check, "/")
	at := slices.IndexFunc(suites.Areas, func(a suites.Area) bool { return a.Name == name })
	if at < 0 || f.Revision != "" {
		return f.Revision
	}
	entries := suites.Areas[at].Requirements()
	entry := slices.IndexFunc(entries, func(r *catalogue.Requirement) bool { return r.ID == f.Check })
	for _, revision := range slices.Backward(catalogue.Revisions) {
		if suites.HasCheckIn(entries[entry], revision) {
			return revision
		}
	}
	return ""
}

func findFault(id string) (fixtures.Fault, error) {
	if id == "" {
		return fixtures.Fault{}, nil
	}
	if f, ok := faults.Find(id); ok {
		return f, nil
	}
	var ids []string
	for _, f := range faults.All() {
		ids = append(ids, f.ID())
	}
	const list = "; mcpcheck serve --list-faults shows them all"
	return fixtures.Fault{}, exit.Usagef("no fault %q%s", id, text.Suggestion(id, ids, list))
}

// signalEvents converts a channel of signals into one of empty values, which package fixtures expects.
func signalEvents(signals <-chan os.Signal) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		for range signals {
			out <- struct{}{}
		}
	}()
	return out
}
