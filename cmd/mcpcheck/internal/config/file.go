// Package config knows what a run may be asked for: by flags, by mcpcheck.yaml, and by both together.
//
// File has the keys of mcpcheck.yaml, which are those of an entry in a list of servers too; Flags has what the command
// line says, with the functions that define the flags. Resolve puts both together: a flag wins over the file, and the
// file over the default of the flag. The Options that come out are found to be good as far as that can be told without
// looking at anything else, and every error names the flag, or the place in the file, that is to be changed.
//
// A key that is new is a field of File, a line of Merge and of the flags, and a property in schemas/config.schema.json;
// tests hold the four together. Where a server is (Address) is filled in by packages hosts and target.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// DefaultFile is the file that is read when --config names none.
const DefaultFile = "mcpcheck.yaml"

// unsupportedConfigFile is what some call it, which is not read.
const unsupportedConfigFile = "mcpcheck.yml"

// File is mcpcheck.yaml: what holds for every run on one server. Flags win. Its paths are relative to the current
// directory, wherever the file is. The schema is schemas/config.schema.json.
type File struct {
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
	Skip           []SkipEntry        `yaml:"skip"`            // checks to leave out
	Timeout        time.Duration      `yaml:"timeout"`         // for one answer
	StartTimeout   time.Duration      `yaml:"start-timeout"`   // until the server answers the first request
	Budget         time.Duration      `yaml:"budget"`          // for the whole run
	MaxMessage     string             `yaml:"max-message"`     // the longest that is read
	Jobs           int                `yaml:"jobs"`            // checks at a time
	Seed           int64              `yaml:"seed"`            // for the values that are made
	Reports        ReportFiles        `yaml:"reports"`         // that every run writes
	Baseline       string             `yaml:"baseline"`        // file of known fails

	IgnoredFile string   `yaml:"-" json:"-"` // a file beside it that looks like another one
	Name        string   `yaml:"-" json:"-"` // of the file that was read; empty: none
	root        ast.Node // as it stands there; nil: there is nothing
	IsListEntry bool     `yaml:"-" json:"-"` // it is an entry of a list
}

// SkipEntry is checks that are left out.
type SkipEntry struct {
	Check  string `yaml:"check"`  // id, glob, area or level
	Reason string `yaml:"reason"` // why; may be empty
}

// UnmarshalYAML takes a selector alone as well.
func (o *SkipEntry) UnmarshalYAML(decode func(any) error) error {
	if decode(&o.Check) == nil {
		return nil
	}
	type plain SkipEntry
	return decode((*plain)(o))
}

// NewSkipEntries makes omissions without a reason.
func NewSkipEntries(selectors []string) (list []SkipEntry) {
	for _, selector := range selectors {
		list = append(list, SkipEntry{Check: selector})
	}
	return list
}

// SkipSelectors are what the omissions leave out.
func SkipSelectors(list []SkipEntry) (selectors []string) {
	for _, o := range list {
		selectors = append(selectors, o.Check)
	}
	return selectors
}

