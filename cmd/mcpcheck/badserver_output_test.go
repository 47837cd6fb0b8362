package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf16"

	"github.com/mcpcheck/mcpcheck/fixtures"
)

// outputChanges are ways to write messages that clients do not understand, by name. Each function gets one line with
// its newline.
var outputChanges = map[string]func(line []byte) []byte{
	"pretty": func(line []byte) []byte {
		var b bytes.Buffer
		json.Indent(&b, line, "", "  ")
		return b.Bytes()
	},
	"bom":   func(line []byte) []byte { return append([]byte("\ufeff"), line...) },
	"utf16": toUTF16,
	"nul":   func(line []byte) []byte { return append(bytes.TrimSpace(line), 0) },
	"framed": func(line []byte) []byte {
		body := bytes.TrimSpace(line)
		return fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body)
	},
	"two": func(line []byte) []byte {
		return append([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`),
			line...)
	},
	"no-newline": bytes.TrimSpace,
	"half":       func(line []byte) []byte { return line[:len(line)/2] },
	"event":      func(line []byte) []byte { return fmt.Appendf(nil, "event: message\ndata: %s\n", line) },
	"prefixed":   func(line []byte) []byte { return append([]byte("[INFO] "), line...) },
	"comma":      func(line []byte) []byte { return append(bytes.TrimSuffix(line, []byte("}\n")), ",}\n"...) },
	"repeated": func(line []byte) []byte {
		return append(bytes.TrimSuffix(line, []byte("}\n")), `,"id":null}`+"\n"...)
	},
}

// toUTF16 encodes a text as Windows programs do, with a byte order mark.
func toUTF16(line []byte) []byte {
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(string(line))) {
		out = append(out, byte(unit), byte(unit>>8))
	}
	return out
}

// changingWriter changes each line before it writes it to w.
type changingWriter struct {
	w      io.Writer
	change func([]byte) []byte
}

func (r changingWriter) Write(line []byte) (int, error) {
	if _, err := r.w.Write(r.change(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// serveChanged serves with changed output or, with a second argument, with changed responses to ping only.
func serveChanged(args []string) int {
	change := outputChanges[args[0]]
	if len(args) == 1 {
		return serveOver(os.Stdin, &lockedWriter{w: changingWriter{os.Stdout, change}}, fixtures.Fault{})
	}
	return serve(fixtures.Fault{Send: func(_ *fixtures.Conn, line []byte) []byte {
		if bytes.Contains(line, []byte(`"result":{}`)) {
			return change(line)
		}
		return line
	}})
}

// serveBuffered writes nothing until stdin ends, as a program that never flushes.
func serveBuffered([]string) int {
	var buffer bytes.Buffer
	defer func() { os.Stdout.Write(buffer.Bytes()) }()
	return serveOver(os.Stdin, &lockedWriter{w: &buffer}, fixtures.Fault{})
}

// serveWithHeaders serves messages with the headers of the Language Server Protocol, and waits for these.
func serveWithHeaders([]string) int {
	messages, lines := io.Pipe()
	go func() {
		defer lines.Close()
		in := bufio.NewReader(os.Stdin)
		for {
			header, err := in.ReadString('\n')
			var length int
			switch n, _ := fmt.Sscanf(header, "Content-Length: %d", &length); {
			case err != nil:
				return
			case n == 1:
				in.ReadString('\n')
				body := make([]byte, length)
				io.ReadFull(in, body)
				lines.Write(append(body, '\n'))
			}
		}
	}()
	return serveOver(messages, &lockedWriter{w: changingWriter{os.Stdout, outputChanges["framed"]}}, fixtures.Fault{})
}

// serveOldVersion leaves initialize unanswered that names another version than the oldest one.
func serveOldVersion([]string) int {
	return serve(fixtures.Fault{Receive: func(_ *fixtures.Conn, line []byte) []byte {
		if bytes.Contains(line, []byte("initialize")) && !bytes.Contains(line, []byte("2024-11-05")) {
			return nil
		}
		return line
	}})
}

// serveOnStderr writes its messages to stderr.
func serveOnStderr([]string) int {
	return serveOver(os.Stdin, &lockedWriter{w: os.Stderr}, fixtures.Fault{})
}

// printLines writes texts that are not messages, each on a line, and then reads until stdin ends.
func printLines(args []string) int {
	for _, content := range args {
		fmt.Println(content)
	}
	return readToEnd()
}

// printUsage prints a usage text and exits.
func printUsage([]string) int {
	fmt.Println("usage: server [--stdio] DIRECTORY")
	return 2
}

// echoInput writes its input back, as cat does.
func echoInput([]string) int {
	io.Copy(os.Stdout, os.Stdin)
	return 0
}

// serveSlowly answers only initialize during the first second.
func serveSlowly([]string) int {
	return serve(fixtures.Fault{Request: func(_ *fixtures.Conn, req object) bool {
		if req["method"] != "initialize" {
			time.Sleep(time.Second)
		}
		return false
	}})
}
