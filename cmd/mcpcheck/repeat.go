package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// repeatCommand is the command that tries one check again, to the same verdict. A watch is run with what provoked it,
// which may be the whole run.
func repeatCommand(v options, t *target, r report.Result) string {
	words := []string{"mcpcheck", "run"}
	if !slices.Contains(r.TriggeredBy, check.WholeRun) {
		words = append(words, "--only", strings.Join(append([]string{r.ID}, r.TriggeredBy...), ","))
	}
	if v.Protocol != protocolAuto { // of all revisions, only this one
		words = append(words, "--protocol", r.Revision)
	}
	words = append(words, v.flags.repeatedArgs...)
	return text.Shell(append(words, t.serverArgs(v)...)...)
}

// nextSteps are the one or two commands that help after a run, the first before all.
func nextSteps(v options, t *target, r report.Report) []string {
	command := func(words ...string) string {
		return text.Shell(slices.Concat([]string{"mcpcheck"}, words, t.serverArgs(v))...)
	}
	again := func(words ...string) string {
		return command(slices.Concat(words, v.flags.selectionArgs, v.flags.repeatedArgs)...)
	}
	blocking := reporters.Blocking(r)
	live := !r.Recorded && len(t.serverArgs(v)) > 0
	inCI := os.Getenv("CI") != ""
	switch {
	case len(blocking) > 0:
		explain := "mcpcheck explain " + blocking[0]
		switch own := func(x report.Result) bool { return x.Gates && x.SDK == nil }; {
		case live && !slices.ContainsFunc(r.Results, own):
			return []string{again("baseline"), explain}
		case !live || inCI || !v.savesLastRun():
			return []string{explain}
		}
		return []string{explain, again("run", "--last-failed")}
	case r.ExitCode == report.ExitFails && r.Baseline != nil && live:
		return []string{again("baseline")}
	case r.ExitCode == report.ExitUntestable:
		return setVariableCommand(v, t, r)
	case r.ExitCode != report.ExitConforms || !live || inCI:
		return nil
	case v.flags.demo:
		return []string{"mcpcheck run -- COMMAND"} // a server of the user's own
	}
	barred := func(u report.UncalledTool) bool { return u.Forbidden }
	for _, c := range r.Coverage {
		if v.config.name == "" && slices.ContainsFunc(c.UncalledTools, barred) {
			return []string{command("init")}
		}
	}
	if len(v.reports["html"])+len(v.reportDir) == 0 {
		return []string{again("run", "--html", "report.html")}
	}
	return nil
}

// savesLastRun reports whether --last-failed knows of the run: it knows of none that is a part of another, or merged.
func (v options) savesLastRun() bool { return v.flags.shard == "" && !v.flags.isMerged }

// setVariableCommand is the command that gives a server the variable that it asks for in its last words; none when it
// asks for none that is not set.
func setVariableCommand(v options, t *target, r report.Report) []string {
	name := reporters.MissingVariable(r.Problem)
	set := func(pair string) bool { return strings.HasPrefix(pair, name+"=") }
	if name == "" || len(t.command) == 0 || slices.ContainsFunc(slices.Concat(os.Environ(), withMarkerSecret(t.env)),
		set) {
		return nil
	}
	words := append([]string{"mcpcheck", "run", "--env", name + "=…"}, v.flags.repeatedArgs...)
	return []string{text.Shell(append(words, t.serverArgs(v)...)...)}
}

// repeatedFlags are those that are given again as they were: how a server is judged makes a difference to verdicts, or
// to whether they gate.
var repeatedFlags = []string{
	"profile", "sdk", "calls", "timeout", "start-timeout", "budget", "max-message", "jobs", "isolate", "seed",
	"config", "skip", "baseline", "tentative",
}

// selectionFlags are those that say what is tested. The command that repeats one check says that itself.
var selectionFlags = []string{"only", "protocol", "quick"}

// flagArgs are the flags of these names as they were given.
func flagArgs(flags *pflag.FlagSet, names []string) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		list, many := f.Value.(pflag.SliceValue)
		switch {
		case !slices.Contains(names, f.Name):
		case many:
			words = append(words, "--"+f.Name, strings.Join(list.GetSlice(), ","))
		case f.NoOptDefVal == value: // of a switch
			words = append(words, "--"+f.Name)
		case f.NoOptDefVal != "":
			words = append(words, "--"+f.Name+"="+value)
		default:
			words = append(words, "--"+f.Name, value)
		}
	})
	return words
}

// again are the flags of mcpcheck run that reach the server again, without secrets.
func (t *target) serverArgs(v options) (words []string) {
	if v.Cwd != "" {
		words = append(words, "--cwd", v.Cwd)
	}
	for _, pair := range v.flags.env {
		key, _, _ := strings.Cut(pair, "=")
		words = append(words, "--env", key+"=…")
	}
	words = append(words, t.serverFlags...)
	if t.serverFlags == nil && t.url != "" {
		words = append(words, "--url", t.redactor.text(t.url))
	}
	for _, pair := range v.flags.remote.headers {
		name, _, _ := strings.Cut(pair, ":")
		words = append(words, "--header", name+": …")
	}
	for _, pair := range v.flags.remote.headerEnv {
		words = append(words, "--header-env", pair)
	}
	if variable := v.flags.fileKeys.BearerEnv; variable != "" {
		words = append(words, "--bearer-env", variable)
	}
	words = append(words, v.flags.remote.args(t.redactor)...)
	if t.serverFlags == nil && len(t.command) > 0 {
		words = append(append(words, "--"), t.redactor.texts(t.command)...)
	}
	return words
}

// again are the flags for which mcpcheck.yaml has no key.
func (f remoteFlags) args(redact redactor) (words []string) {
	for _, pair := range f.tokenEnv {
		words = append(words, "--token-env", pair)
	}
	if f.contactIssuer {
		words = append(words, "--contact-issuer")
	}
	if f.sseURL != "" {
		words = append(words, "--sse-url", redact.text(f.sseURL))
	}
	if f.insecure {
		words = append(words, "--insecure")
	}
	if f.cacert != "" {
		words = append(words, "--cacert", f.cacert)
	}
	return words
}

// again are the flags that name the server again.
func (f *hostFlags) args() []string {
	words := []string{"--server", f.serverName}
	if f.file != "" {
		words = append(words, "--servers-file", f.file)
	}
	return words
}
