package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// draft is what a new configuration file is made of.
type draft struct {
	values
	target *target
	server *harness.Server
	tools  []toolDraft
}

// newDraft prepares the file for a server.
func newDraft(v values, t *target, server *harness.Server) draft {
	d := draft{values: v, target: t, server: server}
	seen := map[string]bool{}
	for _, tool := range server.Tools {
		if name, ok := tool["name"].(string); ok && !seen[name] {
			seen[name] = true
			d.tools = append(d.tools, d.draftTool(name, tool))
		}
	}
	return d
}

// found describes the server.
func (d draft) found() string {
	info := d.target.redact.server(d.server.Info())
	name := cmp.Or(strings.TrimSpace(printable(info.Name)+" "+printable(info.Version)), "a server without a name")
	transport := map[string]string{"stdio": "stdio", "http": "Streamable HTTP", "sse": "HTTP+SSE"}[d.server.Transport]
	text := fmt.Sprintf("%s over %s, revision %s", name, transport, d.server.Revision)
	if len(info.Capabilities) > 0 {
		text += ", with " + printable(strings.Join(info.Capabilities, ", "))
	}
	return text
}

// called says which tools the file lets runs call.
func (d draft) called() string {
	called := 0
	var others, failed []string
	for _, t := range d.tools {
		if t.why == "" {
			called++
		} else {
			others = append(others, t.name)
		}
		if t.failed != "" {
			failed = append(failed, t.name)
		}
	}
	if len(d.tools) == 0 {
		return "tools: it lists none"
	}
	text := reporters.Plural(called, "tool") + " will be called with the arguments in the file"
	if n := len(others); n > 0 {
		text += fmt.Sprintf(", %d will not: %s; the file says why", n, d.names(others))
	}
	if len(failed) > 0 {
		text += "\nfailed with these arguments: " + d.names(failed) + "; the file has the answers"
	}
	return text
}

// names are names of tools on a line.
func (d draft) names(names []string) string {
	return d.target.redact.text(printable(strings.Join(names, ", ")))
}

// next says what to do with the file.
func (d draft) next(name string) string {
	words := []string{"mcpcheck", "run"}
	if name != configName {
		words = append(words, "--config", name)
	}
	words = append(words, d.flags.remote.again(d.target.redact)...)
	steps := []string{"review it"}
	if strings.Contains(d.targetText(), "[redacted]") {
		steps = append(steps, "put in what is [redacted]")
	}
	if variables := d.variables(); len(variables) > 0 {
		steps = append(steps, "set "+strings.Join(variables, ", ")+" in the environment")
	}
	return strings.Join(steps, ", ") + ", then run " + text.Shell(words...)
}

// variables are those of the environment that have to be set before a run.
func (d draft) variables() (names []string) {
	for _, pair := range d.target.env {
		if key, value, _ := strings.Cut(pair, "="); value != portMark {
			names = append(names, key)
		}
	}
	for _, h := range d.variableHeaders() {
		names = append(names, h.variable)
	}
	return names
}

// toolDraft is a tool as the file has it.
type toolDraft struct {
	name      string
	arguments harness.M
	why       string // it is not called with them; empty: it is
	harmless  bool   // it may be called to see whether they work
	failed    string // what came when they were tried; empty: they were not, or nothing is wrong with them
}

// addOthers adds tools that only some clients see.
func (d *draft) addOthers(tools []harness.M) {
	for _, tool := range tools {
		if name, ok := tool["name"].(string); ok {
			t := d.draftTool(name, tool)
			t.why, t.harmless = cmp.Or(t.why, "only clients with sampling, elicitation and roots see it"), false
			d.tools = append(d.tools, t)
		}
	}
}

