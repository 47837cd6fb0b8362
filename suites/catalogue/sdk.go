package catalogue

import (
	"bytes"
	"fmt"
	"go.yaml.in/yaml/v3"
	"regexp"
	"slices"
	"strings"
)

// SDK is a library that servers are written with. A server is known to be written with it by what it says in errors,
// never by the name that it gives itself.
type SDK struct {
	ID     string          `yaml:"id"`
	Name   string          `yaml:"name"` // with the versions that it stands for: TypeScript SDK 1.x
	Errors []ErrorPatterns `yaml:"says"` // any of these
}

// ErrorPatterns is what only one SDK says in errors, as it is on the wire: one text or, where others may say each of
// them, several, all of which are said in a run.
type ErrorPatterns []Pattern

// UnmarshalYAML reads a pattern, or a list of patterns.
func (t *ErrorPatterns) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.SequenceNode {
		return node.Decode((*[]Pattern)(t))
	}
	*t = make(ErrorPatterns, 1)
	return node.Decode(&(*t)[0])
}

// Deviation says that a requirement is broken by an SDK: no server written with it can keep it without leaving it.
type Deviation struct {
	SDK        string  `yaml:"sdk"`      // its id
	Versions   string  `yaml:"versions"` // of which that is known: 1.32, or 2.0 to 2.4
	Got        Pattern `yaml:"got"`      // what comes then, in each finding
	Issue      string  `yaml:"issue"`    // URL of the report to the makers of the SDK; empty: none is known
	Fix        string  `yaml:"fix"`      // what changes it, since nothing in the server's own code does
	FromSource bool    `yaml:"read"`     // it is known from the source of the SDK alone: no server was run
}

// Pattern is a regular expression in the catalogue.
type Pattern struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression.
func (p *Pattern) UnmarshalYAML(node *yaml.Node) (err error) {
	p.Regexp, err = regexp.Compile(node.Value)
	return errorAt(node, err)
}

// UnmarshalText compiles the expression.
func (p *Pattern) UnmarshalText(text []byte) (err error) {
	p.Regexp, err = regexp.Compile(string(text))
	return err
}

// ReadSDKs reads a YAML list of SDKs. The error names line and column.
func ReadSDKs(text []byte) (sdks []SDK, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err = d.Decode(&sdks); err != nil {
		return nil, withColumn(err, text)
	}
	return sdks, nil
}

var versionRange = regexp.MustCompile(`^\d+\.\d+( to \d+\.\d+)?$`)

// CheckSDKs finds what is wrong with the deviations of a catalogue.
func (c Catalogue) CheckSDKs(sdks []SDK) error {
	for _, r := range c {
		for _, d := range r.SDKs {
			switch {
			case d.SdkIn(sdks) == nil:
				return fmt.Errorf("%s: unknown SDK %q", r.ID, d.SDK)
			case !versionRange.MatchString(d.Versions):
				return fmt.Errorf("%s: versions %q of %s (want 1.2, or 1.2 to 1.4)", r.ID, d.Versions, d.SDK)
			case d.Got.Regexp == nil || d.Fix == "":
				return fmt.Errorf("%s: the deviation of %s wants got and fix", r.ID, d.SDK)
			case d.Issue != "" && !strings.HasPrefix(d.Issue, "https://"):
				return fmt.Errorf("%s: the issue of %s is not a URL", r.ID, d.SDK)
			}
		}
	}
	return nil
}

// of is the SDK that has the deviation; nil if it is not in the list.
func (d Deviation) SdkIn(sdks []SDK) *SDK {
	i := slices.IndexFunc(sdks, func(s SDK) bool { return s.ID == d.SDK })
	if i < 0 {
		return nil
	}
	return &sdks[i]
}

// Matches reports whether these errors can only have been written by the SDK.
func (s SDK) Matches(said ...[]byte) bool {
	unsaid := func(p Pattern) bool { return !slices.ContainsFunc(said, p.Match) }
	return slices.ContainsFunc(s.Errors, func(t ErrorPatterns) bool { return !slices.ContainsFunc(t, unsaid) })
}
