// Package config holds what a run may be asked for: by flags, by mcpcheck.yaml, and by both together.
//
// File has the keys of mcpcheck.yaml, which an entry in a list of servers has too; Flags has the command line, with the
// functions that define the flags. Resolve combines them into Options: a flag takes precedence over the file, and the
// file over the default of the flag. Options are valid as far as that can be decided without looking at anything else,
// and every error names the flag, or the place in the file, that has to be changed.
//
// The table keys says all about a key. A new one is a field of File and a row there; a flag is a word in a call of
// AddKeys besides. Packages hosts and target find where a server is (Address).
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

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// DefaultFile is the file that is read when --config names none.
const DefaultFile = "mcpcheck.yaml"

// unsupportedConfigFile is a misspelling of DefaultFile. It is never read, but mcpcheck mentions it.
const unsupportedConfigFile = "mcpcheck.yml"

// File is mcpcheck.yaml: the settings that hold for every run on one server. Flags take precedence. Relative paths are
// relative to the current directory, wherever the file is. The table keys says what each field is.
type File struct {
	Command              []string            `yaml:"command"`
	URL                  string              `yaml:"url"`
	Env                  map[string]string   `yaml:"env"`
	Cwd                  string              `yaml:"cwd"`
	Headers              map[string]string   `yaml:"headers"`
	BearerEnv            string              `yaml:"bearer-env"`
	Protocol             string              `yaml:"protocol"`
	Profile              string              `yaml:"profile"`
	SDK                  string              `yaml:"sdk"`
	Calls                string              `yaml:"calls"`
	Arguments            map[string]check.M  `yaml:"arguments"`
	ProtectedState       []string            `yaml:"protected-state"`
	StateOnce            []string            `yaml:"state-once"`
	StateTTL             time.Duration       `yaml:"state-ttl"`
	ServerRequestTimeout time.Duration       `yaml:"server-request-timeout"`
	ServerRequestMax     time.Duration       `yaml:"server-request-max"`
	Scopes               map[string][]string `yaml:"scopes"`
	OpenAIChallenge      string              `yaml:"openai-challenge"`
	Only                 []string            `yaml:"only"`
	Skip                 []SkipEntry         `yaml:"skip"`
	Timeout              time.Duration       `yaml:"timeout"`
	StartTimeout         time.Duration       `yaml:"start-timeout"`
	Budget               time.Duration       `yaml:"budget"`
	MaxMessage           string              `yaml:"max-message"`
	Rate                 int                 `yaml:"rate"`
	Jobs                 int                 `yaml:"jobs"`
	Seed                 int64               `yaml:"seed"`
	Explore              time.Duration       `yaml:"explore"`
	Reports              ReportFiles         `yaml:"reports"`
	Baseline             string              `yaml:"baseline"`
	Load                 LoadSettings        `yaml:"load"`

	// IgnoredFile is a file in the same directory that looks like a configuration file and is not read.
	IgnoredFile string `yaml:"-" json:"-"`
	// Name is the path of the file that was read; it is empty when there was none.
	Name string `yaml:"-" json:"-"`
	// root is the tree of the file; nil means that there is none.
	root *yaml.Node
	// IsListEntry says that the configuration is an entry in a list of servers.
	IsListEntry bool `yaml:"-" json:"-"`
}

// SkipEntry selects checks that do not run.
type SkipEntry struct {
	// Check is an id, a glob, an area or a level.
	Check string `yaml:"check"`
	// Reason is shown in reports; it may be empty.
	Reason string `yaml:"reason"`
}

// UnmarshalYAML also accepts a plain string, which is the selector.
func (o *SkipEntry) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&o.Check)
	}
	type plain SkipEntry
	return node.Decode((*plain)(o))
}

// NewSkipEntries returns entries without a reason.
func NewSkipEntries(selectors []string) (list []SkipEntry) {
	for _, selector := range selectors {
		list = append(list, SkipEntry{Check: selector})
	}
	return list
}

// SkipSelectors returns the selectors of entries.
func SkipSelectors(list []SkipEntry) (selectors []string) {
	for _, o := range list {
		selectors = append(selectors, o.Check)
	}
	return selectors
}

// ReportFiles are the paths of report files: one for each of reporters.Formats under its name, and a directory. An
// empty path means that the report is not written.
type ReportFiles struct {
	JSON     string `yaml:"json"`
	JUnit    string `yaml:"junit"`
	Markdown string `yaml:"markdown"`
	SARIF    string `yaml:"sarif"`
	HTML     string `yaml:"html"`
	TAP      string `yaml:"tap"`
	CTRF     string `yaml:"ctrf"`
	Badge    string `yaml:"badge"`
	// Dir is a directory for a report of every format.
	Dir string `yaml:"dir"`
}

