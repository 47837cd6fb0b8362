package catalogue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func catalogueOf(ids ...string) (c Catalogue) {
	for _, id := range ids {
		level := Should
		if strings.Contains(id, "must") {
			level = Must
		}
		c = append(c, &Requirement{ID: id, Level: ByRevision[Level]{All: level},
			Revisions: []string{NewestLegacy}})
	}
	return c
}

func TestSelect(t *testing.T) {
	entries := catalogueOf("ping/must-answer", "ping/pace", "tools/must-list", "tools/names")
	tests := []struct {
		only, skip, want []string
		err              string
	}{
		{want: []string{"ping/must-answer", "ping/pace", "tools/must-list", "tools/names"}},
		{only: []string{"ping"}, want: []string{"ping/must-answer", "ping/pace"}},
		{only: []string{"tools/*"}, want: []string{"tools/must-list", "tools/names"}},
		{only: []string{"t*"}, want: []string{"tools/must-list", "tools/names"}},
		{only: []string{"*"}, skip: []string{"p*g"}, want: []string{"tools/must-list", "tools/names"}},
		{skip: []string{"*"}},
		{only: []string{"must"}, want: []string{"ping/must-answer", "tools/must-list"}},
		{only: []string{"ping/pace"}, want: []string{"ping/pace"}},
		{only: []string{"tools"}, skip: []string{"MUST"}, want: []string{"tools/names"}},
		{only: []string{"ping/pase"}, err: `no check "ping/pase"; did you mean ping/pace?`},
		{only: []string{"tools/nam"}, err: `no check "tools/nam"; did you mean tools/names?`},
		{skip: []string{"qqqqqqqqqqqq"}, err: `no check "qqqqqqqqqqqq"; mcpcheck list shows them all`},
		{only: []string{"tools/["}, err: `bad pattern "tools/[": syntax error in pattern`},
	}
	for _, tt := range tests {
		selector, err := Select(func() Catalogue { return entries }, tt.only, tt.skip)
		if tt.err != "" || err != nil {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%v: got error %v, want %s", tt.only, err, tt.err)
			}
			continue
		}
		var got []string
		for _, r := range entries {
			if selector(r) {
				got = append(got, r.ID)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("only %v, skip %v: %s", tt.only, tt.skip, diff)
		}
	}
}
