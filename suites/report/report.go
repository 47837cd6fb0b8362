package report

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// Result is the outcome of one check in one revision. There is one result per requirement and revision, however many
// tools it was tried on, so that test names on dashboards remain stable.
type Result struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Revision string `json:"revision"`
	// Level is the level of the worst finding. A minor violation has a lower level than the requirement.
	Level catalogue.Level `json:"level"`
	// EntryLevel is the level of the requirement.
	EntryLevel catalogue.Level   `json:"entryLevel"`
	Verdict    catalogue.Verdict `json:"verdict"`
	// Gates says that the result counts against the exit code.
	Gates bool `json:"gates"`
	// GatedBy says why it does.
	GatedBy catalogue.Gate `json:"gatedBy,omitempty"`
	// Reason says why a skip or an inconclusive result has no verdict.
	Reason Reason `json:"reasonCode,omitempty"`
	// Causes are the ids of the entries that report what stands in the way.
	Causes []string `json:"causes,omitempty"`
	// Message has, for a fail, what was expected and received; otherwise why there is no verdict, or what a pass does
	// not cover.
	Message string `json:"message,omitempty"`
	// Note is what the check has measured.
	Note string `json:"note,omitempty"`
	// Findings are the parts of the message of a fail.
	Findings []Finding `json:"findings,omitempty"`
	// Truncated says that there are more findings.
	Truncated bool `json:"truncated,omitempty"`
	// Subjects are the tools, resources … that failed.
	Subjects []string `json:"subjects,omitempty"`
	// Spec is the URL of the requirement's sentence in the specification.
	Spec string `json:"spec,omitempty"`
	// Fix says what the author of the server should change.
	Fix string `json:"fix,omitempty"`
	// DirectoryRules are the rules of directories that a failure violates, if it blocks for that reason.
	DirectoryRules []catalogue.DirectoryRule `json:"asked,omitempty"`
	// Known is set if the baseline lists the failure, which therefore does not block.
	Known *KnownInfo `json:"known,omitempty"`
	// SDK is set if the failure comes from an SDK, not from the server's own code.
	SDK *SDKInfo `json:"sdk,omitempty"`
	// Seconds is how long the check took.
	Seconds float64 `json:"seconds"`

	// TriggeredBy are other checks that triggered what a watch fails on: it fails again in a run of them all. "*"
	// stands for the whole run.
	TriggeredBy []string `json:"provokedBy,omitempty"`

	Evidence []Line `json:"wire,omitempty"`

	// Script is the file with the sequence of messages that fails, where it was drawn by lot; mcpcheck explore --replay
	// sends them again.
	Script string `json:"script,omitempty"`

	// Locations are the assertions that failed, as area/file:line. They are for the proofs of package fixtures; reports
	// do not show them.
	Locations []string `json:"-"`

	// Deviations are known deviations of SDKs that may explain the failure; reports show SDK instead.
	Deviations []catalogue.Deviation `json:"-"`

	// Unresponsive says that there is no verdict because the server was silent or had exited.
	Unresponsive bool `json:"lost,omitempty"`

	// Tentative says that the check is new in this version of mcpcheck, and does not block for that reason.
	Tentative bool `json:"tentative,omitempty"`

	// Secondary says that another shard of the run is responsible for the requirement: the result is that of a watch,
	// which judges the sessions of every shard.
	Secondary bool `json:"beside,omitempty"`
}

// Finding is what was expected and what was received.
type Finding struct {
	// Subject is the tool, resource … that the finding is about, if several were tried.
	Subject string `json:"subject,omitempty"`
	Want    string `json:"want,omitempty"`
	Got     string `json:"got"`
}

// KnownInfo is the entry of the baseline that accepts a failure.
type KnownInfo struct {
	// Reason says why the failure is accepted.
	Reason string `json:"reason"`
	// Expires is the last day on which it is accepted, as 2026-12-31; empty is never.
	Expires string `json:"expires,omitempty"`
	// Flaky says that the check may also pass.
	Flaky bool `json:"flaky,omitempty"`
	// Line is the line of the entry in the file.
	Line int `json:"line"`
}

// StaleEntry is an entry of the baseline that no longer applies. It makes the run fail, so that a baseline only
// shrinks.
type StaleEntry struct {
	// Entry is the id or glob of the entry.
	Entry string `json:"entry"`
	// Line is its line in the file.
	Line int `json:"line"`
	// Reason says why it does not apply: "it passes now".
	Reason string `json:"why"`
}

// Baseline is the file of known failures that was used in the run.
type Baseline struct {
	File  string       `json:"file"`
	Stale []StaleEntry `json:"stale,omitempty"`
}

// Area returns the part of the id before the slash.
func (r Result) Area() string { return catalogue.AreaOf(r.ID) }

// IsKnownDeviation reports whether the result is a fail that comes from an SDK and does not block. A fail that the
// baseline lists counts as known instead.
func (r Result) IsKnownDeviation() bool { return r.SDK != nil && !r.Gates && r.Known == nil }

