package report

import "testing"

func TestMergeToolUse(t *testing.T) {
	for name, c := range map[string]struct{ one, other, want ToolUse }{
		"one works": {
			ToolUse{Answered: true, Failed: true, Faulty: true, Message: "a"},
			ToolUse{Answered: true, Works: true},
			ToolUse{Answered: true, Works: true},
		},
		"one was called": {
			ToolUse{Answered: true}, ToolUse{Crashed: true, Failed: true, Message: "a"},
			ToolUse{Answered: true, Crashed: true, Failed: true, Message: "a"},
		},
		"one has answered": {ToolUse{Silent: true}, ToolUse{Answered: true},
			ToolUse{Answered: true}},
		"neither has answered": {ToolUse{Silent: true}, ToolUse{}, ToolUse{Silent: true}},
		"both failed": {
			ToolUse{Failed: true, Message: "b"}, ToolUse{Failed: true, Message: "a"},
			ToolUse{Failed: true, Message: "a"},
		},
	} {
		for _, pair := range [][2]ToolUse{{c.one, c.other}, {c.other, c.one}} {
			if got := MergeToolUse([]ToolUse{pair[0]},
				[]ToolUse{pair[1], {Name: "x"}}); got[0] != c.want || len(got) != 2 {
				t.Errorf("%s: want %+v\n got %+v", name, c.want, got)
			}
		}
	}
}