// ReportFiles says where reports go: a file for each of reporters.Formats, under its name, and a directory.
type ReportFiles struct {
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
func (r ReportFiles) byFormat() map[string]string {
	all, paths := reflect.ValueOf(r), map[string]string{}
	for i := range all.NumField() {
		if key := all.Type().Field(i).Tag.Get("yaml"); key != "dir" {
			paths[key] = all.Field(i).String()
		}
	}
	return paths
}

// Read reads a configuration file. Without a name it reads mcpcheck.yaml, which need not exist.
func Read(name string) (c File, err error) {
	optional := name == ""
	if optional {
		name = DefaultFile
	}
	content, err := files.ReadLimited(name, MaxBytes)
	switch {
	case optional && errors.Is(err, fs.ErrNotExist) && files.IsRegular(unsupportedConfigFile):
		return c, exit.Usagef("found %s: it has to be %s, or say --config %s", unsupportedConfigFile, DefaultFile,
			unsupportedConfigFile)
	case optional && errors.Is(err, fs.ErrNotExist):
		return c, nil
	case errors.Is(err, fs.ErrNotExist):
		return c, exit.Usagef("cannot read the configuration: %w; mcpcheck init --config %s -- COMMAND writes it", err,
			name)
	case err != nil:
		return c, exit.Usagef("cannot read the configuration: %w", err)
	}
	c, err = Parse(name, content)
	if optional && files.IsRegular(unsupportedConfigFile) {
		c.IgnoredFile = unsupportedConfigFile
	}
	return c, err
}

// siblingFile is a file of that name in the directory of the configuration; empty when there is none, or none was read.
func (c File) siblingFile(name string) string {
	path := filepath.Join(filepath.Dir(c.Name), name)
	if c.Name == "" || !files.IsRegular(path) {
		return ""
	}
	return path
}

// Parse reads the text of a configuration file.
func Parse(name string, content []byte) (c File, err error) {
	if err := yamlfile.Read(name, content, &c); err != nil {
		return c, err
	}
	c.Name, c.root = name, yamlfile.FirstDocument(content)
	c.restoreWrittenNumbers()
	if f := c.Validate(); f != nil {
		return c, exit.Usagef("%s: %w", c.Location(f.Path...), f.Err)
	}
	return c, nil
}

// AsListEntry is a configuration that is a value in a list of servers, in the file of that name.
func (c File) AsListEntry(file string, value ast.Node) File {
	c.Name, c.root, c.IsListEntry = file, value, true
	c.restoreWrittenNumbers()
	return c
}

// restoreWrittenNumbers takes numbers that stand for texts as they are written: 1.10 is not 1.1.
func (c *File) restoreWrittenNumbers() {
	for i := range c.Command {
		if number := c.node("command", i); yamlfile.IsNumber(number) {
			c.Command[i] = number.GetToken().Value
		}
	}
	for name := range c.Env {
		if number := c.node("env", name); yamlfile.IsNumber(number) {
			c.Env[name] = number.GetToken().Value
		}
	}
}

// Location is where the value at a path of keys and indices stands, as file:line:column.
func (c File) Location(path ...any) string { return c.Name + c.position(path...) }

// position is that place in the file; empty when there is none.
func (c File) position(path ...any) string {
	if node := c.node(path...); node != nil && node.GetToken() != nil {
		return yamlfile.TokenPosition(node.GetToken())
	}
	return ""
}

// node is the value at a path of keys and indices; nil when there is none.
func (c File) node(path ...any) ast.Node { return yamlfile.Find(c.root, path...) }

// hasValue reports whether there is a value at a path of keys and indices.
func (c File) hasValue(path ...any) bool {
	node := c.node(path...)
	return node != nil && node.Type() != ast.NullType
}

// invalidValue is a value that is not allowed, and its place.
type invalidValue struct {
	Path []any
	Err  error
}

// Validate finds the first value that no flag would take; nil when there is none.
func (c File) Validate() *invalidValue {
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

func (c File) validateChoices() *invalidValue {
	if _, err := catalogue.ParseProfile(c.Profile); err != nil && c.Profile != "" {
		return &invalidValue{[]any{"profile"}, err}
	}
	if err := ValidateSDK(c.SDK); err != nil && c.SDK != "" {
		return &invalidValue{[]any{"sdk"}, err}
	}
	if _, err := report.ParseCallPolicy(c.Calls); err != nil && c.Calls != "" {
		return &invalidValue{[]any{"calls"}, err}
	}
	if err := ValidateProtocol(c.Protocol); err != nil && c.Protocol != "" {
		return &invalidValue{[]any{"protocol"}, err}
	}
	if _, err := parseSize(c.MaxMessage); err != nil && c.MaxMessage != "" {
		return &invalidValue{[]any{"max-message"}, err}
	}
	return nil
}

func (c File) validateSelectors() *invalidValue {
	for i, pattern := range c.Only {
		if _, err := SelectChecks([]string{pattern}, nil); err != nil {
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
		if _, err := SelectChecks([]string{o.Check}, nil); err != nil {
			return &invalidValue{path, err}
		}
	}
	return nil
}

func (c File) validateNumbers() *invalidValue {
	if key := c.nonPositiveKey(func(key string) bool { return c.hasValue(key) }); key != "" {
		return &invalidValue{[]any{key}, errors.New(key + MustBePositive)}
	}
	for _, key := range []string{"jobs", "seed"} {
		if fraction, ok := c.node(key).(*ast.FloatNode); ok {
			return &invalidValue{[]any{key}, fmt.Errorf("%s is not a whole number", fraction.GetToken().Value)}
		}
	}
	return nil
}

// MustBePositive is what is wrong with a key that nonPositiveKey finds.
const MustBePositive = " must be greater than 0"

// nonPositiveKey is a key whose number has to be greater than 0 and is not; empty when there is none. A zero counts
// only if it was said.
func (c File) nonPositiveKey(said func(key string) bool) string {
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

// validateArguments finds a tool with nothing behind its name, which would allow calls with whatever can be made from
// its schema.
func (c File) validateArguments() *invalidValue {
	for _, tool := range slices.Sorted(maps.Keys(c.Arguments)) {
		if c.Arguments[tool] == nil {
			return &invalidValue{[]any{"arguments", tool},
				fmt.Errorf("the tool %s has no arguments here; give a map, or {} for none", tool)}
		}
	}
	return nil
}

func (c File) validateEnv() *invalidValue {
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if name == "" || strings.ContainsRune(name, '=') {
			return &invalidValue{[]any{"env", name}, fmt.Errorf("%q is not the name of an environment variable", name)}
		}
	}
	return nil
}

func (c File) validateURL() *invalidValue {
	if c.URL == "" {
		return nil
	}
	shown := userInfoPattern.ReplaceAllString(c.URL, "//")
	if _, err := driver.ParseURL(strings.ReplaceAll(shown, redact.PortPlaceholder, "1")); err != nil {
		return &invalidValue{[]any{"url"}, err}
	}
	return nil
}

// userInfoPattern is the part of a URL that may hold a secret.
var userInfoPattern = regexp.MustCompile(`//[^/]*@`)

// validateHeaders finds headers that cannot be, and values that are not names of environment variables: those are not
// shown, since they may be secrets.
func (c File) validateHeaders() *invalidValue {
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		path := []any{"headers", name}
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return &invalidValue{path, fmt.Errorf("%q is not the name of an HTTP header", name)}
		case slices.Contains(ReservedHeaders, canonical):
			return &invalidValue{path, fmt.Errorf("%s cannot be given, since mcpcheck sets it for each request",
				canonical)}
		case canonical == "Authorization" && c.BearerEnv != "":
			return &invalidValue{path,
				errors.New("bearer-env and the header Authorization are the same; give one of them")}
		case !IsVariableName(c.Headers[name]):
			return &invalidValue{path,
				fmt.Errorf("give the name of an environment variable that holds the value of %s, not the value", name)}
		}
	}
	if c.BearerEnv != "" && !IsVariableName(c.BearerEnv) {
		return &invalidValue{[]any{"bearer-env"},
			errors.New("give the name of an environment variable that holds the token, not the token")}
	}
	return nil
}

// IsVariableName reports whether a text may be the name of an environment variable.
var IsVariableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString

// ReservedHeaders are headers that belong to the transport.
var ReservedHeaders = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Content-Type", "Accept", "Accept-Encoding",
	"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id",
}

// DefaultBaseline is the file that mcpcheck baseline writes when --baseline names none.
const DefaultBaseline = "mcpcheck-baseline.yaml"

// SchemaURL is where editors find the schema of mcpcheck.yaml.
const SchemaURL = "https://raw.githubusercontent.com/mcpcheck/mcpcheck/main/schemas/config.schema.json"

// MaxBytes bounds what is read of mcpcheck.yaml, and of a list of servers with its keys.
const MaxBytes = 1 << 20