// Line is one line of evidence: a message, or an event such as the exit of the process.
type Line struct {
	// Session numbers the session if a check has used several: "1", "2".
	Session string `json:"session,omitempty"`
	// Seconds is the time since that session was opened.
	Seconds float64 `json:"at"`
	// Arrow shows the direction: "→" to the server, "←" from the server, "·" for an event.
	Arrow string `json:"dir"`
	// Direction is the direction in a word.
	Direction Direction `json:"direction"`
	// HTTP is what carried the message: "POST /mcp", "202 Accepted", "event; id: 7".
	HTTP string `json:"http,omitempty"`
	// Text is what was on the wire; a long line is shortened in the middle.
	Text string `json:"text"`

	// Decisive marks the response that is wrong in a failure, or its request.
	Decisive bool `json:"decisive,omitempty"`
	// Truncated says that Text or Stderr is shortened, or that lines were left out here.
	Truncated bool `json:"truncated,omitempty"`
	// Part says that Text is a part of a message, such as a tool or a member of a batch.
	Part bool `json:"part,omitempty"`
	// Stderr are the last lines that a process wrote there, for an event that is its exit.
	Stderr []string `json:"stderr,omitempty"`
}

// Direction is the direction of a line.
type Direction string

// The directions. An event is not a message, but for example the exit of the process.
const (
	Sent     Direction = "sent"
	Received Direction = "received"
	Event    Direction = "event"
)

// Report is the report of a whole run.
type Report struct {
	// SchemaVersion is the version of schemas/report.schema.json.
	SchemaVersion int                   `json:"schemaVersion"`
	Program       catalogue.ProgramInfo `json:"tool"`
	Target        TargetInfo            `json:"target"`
	Server        ServerInfo            `json:"server"`
	// Revisions are the revisions that were judged.
	Revisions []RevisionInfo    `json:"revisions"`
	Profile   catalogue.Profile `json:"profile"`
	Options   *OptionsInfo      `json:"options,omitempty"`
	Started   time.Time         `json:"started"`
	Seconds   float64           `json:"seconds"`
	Counts    Counts            `json:"counts"`
	ExitCode  int               `json:"exitCode"`
	// Problem says why the server was not tested, or why the run is not complete.
	Problem  string    `json:"problem,omitempty"`
	Baseline *Baseline `json:"baseline,omitempty"`
	// Coverage has an element per revision.
	Coverage []Coverage `json:"coverage,omitempty"`
	Results  []Result   `json:"results"`
	// Recorded says that recorded sessions were judged, without a server.
	Recorded bool `json:"recorded,omitempty"`
}

// OptionsInfo is what flags and mcpcheck.yaml have set, so that a run can be repeated. It has no secrets.
type OptionsInfo struct {
	// Configuration is the name of the configuration file.
	Configuration string `json:"configuration,omitempty"`
	// Protocol is auto, all or a revision.
	Protocol string `json:"protocol"`
	// Calls says which tools may be called.
	Calls CallPolicy  `json:"calls"`
	Only  []string    `json:"only,omitempty"`
	Skip  []Exclusion `json:"skip,omitempty"`
	// Timeout is the timeout for a response, in seconds.
	Timeout float64 `json:"timeout"`
	// StartTimeout is the timeout for the first response, in seconds.
	StartTimeout float64 `json:"startTimeout"`
	// Budget is the limit for the whole run, in seconds.
	Budget float64 `json:"budget"`
	// MaxMessage is the size of the longest message that is read, in bytes.
	MaxMessage int `json:"maxMessage"`
	// Jobs is how many checks are tried at a time.
	Jobs    int  `json:"jobs"`
	Isolate bool `json:"isolate,omitempty"`
	// Quick says that the run does not wait for late messages and, over stdio, uses one session.
	Quick bool `json:"quick,omitempty"`
	// Seed determines the random choices of checks.
	Seed int64 `json:"seed"`
	// Explore is how long sequences of messages drawn by lot are tried, in seconds.
	Explore float64 `json:"explore,omitempty"`
	// Advice says that recommendations are shown.
	Advice bool `json:"advice,omitempty"`
	// Set is the set of requirements that was given to judge by.
	Set *catalogue.SetInfo `json:"set,omitempty"`
	// Tentative is "gate" if checks that are new in this version may block.
	Tentative string `json:"tentative,omitempty"`
	// SDK is "gate" if known deviations of SDKs may block.
	SDK string `json:"sdk,omitempty"`
	// Shard is the part of the run that the report covers; nil for a whole run.
	Shard *ShardInfo `json:"shard,omitempty"`
}

// Exclusion says that checks are left out.
type Exclusion struct {
	// Check is an id, glob, area or level.
	Check string `json:"check"`
	// Reason is the operator's reason.
	Reason string `json:"reason,omitempty"`
}

// TargetInfo says how the server was reached. Secrets are redacted.
type TargetInfo struct {
	Transport string   `json:"transport"` // "stdio", "http" or "sse"
	Command   []string `json:"command,omitempty"`
	Dir       string   `json:"cwd,omitempty"`
	URL       string   `json:"url,omitempty"`
}

