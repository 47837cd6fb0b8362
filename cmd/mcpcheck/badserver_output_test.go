package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf16"

	"github.com/mcpcheck/mcpcheck/fixtures"
)

// writers are ways to write messages that clients do not understand, by name: each is given one line at a time, with
// its newline.
var writers = map[string]func(line []byte) []byte{
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

// toUTF16 is the text as Windows has it, with a byte order mark.
func toUTF16(line []byte) []byte {
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(string(line))) {
		out = append(out, byte(unit), byte(unit>>8))
	}
	return out
}

// rewriter changes each line on its way to w.
type rewriter struct {
	w      io.Writer
	change func([]byte) []byte
}

func (r rewriter) Write(line []byte) (int, error) {
	if _, err := r.w.Write(r.change(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// writing is an honest server that writes in that way or, with a second argument, in its answers to ping only.
func writing(args []string) int {
	change := writers[args[0]]
	if len(args) == 1 {
		return serveOver(os.Stdin, &lines{w: rewriter{os.Stdout, change}}, fixtures.Fault{})
	}
	return serve(fixtures.Fault{Send: func(_ *fixtures.Conn, line []byte) []byte {
		if bytes.Contains(line, []byte(`"result":{}`)) {
			return change(line)
		}
		return line
	}})
}

// buffering writes nothing until stdin ends, as a program does that never flushes.
func buffering([]string) int {
	var buffer bytes.Buffer
	defer func() { os.Stdout.Write(buffer.Bytes()) }()
	return serveOver(os.Stdin, &lines{w: &buffer}, fixtures.Fault{})
}

// toStderr writes its messages to stderr.
func toStderr([]string) int { return serveOver(os.Stdin, &lines{w: os.Stderr}, fixtures.Fault{}) }

// saying writes texts that are no messages, each on a line of its own, and then reads until stdin ends.
func saying(args []string) int {
	for _, text := range args {
		fmt.Println(text)
	}
	return swallow()
}

// usageOnStdout explains itself and goes.
func usageOnStdout([]string) int {
	fmt.Println("usage: server [--stdio] DIRECTORY")
	return 2
}

// echo sends back what it is sent, as cat does.
func echo([]string) int {
	io.Copy(os.Stdout, os.Stdin)
	return 0
}

// tardy answers nothing but initialize until a second has passed.
func tardy([]string) int {
	return serve(fixtures.Fault{Request: func(_ *fixtures.Conn, req object) bool {
		if req["method"] != "initialize" {
			time.Sleep(time.Second)
		}
		return false
	}})
}
