package harness

import (
	"slices"
	"testing"
)

// A watch that fails names the checks that brought it about, but for those that it would bring about itself.
func TestProvokedBy(t *testing.T) {
	script := script{
		{method: "says", does: says(`{"method":"notifications/a"}`)},
		{method: "refuses", does: refuses(-1)},
	}
	say := func(t *T) { t.Ask(t.Session(), "says", nil) }
	shared := func(t *T) { Step(t, "a step", func(t *T) bool { say(t); return true }) }
	judge := func(of func(Wire) Messages) func(*T, Wire) {
		return func(t *T, w Wire) { t.Judge(of(w), func(t *T, _ Message) { t.Fail("none", "one") }) }
	}
	asks := role{id: "a/asks", check: Probe(func(t *T) { t.Ask(t.Session(), "refuses", nil) })}
	for name, tt := range map[string]struct {
		cast []role
		want []string
	}{
		"a request of another check": {
			[]role{asks, {id: "a/watch", check: Watch(judge(Wire.Errors))}}, []string{"a/asks"},
		},
		"a message that nobody asked for": {
			[]role{{id: "a/says", check: Probe(say)}, {id: "a/watch", check: Watch(judge(Wire.Notifications))}},
			[]string{"a/says"},
		},
		"its own": {[]role{{id: "a/watch", check: WatchAfter(say, judge(Wire.Notifications))}}, nil},
		"a step of several": {
			[]role{
				{id: "a/other", check: Probe(shared)},
				{id: "a/watch", check: WatchAfter(shared, judge(Wire.Notifications))},
			},
			nil,
		},
		"a step of others": {
			[]role{{id: "a/one", check: Probe(shared)}, {id: "a/watch", check: Watch(judge(Wire.Notifications))}},
			[]string{"a/one"},
		},
		"the handshake": {[]role{asks, {id: "a/watch", check: Watch(judge(Wire.Results))}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out := scene{script: script, cast: tt.cast}.play(t)
			out.want(t, "a/watch", Fail, "")
			if got := out.results["a/watch"].ProvokedBy; !slices.Equal(got, tt.want) {
				t.Errorf("provoked by %v, want %v", got, tt.want)
			}
		})
	}
}

// What only a session of control shows is brought about by the whole of a run, which is said where nothing less does.
func TestProvokedByTheWholeRun(t *testing.T) {
	for _, tt := range []struct {
		fails [][]string
		want  []string
	}{
		{[][]string{{controlled}}, []string{Everything}},
		{[][]string{{"a/probe", controlled}}, []string{Everything}},
		{[][]string{{controlled}, {"a/probe", "b/probe"}}, []string{"a/probe", "b/probe"}},
		{[][]string{{"a/probe", "b/probe"}, {controlled}}, []string{"a/probe", "b/probe"}},
	} {
		if got := new(Execution).provokers("a/watch", tt.fails); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.fails, got, tt.want)
		}
	}
}
