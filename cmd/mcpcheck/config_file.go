package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// defaultConfigFile is the file that is read when --config names none.
const defaultConfigFile = "mcpcheck.yaml"

// unsupportedConfigFile is what some call it, which is not read.
const unsupportedConfigFile = "mcpcheck.yml"

// configFile is mcpcheck.yaml: what holds for every run on one server. Flags win. Its paths are relative to the current
// directory, wherever the file is. The schema is schemas/config.schema.json.
type config struct {
	Command        []string           `yaml:"command"`         // that starts the server
	URL            string             `yaml:"url"`             // of a server over HTTP
	Env            map[string]string  `yaml:"env"`             // added to the environment of the command
	Cwd            string             `yaml:"cwd"`             // working directory of the command
	Headers        map[string]string  `yaml:"headers"`         // by name, the variable that holds the value
	BearerEnv      string             `yaml:"bearer-env"`      // variable that holds a bearer token
	Protocol       string             `yaml:"protocol"`        // auto, all or a revision
	Profile        string             `yaml:"profile"`         // release, spec, strict or directory
	SDK            string             `yaml:"sdk"`             // show or gate
	Calls          string             `yaml:"calls"`           // safe, none, invalid or all
	Arguments      map[string]check.M `yaml:"arguments"`       // by tool: valid and harmless
	ProtectedState []string           `yaml:"protected-state"` // tools whose requestState is to be protected
	Only           []string           `yaml:"only"`            // checks to run
	Skip           []skipEntry        `yaml:"skip"`            // checks to leave out
	Timeout        time.Duration      `yaml:"timeout"`         // for one answer
	StartTimeout   time.Duration      `yaml:"start-timeout"`   // until the server answers the first request
	Budget         time.Duration      `yaml:"budget"`          // for the whole run
	MaxMessage     string             `yaml:"max-message"`     // the longest that is read
	Jobs           int                `yaml:"jobs"`            // checks at a time
	Seed           int64              `yaml:"seed"`            // for the values that are made
	Reports        reportFiles        `yaml:"reports"`         // that every run writes
	Baseline       string             `yaml:"baseline"`        // file of known fails

	ignoredFile string   // a file beside it that looks like another one
	name        string   // of the file that was read; empty: none
	root        ast.Node // as it stands there; nil: there is nothing
	isListEntry bool     // it is an entry of a list
}

// skipEntry is checks that are left out.
type skipEntry struct {
	Check  string `yaml:"check"`  // id, glob, area or level
	Reason string `yaml:"reason"` // why; may be empty
}

// UnmarshalYAML takes a selector alone as well.
func (o *skipEntry) UnmarshalYAML(decode func(any) error) error {
	if decode(&o.Check) == nil {
		return nil
	}
	type plain skipEntry
	return decode((*plain)(o))
}

// newSkipEntries makes omissions without a reason.
func newSkipEntries(selectors []string) (list []skipEntry) {
	for _, selector := range selectors {
		list = append(list, skipEntry{Check: selector})
	}
	return list
}

// skipSelectors are what the omissions leave out.
func skipSelectors(list []skipEntry) (selectors []string) {
	for _, o := range list {
		selectors = append(selectors, o.Check)
	}
	return selectors
}

// reportFiles says where reports go.
type reportFiles struct {
	JSON     string `yaml:"json"`
	JUnit    string `yaml:"junit"`
	Markdown string `yaml:"markdown"`
	SARIF    string `yaml:"sarif"`
	HTML     string `yaml:"html"`
	TAP      string `yaml:"tap"`
	CTRF     string `yaml:"ctrf"`
	Badge    string `yaml:"badge"`
	Dir      string `yaml:"dir"` // for a report of every format
}

// byFormat are the files by the name of their format.
func (r reportFiles) byFormat() map[string]string {
	return map[string]string{
		"json": r.JSON, "junit": r.JUnit, "markdown": r.Markdown, "sarif": r.SARIF, "tap": r.TAP, "ctrf": r.CTRF,
		"html": r.HTML, "badge": r.Badge,
	}
}

