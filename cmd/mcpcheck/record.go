package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/recorder"
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
				return exit.Usagef("record needs --out FILE, the trace to write")
			case server != "" && len(command) > 0:
				return exit.Usagef(
					"--url and a command exclude each other: start the server separately, and leave out %s",
					strings.Join(command, " "))
			case server != "" && listen == "":
				return exit.Usagef("--url needs --listen ADDRESS, such as 127.0.0.1:9000, where clients find it")
			case server != "":
				return recorder.HTTP(server, listen, out, cmd.ErrOrStderr())
			case listen != "":
				return exit.Usagef("--listen needs --url URL, the server that requests are passed on to")
			case len(command) == 0:
				return exit.Usagef("record needs a command, or --url; say mcpcheck record --out FILE -- COMMAND [ARG…]")
			}
			return recorder.Stdio(command, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to append the session to")
	cmd.Flags().StringVar(&server, "url", "", "`URL` of the server to record")
	cmd.Flags().StringVar(&listen, "listen", "", "`ADDRESS` to listen on, such as 127.0.0.1:9000")
	return cmd
}
