package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// key is a key of mcpcheck.yaml. Its row makes the flag of the same name, which takes precedence over the file, the
// property in the JSON Schema, and what is a valid value.
type key struct {
	name string
	// field returns the address of the value.
	field func(*File) any
	// help is the help of the flag; a key without it has no flag.
	help string
	// standard is the value without a flag and a file; nil is the zero value.
	standard any
	// values are the valid values; nil means that others are valid too. An error calls an invalid one unknown, and what
	// it is by valueName.
	values    []string
	valueName string
	// validate finds an invalid value; nil means that the type and values decide.
	validate func(File) *invalidValue
	// doc, members and example describe the value in the JSON Schema. Members and examples are JSON.
	doc     string
	members []string
	example string
}

// keys are the keys of mcpcheck.yaml, in the order of the schema.
var keys = []key{
	{name: "command", field: func(f *File) any { return &f.Command },
		doc: "Command that starts the server, and its arguments. Without url, the server is tested over stdio; with " +
			"url, mcpcheck starts the command and waits for the URL. {port} stands for a free port.",
		members: []string{`"type": "array"`, `"minItems": 1`, `"items": ` + scalar},
		example: `["node", "dist/index.js", "stdio"]`},
	{name: "url", field: func(f *File) any { return &f.URL }, validate: File.validateURL,
		help: "`URL` of the server, over Streamable HTTP or HTTP+SSE",
		doc: "URL of a server over Streamable HTTP or HTTP+SSE. With a command, {port} stands for a free " +
			"port.",
		members: []string{`"type": "string"`, `"pattern": "^https?://"`},
		example: `"https://example.com/mcp", "http://127.0.0.1:{port}/mcp"`},
	{name: "env", field: func(f *File) any { return &f.Env }, validate: File.validateEnv,
		doc: "Variables that are added to the environment of the command; the values are redacted in reports. " +
			"The server has the environment of mcpcheck as well, so secrets need not be in this file.",
		members: []string{`"type": "object"`, `"propertyNames": { "pattern": "^[^=]+$" }`,
			`"additionalProperties": ` + scalar},
		example: `{ "NODE_ENV": "test" }`},
	{name: "cwd", field: func(f *File) any { return &f.Cwd },
		help:    "working directory of the server, `DIR`",
		doc:     "Working directory of the command.",
		members: path, example: `"server"`},
	{name: "headers", field: func(f *File) any { return &f.Headers }, validate: File.validateHeaders,
		doc: "Headers of every HTTP request: the environment variable that holds the value, by the name of the " +
			"header.",
		members: []string{`"type": "object"`,
			`"propertyNames": { "pattern": "^[!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+$" }`,
			`"additionalProperties": { "$ref": "#/$defs/variable" }`},
		example: `{ "X-Api-Key": "API_KEY" }`},
	{name: "bearer-env", field: func(f *File) any { return &f.BearerEnv }, validate: File.validateBearerEnv,
		help:    "environment `VARIABLE` with the bearer token for every HTTP request",
		doc:     "Environment variable that holds a bearer token for every HTTP request.",
		members: []string{`"$ref": "#/$defs/variable"`}, example: `"TOKEN"`},
	{name: "protocol", field: func(f *File) any { return &f.Protocol },
		standard: ProtocolAuto, valueName: "protocol revision",
		values: append([]string{ProtocolAuto, ProtocolAll}, catalogue.Revisions...),
		help: "`REVISION` of MCP to request; auto: the newest that the server supports; " +
			"all: one run for each revision that the server accepts",
		doc: "Revision of the protocol to request. auto is the newest that the server supports; " +
			"all repeats the run for each revision that the server accepts.",
		example: `"2025-06-18"`},
	{name: "profile", field: func(f *File) any { return &f.Profile },
		standard: string(catalogue.Release), values: textsOf(catalogue.ProfilesByName()), valueName: "profile",
		help:    "`PROFILE` that decides what blocks: " + ProfilesText,
		doc:     "What blocks: " + ProfilesText + ".",
		example: `"spec"`},
	{name: "sdk", field: func(f *File) any { return &f.SDK },
		standard: ShowSDK, values: []string{ShowSDK, GateSDK}, valueName: "value",
		help: "`MODE`: how to treat known deviations of the server's SDK: show (they do not block in the " +
			"profiles release and spec) or gate (they do)",
		doc: "Failures that come from a known deviation of the server's SDK: show (they do not block in the " +
			"profiles release and spec), gate (they do).",
		example: `"gate"`},
	{name: "calls", field: func(f *File) any { return &f.Calls },
		standard: string(report.CallsSafe), values: textsOf(report.CallPolicies), valueName: "call policy",
		help: "`POLICY` for tool calls: safe, none, invalid, all (explained in mcpcheck help run)",
		doc: "Which tools may be called: safe (those marked read-only, and those with example arguments; with " +
			"invalid arguments also those with destructiveHint false), none, invalid (as safe, and with invalid " +
			"arguments all that are not marked destructive), all.",
		example: `"none"`},
	{name: "arguments", field: func(f *File) any { return &f.Arguments }, validate: File.validateArguments,
		doc: "Example arguments by the name of the tool, valid and harmless: a tool that is listed here may be " +
			"called with them, and with invalid ones unless it is marked destructive.",
		members: []string{`"type": "object"`,
			`"additionalProperties": { "description": "Arguments of one call.", "type": "object" }`},
		example: `{ "search": { "query": "weather" } }`},
	{name: "protected-state", field: func(f *File) any { return &f.ProtectedState },
		doc: "Tools, prompts (by name) and resources (by URI) whose requestState must not be forged, since that " +
			"could do harm: one that was changed, or belongs to another request or user, has to be rejected. Also " +
			"tools that take a handle of another tool's result, if it belongs to its user. mcpcheck cannot know " +
			"whether others may accept it.",
		members: []string{`"type": "array"`, `"items": { "type": "string", "minLength": 1 }`},
		example: `["checkout"]`},
	{name: "state-once", field: func(f *File) any { return &f.StateOnce },
		doc: "Tools, prompts (by name) and resources (by URI) whose requestState can be used once: a second use " +
			"has to be rejected. Leave out what repeats its first answer instead.",
		members: []string{`"type": "array"`, `"items": { "type": "string", "minLength": 1 }`},
		example: `["redeem"]`},
	{name: "state-ttl", field: func(f *File) any { return &f.StateTTL },
		doc: "How long the server accepts a requestState after it has made it. One that is older has to be rejected, " +
			"which is tried if the run lasts as long (budget).",
		members: duration, example: `"30s"`},
	{name: "server-request-timeout", field: func(f *File) any { return &f.ServerRequestTimeout },
		doc: "How long the server waits for the response to a request that it sends (sampling, elicitation, roots; " +
			"up to 2025-11-25): it has to cancel one that is not answered. Where it depends, the longest time.",
		members: duration, example: `"10s"`},
	{name: "server-request-max", field: func(f *File) any { return &f.ServerRequestMax },
		doc:     "How long the server waits for such a response at most, whatever progress the client reports.",
		members: duration, example: `"1m"`},
	{name: "scopes", field: func(f *File) any { return &f.Scopes },
		doc: "The scopes that the narrow token (--token-env narrow=VARIABLE) lacks for a tool, by the tool's name: " +
			"one challenge has to name all of them.",
		members: []string{`"type": "object"`, `"additionalProperties": ` +
			`{ "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } }`},
		example: `{ "publish": ["pages:write", "pages:publish"] }`},
	{name: "openai-challenge", field: func(f *File) any { return &f.OpenAIChallenge },
		doc: "The token that OpenAI gives for a submission, which the server has to serve at " +
			"/.well-known/openai-apps-challenge of its host. Leave it out if a parent domain serves it.",
		members: []string{`"type": "string"`, `"minLength": 1`}, example: `"kJ3v…"`},
	{name: "only", field: func(f *File) any { return &f.Only }, validate: File.validateOnly,
		help:    "run only these `CHECKS`: ids, globs ('tools/*'), areas, levels (must)",
		doc:     "Checks to run; without it, all.",
		members: []string{`"type": "array"`, `"items": { "$ref": "#/$defs/selector" }`},
		example: `["tools", "lifecycle/*"]`},
	{name: "skip", field: func(f *File) any { return &f.Skip }, validate: File.validateSkip,
		help:    "skip these `CHECKS`",
		doc:     "Checks to skip. run --plan and run -v list them, with the reasons.",
		members: []string{`"type": "array"`, `"items": ` + skipItem},
		example: `["robust", { "check": "ping/*", "reason": "the server is behind a gateway that answers ping" }]`},
	{name: "timeout", field: func(f *File) any { return &f.Timeout }, standard: 5 * time.Second,
		help:    "timeout for a response, a `DURATION`",
		doc:     "How long to wait for a response.",
		members: duration, example: `"10s"`},
	{name: "start-timeout", field: func(f *File) any { return &f.StartTimeout }, standard: 15 * time.Second,
		help:    "timeout for the first response, a `DURATION`",
		doc:     "How long to wait for the first response of the server.",
		members: duration, example: `"1m"`},
	{name: "budget", field: func(f *File) any { return &f.Budget }, standard: 5 * time.Minute,
		help:    "stop the whole run after this `DURATION`",
		doc:     "How long the whole run may take.",
		members: duration, example: `"10m"`},
	{name: "max-message", field: func(f *File) any { return &f.MaxMessage }, standard: "16MiB",
		validate: File.validateMaxMessage,
		help:     "`SIZE` of the longest message that is read; longer ones are not tested",
		doc:      "The size of the longest message that is read, such as 512KiB or 64MiB. Longer ones are not tested.",
		members:  []string{`"type": "string"`, `"pattern": "` + sizePattern.String() + `"`}, example: `"64MiB"`},
	{name: "rate", field: func(f *File) any { return &f.Rate }, standard: 0,
		help: "send at most `N` HTTP requests a second (0: no bound)",
		doc: "The highest number of HTTP requests a second. Without it, the rate is bounded once something in front " +
			"of the server answers 429 with Retry-After.",
		members: []string{`"type": "integer"`, `"minimum": 1`}, example: "10"},
	{name: "jobs", field: func(f *File) any { return &f.Jobs }, standard: engine.DefaultJobs,
		help:    "run `N` checks at a time",
		doc:     "How many checks run at a time.",
		members: []string{`"type": "integer"`, `"minimum": 1`}, example: "2"},
	{name: "seed", field: func(f *File) any { return &f.Seed }, standard: int64(0),
		help:    "`SEED` for the values that are generated from schemas",
		doc:     "Seed for the values that are generated from schemas.",
		members: []string{`"type": "integer"`}, example: "7"},
	{name: "explore", field: func(f *File) any { return &f.Explore }, standard: time.Duration(0),
		help: "also try sequences of messages drawn by lot, as mcpcheck explore does, for this `DURATION`",
		doc: "How long to try sequences of messages drawn by lot after the checks, as mcpcheck explore does. A " +
			"requirement that one of them violates fails. Without it, none are tried; neither are with --quick.",
		members: duration, example: `"2s"`},
	{name: "reports", field: func(f *File) any { return &f.Reports },
		doc:     "Reports that every run writes; - is stdout. A flag replaces the report of its format.",
		members: []string{`"type": "object"`, `"additionalProperties": false`, `"properties": ` + reportFiles()},
		example: `{ "junit": "mcpcheck.xml", "dir": "reports" }`},
	{name: "baseline", field: func(f *File) any { return &f.Baseline },
		help: "`FILE` of known failures, which do not block; mcpcheck baseline writes it " +
			"(default " + DefaultBaseline + " in the directory of mcpcheck.yaml, if it exists)",
		doc: "File of known failures, which do not block. Without it, " + DefaultBaseline + " in the directory of " +
			"this file, if it exists.",
		members: path, example: `"mcpcheck-baseline.yaml"`},
	{name: "load", field: func(f *File) any { return &f.Load }, validate: File.validateLoad,
		doc: "Settings of mcpcheck load, under the names of its flags, and budgets of single methods. A flag takes " +
			"precedence.",
		members: []string{`"type": "object"`, `"additionalProperties": false`, `"properties": ` + loadSchema},
		example: `{ "clients": 50, "p99": "250ms", "methods": { "tools/call": { "p99": "1s" } } }`},
}

