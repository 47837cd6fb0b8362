package schemas

import (
	"strings"
	"testing"
)

func TestPatternIsECMA(t *testing.T) {
	tests := []struct {
		pattern        string
		match, noMatch []string
	}{
		{`^\ud83d\ude00$`, []string{"😀"}, []string{"", "x", "😁"}},
		{`^[\ud83d\ude00-\ud83d\ude05]$`, []string{"😀", "😃"}, []string{"x", "😀😀"}},
		{`^\u{1F600}$`, []string{"😀"}, []string{"u{1F600}"}},
		{`^.$`, []string{"😀", "é"}, []string{"\n", "\u2028", "ab"}},
		{`^(?=.*\d)[a-z\d]+$`, []string{"abc1", "1"}, []string{"abc", "1!"}},
		{`^(?!x)\w+(?<!y)$`, []string{"abc"}, []string{"xbc", "aby"}},
		{`^(a|b)\1$`, []string{"aa", "bb"}, []string{"ab"}},
		{`^\p{L}+$`, []string{"é", "Ж"}, []string{"1", "p{L}"}},
		{`^\p{Script=Greek}$`, []string{"λ"}, []string{"l"}},
		{`^\d$`, []string{"3"}, []string{"٣"}},
		{`^\w$`, []string{"w"}, []string{"é"}},
		{`^\s$`, []string{"\u00a0", "\ufeff"}, []string{"x", "\u0085"}},
		{`^a$`, []string{"a"}, []string{"a\n"}},
		{`^\cA\x41\u0042\0$`, []string{"\x01AB\x00"}, nil},
		{`^[\w\-.]+\@[^\s\@]+$`, []string{"a-b.c@d"}, []string{"a b@c"}},
		{`^a\-b\_c\/\"$`, []string{`a-b_c/"`}, nil},
		{`^\{\}\[\]$`, []string{"{}[]"}, nil},
	}
	for _, test := range tests {
		p := newPattern(test.pattern, &workBudget{})
		for _, text := range test.match {
			if matched, err := p.match(text); !matched || err != nil {
				t.Errorf("%s does not match %q: %v", p, text, err)
			}
		}
		for _, text := range test.noMatch {
			if matched, err := p.match(text); matched || err != nil {
				t.Errorf("%s matches %q: %v", p, text, err)
			}
		}
	}
}

// TestPatternIsNotECMA has patterns that other engines support and the flag u forbids, so that their meaning is not
// defined.
func TestPatternIsNotECMA(t *testing.T) {
	for _, source := range []string{
		`^[[:alpha:]]+$`, `^[a[:digit:]]$`, `[a-z&&[^b]]`, `[a-z-[aeiou]]`, `[\w-a]`,
		`\a`, `\Aab\z`, `\Z`, `\Qa.b\E`, `[\Q]\E]`, `\e`, `\h`, `\R`, `\x{41}`, `\pL`, `\p{Greek}`, `\u004`, `\c`, `\`,
		`x{,3}`, `x{`, `}`, `]`, `[`, `(`, `)`, `a++`, `a{2,1}`, `^*`, `(?=a)*`, `[b-a]`, `\1`, `\k<a>`,
		`(?i)a`, `(?P<n>a)`, `(?#x)`, `(?>a)`, `(?'n'a)`, `(?|a)`, `(?(1)a|b)`,
		strings.Repeat("x", maxPatternLength+1),
	} {
		p := newPattern(source, &workBudget{})
		if _, err := p.match("a"); err == nil {
			t.Errorf("%s is read", truncate(source, 80))
		}
	}
}

func TestBacktrackingIsBounded(t *testing.T) {
	p := newPattern(`^(a+)+$`, &workBudget{})
	if matched, err := p.match("aaa"); !matched || err != nil {
		t.Errorf("got %v, %v", matched, err)
	}
	for range 100 { // only the first one takes long
		if _, err := p.match(strings.Repeat("a", 60) + "!"); err == nil {
			t.Fatal("matched")
		}
	}
}

// TestNoVerdictWithoutThePattern proves that a value which meets an invalid pattern is neither valid nor invalid, and
// that other values are validated as usual.
func TestNoVerdictWithoutThePattern(t *testing.T) {
	long := strings.Repeat("a", 60) + "!"
	tests := []struct{ schema, value, want string }{
		{`{"properties":{"q":{"pattern":"^\\Aa"}}}`, `{"q":"a"}`,
			`beyond what mcpcheck checks: the pattern ^\Aa cannot be read: \A is not ECMA-262`},
		{`{"properties":{"q":{"not":{"pattern":"(a"}}}}`, `{"q":"a"}`, "beyond what mcpcheck checks: the pattern (a " +
			"cannot be read: error parsing regexp: missing closing ) in `(a`"},
		{`{"properties":{"q":{"pattern":"\\a"}}}`, `{"r":"a"}`, ""},
		{`{"properties":{"q":{"pattern":"\\a"},"r":{"type":"string"}}}`, `{"r":1}`, "/r: expected string, got number"},
		{`{"properties":{"q":{"pattern":"\\a","type":"string"}}}`, `{"q":1}`, "/q: expected string, got number"},
		{`{"patternProperties":{"\\a":{"type":"string"}}}`, `{"b":1}`,
			`beyond what mcpcheck checks: the pattern \a cannot be read: \a is not ECMA-262`},
		{`{"patternProperties":{"\\a":{"type":"string"}}}`, `{}`, ""},
		{`{"properties":{"q":{"pattern":"^(a+)+$"}}}`, `{"q":"` + long + `"}`,
			`beyond what mcpcheck checks: the pattern ^(a+)+$ takes too long to match`},
	}
	for _, test := range tests {
		got := ""
		if err := mustCompile(t, test.schema).Validate(decode(t, test.value)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.schema, got, test.want)
		}
	}
}

