package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

func TestParseShard(t *testing.T) {
	for _, c := range []struct {
		text, env  string
		want       *report.ShardInfo
		complaints string
	}{
		{text: ""},
		{text: "1/4", want: &report.ShardInfo{Index: 1, Of: 4}},
		{text: "4/4", want: &report.ShardInfo{Index: 4, Of: 4}},
		{text: "auto/4", env: "JOB_COMPLETION_INDEX=0", want: &report.ShardInfo{Index: 1, Of: 4}},
		{text: "auto/4", env: "AWS_BATCH_JOB_ARRAY_INDEX=3", want: &report.ShardInfo{Index: 4, Of: 4}},
		{text: "auto", env: "CI_NODE_INDEX=2 CI_NODE_TOTAL=3", want: &report.ShardInfo{Index: 2, Of: 3}},
		{text: "auto", env: "CIRCLE_NODE_INDEX=2 CIRCLE_NODE_TOTAL=3", want: &report.ShardInfo{Index: 3, Of: 3}},
		{text: "auto", env: "BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=2",
			want: &report.ShardInfo{Index: 1, Of: 2}},
		{text: "auto", env: "CLOUD_RUN_TASK_INDEX=0 CLOUD_RUN_TASK_COUNT=2", want: &report.ShardInfo{Index: 1, Of: 2}},
		{text: "auto", env: "JOB_COMPLETION_INDEX=1", complaints: "Kubernetes does not say how many jobs there are"},
		{text: "auto", complaints: "none of JOB_COMPLETION_INDEX, CI_NODE_INDEX,"},
		{text: "auto/3", env: "JOB_COMPLETION_INDEX=x", complaints: "JOB_COMPLETION_INDEX is not a number"},
		{text: "auto/3", env: "JOB_COMPLETION_INDEX=3", complaints: "there is no shard 4/3"},
		{text: "0/3", complaints: "there is no shard 0/3"},
		{text: "1/0", complaints: "there is no shard 1/0"},
		{text: "3", complaints: "needs I/N"},
		{text: "-1/3", complaints: "needs I/N"},
		{text: "a/b", complaints: "needs I/N"},
	} {
		env := func(name string) string {
			for _, pair := range strings.Fields(c.env) {
				if key, value, _ := strings.Cut(pair, "="); key == name {
					return value
				}
			}
			return ""
		}
		got, err := ParseShard(c.text, env)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q with %s, - wanted, + got:\n%s", c.text, c.env, diff)
		}
		if (err != nil) != (c.complaints != "") || err != nil && !strings.Contains(err.Error(), c.complaints) {
			t.Errorf("%q with %s: %v, want %q", c.text, c.env, err, c.complaints)
		}
	}
}

// TestShardsAreAPartition proves that each requirement belongs to exactly one shard, and that the shards together run
// every selected check.
func TestShardsAreAPartition(t *testing.T) {
	for selected, wanted := range map[string]catalogue.Selector{
		"all":   suites.HasCheck,
		"tools": func(r *catalogue.Requirement) bool { return r.Area() == "tools" && suites.HasCheck(r) },
		"none":  func(*catalogue.Requirement) bool { return false },
	} {
		total := 0
		for _, r := range suites.All() {
			if wanted(r) {
				total++
			}
		}
		for _, of := range []int{1, 2, 3, 7, 1000} {
			var all []string
			for i := range of {
				share := 0
				for _, r := range (report.ShardInfo{Index: i + 1, Of: of}).Assigned(suites.All(), wanted) {
					all = append(all, r.ID)
					if wanted(r) {
						share++
					}
				}
				if share < total/of || share > total/of+1 {
					t.Errorf("%s: shard %d/%d has %d of %d", selected, i+1, of, share, total)
				}
			}
			ids := text.Map(suites.All(), func(r *catalogue.Requirement) string { return r.ID })
			if diff := cmp.Diff(ids, all); diff != "" {
				t.Errorf("%s in %d shards: %s", selected, of, diff)
			}
		}
	}
}
