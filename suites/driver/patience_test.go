package driver

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// TestPatience checks which requests are waited for only briefly: those that ask what had no response before and never
// had one, after three requests without a response.
func TestPatience(t *testing.T) {
	request := func(method, name string) *Frame {
		text, _ := json.Marshal(M{"id": 1, "method": method, "params": M{"name": name}})
		f := &Frame{Raw: text}
		f.parse()
		return f
	}
	unknown, known, lists := request("tools/call", "none"), request("tools/call", "echo"), request("tools/list", "")
	type note struct {
		request  *Frame
		answered bool
	}
	for name, tt := range map[string]struct {
		notes   []note
		request *Frame
		short   bool
	}{
		"at first":           {nil, unknown, false},
		"after two":          {[]note{{unknown, false}, {unknown, false}}, unknown, false},
		"after three":        {[]note{{unknown, false}, {unknown, false}, {unknown, false}}, unknown, true},
		"of others":          {[]note{{unknown, false}, {lists, false}, {known, false}}, unknown, true},
		"another name":       {[]note{{unknown, false}, {unknown, false}, {unknown, false}}, known, false},
		"another method":     {[]note{{unknown, false}, {unknown, false}, {unknown, false}}, lists, false},
		"answered once":      {[]note{{known, true}, {lists, false}, {lists, false}, {known, false}}, known, false},
		"not in the record":  {[]note{{unknown, false}, {unknown, false}, {unknown, false}}, nil, false},
		"none to the others": {[]note{{known, false}, {known, false}, {known, false}}, unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			var p Patience
			for _, n := range tt.notes {
				p.add(n.request, n.answered)
			}
			want := 5 * time.Second
			if tt.short {
				want = timing.UnansweredBefore
			}
			if got := p.wait(tt.request, 5*time.Second); got != want {
				t.Errorf("waits for %v, want %v", got, want)
			}
		})
	}
}