func TestArgumentsForPatterns(t *testing.T) {
	tests := []struct{ property, failure string }{
		{`{"type":"string","pattern":"^(?=.*\\d)[a-z\\d]+$"}`, ""},
		{`{"type":"string","pattern":"^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[@$!%*?&])[A-Za-z\\d@$!%*?&]{8,}$"}`, ""},
		{`{"type":"string","pattern":"^(?!-)[a-z-]{1,63}(?<!-)$"}`, ""},
		{`{"type":"string","pattern":"^[\\ud83d\\ude00-\\ud83d\\ude4f]$"}`, ""},
		{`{"type":"string","pattern":"^\\p{Script=Greek}+$","minLength":3}`, ""},
		{`{"type":"string","pattern":"^(?:(\\d{4})-){2}x$"}`, ""},
		{`{"type":"string","pattern":"^[[:alpha:]]+$"}`,
			"/properties/x/pattern: the pattern ^[[:alpha:]]+$ cannot be read: ] is not ECMA-262"},
		{`{"type":"string","pattern":"(?=x)y"}`, "/properties/x/pattern: no string found for (?=x)y"},
	}
	for _, test := range tests {
		s := mustCompile(t, requiredProperty(test.property))
		valid, err := ValidArguments(s, 0)
		if err != nil || test.failure != "" {
			if err == nil || err.Error() != test.failure {
				t.Errorf("%s: got %v, want %s", test.property, err, test.failure)
			}
			continue
		}
		broken := checkCounterexamples(t, s, valid)
		if !strings.Contains(jsonText(broken), `"pattern"`) {
			t.Errorf("%s: no counterexample for the pattern: %v", test.property, valid)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		`^[a-z]+$`, `\bfoo\b`, `(?=.*z)x{2,3}|y*?`, `[^\x00-\x7f]`, `\s\S[\s\d]`, `\ud83d\ude00`, `^$`, `a{0}`, `(?:)`,
	} {
		f.Add(p, 3)
	}
	f.Fuzz(func(t *testing.T, source string, least int) {
		p := newPattern(source, &workBudget{remaining: maxSteps})
		if p.re == nil {
			return
		}
		if s, ok := matchingString(p, least%100, 200, 1); ok {
			if matched, err := p.match(s); err == nil && !matched {
				t.Errorf("%q does not match %q", s, source)
			}
		}
	})
}