// ServerInfo is the server's description of itself.
type ServerInfo struct {
	Name         string   `json:"name,omitempty"`
	Version      string   `json:"version,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	// Revisions are the revisions that it is known to support.
	Revisions []string `json:"speaks,omitempty"`
	// DiscoverError describes its response to server/discover if that is neither a result nor the error for an unknown
	// method.
	DiscoverError string `json:"undiscovered,omitempty"`
	// Tools is the number of its tools.
	Tools int `json:"tools"`
	// Empty says that it has no tools, and declares no resources or prompts.
	Empty bool `json:"empty,omitempty"`
	// OneClient says that it serves one client at a time.
	OneClient bool `json:"oneClient,omitempty"`
}

// RevisionInfo is one revision that was judged.
type RevisionInfo struct {
	// Requested is the revision that mcpcheck requested.
	Requested string `json:"requested"`
	// Revision is the revision that was negotiated, and by which the server was judged.
	Revision string `json:"revision"`
	// Assumed says that no revision was negotiated, so that the requested one was used.
	Assumed bool `json:"assumed,omitempty"`

	// Set is the set of requirements from which those to try were selected.
	Set *catalogue.SetInfo `json:"set,omitempty"`
}

// Counts are the numbers of results by verdict, and of those that block. Advice is counted only in Advice.
type Counts struct {
	Pass         int `json:"pass"`
	Fail         int `json:"fail"`
	Inconclusive int `json:"inconclusive"`
	Skip         int `json:"skip"`
	Error        int `json:"error"`
	Gating       int `json:"gating"`
	// Known counts the fails that the baseline lists.
	Known int `json:"known"`
	// SDK counts the fails that do not block because they come from an SDK.
	SDK int `json:"sdk"`
	// Stale counts the entries of the baseline that no longer apply.
	Stale int `json:"stale"`
	// Advice counts the recommendations that are not followed.
	Advice int `json:"advice"`
}

// Advice is the area of recommendations that no sentence of the specification requires.
const Advice = "advice"

// IsAdvice reports whether the result is only a recommendation: it is in the area Advice and does not block.
func (r Result) IsAdvice() bool {
	return r.Area() == Advice && !r.Gates && r.Verdict != catalogue.Error
}

// Count counts results; every report uses it. Of advice, it counts only what is not followed, in Advice.
func Count(results []Result) (c Counts) {
	for _, r := range results {
		if r.IsAdvice() {
			if r.Verdict == catalogue.Fail && r.Known == nil && !r.IsKnownDeviation() {
				c.Advice++
			}
			continue
		}
		switch r.Verdict {
		case catalogue.Pass:
			c.Pass++
		case catalogue.Fail:
			c.Fail++
		case catalogue.Inconclusive:
			c.Inconclusive++
		case catalogue.Skip:
			c.Skip++
		case catalogue.Error:
			c.Error++
		}
		if r.Gates {
			c.Gating++
		}
		switch {
		case r.Known != nil:
			c.Known++
		case r.IsKnownDeviation():
			c.SDK++
		}
	}
	return c
}

// UntestedMusts returns the most frequent message of MUSTs without a verdict because the server did not respond, or
// because a list could not be obtained or read, and the number of these MUSTs. n is 0 if there are only a few, for
// which a request may be the reason rather than the server.
func UntestedMusts(results []Result) (n int, cause string) {
	const many = 5
	by := map[string]int{}
	for _, r := range results {
		unread := r.Verdict == catalogue.Inconclusive && (r.Reason == Limit || r.Reason == NotListed)
		if r.EntryLevel != catalogue.Must || !r.Unresponsive && !unread {
			continue
		}
		if by[r.Message]++; by[r.Message] > n {
			n, cause = by[r.Message], r.Message
		}
	}
	if n < many {
		return 0, ""
	}
	return n, cause
}

// NoVerdictCause returns why a run has no verdict at all: the most frequent message of its inconclusive results. It is
// empty if a check has passed or failed, or if none applies.
func NoVerdictCause(results []Result) (cause string) {
	by := map[string]int{}
	for _, r := range results {
		switch r.Verdict {
		case catalogue.Skip:
		case catalogue.Inconclusive:
			if by[r.Message]++; by[r.Message] > by[cause] {
				cause = r.Message
			}
		default:
			return ""
		}
	}
	return cause
}

// Exit codes of the program.
const (
	ExitConforms    = 0
	ExitFails       = 1
	ExitUsage       = 2
	ExitUntestable  = 3
	ExitInternal    = 4
	ExitInterrupted = 130
)

// ExitCode returns the exit code for a complete run.
func (c Counts) ExitCode() int {
	switch {
	case c.Error > 0:
		return ExitInternal
	case c.Gating > 0 || c.Stale > 0:
		return ExitFails
	}
	return ExitConforms
}

// Demote keeps the result of a tentative check from blocking.
func (r *Result) Demote() {
	r.Tentative, r.Gates, r.GatedBy, r.DirectoryRules = true, false, catalogue.NoGate, nil
}

// RoundMillis rounds seconds to milliseconds.
func RoundMillis(seconds float64) float64 { return float64(int(seconds*1000+0.5)) / 1000 }
