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

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// configName is the file that is read when --config names none.
const configName = "mcpcheck.yaml"

// wrongConfigName is what some call it, which is not read.
const wrongConfigName = "mcpcheck.yml"

// config is mcpcheck.yaml: what holds for every run on one server. Flags win. Its paths are relative to the current
// directory, wherever the file is. The schema is schemas/config.schema.json.
type config struct {
	Command      []string             `yaml:"command"`         // that starts the server
	URL          string               `yaml:"url"`             // of a server over HTTP
	Env          map[string]string    `yaml:"env"`             // added to the environment of the command
	Cwd          string               `yaml:"cwd"`             // working directory of the command
	Headers      map[string]string    `yaml:"headers"`         // by name, the variable that holds the value
	BearerEnv    string               `yaml:"bearer-env"`      // variable that holds a bearer token
	Protocol     string               `yaml:"protocol"`        // auto, all or a revision
	Profile      string               `yaml:"profile"`         // release, spec, strict or directory
	SDK          string               `yaml:"sdk"`             // show or gate
	Calls        string               `yaml:"calls"`           // safe, none, invalid or all
	Arguments    map[string]harness.M `yaml:"arguments"`       // by tool: valid and harmless
	Guarded      []string             `yaml:"protected-state"` // tools whose requestState is to be protected
	Only         []string             `yaml:"only"`            // checks to run
	Skip         []omission           `yaml:"skip"`            // checks to leave out
	Timeout      time.Duration        `yaml:"timeout"`         // for one answer
	StartTimeout time.Duration        `yaml:"start-timeout"`   // until the server answers the first request
	Budget       time.Duration        `yaml:"budget"`          // for the whole run
	MaxMessage   string               `yaml:"max-message"`     // the longest that is read
	Jobs         int                  `yaml:"jobs"`            // checks at a time
	Seed         int64                `yaml:"seed"`            // for the values that are made
	Reports      reportFiles          `yaml:"reports"`         // that every run writes
	Baseline     string               `yaml:"baseline"`        // file of known fails

	ignored string   // a file beside it that looks like another one
	name    string   // of the file that was read; empty: none
	value   ast.Node // as it stands there; nil: there is nothing
	listed  bool     // it is an entry of a list
}

// omission is checks that are left out.
type omission struct {
	Check  string `yaml:"check"`  // id, glob, area or level
	Reason string `yaml:"reason"` // why; may be empty
}

// UnmarshalYAML takes a selector alone as well.
func (o *omission) UnmarshalYAML(decode func(any) error) error {
	if decode(&o.Check) == nil {
		return nil
	}
	type plain omission
	return decode((*plain)(o))
}

// omit makes omissions without a reason.
func omit(selectors []string) (list []omission) {
	for _, selector := range selectors {
		list = append(list, omission{Check: selector})
	}
	return list
}

