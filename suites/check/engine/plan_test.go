package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
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
	probe := check.Probe(func(*check.T) {})
	suite := check.Suite{"a/refused": probe.WhenConnectRefused(), "a/protected": probe.WhenProtected()}
	for _, r := range entries {
		if _, known := suite[r.ID]; !known && r.ID != "a/planned" && r.ID != "b/protected" {
			suite[r.ID] = probe
		}
	}
	suite["b/protected"] = check.Suite{"b/protected": probe}.WhenProtected()["b/protected"]

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
	extensions := check.M{"example.com/tasks": check.M{}}
	sound := check.Server{Transport: "stdio", Revision: catalogue.NewestLegacy, Tools: []check.M{{}},
		Capabilities: check.M{"tools": check.M{}, "logging": check.M{}, "extensions": extensions}}
	with := func(change func(*check.Server)) *check.Server {
		server := sound
		change(&server)
		return &server
	}
	tests := []struct {
		name    string
		server  *check.Server
		decided map[string]string // predetermined verdicts
	}{
		{"a server with everything", &sound, nil},
		{"one without logging",
			with(func(s *check.Server) { s.Capabilities = check.M{"tools": check.M{}, "extensions": extensions} }),
			in("skip", "the server does not declare logging", "a/logging")},
		{"one without the extension",
			with(func(s *check.Server) { s.Capabilities = check.M{"tools": check.M{}, "logging": check.M{}} }),
			in("skip", "the server does not declare example.com/tasks", "a/tasks")},
		{
			"one without a tool",
			with(func(s *check.Server) { s.Tools = nil }),
			in("skip", "the server lists no tool", "a/tool"),
		},
		{"one that refuses the handshake", with(func(s *check.Server) { s.Failure = "no" }),
			in("inconclusive", "the handshake failed", but("a/refused")...)},
		{"a protected one that returned lists", with(func(s *check.Server) { s.Protected = true }), nil},
		{"a protected one that returns nothing", with(func(s *check.Server) { s.Failure, s.Protected = "401", true }),
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
	overHTTP := with(func(s *check.Server) { s.Transport = "sse" })
	got := planLines(Plan(entries, suite, overHTTP, func(r *catalogue.Requirement) bool { return r.ID == "a/web" }))
	if diff := cmp.Diff([]string{"a/web" + by}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPredetermined checks that a predetermined result needs no attempt.
func TestPredetermined(t *testing.T) {
	out := testRun{
		checks: []testCheck{{id: "a/one", check: check.Probe(func(*check.T) { panic("it is tried") })}},
		server: check.Server{Failure: "no"}, options: Options{Profile: catalogue.Strict},
	}.run(t)
	out.wantVerdict(t, "a/one", catalogue.Inconclusive, "the handshake failed")
	if r := out.results["a/one"]; r.GatedBy != catalogue.GateInconclusive || out.started != 0 {
		t.Errorf("got %+v, %d processes", r, out.started)
	}
}

func TestCallPermission(t *testing.T) {
	options := Options{Calls: report.CallsSafe, Examples: map[string]check.M{"write": {"text": "x"}}}
	out := testRun{
		checks: []testCheck{{id: "a/one", check: check.Probe(func(t *check.T) {
			t.Expect(check.CallPermission(t, check.NamedSubject("write")).Valid).To(check.BeOneOf(true))
			t.Expect(check.CallPermission(t, check.NamedSubject("erase")).Valid).To(check.BeOneOf(false))
			t.Expect(check.MayCallUnknown(t)).To(check.BeOneOf(true))
			t.Expect(check.ExampleArguments(t, "write")["text"]).To(check.BeOneOf[any]("x"))
			t.Expect(check.ExampleArguments(t, "erase") == nil).To(check.BeOneOf(true))
			t.Expect(t.Site() == nil).To(check.BeOneOf(true))
		})}},
		options: options,
	}.run(t)
	out.wantVerdict(t, "a/one", catalogue.Pass, "")
}
