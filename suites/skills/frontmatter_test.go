package skills

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func TestDifference(t *testing.T) {
	tests := map[string]struct{ text, value, at string }{
		"the same":            {"name: a\ndescription: b\n", `{"name":"a","description":"b"}`, ""},
		"another order":       {"name: a\ndescription: b\n", `{"description":"b","name":"a"}`, ""},
		"additional field":    {"name: a\n", `{"name":"a","license":"MIT"}`, ".license"},
		"missing field":       {"name: a\nlicense: MIT\n", `{"name":"a"}`, ".license"},
		"another text":        {"name: a\n", `{"name":"b"}`, ".name"},
		"a folded text":       {"name: >\n  a\n  b\n", `{"name":"a b\n"}`, ""},
		"a number":            {"v: 1.10\n", `{"v":1.1}`, ""},
		"a number as text":    {"v: 1.10\n", `{"v":"1.10"}`, ""},
		"another number":      {"v: 1.10\n", `{"v":1.2}`, ".v"},
		"a truth":             {"v: yes\n", `{"v":true}`, ""},
		"a truth as text":     {"v: yes\n", `{"v":"yes"}`, ""},
		"another truth":       {"v: no\n", `{"v":true}`, ".v"},
		"nothing":             {"v:\n", `{"v":null}`, ""},
		"nothing as text":     {"v:\n", `{"v":""}`, ""},
		"a date":              {"v: 2026-07-28\n", `{"v":"2026-07-28"}`, ""},
		"a date with a time":  {"v: 2026-07-28\n", `{"v":"2026-07-28T00:00:00Z"}`, ""},
		"a list":              {"v: [a, 1]\n", `{"v":["a",1]}`, ""},
		"a list in disorder":  {"v: [a, b]\n", `{"v":["b","a"]}`, ".v"},
		"a shorter list":      {"v: [a, b]\n", `{"v":["a"]}`, ".v"},
		"a mapping":           {"m: {a: 1}\n", `{"m":{"a":1}}`, ""},
		"another mapping":     {"m: {a: 1}\n", `{"m":{"a":2}}`, ".m"},
		"an alias":            {"a: &x {b: 1}\nc: *x\n", `{"a":{"b":1},"c":{"b":1}}`, ""},
		"merged in":           {"a: &x {b: 1}\nc: {<<: *x}\n", `{"a":{"b":1},"c":{"b":1}}`, ""},
		"a text for a number": {"v: a\n", `{"v":1}`, ".v"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node, err := frontmatterIn("---\n" + tt.text + "---\nText\n")
			if err != nil {
				t.Fatal(err)
			}
			if at := difference(node, driver.Decode([]byte(tt.value)), ""); at != tt.at {
				t.Errorf("it differs at %q, want %q", at, tt.at)
			}
		})
	}
}

func TestFrontmatterIn(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"ordinary":         {"---\nname: a\n---\n# A\n", true},
		"line feeds":       {"---\r\nname: a\r\n---\r\n", true},
		"no end of line":   {"---\nname: a\n---", true},
		"nothing":          {"", false},
		"no frontmatter":   {"# A\n", false},
		"no second line":   {"---\nname: a\n", false},
		"not at the start": {"\n---\nname: a\n---\n", false},
		"a list":           {"---\n- a\n---\n", false},
		"nothing in it":    {"---\n---\n", false},
		"no YAML":          {"---\na: b: c\n---\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := frontmatterIn(tt.text); (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
