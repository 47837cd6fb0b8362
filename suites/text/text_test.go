package text

import (
	"slices"
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	tests := map[string]struct {
		s          string
		unit       Unit
		head, tail int
		gap, want  string
	}{
		"nothing":                  {"", Bytes, 0, 0, "…", ""},
		"at the limit":             {"12345678", Bytes, 5, 3, "…", "12345678"},
		"longer":                   {"123456789", Bytes, 5, 3, "…", "12345…789"},
		"no tail":                  {"123456789", Bytes, 5, 0, "…", "12345…"},
		"no head":                  {"123456789", Bytes, 0, 3, "…", "…789"},
		"only the gap":             {"1", Characters, 0, 0, "…", "…"},
		"no gap":                   {"123456789", Characters, 5, 0, "", "12345"},
		"in words":                 {"123456789", Bytes, 2, 2, " (5 left out) ", "12 (5 left out) 89"},
		"characters":               {"日本語日本語", Characters, 3, 2, "…", "日本語…本語"},
		"characters at the limit":  {"日本語日本語", Characters, 4, 2, "…", "日本語日本語"},
		"bytes of characters":      {"日本語日本語", Bytes, 6, 6, "…", "日本…本語"},
		"cut characters":           {"日本語日本語", Bytes, 7, 7, "…", "日本…本語"},
		"not UTF-8, short":         {"\xff", Bytes, 1, 0, "…", "\xff"},
		"not UTF-8, longer":        {"\xff1234\xff", Bytes, 3, 2, "…", "12…4"},
		"not UTF-8, in characters": {"\xff1234\xff", Characters, 3, 2, "…", "12…4"},
	}
	for name, tt := range tests {
		if got := Shorten(tt.s, tt.unit, tt.head, tt.tail, tt.gap); got != tt.want {
			t.Errorf("%s: want %q, got %q", name, tt.want, got)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := map[string]struct {
		s     string
		width int
		want  []string
	}{
		"nothing":       {"", 10, []string{""}},
		"just fits":     {"one two three", 7, []string{"one two", "three"}},
		"long words":    {"averylongword is one", 5, []string{"averylongword", "is", "one"}},
		"lines":         {"a\n\nb", 10, []string{"a", "", "b"}},
		"indentation":   {"  kept\nlines", 10, []string{"  kept", "lines"}},
		"inner spaces":  {"a  b", 10, []string{"a  b"}},
		"characters":    {"日本 語日 本語", 5, []string{"日本 語日", "本語"}},
		"indented word": {"  averylongword", 5, []string{"  averylongword"}},
	}
	for name, tt := range tests {
		if got := Wrap(tt.s, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("%s: want %q, got %q", name, tt.want, got)
		}
	}
}

func TestNearest(t *testing.T) {
	candidates := []string{"tools", "tools/list-works", "ping/empty-result", "schema"}
	for word, want := range map[string]string{
		"tools":            "tools",
		"tols":             "tools",
		"ping/emty-result": "ping/empty-result",
		"ping":             "ping/empty-result", // a prefix
		"shcema":           "schema",
		"something else":   "",
		"x":                "",
	} {
		if got := Nearest(word, candidates); got != want {
			t.Errorf("%q: want %q, got %q", word, want, got)
		}
	}
	if got := Nearest("word", nil); got != "" {
		t.Errorf("no candidates: got %q", got)
	}
}

func TestSuggestion(t *testing.T) {
	names := []string{"tools", "schema"}
	for word, want := range map[string]string{"tols": "; did you mean tools?", "something": " (have both)"} {
		if got := Suggestion(word, names, " (have both)"); got != want {
			t.Errorf("%q: want %q, got %q", word, want, got)
		}
	}
}

func TestShell(t *testing.T) {
	for want, words := range map[string][]string{
		"":                         {},
		"node dist/index.js":       {"node", "dist/index.js"},
		"say '' 'a b' '$HOME' x=1": {"say", "", "a b", "$HOME", "x=1"},
		`'it'\''s' 'tools/*'`:      {"it's", "tools/*"},
	} {
		if got := Shell(words...); got != want {
			t.Errorf("%q: want %s, got %s", words, want, got)
		}
	}
}

// TestWrapShell checks that the lines of a command are still one command for a shell.
func TestWrapShell(t *testing.T) {
	for _, c := range []struct {
		command string
		width   int
		want    []string
	}{
		{"mcpcheck run -- node a.js", 25, []string{"mcpcheck run -- node a.js"}},
		{"mcpcheck run -- node a.js", 24, []string{`mcpcheck run -- node \`, "  a.js"}},
		{"mcpcheck run -- node a.js", 16, []string{`mcpcheck run \`, "  -- node a.js"}},
		{"run 'it'\\''s in here' x", 10, []string{`run \`, `  'it'\''s in here' \`, "  x"}},
		{"a-long-word", 4, []string{"a-long-word"}},
	} {
		if got := WrapShell(c.command, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%s at width %d: got %q, want %q", c.command, c.width, got, c.want)
		}
	}
}

func TestBreakLine(t *testing.T) {
	for want, width := range map[string]int{"äbcd": 4, "äb|cd": 2, "äbc|d": 3} {
		if got := strings.Join(BreakLine("äbcd", width), "|"); got != want {
			t.Errorf("at %d: got %s, want %s", width, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: want %d, got %d", tt.a, tt.b, tt.want, got)
		}
	}
}
