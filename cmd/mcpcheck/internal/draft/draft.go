// Package draft writes the first mcpcheck.yaml of a server, for mcpcheck init.
//
// Create inspects the server and writes the file: how mcpcheck connects to the server, which failures gate, and the
// server's tools with arguments that are generated from their schemas. A tool that declares itself read-only is called
// once with them, and the file says which calls failed. Whatever a server calls its tools, the file is valid; this is
// verified before it is written. It contains no secrets: it omits the values of variables and headers, and comments say
// how to pass them.
package draft

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// draft is the content of a new configuration file.
type draft struct {
	config.Options
	target *target.Target
	server *check.Server
	tools  []toolDraft
}

// newDraft returns a draft for a server, still without tools.
func newDraft(v config.Options, t *target.Target, server *check.Server) draft {
	d := draft{Options: v, target: t, server: server}
	seen := map[string]bool{}
	for _, tool := range server.Tools {
		if name, ok := tool["name"].(string); ok && !seen[name] {
			seen[name] = true
			d.tools = append(d.tools, d.newToolDraft(name, tool))
		}
	}
	return d
}

// serverSummary describes the server for the operator.
func (d draft) serverSummary() string {
	info := d.target.Redactor.Server(d.server.Info())
	name := cmp.Or(strings.TrimSpace(printableLine(info.Name)+" "+printableLine(info.Version)),
		"a server without a name")
	transport := map[string]string{"stdio": "stdio", "http": "Streamable HTTP", "sse": "HTTP+SSE"}[d.server.Transport]
	said := fmt.Sprintf("%s over %s, revision %s", name, transport, d.server.Revision)
	if len(info.Capabilities) > 0 {
		said += ", with " + printableLine(strings.Join(info.Capabilities, ", "))
	}
	return said
}

// toolSummary says which tools the file lets runs call.
func (d draft) toolSummary() string {
	called := 0
	var others, failed []string
	for _, t := range d.tools {
		if t.notCalledReason == "" {
			called++
		} else {
			others = append(others, t.name)
		}
		if t.failure != "" {
			failed = append(failed, t.name)
		}
	}
	if len(d.tools) == 0 {
		return "tools: it lists none"
	}
	said := reporters.Plural(called, "tool") + " will be called with the arguments in the file"
	if n := len(others); n > 0 {
		said += fmt.Sprintf(", %d will not: %s; the file says why", n, d.toolNames(others))
	}
	if len(failed) > 0 {
		said += "\nfailed with these arguments: " + d.toolNames(failed) + "; the file has the answers"
	}
	return said
}

// toolNames returns the names of tools on one line.
func (d draft) toolNames(names []string) string {
	return d.target.Redactor.Text(printableLine(strings.Join(names, ", ")))
}

// nextSteps says what to do with the file.
func (d draft) nextSteps(name string) string {
	words := []string{"mcpcheck", "run"}
	if name != config.DefaultFile {
		words = append(words, "--config", name)
	}
	words = append(words, d.Flags.Remote.Args(d.target.Redactor)...)
	steps := []string{"review it"}
	if strings.Contains(d.targetText(), "[redacted]") {
		steps = append(steps, "put in what is [redacted]")
	}
	if variables := d.requiredVariables(); len(variables) > 0 {
		steps = append(steps, "set "+strings.Join(variables, ", ")+" in the environment")
	}
	return strings.Join(steps, ", ") + ", then run " + text.Shell(words...)
}

// requiredVariables returns the names of environment variables that have to be set before a run.
func (d draft) requiredVariables() (names []string) {
	for _, pair := range d.target.Env {
		if key, value, _ := strings.Cut(pair, "="); value != redact.PortPlaceholder {
			names = append(names, key)
		}
	}
	for _, h := range d.headerVariables() {
		names = append(names, h.variable)
	}
	return names
}

// toolDraft is the entry of a tool in the file.
type toolDraft struct {
	name      string
	arguments check.M
	// notCalledReason is why runs do not call the tool with these arguments; empty means that they do.
	notCalledReason string
	// isSafe says that the tool may be called to find out whether the arguments work.
	isSafe bool
	// failure describes the error of a call with the arguments; it is empty when there was none, or no call.
	failure string
}

// addCapabilityTools adds tools that the server lists only for clients with certain capabilities.
func (d *draft) addCapabilityTools(tools []check.M) {
	for _, tool := range tools {
		if name, ok := tool["name"].(string); ok {
			t := d.newToolDraft(name, tool)
			t.notCalledReason, t.isSafe = cmp.Or(t.notCalledReason,
				"only clients with sampling, elicitation and roots see it"), false
			d.tools = append(d.tools, t)
		}
	}
}

