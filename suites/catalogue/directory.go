package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DirectoryIDs are the public directories of servers whose listing rules are known, in the order of directories.yaml.
var DirectoryIDs = []string{"claude", "openai", "registry", "docker", "smithery"}

// ServerDirectory is a public directory of servers.
type ServerDirectory struct {
	Name  string          `yaml:"name"`
	Rules []DirectoryRule `yaml:"rules"`
}

// DirectoryRule is a rule that a directory has for the servers that it lists.
type DirectoryRule struct {
	// ID is the directory and a name of the rule, as claude/tool-title.
	ID string `yaml:"id" json:"id"`
	// Directory is the name of the directory.
	Directory string `yaml:"-" json:"by"`
	// Rule is the rule in our words.
	Rule string `yaml:"rule" json:"rule"`
	// Source is the URL of the rule, and Date the day on which it said so.
	Source string `yaml:"source" json:"source"`
	Date   string `yaml:"date" json:"date"`
	// Reason says why no check decides it, or what checks leave open.
	Reason string `yaml:"reason" json:"reason,omitempty"`
	// Checks are the entries whose failure violates it; nil in the rules of an entry.
	Checks []string `yaml:"checks" json:"-"`
}

// ReadDirectories reads suites/directories.yaml, whose head describes it, and returns all rules.
func ReadDirectories(text []byte) (rules []DirectoryRule, err error) {
	var all map[string]ServerDirectory
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for _, id := range DirectoryIDs {
		for _, r := range all[id].Rules {
			if !strings.HasPrefix(r.ID, id+"/") {
				return nil, fmt.Errorf("%s is not a rule of %s", r.ID, id)
			}
			r.Directory = all[id].Name
			rules = append(rules, r)
		}
		delete(all, id)
	}
	for id := range all {
		return nil, fmt.Errorf("%s is not one of DirectoryIDs", id)
	}
	return rules, nil
}

// AssignRules sets the rules of directories in the entries that they name.
func (c Catalogue) AssignRules(rules []DirectoryRule) {
	for _, r := range c {
		for _, rule := range rules {
			if slices.Contains(rule.Checks, r.ID) {
				rule.Checks = nil
				r.DirectoryRules = append(r.DirectoryRules, rule)
			}
		}
	}
}