// readConfig reads a configuration file. Without a name it reads mcpcheck.yaml, which need not exist.
func readConfig(name string) (c config, err error) {
	optional := name == ""
	if optional {
		name = defaultConfigFile
	}
	text, err := readLimited(name, maxConfigBytes)
	switch {
	case optional && errors.Is(err, fs.ErrNotExist) && isRegularFile(unsupportedConfigFile):
		return c, usageErrorf("found %s: it has to be %s, or say --config %s", unsupportedConfigFile, defaultConfigFile,
			unsupportedConfigFile)
	case optional && errors.Is(err, fs.ErrNotExist):
		return c, nil
	case errors.Is(err, fs.ErrNotExist):
		return c, usageErrorf("cannot read the configuration: %w; mcpcheck init --config %s -- COMMAND writes it", err,
			name)
	case err != nil:
		return c, usageErrorf("cannot read the configuration: %w", err)
	}
	c, err = parseConfig(name, text)
	if optional && isRegularFile(unsupportedConfigFile) {
		c.ignoredFile = unsupportedConfigFile
	}
	return c, err
}

// siblingFile is a file of that name in the directory of the configuration; empty when there is none, or none was read.
func (c config) siblingFile(name string) string {
	path := filepath.Join(filepath.Dir(c.name), name)
	if c.name == "" || !isRegularFile(path) {
		return ""
	}
	return path
}

// parseConfig reads the text of a configuration file.
func parseConfig(name string, text []byte) (c config, err error) {
	if err := readYAML(name, text, &c); err != nil {
		return c, err
	}
	c.name, c.root = name, firstDocument(text)
	c.restoreWrittenNumbers()
	if f := c.validate(); f != nil {
		return c, usageErrorf("%s: %w", c.location(f.path...), f.err)
	}
	return c, nil
}

// restoreWrittenNumbers takes numbers that stand for texts as they are written: 1.10 is not 1.1.
func (c *config) restoreWrittenNumbers() {
	for i := range c.Command {
		if number := c.node("command", i); isNumber(number) {
			c.Command[i] = number.GetToken().Value
		}
	}
	for name := range c.Env {
		if number := c.node("env", name); isNumber(number) {
			c.Env[name] = number.GetToken().Value
		}
	}
}

// location is where the value at a path of keys and indices stands, as file:line:column.
func (c config) location(path ...any) string { return c.name + c.position(path...) }

// position is that place in the file; empty when there is none.
func (c config) position(path ...any) string {
	if node := c.node(path...); node != nil && node.GetToken() != nil {
		return tokenPosition(node.GetToken())
	}
	return ""
}

// node is the value at a path of keys and indices; nil when there is none.
func (c config) node(path ...any) ast.Node { return findNode(c.root, path...) }

// hasValue reports whether there is a value at a path of keys and indices.
func (c config) hasValue(path ...any) bool {
	node := c.node(path...)
	return node != nil && node.Type() != ast.NullType
}

// flaw is a value that is not allowed, and its place.
type invalidValue struct {
	path []any
	err  error
}

// flaw finds the first value that no flag would take; nil when there is none.
func (c config) validate() *invalidValue {
	for _, find := range []func() *invalidValue{
		c.validateChoices, c.validateSelectors, c.validateNumbers, c.validateArguments, c.validateEnv, c.validateURL,
		c.validateHeaders,
	} {
		if f := find(); f != nil {
			return f
		}
	}
	return nil
}

func (c config) validateChoices() *invalidValue {
	if _, err := catalogue.ParseProfile(c.Profile); err != nil && c.Profile != "" {
		return &invalidValue{[]any{"profile"}, err}
	}
	if err := validateSDK(c.SDK); err != nil && c.SDK != "" {
		return &invalidValue{[]any{"sdk"}, err}
	}
	if _, err := report.ParseCallPolicy(c.Calls); err != nil && c.Calls != "" {
		return &invalidValue{[]any{"calls"}, err}
	}
	if err := validateProtocol(c.Protocol); err != nil && c.Protocol != "" {
		return &invalidValue{[]any{"protocol"}, err}
	}
	if _, err := parseSize(c.MaxMessage); err != nil && c.MaxMessage != "" {
		return &invalidValue{[]any{"max-message"}, err}
	}
	return nil
}

