package reporters

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// SARIF writes the report in the Static Analysis Results Interchange Format 2.1.0 of OASIS, with what GitHub code
// scanning requires (GitHub Docs, "SARIF support for code scanning"). Section numbers in this file are those of the
// standard.
//
// Requirements are rules, and failures are results. Their level is error if they block, else warning; it is note for
// advice, and for known failures, which code scanning shows although they are suppressed. A MUST that blocks because it
// was not decided is a result of kind open. Faults of mcpcheck and problems of the run are notifications (3.20.21).
// Stale entries of the baseline are notifications about the configuration (3.20.22).
func SARIF(w io.Writer, r report.Report, o Options) error {
	r = printableReport(r)
	s := sarifRun{
		Tool: sarifTool{Driver: sarifDriver{
			Name: r.Program.Name, Version: r.Program.Version, Home: homeURL, Rules: []sarifRule{},
		}},
		AutomationDetails: sarifAutomation{"mcpcheck/" + r.Target.Transport + "/"},
		Results:           []sarifResult{},
	}
	if semanticVersion.MatchString(r.Program.Version) {
		s.Tool.Driver.SemanticVersion = r.Program.Version
	}
	rules := map[string]int{}
	for _, g := range groupBy(r.Results, func(x report.Result) string { return x.ID }) {
		rules[g[0].ID] = len(s.Tool.Driver.Rules)
		s.Tool.Driver.Rules = append(s.Tool.Driver.Rules, newSarifRule(g.newest(), o))
	}
	reported := filter(r.Results, func(x report.Result) bool { return x.Verdict == catalogue.Fail || x.Gates })
	for _, g := range groupBy(reported, findingKey) {
		s.Results = append(s.Results, newSarifResult(r, g, rules[g[0].ID], o))
	}
	s.Invocations = []sarifInvocation{newSarifInvocation(r, o)}
	return writeJSON(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{s}})
}

const (
	homeURL     = "https://github.com/mcpcheck/mcpcheck"
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

// semanticVersion matches a version by Semantic Versioning 2.0, approximately.
var semanticVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool              sarifTool         `json:"tool"`
	AutomationDetails sarifAutomation   `json:"automationDetails"`
	Invocations       []sarifInvocation `json:"invocations"`
	Results           []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name            string      `json:"name"`
	Version         string      `json:"version,omitempty"`
	SemanticVersion string      `json:"semanticVersion,omitempty"`
	Home            string      `json:"informationUri"`
	Rules           []sarifRule `json:"rules"`
}

// sarifAutomation distinguishes the run from others of the same commit (3.17). For code scanning, the part up to the
// last slash is a category. It does not name the revision, because alerts of a category are closed only by a later run
// of the same category.
type sarifAutomation struct {
	ID string `json:"id"`
}

type sarifRule struct { // 3.49
	ID               string          `json:"id"`
	ShortDescription sarifMessage    `json:"shortDescription"`
	FullDescription  sarifMessage    `json:"fullDescription"`
	Help             sarifMessage    `json:"help"`
	HelpURI          string          `json:"helpUri,omitempty"`
	Default          sarifDefault    `json:"defaultConfiguration"`
	Properties       sarifProperties `json:"properties"`
}

type sarifMessage struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifProperties struct {
	Tags      []string `json:"tags,omitempty"`
	Precision string   `json:"precision,omitempty"`
	Severity  string   `json:"problem.severity,omitempty"`

	Revisions []string `json:"revisions,omitempty"`
	GatedBy   string   `json:"gatedBy,omitempty"`
	Subjects  []string `json:"subjects,omitempty"`
	Wire      []string `json:"wire,omitempty"`
}

type sarifResult struct { // 3.27
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Kind         string             `json:"kind"`
	Level        string             `json:"level"`
	Message      sarifMessage       `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitzero"`
	Properties   sarifProperties    `json:"properties"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct { // 3.29
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct { // 3.30
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine"`
	EndColumn   int `json:"endColumn"`
}

type sarifSuppression struct { // 3.35
	Kind          string        `json:"kind"`
	Status        string        `json:"status"`
	Justification string        `json:"justification,omitempty"`
	Location      sarifLocation `json:"location"`
}

type sarifInvocation struct { // 3.20
	Successful    bool                `json:"executionSuccessful"`
	ExitCode      int                 `json:"exitCode"`
	Start         string              `json:"startTimeUtc,omitempty"`
	End           string              `json:"endTimeUtc,omitempty"`
	Execution     []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	Configuration []sarifNotification `json:"toolConfigurationNotifications,omitempty"`
}