// selectors are what the omissions leave out.
func selectors(list []omission) (selectors []string) {
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

// files are the files by the name of their format.
func (r reportFiles) files() map[string]string {
	return map[string]string{
		"json": r.JSON, "junit": r.JUnit, "markdown": r.Markdown, "sarif": r.SARIF, "tap": r.TAP, "ctrf": r.CTRF,
		"html": r.HTML, "badge": r.Badge,
	}
}

// readConfig reads a configuration file. Without a name it reads mcpcheck.yaml, which need not exist.
func readConfig(name string) (c config, err error) {
	optional := name == ""
	if optional {
		name = configName
	}
	text, err := readWhole(name, longestConfig)
	switch {
	case optional && errors.Is(err, fs.ErrNotExist) && isFile(wrongConfigName):
		return c, usage("found %s: it has to be %s, or say --config %s", wrongConfigName, configName, wrongConfigName)
	case optional && errors.Is(err, fs.ErrNotExist):
		return c, nil
	case errors.Is(err, fs.ErrNotExist):
		return c, usage("cannot read the configuration: %w; mcpcheck init --config %s -- COMMAND writes it", err, name)
	case err != nil:
		return c, usage("cannot read the configuration: %w", err)
	}
	c, err = parseConfig(name, text)
	if optional && isFile(wrongConfigName) {
		c.ignored = wrongConfigName
	}
	return c, err
}

// besideIt is a file of that name in the directory of the configuration; empty when there is none, or none was read.
func (c config) besideIt(name string) string {
	path := filepath.Join(filepath.Dir(c.name), name)
	if c.name == "" || !isFile(path) {
		return ""
	}
	return path
}

// parseConfig reads the text of a configuration file.
func parseConfig(name string, text []byte) (c config, err error) {
	if err := readYAML(name, text, &c); err != nil {
		return c, err
	}
	c.name, c.value = name, root(text)
	c.asWritten()
	if f := c.flaw(); f != nil {
		return c, usage("%s: %w", c.place(f.path...), f.what)
	}
	return c, nil
}

// asWritten takes numbers that stand for texts as they are written: 1.10 is not 1.1.
func (c *config) asWritten() {
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

// place is where the value at a path of keys and indices stands, as file:line:column.
func (c config) place(path ...any) string { return c.name + c.position(path...) }

// position is that place in the file; empty when there is none.
func (c config) position(path ...any) string {
	if node := c.node(path...); node != nil && node.GetToken() != nil {
		return at(node.GetToken())
	}
	return ""
}

// node is the value at a path of keys and indices; nil when there is none.
func (c config) node(path ...any) ast.Node { return find(c.value, path...) }

// says reports whether there is a value at a path of keys and indices.
func (c config) says(path ...any) bool {
	node := c.node(path...)
	return node != nil && node.Type() != ast.NullType
}

// flaw is a value that is not allowed, and its place.
type flaw struct {
	path []any
	what error
}

// flaw finds the first value that no flag would take; nil when there is none.
func (c config) flaw() *flaw {
	for _, find := range []func() *flaw{
		c.wrongWord, c.wrongSelector, c.wrongNumber, c.wrongArguments, c.wrongEnv, c.wrongURL, c.wrongHeader,
	} {
		if f := find(); f != nil {
			return f
		}
	}
	return nil
}

func (c config) wrongWord() *flaw {
	if _, err := harness.ParseProfile(c.Profile); err != nil && c.Profile != "" {
		return &flaw{[]any{"profile"}, err}
	}
	if err := knownSDK(c.SDK); err != nil && c.SDK != "" {
		return &flaw{[]any{"sdk"}, err}
	}
	if _, err := harness.ParseCalls(c.Calls); err != nil && c.Calls != "" {
		return &flaw{[]any{"calls"}, err}
	}
	if err := knownProtocol(c.Protocol); err != nil && c.Protocol != "" {
		return &flaw{[]any{"protocol"}, err}
	}
	if _, err := parseSize(c.MaxMessage); err != nil && c.MaxMessage != "" {
		return &flaw{[]any{"max-message"}, err}
	}
	return nil
}

func (c config) wrongSelector() *flaw {
	for i, pattern := range c.Only {
		if _, err := selectChecks([]string{pattern}, nil); err != nil {
			return &flaw{[]any{"only", i}, err}
		}
	}
	for i, o := range c.Skip {
		path := []any{"skip", i}
		if o.Check == "" {
			return &flaw{path, errors.New("this names no check; give an id, a glob, an area or a level")}
		}
		if c.position("skip", i, "check") != "" {
			path = append(path, "check")
		}
		if _, err := selectChecks([]string{o.Check}, nil); err != nil {
			return &flaw{path, err}
		}
	}
	return nil
}

func (c config) wrongNumber() *flaw {
	if key := c.notPositive(func(key string) bool { return c.says(key) }); key != "" {
		return &flaw{[]any{key}, errors.New(key + mustBePositive)}
	}
	for _, key := range []string{"jobs", "seed"} {
		if fraction, ok := c.node(key).(*ast.FloatNode); ok {
			return &flaw{[]any{key}, fmt.Errorf("%s is not a whole number", fraction.GetToken().Value)}
		}
	}
	return nil
}

// mustBePositive is what is wrong with a key that notPositive finds.
const mustBePositive = " must be greater than 0"

// notPositive is a key whose number has to be greater than 0 and is not; empty when there is none. A zero counts only
// if it was said.
func (c config) notPositive(said func(key string) bool) string {
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
func (c config) wrongArguments() *flaw {
	for _, tool := range sortedKeys(c.Arguments) {
		if c.Arguments[tool] == nil {
			return &flaw{[]any{"arguments", tool},
				fmt.Errorf("the tool %s has no arguments here; give a map, or {} for none", tool)}
		}
	}
	return nil
}

func (c config) wrongEnv() *flaw {
	for _, name := range sortedKeys(c.Env) {
		if name == "" || strings.ContainsRune(name, '=') {
			return &flaw{[]any{"env", name}, fmt.Errorf("%q is not the name of an environment variable", name)}
		}
	}
	return nil
}

func (c config) wrongURL() *flaw {
	if c.URL == "" {
		return nil
	}
	shown := password.ReplaceAllString(c.URL, "//")
	if _, err := driver.ParseURL(strings.ReplaceAll(shown, portMark, "1")); err != nil {
		return &flaw{[]any{"url"}, err}
	}
	return nil
}

// password is the part of a URL that may hold a secret.
var password = regexp.MustCompile(`//[^/]*@`)

// wrongHeader finds headers that cannot be, and values that are not names of environment variables: those are not
// shown, since they may be secrets.
func (c config) wrongHeader() *flaw {
	for _, name := range sortedKeys(c.Headers) {
		path := []any{"headers", name}
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return &flaw{path, fmt.Errorf("%q is not the name of an HTTP header", name)}
		case slices.Contains(reserved, canonical):
			return &flaw{path, fmt.Errorf("%s cannot be given, since mcpcheck sets it for each request", canonical)}
		case canonical == "Authorization" && c.BearerEnv != "":
			return &flaw{path, errors.New("bearer-env and the header Authorization are the same; give one of them")}
		case !isVariable(c.Headers[name]):
			return &flaw{path,
				fmt.Errorf("give the name of an environment variable that holds the value of %s, not the value", name)}
		}
	}
	if c.BearerEnv != "" && !isVariable(c.BearerEnv) {
		return &flaw{[]any{"bearer-env"},
			errors.New("give the name of an environment variable that holds the token, not the token")}
	}
	return nil
}

// isVariable reports whether a text may be the name of an environment variable.
var isVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString
