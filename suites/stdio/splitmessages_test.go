package stdio

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func TestSplitMessages(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		parts []int // indexes of lines
	}{
		"nothing":                     {nil, nil},
		"a message on one line":       {[]string{`{"id":1}`}, nil},
		"one over three lines":        {[]string{`{`, ` "id": 1`, `}`}, []int{0, 1, 2}},
		"a member that is an object":  {[]string{`{"a": [`, `{"b": 1}`, `]}`}, []int{0, 1, 2}},
		"between others":              {[]string{`{"id":1}`, `{"id":`, `2}`, `{"id":3}`}, []int{1, 2}},
		"two of them":                 {[]string{`{"id":`, `1}`, `{"id":`, `2}`}, []int{0, 1, 2, 3}},
		"a string that is broken":     {[]string{`{"text":"a`, `b { \"`, `"}`}, []int{0, 1, 2}},
		"a log before it":             {[]string{`starting`, `{`, `}`}, []int{1, 2}},
		"a log that looks like it":    {[]string{`{starting`, `{`, `}`}, []int{1, 2}},
		"more after its end":          {[]string{`{`, `} done`}, nil},
		"an end that does not come":   {[]string{`{"id":1,`, `"result":{}`}, nil},
		"an array is not a message":   {[]string{`[`, `1`, `]`}, nil},
		"a line longer than a buffer": {[]string{`{"a":"` + strings.Repeat("x", 1<<16) + `"`, `}`}, []int{0, 1}},
		"more after a long line": {
			[]string{`{"a":`, `"` + strings.Repeat("x", 1<<16) + `"}` + strings.Repeat(" ", 1<<16) + "x"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := frames(c.lines)
			parts := map[*driver.Frame]*splitJSON{}
			markSplitLines(parts, lines)
			var got []int
			for i, f := range lines {
				if parts[f] != nil {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.parts) {
				t.Errorf("parts are %v, want %v", got, c.parts)
			}
		})
	}
}

// TestSplitMessagesIsLinear would not end if the work grew faster than the output of the server.
func TestSplitMessagesIsLinear(t *testing.T) {
	for _, line := range []string{`{`, `{"a":`, `{"a`, `{"a":[`, `{"a":"`, `}`, `log`, `{ log`, `{"a":1,`} {
		markSplitLines(map[*driver.Frame]*splitJSON{}, frames(slices.Repeat([]string{line}, 50_000)))
	}
}

func frames(lines []string) (all []*driver.Frame) {
	for _, line := range lines {
		f := &driver.Frame{Side: driver.FromServer, Raw: driver.Text(line), Complete: true}
		if json.Valid(f.Raw.Bytes()) {
			f.Kind = driver.Object
		}
		all = append(all, f)
	}
	return all
}
