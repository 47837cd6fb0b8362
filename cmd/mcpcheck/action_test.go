package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestActionSplitArgs(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                   {"", nil},
		"blanks":                    {"  a \t b  ", []string{"a", "b"}},
		"only blanks":               {" \t ", nil},
		"double quotes":             {`a "b c"`, []string{"a", "b c"}},
		"single quotes":             {`a 'b c'`, []string{"a", "b c"}},
		"quotes within a word":      {`--name="a b"'c d'e`, []string{"--name=a bc de"}},
		"quotes within quotes":      {`"it's" 'say "hello"'`, []string{"it's", `say "hello"`}},
		"empty quotes":              {`a '' "" b`, []string{"a", "", "", "b"}},
		"empty quotes next to text": {`a''"" ""`, []string{"a", ""}},

		"backslash":                             {`a\ b \"c\" \'d\' \\ \e`, []string{"a b", `"c"`, "'d'", `\`, "e"}},
		"backslash between double quotes":       {`"a\"b" "c\\d"`, []string{`a"b`, `c\d`}},
		"backslash between single quotes":       {`'a\"b' 'c\'`, []string{`a\"b`, `c\`}},
		"plain backslash between double quotes": {`"C:\dir\x" "\$HOME" "\'"`, []string{`C:\dir\x`, `\$HOME`, `\'`}},
		"path on Windows":                       {`'C:\dir\a b.exe' 'C:\x'`, []string{`C:\dir\a b.exe`, `C:\x`}},

		"variables":     {`$HOME ${HOME} "$HOME" '$HOME'`, []string{"$HOME", "${HOME}", "$HOME", "$HOME"}},
		"commands":      {"$(id) `id` \"$(id)\"", []string{"$(id)", "`id`", "$(id)"}},
		"globs":         {`* ? [a-z] {a,b}`, []string{"*", "?", "[a-z]", "{a,b}"}},
		"home":          {`~ ~root ~/x`, []string{"~", "~root", "~/x"}},
		"pipes":         {`a | b|c && d & e; f`, []string{"a", "|", "b|c", "&&", "d", "&", "e;", "f"}},
		"redirections":  {`a > b 2>&1 <c >>d`, []string{"a", ">", "b", "2>&1", "<c", ">>d"}},
		"subshells":     {`(a) !b`, []string{"(a)", "!b"}},
		"comments":      {`a # b #c`, []string{"a", "#", "b", "#c"}},
		"assignments":   {`A=1 b`, []string{"A=1", "b"}},
		"other letters": {`grüße "日本 語"`, []string{"grüße", "日本 語"}},

		"one line of a block":   {"a 'b c'\n", []string{"a", "b c"}},
		"lines":                 {"a b\n 'c'\n\nC:\\dir\\x\n", []string{"a b", " 'c'", "", `C:\dir\x`}},
		"lines of Windows":      {"node\r\n-e\r\nx\r\n", []string{"node", "-e", "x"}},
		"quotes that are lines": {"it's\nd\\", []string{"it's", `d\`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := splitArgs(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestActionSplitArgsUnclosed(t *testing.T) {
	for _, content := range []string{`a "b`, `a 'b`, `a "b\"`, `it's`, `a\`, `a \`, `"`} {
		if got, err := splitArgs(content); err == nil || !strings.Contains(err.Error(), content) {
			t.Errorf("%s: words %q, error %v, want an error that quotes it", content, got, err)
		}
	}
}

// TestActionSplitArgsLikeShell compares with how a shell splits each text of five blanks, letters, quotes and
// backslashes.
func TestActionSplitArgsLikeShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh to compare with")
	}
	var texts []string
	var script, want strings.Builder
	for _, content := range allTexts(` a'"\`, 5) {
		words, err := splitArgs(content)
		if err != nil {
			continue // a shell would expect more input
		}
		texts = append(texts, content)
		fmt.Fprintf(&script, "set -- %s\nfor word do printf '<%%s>' \"$word\"; done; echo\n", content)
		for _, word := range words {
			fmt.Fprintf(&want, "<%s>", word)
		}
		want.WriteByte('\n')
	}
	cmd := exec.CommandContext(t.Context(), sh)
	cmd.Stdin = strings.NewReader(script.String())
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	wanted, lines := strings.Split(want.String(), "\n"), strings.Split(string(got), "\n")
	if len(lines) != len(wanted) {
		t.Fatalf("sh splits %d of %d texts", len(lines)-1, len(texts))
	}
	for i, content := range texts {
		if wanted[i] != lines[i] {
			t.Errorf("%s: words %s, sh has %s", content, wanted[i], lines[i])
		}
	}
}

// allTexts returns all texts of a length that consist of the letters.
func allTexts(letters string, length int) (texts []string) {
	if length == 0 {
		return []string{""}
	}
	for _, content := range allTexts(letters, length-1) {
		for _, letter := range letters {
			texts = append(texts, content+string(letter))
		}
	}
	return texts
}

// actionInputs returns inputs of action.yml, with a report directory.
func actionInputs(inputs map[string]string) func(name string) string {
	return func(name string) string {
		if name == "report-dir" {
			return "r"
		}
		return inputs[name]
	}
}

func TestActionArguments(t *testing.T) {
	for name, test := range map[string]struct {
		inputs map[string]string
		// want are the arguments, of run those after --report-dir r.
		want []string
	}{
		"none": {nil, nil},
		"all": {
			map[string]string{
				"command": "a b", "url": "u", "profile": "p", "protocol": "r", "baseline": "b", "config": "c",
				"args": "--jobs 2",
			},
			strings.Fields("--url u --profile p --protocol r --baseline b --config c --jobs 2 -- a b"),
		},
		"blanks and quotes": {
			map[string]string{"command": "  a \"b c\" \t d\\ e '' f\" \"g \n"},
			[]string{"--", "a", "b c", "d e", "", "f g"},
		},
		"nothing is expanded": {
			map[string]string{"command": `a\"b "c\d" '\e' "f\\" $HOME * ~ | &&`},
			[]string{"--", `a"b`, `c\d`, `\e`, `f\`, "$HOME", "*", "~", "|", "&&"},
		},
		"quotes within quotes": {
			map[string]string{"command": `"it's" '"' "x"`},
			[]string{"--", "it's", `"`, "x"},
		},
		"lines": {
			map[string]string{"command": "node\r\n-e\nconsole.log(\"a b\", 'c')\nC:\\dir\\x\n"},
			[]string{"--", "node", "-e", `console.log("a b", 'c')`, `C:\dir\x`},
		},
		"a slash": {
			map[string]string{"command": "a /b"},
			[]string{"--", "a", "/b"},
		},
		"another command": {
			map[string]string{"args": "load --clients 5", "url": "u"},
			strings.Fields("load --report-dir r --url u --clients 5"),
		},
		"sequences": {
			map[string]string{"args": "explore --budget 10m", "url": "u"},
			strings.Fields("explore --report-dir r --url u --budget 10m"),
		},
		"a value is never split": {
			map[string]string{"baseline": "--a b", "url": `"`},
			[]string{"--url", `"`, "--baseline", "--a b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := action{input: actionInputs(test.inputs)}
			got, err := a.runArgs()
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if len(want) == 0 || !slices.Contains(actionCommands, want[0]) {
				want = append([]string{"run", "--report-dir", "r"}, want...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestActionArgumentsUnclosed(t *testing.T) {
	for _, name := range []string{"command", "args"} {
		a := action{input: actionInputs(map[string]string{name: "'a"})}
		if got, err := a.runArgs(); err == nil {
			t.Errorf("%s: arguments %q, want an error", name, got)
		}
	}
}

// TestActionReportDir compares the place of the reports with the path for later steps.
func TestActionReportDir(t *testing.T) {
	absolute := filepath.Join(t.TempDir(), "r")
	for _, test := range []struct{ dir, reports, want string }{
		{".", "r", "r"},
		{"", "r", "r"},
		{"a b", "r", "a b/r"},
		{"a/", "r/s", "a/r/s"},
		{"..", "r", "../r"},
		{"a", "/r", "/r"},
		{"a", absolute, absolute},
		{"/a", "r", "/a/r"},
		{".", "", ""},
		{"a\nb", "r", ""},
		{".", "r\rverdict=conforms", ""},
	} {
		a := action{input: func(name string) string {
			return map[string]string{"working-directory": test.dir, "report-dir": test.reports}[name]
		}}
		if err := a.resolveReportDir(); a.reportDir != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%q in %q: shown as %q, error %v, want %q", test.reports, test.dir, a.reportDir, err, test.want)
		}
	}
}

func TestActionOutputs(t *testing.T) {
	const evil = `{"problem": "\nverdict=conforms", "counts": {"pass": 3, "gating": 1, "\nverdict=conforms": 2}}`
	const none = "counts=\ngating=\nreport-dir=a/r\njunit=\nsarif=\nmarkdown=\n"
	for name, test := range map[string]struct {
		code  int
		ran   bool
		files map[string]string
		want  string
	}{
		"text of a server": {
			1, true, map[string]string{"report.json": evil},
			"verdict=fails\nexit-code=1\n" +
				`counts={"pass":3,"fail":0,"inconclusive":0,"skip":0,"error":0,"gating":1,"known":0,` +
				`"sdk":0,"stale":0,"advice":0}` + "\ngating=1\nreport-dir=a/r\njunit=\nsarif=\nmarkdown=\n",
		},
		"reports": {
			0, true, map[string]string{"report.xml": "x", "report.sarif": "x", "report.md": "x"},
			"verdict=conforms\nexit-code=0\ncounts=\ngating=\nreport-dir=a/r\n" +
				"junit=a/r/report.xml\nsarif=a/r/report.sarif\nmarkdown=a/r/report.md\n",
		},
		"reports that were not written": {
			2, true, map[string]string{"report.json": "", "report.xml": "", "report.md": ""},
			"verdict=usage\nexit-code=2\n" + none,
		},
		"half a report": {
			4, true, map[string]string{"report.json": `{"counts": {`}, "verdict=error\nexit-code=4\n" + none,
		},
		"reports of an earlier run": {
			2, false, map[string]string{"report.json": evil, "report.md": "x"}, "verdict=usage\nexit-code=2\n" + none,
		},
		"untestable":  {3, true, nil, "verdict=untestable\nexit-code=3\n" + none},
		"interrupted": {130, true, nil, "verdict=interrupted\nexit-code=130\n" + none},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			a := action{input: func(string) string { return dir }, log: io.Discard, reportDir: "a/r", hasRun: test.ran}
			if diff := cmp.Diff(test.want, a.outputs(test.code)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestActionIsHidden proves that neither the help nor the list of commands shows the command.
func TestActionIsHidden(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"no-such-command"}} {
		var out strings.Builder
		run(args, strings.NewReader(""), &out, &out)
		if !strings.Contains(out.String(), "baseline") || regexp.MustCompile(`\baction\b`).MatchString(out.String()) {
			t.Errorf("mcpcheck %s names the commands for people and no other, not:\n%s", args[0], out.String())
		}
	}
}
