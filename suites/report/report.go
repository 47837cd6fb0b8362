package report

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"time"
)

// Result is what one check came to in one revision. There is one result per requirement and revision, whatever number
// of tools it was tried on, so that test names on dashboards stay stable.
type Result struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Revision string `json:"revision"`
	// of this finding; a lesser deviation carries a lesser level than its entry
	Level      catalogue.Level   `json:"level"`
	EntryLevel catalogue.Level   `json:"entryLevel"` // of the requirement
	Verdict    catalogue.Verdict `json:"verdict"`
	Gates      bool              `json:"gates"`                // counts against the exit code
	GatedBy    catalogue.Gate    `json:"gatedBy,omitempty"`    // why it gates
	Reason     Reason            `json:"reasonCode,omitempty"` // of a skip or an inconclusive
	// ids of the entries that report what stands in the way
	Causes []string `json:"causes,omitempty"`
	// expected and got, why no verdict, what a pass leaves out
	Message        string                    `json:"message,omitempty"`
	Note           string                    `json:"note,omitempty"`      // what was measured
	Findings       []Finding                 `json:"findings,omitempty"`  // of a fail: its message taken apart
	Truncated      bool                      `json:"truncated,omitempty"` // there are more findings
	Subjects       []string                  `json:"subjects,omitempty"`  // the tools, resources … that failed
	Spec           string                    `json:"spec,omitempty"`      // URL of the sentence in this revision
	Fix            string                    `json:"fix,omitempty"`       // what a server author should change
	DirectoryRules []catalogue.DirectoryRule `json:"asked,omitempty"`     // by directories, where it gates by that
	// the baseline lists the fail, which therefore does not gate
	Known *KnownInfo `json:"known,omitempty"`
	// a fail that comes from it, not from the server's own code
	SDK     *SDKInfo `json:"sdk,omitempty"`
	Seconds float64  `json:"seconds"`

	// TriggeredBy are other checks that brought about what a watch failed on: it fails again in a run of them all.
	// Everything is the whole run.
	TriggeredBy []string `json:"provokedBy,omitempty"`

	Evidence []Line `json:"wire,omitempty"` // the evidence

	// Locations are the assertions that failed, as area/file:line. The proofs of package fixtures read it; reports do
	// not show it.
	Locations []string `json:"-"`

	// Deviations of SDKs that may explain the fail. Reports have SDK.
	Deviations []catalogue.Deviation `json:"-"`

	// Unresponsive reports whether there is no verdict because of the state of the server: it was silent, or gone.
	Unresponsive bool `json:"lost,omitempty"`

	// Tentative says that the check is new in this version of mcpcheck, and does not gate for that.
	Tentative bool `json:"tentative,omitempty"`

	// Secondary says that the requirement belongs to another shard of the run: a watch that judged what was on the wire
	// of this one as well.
	Secondary bool `json:"beside,omitempty"`
}

// Finding is what was expected and what came.
type Finding struct {
	Subject string `json:"subject,omitempty"` // of several that were tried: the tool, the resource …
	Want    string `json:"want,omitempty"`
	Got     string `json:"got"`
}

// KnownInfo is what the baseline says of a fail.
type KnownInfo struct {
	Reason  string `json:"reason"`            // why it is accepted
	Expires string `json:"expires,omitempty"` // the last day on which it is, as 2026-12-31
	Flaky   bool   `json:"flaky,omitempty"`   // it may pass as well
	Line    int    `json:"line"`              // of the entry in the file
}

// StaleEntry is an entry of the baseline that does not hold any more. It fails the run, so that a baseline only
// shrinks.
type StaleEntry struct {
	Entry  string `json:"entry"` // the id or glob
	Line   int    `json:"line"`  // in the file
	Reason string `json:"why"`   // "the check passes now"
}

// Baseline is the file of known fails that a run was judged with.
type Baseline struct {
	File  string       `json:"file"`
	Stale []StaleEntry `json:"stale,omitempty"`
}