// ProfilesText says what blocks in each profile.
const ProfilesText = "release (MUSTs and the release checklist), spec (MUSTs only), strict (also SHOULDs, and MUSTs " +
	"that could not be tested), directory (only the rules of public server directories; directory:claude: those of " +
	"one)"

func textsOf[T ~string](words []T) []string {
	return text.Map(words, func(word T) string { return string(word) })
}

// findKey returns the key with a name.
func findKey(name string) key {
	return keys[slices.IndexFunc(keys, func(k key) bool { return k.name == name })]
}

// AddKeys defines the flags of keys.
func (f *Flags) AddKeys(cmd *cobra.Command, names ...string) {
	flags := cmd.Flags()
	for _, name := range names {
		k := findKey(name)
		switch value := k.field(&f.FileKeys).(type) {
		case *string:
			standard, _ := k.standard.(string)
			flags.StringVar(value, name, standard, k.help)
			if k.values != nil {
				cmd.RegisterFlagCompletionFunc(name,
					cobra.FixedCompletions(k.values, cobra.ShellCompDirectiveNoFileComp))
			}
		case *int:
			if flags.IntVar(value, name, k.standard.(int), k.help); name == "rate" {
				flags.Lookup(name).Value = PerSecond[int]{value}
			}
		case *int64:
			flags.Int64Var(value, name, k.standard.(int64), k.help)
		case *time.Duration:
			flags.DurationVar(value, name, k.standard.(time.Duration), k.help)
		case *[]string:
			flags.StringSliceVar(value, name, nil, k.help)
			cmd.RegisterFlagCompletionFunc(name, completeCheckIDs)
		case *[]SkipEntry:
			flags.StringSliceVar(&f.Skip, name, nil, k.help)
			cmd.RegisterFlagCompletionFunc(name, completeCheckIDs)
		}
	}
}

func completeCheckIDs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return CheckIDs(), cobra.ShellCompDirectiveNoFileComp
}

// problem returns the end of an error for an invalid value, after the name of the key or of its flag; it is empty for a
// valid one. Durations and numbers of type int have to be greater than 0, where 0 counts if the user gave it.
func (k key) problem(c File, isGiven bool) string {
	number := int64(1)
	switch value := k.field(&c).(type) {
	case *string:
		if k.values != nil && *value != "" && !slices.Contains(k.values, *value) {
			return fmt.Sprintf(": unknown %s %q (have %s)", k.valueName, *value, strings.Join(k.values, ", "))
		}
	case *int:
		number = int64(*value)
	case *time.Duration:
		number = int64(*value)
	}
	if number < 0 || number == 0 && isGiven {
		return " must be greater than 0"
	}
	return ""
}
