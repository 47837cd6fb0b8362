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

// longResults are servers with long results: faults that add an undefined member of 15 MB to each result, or return the
// list of tools as one long page.
var longResults = map[string]func() fixtures.Fault{
	"text": func() fixtures.Fault {
		return withLongMember(sync.OnceValue(func() string {
			return `"` + strings.Repeat("all work and no play ", longBytes/21) + `"`
		}))
	},
	"equal": func() fixtures.Fault { return withLongMember(sync.OnceValue(itemList(func(int) int { return 0 }))) },
	"different": func() fixtures.Fault {
		return withLongMember(
			sync.OnceValue(itemList(func(i int) int { return i })))
	},
	"changing": func() fixtures.Fault { // differs from one result to the next
		var n atomic.Int64
		return withLongMember(itemList(func(i int) int { return int(n.Add(1)) }))
	},
	"tools": func() fixtures.Fault { return withManyTools(20000) },
}

// longBytes is the length of the results, which is below mcpcheck's limit.
const longBytes = 15_000_000

// itemList returns a list that fills longBytes, with items made of numbers.
func itemList(number func(i int) int) func() string {
	return func() string {
		var list strings.Builder
		for i := 0; list.Len() < longBytes; i++ {
			fmt.Fprintf(&list, `%c{"id":%d,"title":"item %[2]d","done":false,"tags":["a","b"],"of":{"parent":%[2]d}}`,
				"[,"[min(i, 1)], number(i))
		}
		return list.String() + "]"
	}
}

// withLongMember returns a fault that adds a member to every result.
func withLongMember(value func() string) fixtures.Fault {
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

// withManyTools returns a fault that adds tools to the list, on one page.
func withManyTools(tools int) fixtures.Fault {
	var list strings.Builder
	for i := range tools {
		fmt.Fprintf(&list, `{"name":"no_tool_%d","description":"%s","inputSchema":{"type":"object"}},`,
			i, strings.Repeat("what it would do; ", 12))
	}
	return fixtures.Fault{Send: func(_ *fixtures.Conn, line []byte) []byte {
		return bytes.Replace(line, []byte(`"tools":[{`), []byte(`"tools":[`+list.String()+"{"), 1)
	}}
}

// serveLongResults serves long results over stdio.
func serveLongResults(args []string) int {
	return serveOver(os.Stdin, &lockedWriter{w: os.Stdout}, longResults[args[0]]())
}