// Area is the part of the id before the slash.
func (r Result) Area() string { return catalogue.AreaOf(r.ID) }

// IsKnownDeviation reports whether the result is a fail that comes from an SDK and does not gate. One that the baseline
// lists is known, and no more.
func (r Result) IsKnownDeviation() bool { return r.SDK != nil && !r.Gates && r.Known == nil }

// Line is one line of evidence: a message, or an event such as the end of the process.
type Line struct {
	Session   string    `json:"session,omitempty"` // which connection, where a check used several: "1", "2"
	Seconds   float64   `json:"at"`                // since that connection opened
	Arrow     string    `json:"dir"`               // "→" to the server, "←" from it, "·" an event
	Direction Direction `json:"direction"`         // the same in a word
	HTTP      string    `json:"http,omitempty"`    // what carried it: "POST /mcp", "202 Accepted", "event; id: 7"
	Text      string    `json:"text"`              // as it was on the wire; long lines are shortened in the middle

	Decisive  bool     `json:"decisive,omitempty"`  // of a failure: the response that is wrong, or its request
	Truncated bool     `json:"truncated,omitempty"` // the text is shortened, or lines are left out, here or of Stderr
	Part      bool     `json:"part,omitempty"`      // the text is a part of a message: a tool, a member of a batch
	Stderr    []string `json:"stderr,omitempty"`    // of an event that is the end of a process: its last lines there
}

// Direction is which way a line went.
type Direction string

// The directions. An event is what happened beside the messages, such as the end of the process.
const (
	Sent     Direction = "sent"
	Received Direction = "received"
	Event    Direction = "event"
)

// Report is a whole run.
type Report struct {
	SchemaVersion int                   `json:"schemaVersion"` // of the JSON report; see schemas/report.schema.json
	Program       catalogue.ProgramInfo `json:"tool"`
	Target        TargetInfo            `json:"target"`
	Server        ServerInfo            `json:"server"`
	Revisions     []RevisionInfo        `json:"revisions"` // those that were judged
	Profile       catalogue.Profile     `json:"profile"`
	Options       *OptionsInfo          `json:"options,omitempty"`
	Started       time.Time             `json:"started"`
	Seconds       float64               `json:"seconds"`
	Counts        Counts                `json:"counts"`
	ExitCode      int                   `json:"exitCode"`
	// why the server was not tested, or the run not finished
	Problem  string     `json:"problem,omitempty"`
	Baseline *Baseline  `json:"baseline,omitempty"`
	Coverage []Coverage `json:"coverage,omitempty"` // by revision
	Results  []Result   `json:"results"`
	Recorded bool       `json:"recorded,omitempty"` // records were judged: nothing could be asked
}

// OptionsInfo is what was asked for, by flags and mcpcheck.yaml, so that a run can be repeated. Secrets are not in it.
type OptionsInfo struct {
	Configuration string             `json:"configuration,omitempty"` // the file that was read
	Protocol      string             `json:"protocol"`                // auto, all or a revision
	Calls         CallPolicy         `json:"calls"`                   // which tools may be called
	Only          []string           `json:"only,omitempty"`
	Skip          []Exclusion        `json:"skip,omitempty"`
	Timeout       float64            `json:"timeout"`      // for one answer, in seconds
	StartTimeout  float64            `json:"startTimeout"` // until the first request is answered, in seconds
	Budget        float64            `json:"budget"`       // for the whole run, in seconds
	MaxMessage    int                `json:"maxMessage"`   // the longest that was read, in bytes
	Jobs          int                `json:"jobs"`         // checks at a time
	Isolate       bool               `json:"isolate,omitempty"`
	Quick         bool               `json:"quick,omitempty"` // nothing is waited for that may come late, see Options
	Seed          int64              `json:"seed"`
	Advice        bool               `json:"advice,omitempty"`    // is shown
	Set           *catalogue.SetInfo `json:"set,omitempty"`       // that was given to judge by
	Tentative     string             `json:"tentative,omitempty"` // gate: also what is new in this version of mcpcheck
	SDK           string             `json:"sdk,omitempty"`       // gate: also known deviations of SDKs
	// the part of the run that the report is of; nil: all of it
	Shard *ShardInfo `json:"shard,omitempty"`
}

