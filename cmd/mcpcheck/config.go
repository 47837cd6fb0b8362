package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// configName is the file that is read when --config names none.
const configName = "mcpcheck.yaml"

// config is mcpcheck.yaml: what holds for every run on one server. Flags win.
type config struct {
	Command      []string             `yaml:"command"`       // of the server, over stdio
	Env          map[string]string    `yaml:"env"`           // added to its environment
	Cwd          string               `yaml:"cwd"`           // its working directory
	Protocol     string               `yaml:"protocol"`      // auto, all or a revision
	Profile      string               `yaml:"profile"`       // release, spec or strict
	Calls        string               `yaml:"calls"`         // safe, none or all
	Arguments    map[string]harness.M `yaml:"arguments"`     // by tool: valid and harmless
	Only         []string             `yaml:"only"`          // checks to run
	Skip         []string             `yaml:"skip"`          // checks to leave out
	Jobs         int                  `yaml:"jobs"`          // checks at a time
	Timeout      time.Duration        `yaml:"timeout"`       // for one answer
	StartTimeout time.Duration        `yaml:"start-timeout"` // until the server answers initialize
	Seed         int64                `yaml:"seed"`          // for the values that are made

	name string // of the file that was read; empty: none
}

// readConfig reads a configuration file. Without a name it reads mcpcheck.yaml,
// which need not exist.
func readConfig(name string) (c config, err error) {
	optional := name == ""
	if optional {
		name = configName
	}
	text, err := os.ReadFile(name)
	switch {
	case optional && errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, usage("cannot read the configuration: %w", err)
	}
	c.name = name
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		return c, usage("%s%s", name, configProblem(text, err))
	}
	if key, err := c.problem(); err != nil {
		return c, usage("%s%s: %w", name, position(text, key), err)
	}
	return c, nil
}

// problem finds a value that is not allowed, and its place.
func (c config) problem() (key string, err error) {
	if _, err := harness.ParseProfile(c.Profile); err != nil && c.Profile != "" {
		return "profile", err
	}
	if _, err := harness.ParseCalls(c.Calls); err != nil && c.Calls != "" {
		return "calls", err
	}
	if _, err := requested(c.Protocol); err != nil && c.Protocol != "" {
		return "protocol", err
	}
	for key, patterns := range map[string][]string{"only": c.Only, "skip": c.Skip} {
		for i, pattern := range patterns {
			if _, err := selectChecks([]string{pattern}, nil); err != nil {
				return fmt.Sprintf("%s[%d]", key, i), err
			}
		}
	}
	for key, n := range map[string]int64{"jobs": int64(c.Jobs), "timeout": int64(c.Timeout), "start-timeout": int64(c.StartTimeout)} {
		if n < 0 {
			return key, errors.New(key + " must be greater than 0")
		}
	}
	return "", nil
}

// position is where in a file the value of a key stands, as :line:column; empty
// when there is none.
func position(text []byte, key string) string {
	path, err := yaml.PathString("$." + key)
	if err != nil {
		return ""
	}
	node, err := path.ReadNode(bytes.NewReader(text))
	if err != nil || node.GetToken() == nil {
		return ""
	}
	at := node.GetToken().Position
	return fmt.Sprintf(":%d:%d", at.Line, at.Column)
}

// configProblem says in one line where a configuration is wrong and what is
// allowed there.
func configProblem(text []byte, err error) string {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		at := unknown.Token.Position
		return fmt.Sprintf(":%d:%d: unknown key %q%s", at.Line, at.Column, unknown.Token.Value, allowedKeys(unknown.Token.Value))
	}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		at := typed.Token.Position
		return fmt.Sprintf(":%d:%d: %q is not %s", at.Line, at.Column, typed.Token.Value, kindName(typed.DstType))
	}
	var node *yaml.UnexpectedNodeTypeError
	if errors.As(err, &node) {
		at := node.Token.Position
		return fmt.Sprintf(":%d:%d: this is a %s where a %s belongs", at.Line, at.Column, plainKind(node.Actual), plainKind(node.Expected))
	}
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		at := syntax.GetToken().Position
		return fmt.Sprintf(":%d:%d: %s", at.Line, at.Column, strings.TrimSpace(syntax.GetMessage()))
	}
	for _, key := range []string{"timeout", "start-timeout"} { // whose errors do not say where
		if !parses(text, key) {
			return fmt.Sprintf("%s: %s is not %s", position(text, key), key, kindName(reflect.TypeFor[time.Duration]()))
		}
	}
	return ": " + err.Error()
}

// parses reports whether the value of a key, if there is one, is a duration.
func parses(text []byte, key string) bool {
	var value string
	path, err := yaml.PathString("$." + key)
	if err != nil || path.Read(bytes.NewReader(text), &value) != nil {
		return true
	}
	_, err = time.ParseDuration(value)
	return err == nil
}

func plainKind(t ast.NodeType) string {
	switch t {
	case ast.SequenceType:
		return "list"
	case ast.MappingType:
		return "map"
	case ast.StringType:
		return "text"
	}
	return t.YAMLName()
}

func allowedKeys(key string) string {
	var keys []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		if key := field.Tag.Get("yaml"); key != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	text := " (allowed: " + strings.Join(keys, ", ") + ")"
	if near := harness.Nearest(key, keys); near != "" {
		return "; did you mean " + near + "?" + text
	}
	return text
}

func kindName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 5s or 500ms"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		return "a map"
	case t.Kind() == reflect.String:
		return "a text"
	}
	return "a number"
}
