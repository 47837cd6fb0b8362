package tools

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func newReply(message string) driver.Reply {
	m, _ := driver.Decode([]byte(message)).(driver.M)
	return driver.Reply{Frame: &driver.Frame{Raw: driver.Text(message)}, Synthetic: m}
}

// TestUnknownToolReply proves whether a reply to a listed tool equals that to an unknown one, and whether the latter
// says that the tool is unknown.
func TestUnknownToolReply(t *testing.T) {
	for _, c := range []struct {
		name, unknown, listed string
		same, plain           bool
	}{
		{"protocol error",
			`{"error":{"code":-32602,"message":"Unknown tool: missing_tool"}}`,
			`{"error":{"code":-32602,"message":"Unknown tool: add"}}`, true, true},
		{"tool error",
			`{"result":{"content":[{"type":"text","text":"Tool missing_tool not found"}],"isError":true}}`,
			`{"result":{"content":[{"type":"text","text":"Tool add not found"}],"isError":true}}`, true, true},
		{"other cause",
			`{"error":{"code":-32602,"message":"Unknown tool: missing_tool"}}`,
			`{"error":{"code":-32602,"message":"a is missing"}}`, false, true},
		{"other channel",
			`{"error":{"code":-32602,"message":"Not found"}}`,
			`{"result":{"content":[{"type":"text","text":"Not found"}],"isError":true}}`, false, false},
		{"one text for all",
			`{"error":{"code":-32602,"message":"Invalid params"}}`,
			`{"error":{"code":-32602,"message":"Invalid params"}}`, true, false},
		{"no access",
			`{"error":{"code":-32001,"message":"Unauthorized"}}`,
			`{"error":{"code":-32001,"message":"Unauthorized"}}`, true, false},
	} {
		s := unknownToolReply{"missing_tool", newReply(c.unknown)}
		if got := s.matches(newReply(c.listed), "add"); got != c.same {
			t.Errorf("%s: same is %v", c.name, got)
		}
		if got := s.isExplicit(); got != c.plain {
			t.Errorf("%s: plain is %v", c.name, got)
		}
	}
}

func TestSameJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1.0,"b":[null,"x"]}`, `{"b":[null,"x"],"a":1}`, true},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"x"`, `{}`, false},
	} {
		if got := sameJSON(driver.Decode([]byte(c.a)), driver.Decode([]byte(c.b))); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// TestTakesArguments proves that a schema that is closed, or that takes arguments in another way, does not count as one
// without parameters.
func TestTakesArguments(t *testing.T) {
	for schema, takes := range map[string]bool{
		`{"type":"object"}`: false,
		`{"type":"object","properties":{},"required":[]}`:          false,
		`{"type":"object","additionalProperties":false}`:           false,
		`{"type":"object","additionalProperties":{}}`:              true,
		`{"type":"object","properties":{"a":{}}}`:                  true,
		`{"type":"object","anyOf":[{"properties":{"a":{}}}]}`:      true,
		`{"type":"object","patternProperties":{"^x":{"const":1}}}`: true,
	} {
		if m, _ := driver.Decode([]byte(schema)).(driver.M); takesArguments(m) != takes {
			t.Errorf("%s: %v", schema, !takes)
		}
	}
}