// Exclusion is checks that are left out.
type Exclusion struct {
	Check  string `json:"check"`            // id, glob, area or level
	Reason string `json:"reason,omitempty"` // that the operator gave
}

// TargetInfo says how the server was reached. Secrets are redacted before they get here.
type TargetInfo struct {
	Transport string   `json:"transport"` // "stdio"
	Command   []string `json:"command,omitempty"`
	Dir       string   `json:"cwd,omitempty"`
	URL       string   `json:"url,omitempty"`
}

// ServerInfo is how the server names itself.
type ServerInfo struct {
	Name          string   `json:"name,omitempty"`
	Version       string   `json:"version,omitempty"`
	Capabilities  []string `json:"capabilities,omitempty"`
	Revisions     []string `json:"speaks,omitempty"` // revisions, as far as that is known
	DiscoverError string   `json:"undiscovered,omitempty"`
	Tools         int      `json:"tools"`
	Empty         bool     `json:"empty,omitempty"`     // it offers no tools, and declares no resources or prompts
	OneClient     bool     `json:"oneClient,omitempty"` // it serves one client at a time
}

// RevisionInfo is one revision that was judged.
type RevisionInfo struct {
	Requested string `json:"requested"`         // what the harness asked for
	Revision  string `json:"revision"`          // what was negotiated, and judged
	Assumed   bool   `json:"assumed,omitempty"` // nothing was negotiated: what was asked for is judged

	Set *catalogue.SetInfo `json:"set,omitempty"` // the requirements from which those that were tried are selected
}

// Counts is how many results came to each verdict, and how many gate. Advice is in none of them but its own.
type Counts struct {
	Pass         int `json:"pass"`
	Fail         int `json:"fail"`
	Inconclusive int `json:"inconclusive"`
	Skip         int `json:"skip"`
	Error        int `json:"error"`
	Gating       int `json:"gating"`
	Known        int `json:"known"`  // fails that the baseline lists
	SDK          int `json:"sdk"`    // fails that do not gate since they come from an SDK
	Stale        int `json:"stale"`  // entries of the baseline that do not hold any more
	Advice       int `json:"advice"` // recommendations that are not followed; no other count has advice
}

// Advice is the area of good practice that no sentence of the specification asks for.
const Advice = "advice"

// IsAdvice reports whether the result is advice, good practice that no sentence of the specification asks for, and no
// more than that: it does not gate.
func (r Result) IsAdvice() bool {
	return r.Area() == Advice && !r.Gates && r.Verdict != catalogue.Error
}

// Count counts results. Every report counts by it. Of advice, only what is not followed is counted, apart from all
// others.
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

// UntestedMusts is the cause for which most MUSTs have no verdict since the server was silent, or gone, or a list could
// not be had or read, and how many these are. A few are the fault of a request, many that of the server: n is 0 when
// there are only a few.
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

// NoVerdictCause is why a run has come to no verdict at all: what most of its results say that are inconclusive. It is
// empty where one passes or fails, or where nothing applies.
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

// ExitCode is the whole policy of success for a run that came to its end.
func (c Counts) ExitCode() int {
	switch {
	case c.Error > 0:
		return ExitInternal
	case c.Gating > 0 || c.Stale > 0:
		return ExitFails
	}
	return ExitConforms
}

// Hold holds back a result of a tentative check: it is shown, and does not gate.
func (r *Result) Demote() {
	r.Tentative, r.Gates, r.GatedBy, r.DirectoryRules = true, false, catalogue.NoGate, nil
}

// RoundMillis keeps milliseconds.
func RoundMillis(seconds float64) float64 { return float64(int(seconds*1000+0.5)) / 1000 }
