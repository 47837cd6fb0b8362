package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ciSystems are the environment variables in which CI systems number parallel jobs. The first job has the index first.
var ciSystems = []struct {
	name, index, of string
	first           int
}{
	{name: "Kubernetes", index: "JOB_COMPLETION_INDEX"},
	{name: "GitLab CI", index: "CI_NODE_INDEX", of: "CI_NODE_TOTAL", first: 1},
	{name: "CircleCI", index: "CIRCLE_NODE_INDEX", of: "CIRCLE_NODE_TOTAL"},
	{name: "Buildkite", index: "BUILDKITE_PARALLEL_JOB", of: "BUILDKITE_PARALLEL_JOB_COUNT"},
	{name: "AWS Batch", index: "AWS_BATCH_JOB_ARRAY_INDEX"},
	{name: "Cloud Run", index: "CLOUD_RUN_TASK_INDEX", of: "CLOUD_RUN_TASK_COUNT"},
}

// shardPattern matches the value of --shard.
var shardPattern = regexp.MustCompile(`^(auto|[0-9]{1,6})(?:/([0-9]{1,6}))?$`)

// ParseShard parses the value of --shard: I/N, auto or auto/N. For auto, the environment of the CI system says which
// part this is and, unless N is given, how many there are. It returns nil for an empty value, which is the whole run.
func ParseShard(content string, env func(string) string) (s *report.ShardInfo, err error) {
	if content == "" {
		return nil, nil
	}
	parts := shardPattern.FindStringSubmatch(content)
	if parts == nil || parts[1] != "auto" && parts[2] == "" {
		return nil, exit.Usagef("--shard needs I/N such as 1/4, auto or auto/N, not %q", content)
	}
	index, of := parts[1], parts[2]
	if index == "auto" {
		if index, of, err = shardFromCI(of, env); err != nil {
			return nil, err
		}
	}
	i, wrong := strconv.Atoi(index)
	n, wrongToo := strconv.Atoi(of)
	if wrong != nil || wrongToo != nil || i < 1 || i > n {
		return nil, exit.Usagef("--shard: there is no shard %s/%s; the first of N is 1/N, the last is N/N", index, of)
	}
	return &report.ShardInfo{Index: i, Of: n}, nil
}

// shardFromCI returns the shard that the environment of the CI system names. A number of shards that the user gave, of,
// takes precedence.
func shardFromCI(of string, env func(string) string) (index, n string, err error) {
	var names []string
	for _, m := range ciSystems {
		names = append(names, m.index)
		value := env(m.index)
		if value == "" {
			continue
		}
		i, err := strconv.Atoi(value)
		if err != nil {
			return "", "", exit.Usagef("--shard auto: %s is not a number: %q", m.index, value)
		}
		if n = of; n == "" && m.of != "" {
			n = env(m.of)
		}
		if n == "" {
			return "", "", exit.Usagef("--shard auto: %s does not say how many jobs there are; say auto/N", m.name)
		}
		return fmt.Sprint(i + 1 - m.first), n, nil
	}
	return "", "", exit.Usagef("--shard auto: none of %s is set; say I/N", strings.Join(names, ", "))
}

// Cases returns the cases planned for a server: all of them, or those of the shard.
func (v Options) Cases(server *check.Server) []engine.Case {
	plan := PlannedCases(v.BuiltCatalogue(), server, v.Selector)
	if v.Shard == nil {
		return plan
	}
	return engine.FilterPlan(plan, v.CoveredCatalogue())
}

// CoveredCatalogue returns the requirements whose coverage the report counts: all of them, or those that belong to the
// shard.
func (v Options) CoveredCatalogue() catalogue.Catalogue {
	if v.Shard == nil {
		return v.fullCatalogue()
	}
	wanted := func(r *catalogue.Requirement) bool { return suites.HasCheck(r) && v.Selector(r) }
	return v.Shard.Assigned(v.fullCatalogue(), wanted)
}
