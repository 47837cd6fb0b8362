package driver

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// TestPatience checks which requests are waited for only briefly: those that ask what had no response before and never
// had one, after two requests without a response.
func TestPatience(t *testing.T) {
	request := func(method, name string) *Frame {
		text, _ := json.Marshal(M{"id": 1, "method": method, "params": M{"name": name}})
		f := &Frame{Raw: text}
		f.parse()
		return f
	}
	again := request("tools/call", "none")
	unknown, known, lists := request("tools/call", "none"), request("tools/call", "echo"), request("tools/list", "")
	batch := &Frame{Raw: Text(`[{"id":1,"method":"ping"}]`)}
	batch.parse()
	type note struct {
		request  *Frame
		answered bool
	}
	for name, tt := range map[string]struct {
		notes   []note
		request *Frame
		short   bool
	}{
		"at first":          {nil, unknown, false},
		"after one, twice":  {[]note{{unknown, false}, {unknown, false}}, unknown, false},
		"after two":         {[]note{{unknown, false}, {again, false}}, unknown, true},
		"one of another":    {[]note{{lists, false}, {unknown, false}}, unknown, true},
		"another name":      {[]note{{unknown, false}, {again, false}}, known, false},
		"another method":    {[]note{{unknown, false}, {again, false}}, lists, false},
		"answered once":     {[]note{{known, true}, {lists, false}, {known, false}}, known, false},
		"answered later":    {[]note{{lists, false}, {known, false}, {known, true}}, known, false},
		"not in the record": {[]note{{unknown, false}, {again, false}}, nil, false},
		"a batch":           {[]note{{batch, false}, {lists, false}, {known, false}}, batch, false},
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

// TestPatienceOfSession checks that only a request whose response was waited for counts as one without a response, and
// only after twice the time: one that was cancelled, or left alone, needs none.
func TestPatienceOfSession(t *testing.T) {
	const limit = 5 * time.Second
	silentServer := respondingServer(func(int, string) string { return "" })
	runSession(t, Limits{ReplyTimeout: limit}, silentServer, func(t *testing.T, s *Session) {
		s.patience = &Patience{}
		s.Request("resources/list", nil)
		var waits []time.Duration
		for range 4 {
			begin := time.Now()
			s.Call("tools/list", nil)
			waits = append(waits, time.Since(begin))
		}
		// After 15 s the first one has had none for 15 s, and the second for 10 s.
		if want := []time.Duration{limit, limit, limit, timing.UnansweredBefore}; !slices.Equal(waits, want) {
			t.Errorf("waited %v, want %v", waits, want)
		}
		if got := s.Patience(s.FramesSince(0)[0]); got != limit {
			t.Errorf("a request that was not waited for has %v", got)
		}
	})
}