// try calls the tools that are harmless with the arguments that were made, for as long as a run does.
func (d *draft) try(s *driver.Session) {
	const enough = 10 * time.Second
	begin := time.Now()
	for i := range d.tools {
		t := &d.tools[i]
		if !t.harmless || time.Since(begin) > enough || !s.Alive() {
			continue
		}
		r := s.Exchange("tools/call", harness.M{"name": t.name, "arguments": t.arguments})
		if r.Err != nil || r.Result() == nil || r.Result()["isError"] == true {
			t.failed = printable(harness.Got(r))
		}
	}
}

// draftTool makes arguments for a tool.
func (d draft) draftTool(name string, tool harness.M) toolDraft {
	t := toolDraft{name: name, arguments: harness.M{}}
	if why := kit.Uncallable(tool, d.server.Revision); why != "" {
		t.why = why
		return t
	}
	if p := d.calls.Permit(tool, false); !p.Valid {
		t.why = strings.TrimSuffix(p.Why, " and no example arguments")
	}
	schema, err := schemas.Compile(tool["inputSchema"], d.server.Revision)
	if err == nil {
		t.arguments, err = schemas.Valid(schema, d.Seed)
	}
	if err != nil {
		t.why = "no arguments could be made: " + err.Error()
	}
	if text := name + flow(t.arguments); d.target.redact.text(text) != text {
		t.why = "a secret is in it"
	}
	t.harmless = t.why == "" && harness.CallsSafe.Permit(tool, false).Valid
	return t
}

// text is the whole file.
func (d draft) text() string {
	parts := []string{
		"# yaml-language-server: $schema=" + schemaURL + "\n" +
			"# Made by mcpcheck init: " + d.found() + ".\n" +
			"# mcpcheck run, in the directory of this file, judges the server by it; flags win.\n" +
			"# All keys: mcpcheck config schema\n",
		d.targetText(), d.policyText(), d.toolsText(), hints,
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, "\n")
}

// hints are keys that most files get sooner or later.
const hints = `# Checks to leave out, by id, glob, area or level, and why.
# skip:
#   - {check: robust, reason: TODO}

# Reports of every run; for one run: --junit, --json, --markdown, --sarif, --html, --tap, --ctrf, --badge,
# --report-dir.
# reports:
#   junit: mcpcheck.xml
#   sarif: mcpcheck.sarif

# Known failures, which do not block, are in mcpcheck-baseline.yaml beside this file; mcpcheck baseline writes it.
# baseline: another-file.yaml
`

// targetText says how the server is reached.
func (d draft) targetText() string {
	var b strings.Builder
	if len(d.target.command) > 0 {
		fmt.Fprintf(&b, "command: %s\n", flow(d.target.redact.texts(d.target.command)))
	}
	if d.target.url != "" {
		fmt.Fprintf(&b, "url: %s\n", flow(d.target.redact.text(d.target.url)))
	}
	if strings.Contains(b.String(), "[redacted]") {
		b.WriteString("# [redacted] is a secret, which mcpcheck does not write.\n")
	}
	if d.target.dir != "" {
		fmt.Fprintf(&b, "cwd: %s\n", flow(d.target.dir))
	}
	return b.String() + d.envText() + d.headersText()
}

// envText has the variables of the server, but no value that may be a secret.
func (d draft) envText() string {
	var ports, secrets []string
	for _, pair := range d.target.env {
		key, value, _ := strings.Cut(pair, "=")
		if value == portMark {
			ports = append(ports, fmt.Sprintf("  %s: %s\n", flow(key), flow(portMark)))
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
			fmt.Fprintf(&b, "#   %s: …\n", flow(key))
		}
	}
	return b.String()
}

// header is a header whose value an environment variable holds.
type header struct{ name, variable string }

// variableHeaders are the headers, each with a variable for its value.
func (d draft) variableHeaders() (list []header) {
	for _, pair := range d.target.headers {
		name, _, _ := strings.Cut(pair, ":")
		name = http.CanonicalHeaderKey(name)
		if !slices.ContainsFunc(list, func(h header) bool { return h.name == name }) {
			list = append(list, header{name, "HEADER_" + noVariable.ReplaceAllString(strings.ToUpper(name), "_")})
		}
	}
	for _, pair := range d.flags.remote.headerEnv {
		name, variable, _ := strings.Cut(pair, "=")
		list = append(list, header{http.CanonicalHeaderKey(name), variable})
	}
	return list
}

