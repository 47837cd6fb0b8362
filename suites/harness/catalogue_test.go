package harness

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An entry has one value for all revisions and eras, or several.
func TestReadCatalogue(t *testing.T) {
	const entries = `
- id: tools/one
  title: does one thing
  level: MUST
  spec: {2025-06-18: server/tools#one, 2025-11-25: server/tools#one}
  pass: It does.
- id: tools/two
  level: {2025-06-18: SHOULD, 2025-11-25: ADVICE}
  revisions: [2025-06-18, 2026-07-28]
  fail: {legacy: It does not., modern: Nor does it.}
`
	got, err := ReadCatalogue([]byte(entries))
	if err != nil {
		t.Fatal(err)
	}
	one, two := got[0], got[1]
	levels := []Level{
		one.Level.In("2025-06-18"), two.Level.In("2025-06-18"), two.Level.In("2025-11-25"), two.Level.In(Modern),
	}
	if diff := cmp.Diff([]Level{Must, Should, Advice, 0}, levels); diff != "" {
		t.Error(diff)
	}
	revisions := [][]string{{"2025-06-18", "2025-11-25"}, {"2025-06-18", Modern}}
	if diff := cmp.Diff(revisions, [][]string{one.In(), two.In()}); diff != "" {
		t.Error(diff)
	}
	if one.Pass != (ByEra{"It does.", "It does."}) || two.Fail != (ByEra{"It does not.", "Nor does it."}) {
		t.Errorf("got %+v, %+v", one.Pass, two.Fail)
	}
	text, err := json.Marshal(got)
	var again Catalogue
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil || again[1].Level.In("2025-06-18") != Should || again[0].Title != one.Title {
		t.Errorf("as JSON it is %s, %v", text, err)
	}
}

func TestReadCatalogueErrors(t *testing.T) {
	for text, want := range map[string]string{
		"- id: a/b\n  levle: MUST":               "levle",
		"- id: a/b\n  level: HAS TO":             "HAS TO",
		"- id: a/b\n  pass: {legacy: x, old: y}": "old",
	} {
		if _, err := ReadCatalogue([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want one about %s", text, err, want)
		}
	}
}

func TestURLOfOtherPages(t *testing.T) {
	tests := map[string]struct{ page, revision, want string }{
		"no sentence": {"", "2025-06-18", ""},
		"an early schema": {"schema#tool", "2025-03-26",
			"https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/2025-03-26/schema.ts"},
		"security, a guide": {"basic/security_best_practices#x", "2025-11-25",
			"https://modelcontextprotocol.io/docs/2025-11-25/tutorials/security/security_best_practices#x"},
	}
	for name, tt := range tests {
		r := &Requirement{Spec: map[string]string{tt.revision: tt.page}}
		if tt.page == "" {
			r.Spec = nil
		}
		if got := r.URL(tt.revision); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, name := range []Profile{Release, Spec, Strict} {
		if got, err := ParseProfile(string(name)); got != name || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for _, name := range []Calls{CallsSafe, CallsNone, CallsAll} {
		if got, err := ParseCalls(string(name)); got != name || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := ParseProfile("lax"); err == nil || err.Error() != `unknown profile "lax" (have release, spec, strict)` {
		t.Errorf("got %v", err)
	}
	if _, err := ParseCalls("some"); err == nil || err.Error() != `unknown call policy "some" (have safe, none, all)` {
		t.Errorf("got %v", err)
	}
}

func TestCount(t *testing.T) {
	got := Count([]Result{
		{Verdict: Pass}, {Verdict: Pass}, {Verdict: Fail, Gates: true}, {Verdict: Fail, Known: &Known{}}, {Verdict: Skip},
		{Verdict: Inconclusive, Gates: true}, {Verdict: Error},
	})
	want := Counts{Pass: 2, Fail: 2, Inconclusive: 1, Skip: 1, Error: 1, Gating: 2, Known: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if area := (Result{ID: "tools/one"}).Area(); area != "tools" {
		t.Errorf("the area is %s", area)
	}
}
