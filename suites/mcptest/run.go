package mcptest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// runPlan runs discovery, then the selected requirements that apply to the server, and reports each result. It returns
// an error if there is nothing to report, or if the run is not complete.
func runPlan(t *testing.T, s Server, o options, selected catalogue.Selector) error {
	ctx, cancel := context.WithTimeoutCause(t.Context(), o.budget, fmt.Errorf("the budget of %v is spent", o.budget))
	defer cancel()
	target, err := s.target(o)
	if err != nil {
		return err
	}
	found, err := discover(ctx, target, o.revision)
	if err != nil {
		found.Close()
		return err
	}
	server := found.Server
	plan := engine.Plan(suites.Implemented(), suites.Checks(), server, selected)
	if len(plan) == 0 {
		found.Close()
		return fmt.Errorf("there is nothing to check: nothing that is selected applies to %s", server.Revision)
	}
	execution := engine.Execute(ctx, target, server, plan, engine.Options{
		Calls: o.calls, Examples: o.arguments, Profile: o.profile, DiscoverySession: found.Session,
		UnusedSession: found.Unused,
		Credentials:   check.Credentials{Bearer: bearerToken(o)}, SDKs: suites.SDKs(),
	})
	rep := report.Report{Profile: o.profile, Revisions: []report.RevisionInfo{{Revision: server.Revision}}}
	rep.Target.Transport = server.Transport
	runAreas(t, plan, func(t *testing.T, i int) {
		r := execution.Result(i)
		o.knownFails.Apply(&r, server.Transport, time.Now())
		rep.Results = append(rep.Results, r)
		reportResult(t, r)
	})
	execution.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if why := cmp.Or(execution.Problem(), server.Failure); why != "" {
		return errors.New(why)
	}
	if len(rep.Results) < len(plan) { // go test -run has left some out
		return nil
	}
	if cause := report.NoVerdictCause(rep.Results); cause != "" {
		return fmt.Errorf("nothing could be tried: %s", cause)
	}
	if n, cause := report.UntestedMusts(rep.Results); n > 0 {
		return fmt.Errorf("%d MUSTs could not be tested: %s", n, cause)
	}
	for _, stale := range o.knownFails.Stale(&rep, time.Now(), suites.All(), selected) {
		t.Errorf("the baseline is stale: %s: %s; take it out or correct it", stale.Entry, stale.Reason)
	}
	return nil
}

// target returns the server as a target of the driver.
func (s Server) target(o options) (t driver.Target, err error) {
	t = driver.Target{
		Serve: s.serve, Limits: driver.Limits{ReplyTimeout: o.timeout}, MemoryBudget: driver.NewMemoryBudget(16 << 20),
	}
	switch {
	case s.url != "":
		t.Site, err = driver.NewSite(driver.SiteOptions{URL: s.url, Header: o.header})
	case s.serve == nil:
		err = errors.New("there is no server; give that of Pipe or URL")
	case len(o.header) > 0:
		err = errors.New("the option Header wants a server of URL")
	}
	return t, err
}

// discover opens the first sessions of the server in a revision, or in the newest one that it supports.
func discover(ctx context.Context, target driver.Target, revision string) (found discovery.Found, err error) {
	found, err = discovery.Find(ctx, target, revision, true)
	switch {
	case err != nil:
		return found, fmt.Errorf("the server could not be tested: %w", check.ExplainAll(err))
	case revision != "" && found.Server.Failure == "" && found.Server.Revision != revision:
		return found, fmt.Errorf("the server does not accept %s; it offers %s", revision, found.Server.Revision)
	}
	return found, nil
}

// bearerToken returns the token in the header Authorization; empty when there is none.
func bearerToken(o options) string {
	scheme, token, _ := strings.Cut(o.header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// runAreas runs a subtest for each area of a plan, and in it one for each of its cases.
func runAreas(t *testing.T, plan []engine.Case, visit func(t *testing.T, i int)) {
	for begin := 0; begin < len(plan); {
		end := begin
		for end < len(plan) && plan[end].Area() == plan[begin].Area() {
			end++
		}
		t.Run(plan[begin].Area(), func(t *testing.T) {
			for i := begin; i < end; i++ {
				_, name, _ := strings.Cut(plan[i].ID, "/")
				t.Run(name, func(t *testing.T) { visit(t, i) })
			}
		})
		begin = end
	}
}

// reportResult reports a result as that of a test: what blocks fails it, and a partial pass is logged.
func reportResult(t *testing.T, r report.Result) {
	switch {
	case r.Verdict == catalogue.Error:
		t.Errorf("mcpcheck itself failed: %s", r.Message)
	case r.Gates:
		t.Error(failureText(r))
	case r.Known != nil:
		t.Skipf("a known failure: %s\n%s", r.Known.Reason, failureText(r))
	case r.IsKnownDeviation():
		t.Skipf("a known deviation of %s %s\n%s", r.SDK.Name, r.SDK.Issue, failureText(r))
	case r.Verdict == catalogue.Fail:
		t.Skipf("fails, and does not count by the profile\n%s", failureText(r))
	case r.Verdict == catalogue.Skip || r.Verdict == catalogue.Inconclusive:
		t.Skipf("%s (%s)", r.Message, r.Reason)
	case r.Message != "":
		t.Log("passed partly: " + r.Message)
	}
}

// Limits of what a failure shows; mcpcheck run reports more.
const (
	maxEvidenceLines = 12
	maxEvidenceWidth = 400
)

// failureText returns the message of a failure: what was expected and received, the last messages, the URL and the fix.
func failureText(r report.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n%s\n", r.Level, r.ID, r.RequirementText(), indent(r.Message))
	lines := r.Evidence
	if left := len(lines) - maxEvidenceLines; left > 0 {
		fmt.Fprintf(&b, "  … %d lines before\n", left)
		lines = lines[left:]
	}
	for _, line := range lines {
		text := strings.Join(strings.Fields(line.HTTP+" "+line.Text), " ")
		if runes := []rune(text); len(runes) > maxEvidenceWidth {
			text = string(runes[:maxEvidenceWidth/2]) + "…" + string(runes[len(runes)-maxEvidenceWidth/2:])
		}
		fmt.Fprintf(&b, "  %s %s\n", line.Arrow, text)
		for _, line := range line.Stderr {
			fmt.Fprintf(&b, "    stderr: %s\n", line)
		}
	}
	for _, part := range []struct{ name, text string }{{"spec", r.Spec}, {"fix", r.Fix}} {
		if part.text != "" {
			fmt.Fprintf(&b, "  %s: %s\n", part.name, strings.Join(strings.Fields(part.text), " "))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