// byFormat returns the paths by the names of their formats.
func (r ReportFiles) byFormat() map[string]string {
	all, paths := reflect.ValueOf(r), map[string]string{}
	for i := range all.NumField() {
		if key := all.Type().Field(i).Tag.Get("yaml"); key != "dir" {
			paths[key] = all.Field(i).String()
		}
	}
	return paths
}

// Read reads a configuration file. An empty name means mcpcheck.yaml, which need not exist.
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

// siblingFile returns the path of a file in the directory of the configuration; it is empty when the file does not
// exist, or no configuration was read.
func (c File) siblingFile(name string) string {
	path := filepath.Join(filepath.Dir(c.Name), name)
	if c.Name == "" || !files.IsRegular(path) {
		return ""
	}
	return path
}

// Parse parses the text of a configuration file. The name is for errors.
func Parse(name string, content []byte) (c File, err error) {
	root, err := yamlfile.Read(name, content, &c)
	if err != nil {
		return c, err
	}
	c.Name, c.root = name, root
	if f := c.Validate(); f != nil {
		return c, exit.Usagef("%s: %w", c.Location(f.Path...), f.Err)
	}
	return c, nil
}

// AsListEntry returns the configuration as an entry of a list of servers. The value is its place in that file.
func (c File) AsListEntry(file string, value *yaml.Node) File {
	c.Name, c.root, c.IsListEntry = file, value, true
	return c
}

// Location returns the place of the value at a path of keys and indices, as file:line:column.
func (c File) Location(path ...any) string { return c.Name + c.position(path...) }

// position returns the place of the value at a path, as :line:column; it is empty when there is no value.
func (c File) position(path ...any) string {
	if node := yamlfile.Find(c.root, path...); node != nil {
		return yamlfile.Position(node)
	}
	return ""
}

// hasValue reports whether there is a value under a key.
func (c File) hasValue(key string) bool {
	node := yamlfile.Find(c.root, key)
	return node != nil && node.Tag != "!!null"
}

// invalidValue is a value that is not allowed.
type invalidValue struct {
	// Path are the keys and indices that lead to the value.
	Path []any
	// Err says what is wrong with the value.
	Err error
}

// Validate returns the first value that the flag of the same name would refuse; nil means that all are valid.
func (c File) Validate() *invalidValue {
	for _, k := range keys {
		if problem := k.problem(c, c.hasValue(k.name)); problem != "" {
			return &invalidValue{[]any{k.name}, errors.New(k.name + problem)}
		}
		if k.validate != nil {
			if f := k.validate(c); f != nil {
				return f
			}
		}
	}
	return nil
}

func (c File) validateMaxMessage() *invalidValue {
	if _, err := parseSize(c.MaxMessage); err != nil && c.MaxMessage != "" {
		return &invalidValue{[]any{"max-message"}, err}
	}
	return nil
}

func (c File) validateOnly() *invalidValue {
	for i, pattern := range c.Only {
		if _, err := SelectChecks([]string{pattern}, nil); err != nil {
			return &invalidValue{[]any{"only", i}, err}
		}
	}
	return nil
}

func (c File) validateSkip() *invalidValue {
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

// validateArguments finds a tool without arguments behind its name, as an unfinished file has. It would otherwise allow
// calls with arguments that are generated from the schema.
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

// userInfoPattern matches the part of a URL that may hold a secret.
var userInfoPattern = regexp.MustCompile(`//[^/]*@`)

// validateHeaders finds invalid header names, and values that are not names of environment variables. Its errors do not
// quote such a value, since it may be a secret.
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
	return nil
}

func (c File) validateBearerEnv() *invalidValue {
	if c.BearerEnv != "" && !IsVariableName(c.BearerEnv) {
		return &invalidValue{[]any{"bearer-env"},
			errors.New("give the name of an environment variable that holds the token, not the token")}
	}
	return nil
}

// IsVariableName reports whether a text is a valid name of an environment variable.
var IsVariableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString

// ReservedHeaders are headers that the transport sets, so that users cannot.
var ReservedHeaders = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Content-Type", "Accept", "Accept-Encoding",
	"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id",
}

// DefaultBaseline is the file that mcpcheck baseline writes when --baseline names none.
const DefaultBaseline = "mcpcheck-baseline.yaml"

// MaxBytes is the size limit of mcpcheck.yaml, and of a YAML list of servers.
const MaxBytes = 1 << 20
