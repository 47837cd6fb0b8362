package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

func newInit() *cobra.Command {
	f := runFlags{}
	c := config{Jobs: 1, Budget: 5 * time.Minute}
	var name string
	var force bool
	cmd := &cobra.Command{
		Use:   "init [flags] [--url URL] [-- COMMAND [ARG…]]",
		Short: "Look at a server and write its mcpcheck.yaml",
		Long: `Look at a server and write a commented mcpcheck.yaml for it: how it is reached, and
its tools with arguments made from their schemas. No tool is called. The file is
for you to change; mcpcheck run finds it in the current directory.

  mcpcheck init -- node dist/index.js
  mcpcheck init --url https://example.com/mcp --bearer-env TOKEN
  mcpcheck init --url http://127.0.0.1:{port}/mcp -- ./my-server --port {port}
  mcpcheck init --server NAME

Values of variables and headers are not written, since they may be secrets; the
file says how to give them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if given := cmd.Flags().Changed; len(args) == 0 && !given("url") && !given("server") {
				return usage("no server to look at; say mcpcheck init -- COMMAND [ARG…] or mcpcheck init --url URL")
			}
			if err := writable(name, force); err != nil {
				return err
			}
			s, err := resolve(cmd, f, c, config{}, args)
			if err != nil {
				return err
			}
			return s.init(name)
		},
	}
	f.addTarget(cmd, &c)
	flags := cmd.Flags()
	flags.StringVar(&name, "config", configName, "`FILE` to write")
	flags.BoolVar(&force, "force", false, "replace the file if it is there")
	return cmd
}

// writable finds out beforehand whether a file can be written.
func writable(name string, force bool) error {
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return usage("--config %s: no directory %s; create it first", name, filepath.Dir(name))
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usage("--config: %w", err)
	case info.IsDir():
		return usage("--config %s is a directory; name a file in it", name)
	case !force:
		return usage("%s exists already; give --force to replace it, or --config FILE to write another", name)
	}
	return nil
}

// init looks at the server and writes the file.
func (s *settings) init(name string) error {
	s.openConsole(s.stdout)
	server, err := s.look()
	if err != nil {
		return err
	}
	d := s.draft(server)
	text := d.text()
	if _, err := parseConfig(name, []byte(text)); err != nil {
		return &exit{harness.ExitBroken, fmt.Errorf("the file that was made cannot be read, and was not written: %w", err)}
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return usage("--config: %w", err)
	}
	fmt.Fprintf(s.stdout, "found %s\n%s\nwrote %s\n\nnext: %s\n", d.found(), d.calls(), name, d.next(name))
	return nil
}

// look learns what the server is, and stops it.
func (s *settings) look() (*harness.Server, error) {
	defer driver.Sweep()
	ctx, listen := interruptible()
	listen()
	bounded, cancel := context.WithTimeout(ctx, s.Budget)
	defer cancel()
	if s.target.Site != nil {
		defer s.target.Site.Close(s.target.Limits) // before cancel, which kills
	}
	done := s.waiting()
	server, session, err := discovery.Server(bounded, s.target, s.requested[len(s.requested)-1])
	done()
	if session != nil {
		if err != nil {
			session.Kill()
		}
		session.Close()
	}
	switch {
	case ctx.Err() != nil:
		return nil, &exit{harness.ExitInterrupted, errors.New("interrupted; nothing was written")}
	case server == nil:
		return nil, usage("cannot run %s: %s", s.Command[0], reason(err))
	case err != nil:
		return nil, s.unseen(harness.Explain(err) + hint(err))
	case server.Failure != "":
		return nil, s.unseen(server.Failure)
	}
	return server, nil
}

// unseen is the error for a server that does not show what it is.
func (s *settings) unseen(why string) error {
	return &exit{harness.ExitUntestable, fmt.Errorf("nothing was written: %s", s.redact.Replace(why))}
}

// draft is what a new configuration file is made of.
type draft struct {
	*settings
	server *harness.Server
	tools  []toolDraft
}

// draft prepares the file for a server.
func (s *settings) draft(server *harness.Server) draft {
	d := draft{settings: s, server: server}
	seen := map[string]bool{}
	for _, tool := range server.Tools {
		if name, ok := tool["name"].(string); ok && !seen[name] {
			seen[name] = true
			d.tools = append(d.tools, s.draftTool(server, name, tool))
		}
	}
	return d
}

// found describes the server.
func (d draft) found() string {
	info := d.cleanInfo(d.server.Info())
	name := cmp.Or(strings.TrimSpace(printable(info.Name)+" "+printable(info.Version)), "a server without a name")
	transport := map[string]string{"stdio": "stdio", "http": "Streamable HTTP", "sse": "HTTP+SSE"}[d.server.Transport]
	text := fmt.Sprintf("%s over %s, revision %s", name, transport, d.server.Revision)
	if len(info.Capabilities) > 0 {
		text += ", with " + printable(strings.Join(info.Capabilities, ", "))
	}
	return text
}

// calls says which tools the file lets runs call.
func (d draft) calls() string {
	called, others := 0, []string{}
	for _, t := range d.tools {
		if t.why == "" {
			called++
		} else {
			others = append(others, t.name)
		}
	}
	text := fmt.Sprintf("tools: %d are called with the arguments in the file", called)
	switch n := len(others); {
	case len(d.tools) == 0:
		return "tools: it lists none"
	case n > mostNamed:
		text += fmt.Sprintf(", %d are not; the file says why", n)
	case n > 0:
		text += fmt.Sprintf(", %d are not: %s; the file says why", n, d.redact.Replace(printable(strings.Join(others, ", "))))
	}
	return text
}

// mostNamed is how many tools are named on one line.
const mostNamed = 8

// next says what to do with the file.
func (d draft) next(name string) string {
	words := []string{"mcpcheck", "run"}
	if name != configName {
		words = append(words, "--config", name)
	}
	unwritten := d.flags.remote // what has no key in the file
	unwritten.url, unwritten.given, unwritten.headers, unwritten.bearerEnv = "", "", nil, ""
	words = append(words, unwritten.repeat(d.redact)...)
	steps := []string{"read it through"}
	if strings.Contains(d.targetText(), "[redacted]") {
		steps = append(steps, "put in what is [redacted]")
	}
	if variables := d.variables(); len(variables) > 0 {
		steps = append(steps, "set "+strings.Join(variables, ", ")+" in the environment")
	}
	return strings.Join(steps, ", ") + ", then " + shellJoin(words)
}

// variables are those of the environment that have to be set before a run.
func (d draft) variables() (names []string) {
	for _, pair := range d.env() {
		if key, value, _ := strings.Cut(pair, "="); value != portMark {
			names = append(names, key)
		}
	}
	for _, h := range d.headers() {
		names = append(names, h.variable)
	}
	return names
}

// portMark stands for a free port.
const portMark = "{port}"
