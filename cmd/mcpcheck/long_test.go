package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/fixtures"
)

// longResults are servers whose results are long: faults that add a member of 15 MB that no revision defines to each
// result, or make the list of tools one long page.
var longResults = map[string]func() fixtures.Fault{
	"text": func() fixtures.Fault {
		return padded(sync.OnceValue(func() string {
			return `"` + strings.Repeat("all work and no play ", longBytes/21) + `"`
		}))
	},
	"equal":     func() fixtures.Fault { return padded(sync.OnceValue(items(func(int) int { return 0 }))) },
	"different": func() fixtures.Fault { return padded(sync.OnceValue(items(func(i int) int { return i }))) },
	"changing": func() fixtures.Fault { // from one result to the next
		var n atomic.Int64
		return padded(items(func(i int) int { return int(n.Add(1)) }))
	},
	"tools": func() fixtures.Fault { return listing(20000) },
}

// longBytes is how long the results are, which is less than mcpcheck takes.
const longBytes = 15_000_000

// items is a list of as many items as there is room for, each made of a number.
func items(number func(i int) int) func() string {
	return func() string {
		var list strings.Builder
		for i := 0; list.Len() < longBytes; i++ {
			fmt.Fprintf(&list, `%c{"id":%d,"title":"item %[2]d","done":false,"tags":["a","b"],"of":{"parent":%[2]d}}`,
				"[,"[min(i, 1)], number(i))
		}
		return list.String() + "]"
	}
}

// padded adds a member to every result.
func padded(value func() string) fixtures.Fault {
	return fixtures.Fault{Send: func(_ *fixtures.Conn, line []byte) []byte {
		before, after, found := bytes.Cut(line, []byte(`"result":{`))
		if !found {
			return line
		}
		comma := ","
		if after[0] == '}' {
			comma = ""
		}
		return fmt.Appendf(nil, `%s"result":{"long":%s%s%s`, before, value(), comma, after)
	}}
}

// listing adds tools to the list, on one page.
func listing(tools int) fixtures.Fault {
	var list strings.Builder
	for i := range tools {
		fmt.Fprintf(&list, `{"name":"no_tool_%d","description":"%s","inputSchema":{"type":"object"}},`,
			i, strings.Repeat("what it would do; ", 12))
	}
	return fixtures.Fault{Send: func(_ *fixtures.Conn, line []byte) []byte {
		return bytes.Replace(line, []byte(`"tools":[{`), []byte(`"tools":[`+list.String()+"{"), 1)
	}}
}

// long is a server with long results over stdio.
func long(args []string) int {
	return serveOver(os.Stdin, &lines{w: os.Stdout}, longResults[args[0]]())
}
