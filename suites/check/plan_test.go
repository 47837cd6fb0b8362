package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// planLines describes the cases of a plan: the id, the revision that judges, and a predetermined verdict with its
// reason.
func planLines(plan []Case) (lines []string) {
	for _, c := range plan {
		verdict, _, why := c.Predetermined()
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.ID, c.JudgedBy, verdict, why)))
	}
	return lines
}

// TestPlan checks that a plan has the selected requirements that have a check and apply, in the order of the catalogue,
// and that the server's description predetermines some of them.
func TestPlan(t *testing.T) {
	holds := []string{catalogue.NewestLegacy}
	entries := catalogue.Catalogue{
		{ID: "a/plain", Revisions: holds},
		{ID: "a/planned", Revisions: holds},
		{ID: "a/unwanted", Revisions: holds},
		{ID: "a/old", Revisions: []string{"2024-11-05"}},
		{ID: "a/web", Revisions: holds, Transports: []string{"http", "sse"}},
		{ID: "a/logging", Revisions: holds, Capability: "logging"},
		{ID: "a/tools", Revisions: holds, Capability: "tools"},
		{ID: "a/tasks", Revisions: holds, Extension: "example.com/tasks"},
		{ID: "a/tool", Revisions: holds, Needs: []string{"tool"}},
		{ID: "a/refused", Revisions: holds},
		{ID: "a/protected", Revisions: holds},
		{ID: "b/protected", Revisions: holds},
		{ID: "roots/asked", Revisions: holds, Capability: "roots"},
	}
	catalogue.Area{Name: "roots", ClientDeclares: true}.AssignTo(entries[len(entries)-1:])
	check := Probe(func(*T) {})
	suite := Suite{"a/refused": check.WhenConnectRefused(), "a/protected": check.WhenProtected()}
	for _, r := range entries {
		if _, known := suite[r.ID]; !known && r.ID != "a/planned" && r.ID != "b/protected" {
			suite[r.ID] = check
		}
	}
	suite["b/protected"] = Suite{"b/protected": check}.WhenProtected()["b/protected"]

	by := " " + catalogue.NewestLegacy
	in := func(verdict, reason string, ids ...string) map[string]string {
		by := map[string]string{}
		for _, id := range ids {
			by[id] = verdict + " " + reason
		}
		return by
	}
	everything := strings.Fields(
		"a/plain a/logging a/tools a/tasks a/tool a/refused a/protected b/protected roots/asked")
	but := func(out ...string) (ids []string) {
		for _, id := range everything {
			if !strings.Contains(strings.Join(out, " "), id) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	extensions := M{"example.com/tasks": M{}}
	sound := Server{Transport: "stdio", Revision: catalogue.NewestLegacy, Tools: []M{{}},
		Capabilities: M{"tools": M{}, "logging": M{}, "extensions": extensions}}
	with := func(change func(*Server)) *Server {
		server := sound
		change(&server)
		return &server
	}
	tests := []struct {
		name    string
		server  *Server
		decided map[string]string // predetermined verdicts
	}{
		{"a server with everything", &sound, nil},
		{"one without logging", with(func(s *Server) { s.Capabilities = M{"tools": M{}, "extensions": extensions} }),
			in("skip", "the server does not declare logging", "a/logging")},
		{"one without the extension", with(func(s *Server) { s.Capabilities = M{"tools": M{}, "logging": M{}} }),
			in("skip", "the server does not declare example.com/tasks", "a/tasks")},
		{
			"one without a tool",
			with(func(s *Server) { s.Tools = nil }),
			in("skip", "the server lists no tool", "a/tool"),
		},
		{"one that refuses the handshake", with(func(s *Server) { s.Failure = "no" }),
			in("inconclusive", "the handshake failed", but("a/refused")...)},
		{"a protected one that returned lists", with(func(s *Server) { s.Protected = true }), nil},
		{"a protected one that returns nothing", with(func(s *Server) { s.Failure, s.Protected = "401", true }),
			in("inconclusive", "401", but("a/protected", "b/protected")...)},
	}
	for _, tt := range tests {
		var want []string
		for _, id := range everything {
			want = append(want, strings.TrimSpace(id+by+" "+tt.decided[id]))
		}
		got := planLines(Plan(entries, suite, tt.server,
			func(r *catalogue.Requirement) bool { return r.ID != "a/unwanted" }))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	overHTTP := with(func(s *Server) { s.Transport = "sse" })
	got := planLines(Plan(entries, suite, overHTTP, func(r *catalogue.Requirement) bool { return r.ID == "a/web" }))
	if diff := cmp.Diff([]string{"a/web" + by}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPredetermined checks that a predetermined result needs no attempt.
func TestPredetermined(t *testing.T) {
	out := testRun{
		checks: []testCheck{{id: "a/one", check: Probe(func(*T) { panic("it is tried") })}},
		server: Server{Failure: "no"}, options: Options{Profile: catalogue.Strict},
	}.run(t)
	out.wantVerdict(t, "a/one", catalogue.Inconclusive, "the handshake failed")
	if r := out.results["a/one"]; r.GatedBy != catalogue.GateInconclusive || out.started != 0 {
		t.Errorf("got %+v, %d processes", r, out.started)
	}
}

// TestJudgingRevision checks by which revision a requirement judges a server that negotiated a revision without it,
// which depends on the area.
func TestJudgingRevision(t *testing.T) {
	areas := map[string]catalogue.Area{
		"plain": {Name: "plain"},
		"http":  {Name: "http", ChooseRevision: catalogue.AtLeast("2025-03-26")},
		"sse":   {Name: "sse", ChooseRevision: catalogue.NearestRevision},
	}
	tests := []struct {
		area string
		// revisions are those that the requirement applies to.
		revisions  string
		negotiated string
		by         string
	}{
		{"plain", "2025-03-26 2025-06-18", "2025-06-18", "2025-06-18"},
		{"plain", "2025-03-26 2025-06-18", "2024-11-05", ""},
		{"plain", "2025-03-26 2025-06-18", "2025-11-25", ""},
		{"http", "2025-03-26 2025-06-18", "2025-06-18", "2025-06-18"},
		{"http", "2025-03-26 2025-06-18", "2024-11-05", "2025-03-26"},
		{"http", "2025-03-26", "2024-11-05", "2025-03-26"},
		{"http", "2025-03-26", "2025-06-18", ""},
		{"http", "2025-06-18", "2024-11-05", ""},
		{"http", "2025-06-18", "2025-11-25", ""},
		{"http", "2025-06-18", "2025-03-26", ""},
		{"sse", "2024-11-05", "2025-11-25", "2024-11-05"},
		{"sse", "2024-11-05 2025-03-26", "2025-06-18", "2025-03-26"},
		{"sse", "2025-11-25", "2024-11-05", "2025-11-25"},
		{"sse", "2024-11-05 2025-06-18", "2025-03-26", "2024-11-05"},
		{"sse", "2024-11-05", "2026-07-28", ""},
		{"sse", "2026-07-28", "2025-11-25", ""},
	}
	for _, tt := range tests {
		r := &catalogue.Requirement{ID: tt.area + "/entry", Revisions: strings.Fields(tt.revisions),
			Transports: []string{"http"}}
		areas[tt.area].AssignTo(catalogue.Catalogue{r})
		by, applies := r.JudgingRevision(tt.negotiated, "http")
		if by != tt.by || applies != (tt.by != "") {
			t.Errorf("%s, for %s, negotiated %s: got %q, %v, want %q", tt.area, tt.revisions, tt.negotiated, by,
				applies, tt.by)
		}
		if by, applies := r.JudgingRevision(tt.negotiated, "stdio"); applies {
			t.Errorf("%s applies over stdio, by %s", tt.area, by)
		}
	}
}

func TestCallPermission(t *testing.T) {
	options := Options{Calls: report.CallsSafe, Examples: map[string]M{"write": {"text": "x"}}}
	out := testRun{
		checks: []testCheck{{id: "a/one", check: Probe(func(t *T) {
			t.Expect(CallPermission(t, NamedSubject("write")).Valid).To(BeOneOf(true))
			t.Expect(CallPermission(t, NamedSubject("erase")).Valid).To(BeOneOf(false))
			t.Expect(MayCallUnknown(t)).To(BeOneOf(true))
			t.Expect(ExampleArguments(t, "write")["text"]).To(BeOneOf[any]("x"))
			t.Expect(ExampleArguments(t, "erase") == nil).To(BeOneOf(true))
			t.Expect(t.Site() == nil).To(BeOneOf(true))
		})}},
		options: options,
	}.run(t)
	out.wantVerdict(t, "a/one", catalogue.Pass, "")
}