// tryTools calls the harmless tools with the generated arguments, within the budget of a run.
func (d *draft) tryTools(s *driver.Session) {
	const enough = 10 * time.Second
	begin := time.Now()
	for i := range d.tools {
		t := &d.tools[i]
		if !t.isSafe || time.Since(begin) > enough || !s.IsAlive() {
			continue
		}
		r := s.Call("tools/call", check.M{"name": t.name, "arguments": t.arguments})
		if r.Err != nil || r.Result() == nil || r.Result()["isError"] == true {
			t.failure = printableLine(check.Got(r))
		}
	}
}

// newToolDraft generates arguments for a tool.
func (d draft) newToolDraft(name string, tool check.M) toolDraft {
	t := toolDraft{name: name, arguments: check.M{}}
	if why := toolcall.UncallableReason(tool, d.server.Revision); why != "" {
		t.notCalledReason = why
		return t
	}
	if p := d.CallPolicy.Permit(tool, false); !p.Valid {
		t.notCalledReason = strings.TrimSuffix(p.Reason, " and no example arguments")
	}
	schema, err := schemas.Compile(tool["inputSchema"], d.server.Revision)
	if err == nil {
		t.arguments, err = schemas.ValidArguments(schema, d.Seed)
	}
	if err != nil {
		t.notCalledReason = "no arguments could be made: " + err.Error()
	}
	if said := name + flowYAML(t.arguments); d.target.Redactor.Text(said) != said {
		t.notCalledReason = "a secret is in it"
	}
	t.isSafe = t.notCalledReason == "" && report.CallsSafe.Permit(tool, false).Valid
	return t
}

// text returns the whole file.
func (d draft) text() string {
	parts := []string{
		"# yaml-language-server: $schema=" + config.SchemaURL + "\n" +
			"# Made by mcpcheck init: " + d.serverSummary() + ".\n" +
			"# mcpcheck run, in the directory of this file, tests the server with it; flags take precedence.\n" +
			"# All keys: mcpcheck config schema\n",
		d.targetText(), d.policyText(), d.toolsText(), hintsText,
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, "\n")
}

// hintsText are comments with keys that most files need sooner or later.
const hintsText = `# Checks to leave out, by id, glob, area or level, and why.
# skip:
#   - {check: robust, reason: TODO}

# Reports of every run; for one run: --junit, --json, --markdown, --sarif, --html, --tap, --ctrf, --badge,
# --report-dir.
# reports:
#   junit: mcpcheck.xml
#   sarif: mcpcheck.sarif

# Known failures, which do not block, are in mcpcheck-baseline.yaml in the directory of this file; mcpcheck baseline
# writes it.
# baseline: another-file.yaml
`

// targetText returns the keys that say how mcpcheck connects to the server.
func (d draft) targetText() string {
	var b strings.Builder
	if len(d.target.Command) > 0 {
		fmt.Fprintf(&b, "command: %s\n", flowYAML(d.target.Redactor.Texts(d.target.Command)))
	}
	if d.target.URL != "" {
		fmt.Fprintf(&b, "url: %s\n", flowYAML(d.target.Redactor.Text(d.target.URL)))
	}
	if strings.Contains(b.String(), "[redacted]") {
		b.WriteString("# [redacted] is a secret, which mcpcheck does not write.\n")
	}
	if d.target.Dir != "" {
		fmt.Fprintf(&b, "cwd: %s\n", flowYAML(d.target.Dir))
	}
	return b.String() + d.envText() + d.headersText()
}

// envText returns the variables of the server, without values that may be secrets.
func (d draft) envText() string {
	var ports, secrets []string
	for _, pair := range d.target.Env {
		key, value, _ := strings.Cut(pair, "=")
		if value == redact.PortPlaceholder {
			ports = append(ports, fmt.Sprintf("  %s: %s\n", flowYAML(key), flowYAML(redact.PortPlaceholder)))
		} else {
			secrets = append(secrets, key)
		}
	}
	var b strings.Builder
	if len(ports) > 0 {
		b.WriteString("env:\n" + strings.Join(ports, ""))
	}
	if len(secrets) > 0 {
		b.WriteString("# The server needs these variables. " +
			"Set them in the environment of mcpcheck, or give --env KEY=VALUE;\n" +
			"# what is not a secret may stand under env: in this file.\n")
		for _, key := range secrets {
			fmt.Fprintf(&b, "#   %s: …\n", flowYAML(key))
		}
	}
	return b.String()
}

// headerVariable is a header with the environment variable that holds its value.
type headerVariable struct{ name, variable string }