type sarifNotification struct { // 3.58
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

// newSarifLocation returns the location of a line in a file. Code scanning requires all members of its region.
func newSarifLocation(path string, line int) sarifLocation {
	line = max(line, 1)
	return sarifLocation{sarifPhysical{sarifArtifact{uriReference(path)}, sarifRegion{line, 1, line, 2}}}
}

// newSarifRule returns a requirement as a rule.
func newSarifRule(r report.Result, o Options) sarifRule {
	rule := sarifRule{
		ID:               r.ID,
		ShortDescription: sarifMessage{Text: sarifText(r.RequirementText(), 1000)},
		FullDescription:  sarifMessage{Text: sarifText(r.RequirementText(), 1000)},
		Help:             sarifHelp(r),
		Default:          sarifDefault{"note"},
		Properties: sarifProperties{
			Tags: []string{r.Area(), r.EntryLevel.String()}, Precision: "very-high", Severity: "recommendation",
		},
	}
	if urlPattern.MatchString(r.Spec) {
		rule.HelpURI = r.Spec
	}
	switch r.EntryLevel {
	case catalogue.Must:
		rule.Default.Level, rule.Properties.Severity = "error", "error"
	case catalogue.Should:
		rule.Default.Level, rule.Properties.Severity = "warning", "warning"
	}
	if o.FindRequirement == nil {
		return rule
	}
	if q, ok := o.FindRequirement(r.ID); ok {
		rule.FullDescription.Text = sarifText(sentence(q.Statement), 1000)
		if q.Checklist {
			rule.Properties.Tags = append(rule.Properties.Tags, "checklist")
		}
	}
	return rule
}

// sarifHelp returns what a server author needs to know about a requirement.
func sarifHelp(r report.Result) sarifMessage {
	explain := "mcpcheck explain " + r.ID
	plain := nonEmpty(r.RequirementText(), labelled("Fix: ", r.Fix), labelled("Specification: ", r.Spec),
		"More: "+explain)
	marked := nonEmpty(escapeLiteral(r.RequirementText()), labelled("**Fix:** ", escapeLiteral(r.Fix)),
		"More: "+codeSpan(explain))
	if urlPattern.MatchString(r.Spec) {
		marked = append(marked, "[Sentence of the specification]("+r.Spec+")")
	}
	return sarifMessage{Text: sarifText(strings.Join(plain, "\n"), 4000), Markdown: strings.Join(marked, "\n\n")}
}

// newSarifResult returns a finding, in all revisions in which it occurred, as a result.
func newSarifResult(rep report.Report, g group, rule int, o Options) sarifResult {
	r := g.newest()
	result := sarifResult{
		RuleID: r.ID, RuleIndex: rule,
		Kind: "fail", Level: sarifLevel(r),
		Message:      sarifMessage{Text: sarifFinding(rep, g)},
		Locations:    []sarifLocation{newSarifLocation(o.pathOrDefault(), 1)},
		Fingerprints: sarifFingerprints(r.ID),
		Properties: sarifProperties{
			Revisions: g.revisions(), GatedBy: string(r.GatedBy), Subjects: r.Subjects,
			Wire: wireLines(r.Evidence, fileWireLines, fileWireWidth),
		},
	}
	if r.Verdict != catalogue.Fail {
		result.Kind, result.Level = "open", "none" // 3.27.9
	}
	if rep.Baseline != nil { // all results have suppressions, or none has (3.27.23)
		result.Suppressions = []sarifSuppression{}
	}
	if isKnown(r) && rep.Baseline != nil {
		result.Suppressions = []sarifSuppression{{
			Kind: "external", Status: "accepted", Justification: knownText(*r.Known),
			Location: newSarifLocation(o.relativePath(rep.Baseline.File), r.Known.Line),
		}}
	}
	return result
}

// sarifLevel returns the level of a failure.
func sarifLevel(r report.Result) string {
	switch {
	case r.Gates:
		return "error"
	case acceptedText(r) != "" || r.Level < catalogue.Should:
		return "note"
	}
	return "warning"
}

// sarifFinding returns the message of a finding. Its first line also serves as the title.
func sarifFinding(rep report.Report, g group) string {
	r := g.newest()
	first := resultTitle(r)
	rest := shortenLines(r.Message, markdownLines, markdownWidth)
	if strings.ReplaceAll(rest, "\n", ", ") == first {
		rest = ""
	}
	if revisions := revisionsText(rep, g); revisions != "" {
		first += " (" + revisions + ")"
	}
	lines := nonEmpty(first, rest, gateNote(r), labelled("on: ", joinSome(subjects(r), 20)))
	return sarifText(strings.Join(lines, "\n\n"), 4000)
}

// sarifText returns a text of at most limit characters without embedded links (3.11.6). It is never empty, because code
// scanning does not accept that.
func sarifText(s string, limit int) string {
	if s == "" {
		return "-"
	}
	return shorten(strings.ReplaceAll(s, "](", "] ("), limit)
}

// sarifFingerprints identify a finding in later runs (3.27.17). They do not depend on what a server sent. The upload
// action of code scanning makes its own fingerprint, and warns if there is one of the same name.
func sarifFingerprints(id string) map[string]string {
	sum := sha256.Sum256([]byte(id))
	return map[string]string{"mcpcheck/v1": hex.EncodeToString(sum[:8])}
}

// newSarifInvocation describes how the run went.
func newSarifInvocation(r report.Report, o Options) sarifInvocation {
	i := sarifInvocation{
		Successful: slices.Contains([]int{report.ExitConforms, report.ExitFails}, r.ExitCode),
		ExitCode:   r.ExitCode,
	}
	if !r.Started.IsZero() {
		i.Start = sarifTime(r.Started)
		i.End = sarifTime(r.Started.Add(time.Duration(r.Seconds * float64(time.Second))))
	}
	if r.Problem != "" {
		i.Execution = append(i.Execution, sarifError(r.Problem))
	}
	for _, x := range r.Results {
		if x.Verdict == catalogue.Error {
			i.Execution = append(i.Execution, sarifError(x.ID+": "+x.Message))
		}
	}
	for _, s := range staleBaseline(r) {
		n := sarifError("stale entry of the baseline: " + s.Entry + ": " + s.Reason + "; " + staleFix)
		n.Locations = []sarifLocation{newSarifLocation(o.relativePath(r.Baseline.File), s.Line)}
		i.Configuration = append(i.Configuration, n)
	}
	return i
}

func sarifError(text string) sarifNotification {
	text = sarifText(shortenLines(text, markdownLines, markdownWidth), 4000)
	return sarifNotification{Level: "error", Message: sarifMessage{Text: text}}
}

// sarifTime returns a time in UTC, with milliseconds (3.9).
func sarifTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
