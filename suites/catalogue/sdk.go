package catalogue

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SDK is a library that servers use. It is recognised by texts in the server's errors, never by the name that the
// server gives itself.
type SDK struct {
	// ID is the name of the SDK in entries.
	ID string `yaml:"id"`
	// Name includes the versions it stands for: TypeScript SDK 1.x.
	Name string `yaml:"name"`
	// Errors identify the SDK; one of them is enough.
	Errors []ErrorPatterns `yaml:"says"`
}

// ErrorPatterns are patterns for errors on the wire that only one SDK sends: one pattern or, if each of them also
// matches errors of others, several that all have to match errors of a run.
type ErrorPatterns []Pattern

// UnmarshalYAML parses a pattern, or a list of patterns.
func (t *ErrorPatterns) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.SequenceNode {
		return node.Decode((*[]Pattern)(t))
	}
	*t = make(ErrorPatterns, 1)
	return node.Decode(&(*t)[0])
}

// Deviation says that an SDK violates a requirement, so that servers that use it cannot conform.
type Deviation struct {
	// SDK is the id of the SDK.
	SDK string `yaml:"sdk"`
	// Versions are the versions with the deviation: 1.32, or 2.0 to 2.4.
	Versions string `yaml:"versions"`
	// Got matches what each finding says was received.
	Got Pattern `yaml:"got"`
	// Issue is the URL of the report to the developers of the SDK; empty when none is known.
	Issue string `yaml:"issue"`
	// Fix says what helps, since no change in the server's own code does.
	Fix string `yaml:"fix"`
	// FromSource says that the deviation is known only from the source of the SDK, without running a server.
	FromSource bool `yaml:"read"`
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

// ReadSDKs parses a YAML list of SDKs. Errors have line and column.
func ReadSDKs(text []byte) (sdks []SDK, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err = d.Decode(&sdks); err != nil {
		return nil, withColumn(err, text)
	}
	return sdks, nil
}

var versionRange = regexp.MustCompile(`^\d+\.\d+( to \d+\.\d+)?$`)

// CheckSDKs returns an error if a deviation in the catalogue is incomplete or names an unknown SDK.
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

// SdkIn returns the SDK that has the deviation; nil if it is not in the list.
func (d Deviation) SdkIn(sdks []SDK) *SDK {
	i := slices.IndexFunc(sdks, func(s SDK) bool { return s.ID == d.SDK })
	if i < 0 {
		return nil
	}
	return &sdks[i]
}

// Matches reports whether the error texts can only come from the SDK.
func (s SDK) Matches(texts ...[]byte) bool {
	isMissing := func(p Pattern) bool { return !slices.ContainsFunc(texts, p.Match) }
	return slices.ContainsFunc(s.Errors, func(t ErrorPatterns) bool { return !slices.ContainsFunc(t, isMissing) })
}