// headerVariables returns the headers, each with a variable for its value.
func (d draft) headerVariables() (list []headerVariable) {
	for _, pair := range d.target.Headers {
		name, _, _ := strings.Cut(pair, ":")
		name = http.CanonicalHeaderKey(name)
		if !slices.ContainsFunc(list, func(h headerVariable) bool { return h.name == name }) {
			list = append(list,
				headerVariable{name, "HEADER_" + invalidVariableChars.ReplaceAllString(strings.ToUpper(name), "_")})
		}
	}
	for _, pair := range d.Flags.Remote.HeaderEnv {
		name, variable, _ := strings.Cut(pair, "=")
		list = append(list, headerVariable{http.CanonicalHeaderKey(name), variable})
	}
	return list
}

// invalidVariableChars matches what the name of an environment variable may not contain.
var invalidVariableChars = regexp.MustCompile(`[^A-Z0-9_]`)

func (d draft) headersText() string {
	var b strings.Builder
	if list := d.headerVariables(); len(list) > 0 {
		b.WriteString("headers: # the environment variable that holds the value of each\n")
		for _, h := range list {
			fmt.Fprintf(&b, "  %s: %s\n", flowYAML(h.name), h.variable)
		}
	}
	if d.BearerEnv != "" {
		fmt.Fprintf(&b, "bearer-env: %s # the environment variable that holds the token\n", d.BearerEnv)
	}
	return b.String()
}

// policyText returns the keys that say what is judged, and with which timeouts.
func (d draft) policyText() string {
	said := "# " + strings.Join(text.Wrap("What blocks: "+config.ProfilesText+".", 98), "\n# ") + "\n" +
		"profile: " + d.Profile + "\n"
	for _, key := range []struct{ name, value string }{
		{"protocol", d.Protocol}, {"calls", d.Calls},
		{"timeout", d.Timeout.String()}, {"start-timeout", d.StartTimeout.String()},
		{"max-message", d.MaxMessage}, {"rate", strconv.Itoa(d.Rate)},
	} {
		if d.Flags.IsGiven(key.name) {
			said += key.name + ": " + key.value + "\n"
		}
	}
	return said
}

// toolsText returns the arguments of each tool. Those of tools that runs do not call are comments.
func (d draft) toolsText() string {
	var called, others strings.Builder
	for _, t := range d.tools {
		line := flowYAML(d.target.Redactor.Text(t.name)) + ": " + d.target.Redactor.Text(flowYAML(t.arguments))
		switch {
		case t.failure != "":
			fmt.Fprintf(&called, "  %s # failed when tried: %s\n", line, d.target.Redactor.Text(t.failure))
		case t.notCalledReason == "":
			fmt.Fprintf(&called, "  %s\n", line)
		default:
			fmt.Fprintf(&others, "  # %s # %s\n", line, d.target.Redactor.Text(printableLine(t.notCalledReason)))
		}
	}
	if len(d.tools) == 0 {
		return ""
	}
	said := "# Arguments by tool, made from the schemas: change them to some that mean something to the server.\n" +
		"# A tool that is listed here is called with them, so they have to be valid and harmless; and with invalid\n" +
		"# ones, unless it is marked destructive.\n"
	if called.Len() == 0 {
		said += "# arguments:\n"
	} else {
		said += "arguments:\n" + called.String()
	}
	if others.Len() > 0 {
		said += "  # Not called with valid arguments, and why; take the # away to have one called,\n" +
			"  # or give --calls all to have all called. run --plan says which are called with invalid ones.\n" +
			others.String()
	}
	return said
}

// flowYAML writes a value as YAML on one line.
func flowYAML(v any) string {
	switch v := v.(type) {
	case string:
		if isPlainScalar(v) {
			return v
		}
		return strconv.Quote(v)
	case []string:
		return "[" + strings.Join(text.Map(v, func(item string) string { return flowYAML(item) }), ", ") + "]"
	case []any:
		return "[" + strings.Join(text.Map(v, flowYAML), ", ") + "]"
	case map[string]any:
		pairs := text.Map(slices.Sorted(maps.Keys(v)),
			func(key string) string { return flowYAML(key) + ": " + flowYAML(v[key]) })
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	said, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return string(said)
}

// isPlainScalar reports whether a string can be written in YAML without quotes.
func isPlainScalar(said string) bool {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"} // not strings to some parsers
	return plainScalarPattern.MatchString(said) && !slices.Contains(words, strings.ToLower(said))
}

var plainScalarPattern = regexp.MustCompile(`^(--?|\.{0,2}/)?[A-Za-z_][A-Za-z0-9_./@-]*$`)

// printableLine returns a text of the server on one line, without characters that a terminal or YAML would interpret.
func printableLine(said string) string {
	said = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, said)
	const most = 200
	if runes := []rune(said); len(runes) > most {
		said = string(runes[:most]) + "…"
	}
	return text.OneLine(said)
}