func (c config) validateSelectors() *invalidValue {
	for i, pattern := range c.Only {
		if _, err := selectChecks([]string{pattern}, nil); err != nil {
			return &invalidValue{[]any{"only", i}, err}
		}
	}
	for i, o := range c.Skip {
		path := []any{"skip", i}
		if o.Check == "" {
			return &invalidValue{path, errors.New("this names no check; give an id, a glob, an area or a level")}
		}
		if c.position("skip", i, "check") != "" {
			path = append(path, "check")
		}
		if _, err := selectChecks([]string{o.Check}, nil); err != nil {
			return &invalidValue{path, err}
		}
	}
	return nil
}

func (c config) validateNumbers() *invalidValue {
	if key := c.nonPositiveKey(func(key string) bool { return c.hasValue(key) }); key != "" {
		return &invalidValue{[]any{key}, errors.New(key + mustBePositive)}
	}
	for _, key := range []string{"jobs", "seed"} {
		if fraction, ok := c.node(key).(*ast.FloatNode); ok {
			return &invalidValue{[]any{key}, fmt.Errorf("%s is not a whole number", fraction.GetToken().Value)}
		}
	}
	return nil
}

// mustBePositive is what is wrong with a key that nonPositiveKey finds.
const mustBePositive = " must be greater than 0"

// nonPositiveKey is a key whose number has to be greater than 0 and is not; empty when there is none. A zero counts
// only if it was said.
func (c config) nonPositiveKey(said func(key string) bool) string {
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"jobs", int64(c.Jobs)}, {"timeout", int64(c.Timeout)},
		{"start-timeout", int64(c.StartTimeout)}, {"budget", int64(c.Budget)},
	} {
		if n.value < 0 || n.value == 0 && said(n.key) {
			return n.key
		}
	}
	return ""
}

// wrongArguments finds a tool with nothing behind its name, which would allow calls with whatever can be made from its
// schema.
func (c config) validateArguments() *invalidValue {
	for _, tool := range sortedKeys(c.Arguments) {
		if c.Arguments[tool] == nil {
			return &invalidValue{[]any{"arguments", tool},
				fmt.Errorf("the tool %s has no arguments here; give a map, or {} for none", tool)}
		}
	}
	return nil
}

func (c config) validateEnv() *invalidValue {
	for _, name := range sortedKeys(c.Env) {
		if name == "" || strings.ContainsRune(name, '=') {
			return &invalidValue{[]any{"env", name}, fmt.Errorf("%q is not the name of an environment variable", name)}
		}
	}
	return nil
}

func (c config) validateURL() *invalidValue {
	if c.URL == "" {
		return nil
	}
	shown := userInfoPattern.ReplaceAllString(c.URL, "//")
	if _, err := driver.ParseURL(strings.ReplaceAll(shown, portPlaceholder, "1")); err != nil {
		return &invalidValue{[]any{"url"}, err}
	}
	return nil
}

// userInfoPattern is the part of a URL that may hold a secret.
var userInfoPattern = regexp.MustCompile(`//[^/]*@`)

// validateHeaders finds headers that cannot be, and values that are not names of environment variables: those are not
// shown, since they may be secrets.
func (c config) validateHeaders() *invalidValue {
	for _, name := range sortedKeys(c.Headers) {
		path := []any{"headers", name}
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return &invalidValue{path, fmt.Errorf("%q is not the name of an HTTP header", name)}
		case slices.Contains(reservedHeaders, canonical):
			return &invalidValue{path, fmt.Errorf("%s cannot be given, since mcpcheck sets it for each request",
				canonical)}
		case canonical == "Authorization" && c.BearerEnv != "":
			return &invalidValue{path,
				errors.New("bearer-env and the header Authorization are the same; give one of them")}
		case !isVariableName(c.Headers[name]):
			return &invalidValue{path,
				fmt.Errorf("give the name of an environment variable that holds the value of %s, not the value", name)}
		}
	}
	if c.BearerEnv != "" && !isVariableName(c.BearerEnv) {
		return &invalidValue{[]any{"bearer-env"},
			errors.New("give the name of an environment variable that holds the token, not the token")}
	}
	return nil
}

// isVariableName reports whether a text may be the name of an environment variable.
var isVariableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString
