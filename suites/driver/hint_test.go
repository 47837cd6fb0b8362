package driver

import (
	"strings"
	"testing"
)

func TestHint(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}`
	const request = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	for name, c := range map[string]struct {
		stdout, stderr string
		late           bool
		want           string // a part of the hint; empty if there is none
	}{
		"nothing":                  {},
		"a banner":                 {stdout: "Weather server 1.0\n"},
		"a log of the network":     {stderr: "connected to http://localhost:9200\n"},
		"an address to read":       {stderr: "FastMCP is ready, docs: https://gofastmcp.com\n"},
		"a message":                {stdout: answer + "\n"},
		"a message after a banner": {stdout: "ready\n" + answer + "\n"},
		"braces in a text":         {stdout: `{"jsonrpc":"2.0","method":"a","params":{"b":"}{"}}` + "\n"},
		"a log of messages":        {stdout: answer + "\n", stderr: "→ " + answer},
		"a log of requests":        {stderr: `{"method":"initialize","jsonrpc":"2.0"}`},
		"an object in a log":       {stdout: "{ starting\n"},

		"indented":            {stdout: "{\n  \"id\": 1\n}\n", want: "several lines"},
		"indented on Windows": {stdout: "{\r\n\t\"id\": 1\r\n}\r\n", want: "several lines"},
		"indented, later":     {stdout: "ready\n{\n  \"id\": 1\n}\n", want: "several lines"},
		"a byte order mark":   {stdout: "\ufeff" + answer + "\n", want: "byte order mark"},
		"UTF-16":              {stdout: "\xff\xfe{\x00\"\x00i\x00", want: "UTF-16"},
		"UTF-16, big":         {stdout: "\xfe\xff\x00{\x00\"\x00i", want: "UTF-16"},
		"UTF-16 without mark": {stdout: "{\x00\"\x00i\x00", want: "UTF-16"},
		"NUL at the end":      {stdout: answer + "\x00", want: "NUL"},
		"headers":             {stdout: "Content-Length: 52\r\n\r\n" + answer, want: "Content-Length"},
		"event stream":        {stdout: "event: message\ndata: " + answer + "\n\n", want: "event stream"},
		"a text before it":    {stdout: "ready> " + answer + "\n", want: "text before its message"},
		"a log line before":   {stdout: "[INFO] " + answer + "\n", want: "text before its message"},
		"single quotes":       {stdout: "{'jsonrpc': '2.0', 'id': 1}\n", want: "not JSON: invalid character '\\''"},
		"an extra comma":      {stdout: strings.TrimSuffix(answer, "}") + ",}\n", want: "not JSON"},
		"NaN":                 {stdout: strings.Replace(answer, "1", "NaN", 1) + "\n", want: "not JSON"},
		"two in one line":     {stdout: answer + answer + "\n", want: "several messages"},
		"two with a space":    {stdout: answer + " " + answer, want: "several messages"},
		"no newline":          {stdout: answer, want: "no newline"},
		"cut off":             {stdout: answer[:40], want: "breaks off"},
		"cut off, later":      {stdout: answer + "\n" + answer[:40]},
		"cut off by the next": {stdout: answer[:40] + answer + "\n", want: "not JSON"},
		"cut off at its end":  {stdout: answer[:40] + "\n", want: "in the middle, after 40 bytes$"},
		"not flushed":         {stdout: answer + "\n", late: true, want: "flush"},
		"on stderr":           {stderr: "ready\n" + answer + "\n", want: "on stderr"},
		"a member twice":      {stdout: strings.Replace(answer, "{", `{"id":2,`, 1) + "\n", want: "the member id"},
		"an echo":             {stdout: request + "\n", want: "sends back"},
		"npx": {
			stdout: "Need to install the following packages:\nweather@1.0.0\nOk to proceed? (y) ", want: "npx -y",
		},
		"HTTP on stderr": {
			stderr: "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)\n",
			want:   "use --url http://127.0.0.1:8000",
		},
		"HTTP on stdout": {
			stdout: "Server listening at http://[::1]:3001/mcp.\n", want: "--url http://[::1]:3001/mcp$",
		},
		"a port": {stdout: "MCP server listening on port 3000\n", want: "use --url"},
		"lines of Windows": {
			stderr: "/usr/bin/env: \u2018python3\\r\u2019: No such file or directory\n", want: "not CRLF",
		},
		"usage":                {stdout: "Usage: server [--stdio]\n", want: "it printed its usage"},
		"usage after an error": {stdout: "Usage: server\n", stderr: "Error: no token\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ProcessOutput{Stdout: []byte(c.stdout), Stderr: []byte(c.stderr), SilentUntilEOF: c.late}
			s.Sent = [][]byte{[]byte(request)}
			if got := s.Hint(); (got == "") != (c.want == "") || !strings.Contains(got+"$", c.want) {
				t.Errorf("the hint is %q, want %q in it", got, c.want)
			}
		})
	}
}