// noVariable is what has no place in the name of an environment variable.
var noVariable = regexp.MustCompile(`[^A-Z0-9_]`)

func (d draft) headersText() string {
	var b strings.Builder
	if list := d.variableHeaders(); len(list) > 0 {
		b.WriteString("headers: # the environment variable that holds the value of each\n")
		for _, h := range list {
			fmt.Fprintf(&b, "  %s: %s\n", flow(h.name), h.variable)
		}
	}
	if d.BearerEnv != "" {
		fmt.Fprintf(&b, "bearer-env: %s # the environment variable that holds the token\n", d.BearerEnv)
	}
	return b.String()
}

// policyText says what is judged, and how patiently.
func (d draft) policyText() string {
	text := "# What blocks: release (MUSTs and the release checklist), spec (MUSTs only), strict (also SHOULDs,\n" +
		"# and MUSTs that could not be tested), directory (only the rules of public server directories).\n" +
		"profile: " + d.Profile + "\n"
	for _, key := range []struct{ name, value string }{
		{"protocol", d.Protocol}, {"calls", d.Calls},
		{"timeout", d.Timeout.String()}, {"start-timeout", d.StartTimeout.String()},
		{"max-message", d.MaxMessage},
	} {
		if d.flags.given(key.name) {
			text += key.name + ": " + key.value + "\n"
		}
	}
	return text
}

// toolsText has the arguments of each tool, those of tools that are not called in comments.
func (d draft) toolsText() string {
	var called, others strings.Builder
	for _, t := range d.tools {
		line := flow(d.target.redact.text(t.name)) + ": " + d.target.redact.text(flow(t.arguments))
		switch {
		case t.failed != "":
			fmt.Fprintf(&called, "  %s # failed when tried: %s\n", line, d.target.redact.text(t.failed))
		case t.why == "":
			fmt.Fprintf(&called, "  %s\n", line)
		default:
			fmt.Fprintf(&others, "  # %s # %s\n", line, d.target.redact.text(printable(t.why)))
		}
	}
	if len(d.tools) == 0 {
		return ""
	}
	text := "# Arguments by tool, made from the schemas: change them to some that mean something to the server.\n" +
		"# A tool that is listed here is called with them, so they have to be valid and harmless; and with invalid\n" +
		"# ones, unless it is marked destructive.\n"
	if called.Len() == 0 {
		text += "# arguments:\n"
	} else {
		text += "arguments:\n" + called.String()
	}
	if others.Len() > 0 {
		text += "  # Not called with valid arguments, and why; take the # away to have one called,\n" +
			"  # or give --calls all to have all called. run --plan says which are called with invalid ones.\n" +
			others.String()
	}
	return text
}

// flow writes a value as YAML on one line.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		if needsNoQuotes(v) {
			return v
		}
		return strconv.Quote(v)
	case []string:
		return "[" + strings.Join(each(v, func(item string) string { return flow(item) }), ", ") + "]"
	case []any:
		return "[" + strings.Join(each(v, flow), ", ") + "]"
	case map[string]any:
		pairs := each(sortedKeys(v), func(key string) string { return flow(key) + ": " + flow(v[key]) })
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return string(text)
}

// needsNoQuotes reports whether a string may stand in YAML as it is.
func needsNoQuotes(text string) bool {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"} // something else for some parsers
	return wordly.MatchString(text) && !slices.Contains(words, strings.ToLower(text))
}

var wordly = regexp.MustCompile(`^(--?|\.{0,2}/)?[A-Za-z_][A-Za-z0-9_./@-]*$`)

// printable is a text of the server on one line, without what a terminal or YAML would take for a command.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	const most = 200
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return oneLine(text)
}
