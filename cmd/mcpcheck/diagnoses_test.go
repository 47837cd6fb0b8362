package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDiagnoses proves that mcpcheck recognizes what a server writes at the start instead of messages, and names the
// remedy. It starts all servers at the same time, since each takes until the timeout.
func TestDiagnoses(t *testing.T) {
	t.Parallel()
	type started struct {
		*exec.Cmd
		said bytes.Buffer
	}
	runs := make([]started, len(diagnoses))
	for i, d := range diagnoses {
		args := append([]string{"run", "--", "badserver"}, d.server...)
		runs[i].Cmd = exec.CommandContext(t.Context(), "mcpcheck", args...)
		runs[i].Stdout, runs[i].Stderr = &runs[i].said, &runs[i].said
		if err := runs[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, d := range diagnoses {
		runs[i].Wait()
		want := regexp.MustCompile(`NOT TESTED ` + d.cause + `.*` + d.hint)
		said := strings.Join(strings.Fields(runs[i].said.String()), " ") // the hint is wrapped
		if code := runs[i].ProcessState.ExitCode(); code != 3 || !want.MatchString(said) {
			t.Errorf("%s: exit code %d, want 3 and a text like %s, got\n%s",
				strings.Join(d.server, " "), code, want, &runs[i].said)
		}
	}
}

const noAnswerPattern = `no answer to initialize within 15s \(--start-timeout\)`

// diagnoses are misbehaving servers, with regular expressions for the text about what they write.
var diagnoses = []struct {
	server      []string
	cause, hint string
}{
	{
		[]string{"writing", "pretty"},
		`no answer to initialize: what came in its place is not JSON; instead the server wrote "\{"`,
		`its messages span several lines: write JSON without indentation`,
	},
	{[]string{"writing", "utf16"}, ``, `it looks like UTF-16: write UTF-8`},
	{
		[]string{"writing", "nul"},
		``, `its messages end with a NUL byte: end each with a newline, and nothing else`,
	},
	{
		[]string{"writing", "framed"},
		``, `it has Content-Length headers, .*: write each message on a line of its own, without headers`,
	},
	{[]string{"writing", "two"}, ``, `there are several messages in one line: write a newline after each`},
	{
		[]string{"writing", "no-newline"},
		noAnswerPattern + ` \(\d+ bytes came without a newline\)`, `there is no newline after its message: write one ` +
			`after each, and flush`,
	},
	{
		[]string{"writing", "event"},
		``, `it is an event stream, as servers over HTTP write it: write each message on a line of its ` +
			`own, and nothing else`,
	},
	{
		[]string{"writing", "prefixed"},
		``, `there is a text before its message on the same line: write that to stderr`,
	},
	{[]string{"writing", "comma"}, ``, `it is not JSON: invalid character .*`},
	{[]string{"writing", "half"}, ``, `its message breaks off in the middle`},
	{
		[]string{"buffering"},
		noAnswerPattern, `the answer came once stdin was closed: flush stdout after each message \(in Python: ` +
			`flush=True, or python -u\), and answer each line when it comes; a server that only starts ` +
			`slowly wants a longer --start-timeout`,
	},
	{
		[]string{"headers"},
		noAnswerPattern, `it wants Content-Length headers, as the Language Server Protocol has them: read and write ` +
			`each message on a line of its own, without headers`,
	},
	{
		[]string{"oldest"},
		noAnswerPattern, `it answers initialize with 2024-11-05, and not with 2025-11-25: answer a version that the ` +
			`server does not know with one that it does. To test it as it is: --protocol 2024-11-05`,
	},
	{[]string{"to-stderr"}, ``, `its messages are on stderr: write them to stdout`},
	{
		[]string{"saying", "Uvicorn running on http://127.0.0.1:8000/mcp (Press CTRL+C to quit)"},
		``, `it looks like a server over HTTP: use --url http://127.0.0.1:8000/mcp`,
	},
	{
		[]string{"saying", "Need to install the following packages:", "weather@1.0.0", "Ok to proceed? (y) "},
		``, `npx asks before it installs: use npx -y`,
	},
	{[]string{"writing", "repeated"}, ``, `its message has the member id more than once`},
	{[]string{"echo"}, ``, `it sends back what it is sent: is the command an MCP server\?`},
}
