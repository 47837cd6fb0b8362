package engine

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestEvidence checks that a fail shows the session in which it was seen, in order, and marks the call that decided:
// the one that the assertion knows, else the one that the message quotes or names, else the last.
func TestEvidence(t *testing.T) {
	silent := script{{method: "tools/list", action: staysSilent}}
	exiting := script{{method: "tools/list", action: exits}}
	invalid := script{{method: "tools/list", action: action{result: `{"tools":"odd"}`}}}
	tests := []struct {
		name   string
		script script
		check  func(*check.T)
		// want has the method or event of each line, * if it decided and, if there are several sessions, the session
		// number.
		want string
	}{
		{"the value is the reply", nil, func(t *check.T) {
			s := t.Session(check.Exclusive)
			r := t.Send(s, "tools/list", nil)
			check.RequestNoOp(t, s)
			t.Expect(r).To(check.BeError())
		}, "tools/list* ←* ping ←"},
		{"no answer", silent, func(t *check.T) {
			s := t.Session(check.Exclusive)
			r := t.Send(s, "tools/list", nil, check.AllowSilence)
			check.TryNoOp(t, s)
			t.Expect(r).To(check.BeAnswered())
		}, "tools/list* ping ←"},
		{"the error of a process that ends", exiting, func(t *check.T) {
			s := t.Session(check.Exclusive)
			check.RequestNoOp(t, s)
			err := t.Send(s, "tools/list", nil, check.AllowSilence).Err
			t.Expect(err == nil).To(check.BeTrue("life", "%v", err))
		}, "ping ← tools/list* the server exited with status 1*"},
		{"the call named by DecidedBy", nil, func(t *check.T) {
			s := t.Session(check.Exclusive)
			r := t.Send(s, "tools/list", nil)
			check.RequestNoOp(t, s)
			t.DecidedBy(r).Expect(1).To(check.BeOneOf(2))
		}, "tools/list* ←* ping ←"},
		{"a frame that is quoted", nil, func(t *check.T) {
			s := t.Session(check.Exclusive)
			r := t.Send(s, "tools/list", nil)
			check.RequestNoOp(t, s)
			t.Fail("nothing", "%s", r.Frame)
		}, "tools/list* ←* ping ←"},
		{"what the message quotes", invalid, func(t *check.T) {
			s := t.Session(check.Exclusive)
			r := t.Send(s, "tools/list", nil)
			check.RequestNoOp(t, s)
			t.Expect(r.Result()["tools"]).To(check.BeArray())
		}, "tools/list* ←* ping ←"},
		{"the method the message names", nil, func(t *check.T) {
			s := t.Session(check.Exclusive)
			t.Send(s, "tools/list", nil)
			check.RequestNoOp(t, s)
			t.Fail("more in tools/list", "less")
		}, "tools/list* ←* ping ←"},
		{"the last", nil, func(t *check.T) {
			s := t.Session(check.Exclusive)
			t.Send(s, "tools/list", nil)
			check.RequestNoOp(t, s)
			t.Expect(1).To(check.BeOneOf(2))
		}, "tools/list ← ping* ←*"},
		{"without the sessions that decided nothing", nil, func(t *check.T) {
			t.Send(t.Session(check.Exclusive), "prompts/list", nil)
			t.Expect(t.Send(t.Session(check.Exclusive), "tools/list", nil)).To(check.BeError())
		}, "tools/list* ←*"},
		{"subjects, session by session", nil, func(t *check.T) {
			first, second := t.Session(check.Exclusive), t.Session(check.Exclusive)
			ask := func(s *driver.Session, method string) check.Subject {
				r := t.Send(s, method, nil)
				return check.Subject{Name: method, Frames: []*driver.Frame{r.Request, r.Frame}}
			}
			subjects := []check.Subject{ask(first, "a"), ask(second, "b"), ask(first, "c")}
			t.Each([]check.Subject{subjects[2], subjects[1], subjects[0]},
				func(t *check.T, _ check.Subject) { t.Fail("it", "none") })
		}, "1a* 1←* 1c* 1←* 2b* 2←*"},
		{"subjects with only a name", nil, func(t *check.T) {
			s := t.Session(check.Exclusive)
			check.Each(t, []string{"a", "b"}, check.NamedSubject, func(t *check.T, method string) {
				t.Send(s, method, nil)
				t.Fail("it", "none")
			})
		}, "a* ←* b* ←*"},
		{"subjects with a value, the call the assertion knows", nil, func(t *check.T) {
			r := t.Send(t.Session(check.Exclusive), "a", nil)
			part := check.Subject{Name: "a", Value: check.M{"is": "a"}}
			t.Each([]check.Subject{part}, func(t *check.T, _ check.Subject) { t.Expect(r).To(check.BeError()) })
		}, "← a* ←*"},
		{"a value only", nil, func(t *check.T) {
			t.Each([]check.Subject{{Name: "a", Value: check.M{"is": "a"}}},
				func(t *check.T, _ check.Subject) { t.Fail("it", "none") })
		}, "←*"},
		{"no messages", nil, func(t *check.T) { t.Fail("it", "none") }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{
				script: tt.script, options: Options{Jobs: 1}, checks: []testCheck{{id: "a/check",
					check: check.Probe(tt.check)}},
			}.run(t)
			out.wantVerdict(t, "a/check", catalogue.Fail, "")
			if got := evidenceSketch(out.results["a/check"].Evidence); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

var methodOfLine = regexp.MustCompile(`"method":"([^"]*)"`)

// evidenceSketch returns a short form of evidence lines.
func evidenceSketch(wire []report.Line) string {
	var lines []string
	for _, l := range wire {
		said := l.Text
		if found := methodOfLine.FindStringSubmatch(said); found != nil {
			said = found[1]
		} else if l.Direction == report.Received {
			said = l.Arrow
		}
		if l.Decisive {
			said += "*"
		}
		lines = append(lines, l.Session+said)
	}
	return strings.Join(lines, " ")
}
