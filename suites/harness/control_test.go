package harness

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// A server that serves no session to its end has one fault, and a check that was too long for it is not failed.
func TestControl(t *testing.T) {
	long := func(t *T) {
		s := t.Own()
		for range 4 {
			t.Expect(t.Try(s, "tools/list", nil)).To(BeAnswered())
		}
	}
	tires := func(does act) script {
		return script{{method: "tools/list", from: 4, does: does}, {method: "ping", from: 5, does: does}}
	}
	const ends = "not tried: the server serves no session to its end: where nothing but ping is asked, " +
		"it ends after 4 answers: "
	tests := []struct {
		name    string
		script  script
		verdict Verdict
		message string
		control bool // it failed
	}{
		{"a server that serves", nil, Pass, "", false},
		{
			"one that does not answer a fourth list",
			script{{method: "tools/list", from: 4, does: ignores}},
			Fail,
			"",
			false,
		},
		{"one that dies of it", script{{method: "tools/list", from: 4, does: dies}}, Fail, "", false},
		{"one that falls silent", tires(ignores), Inconclusive, ends + "no answer to ping within 5s (--timeout)", true},
		{"one that dies early", tires(dies), Inconclusive, ends + "the server exited with status 1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var failed *driver.Session
			out := scene{script: tt.script, options: Options{Jobs: 1}, cast: []role{
				{id: "a/long", check: Probe(long)},
				{id: "a/watch", check: Watch(func(t *T, _ Wire) { failed, _ = ServerDown(t) })},
			}}.play(t)
			out.want(t, "a/long", tt.verdict, tt.message)
			if (failed != nil) != tt.control || (out.problem != "") != tt.control {
				t.Errorf("the control was %v; problem %q", failed, out.problem)
			}
		})
	}
}

// A control that has failed is forgotten once the server has another chance and stands it.
func TestControlAgain(t *testing.T) {
	var failed *driver.Session
	out := scene{
		script: script{
			{method: "tools/list", process: 1, does: ignores},
			{method: "ping", process: 2, from: 2, does: ignores},
			{method: "ping", process: 3, from: 2, does: ignores},
		},
		cast: []role{
			{id: "a/one", check: Probe(func(t *T) {
				s := t.Own()
				r := t.Try(s, "tools/list", nil)
				for range fewSilences - 1 {
					t.Try(s, "tools/list", nil)
				}
				t.Expect(r).To(BeAnswered())
			})},
			{id: "a/two", check: uses},
			{id: "a/watch", check: Watch(func(t *T, _ Wire) { failed, _ = ServerDown(t) })},
		},
		options: Options{Jobs: 1},
	}.play(t)
	out.want(t, "a/one", Pass, "")
	out.want(t, "a/two", Pass, "")
	out.wantAttempts(t, "a/two", 1)
	if failed != nil || out.problem != "" {
		t.Errorf("the control was %v; problem %q", failed, out.problem)
	}
}

// Silence costs a run a few waits, however many checks there are.
func TestWaits(t *testing.T) {
	tests := []struct {
		name   string
		script script
		most   time.Duration
	}{
		{"silent after the handshake", script{{method: "initialize"}, {does: ignores}}, 30 * time.Second},
		{"silent after a few messages", script{{method: "tools/list", from: 2, does: ignores},
			{method: "ping", from: 3, does: ignores}}, 60 * time.Second},
		{"no process starts", script{{does: ignores}}, 90 * time.Second},
	}
	for _, tt := range tests {
		s := scene{script: tt.script, options: Options{Jobs: 4}}
		for i := range 60 {
			s.cast = append(s.cast, role{id: fmt.Sprint("a/", i), check: Probe(func(t *T) {
				s := t.Own()
				t.Ask(s, "tools/list", nil)
				t.Ask(s, "tools/list", nil)
			})})
		}
		out := s.play(t)
		if out.took > tt.most || out.problem == "" {
			t.Errorf("%s: it took %v; problem %q", tt.name, out.took, out.problem)
		}
	}
}

// A server that can be started only once is named so.
func TestStartsOnce(t *testing.T) {
	out := scene{
		script: script{{method: "initialize", process: 1}, {process: 1}, {does: dies}},
		cast: []role{
			{id: "a/one", check: uses},
			{id: "a/two", check: Fresh(func(t *T) {
				t.Expect(t.Start().Greet(driver.Hello(Newest))).To(BeResult())
			})},
		},
		options: Options{Jobs: 1}, first: true,
	}.play(t)
	const want = "no session could be opened after the first one, as if the server could run only once: " +
		"the server exited with status 1"
	out.want(t, "a/one", Pass, "")
	out.want(t, "a/two", Inconclusive, "not tried: "+want)
	if out.problem != want {
		t.Errorf("problem %q", out.problem)
	}
}

// Requests that were sent together are not waited for one after the other, and a server that takes one at a time has
// time for each.
func TestRequestsSentTogether(t *testing.T) {
	tests := []struct {
		name     string
		does     act
		answered int
		took     time.Duration
	}{
		{"answered", act{}, 4, 0},
		{"silent", ignores, 0, 5 * time.Second},
		{"one at a time", takes(3 * time.Second), 4, 12 * time.Second},
		{"too slow", takes(6 * time.Second), 0, 5 * time.Second},
	}
	for _, tt := range tests {
		answered, took := 0, time.Duration(0)
		scene{
			script: script{{method: "list", does: tt.does}}, options: Options{Jobs: 1},
			cast: []role{{id: "a/one", check: Probe(func(t *T) {
				s := t.Own()
				begin := time.Now()
				var all []driver.Pending
				for range 4 {
					all = append(all, s.Request("list", nil))
				}
				for _, p := range all {
					if s.Await(p).Answered() {
						answered++
					}
				}
				took = time.Since(begin)
			})}},
		}.play(t)
		if answered != tt.answered || took != tt.took {
			t.Errorf("%s: %d answers in %v, want %d in %v", tt.name, answered, took, tt.answered, tt.took)
		}
	}
}

// When the harmless request has no answer, another one proves that the server lives.
func TestFence(t *testing.T) {
	tests := []struct {
		name     string
		declares string
		verdict  Verdict
	}{
		{"a list that is declared", `{"tools":{}}`, Pass},
		{"no list", `{}`, Inconclusive},
	}
	for _, tt := range tests {
		welcome := fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s}`, Newest, tt.declares)
		out := scene{
			script: script{{method: "initialize", does: act{result: welcome}}, {method: "ping", does: ignores}},
			cast: []role{{id: "a/one", check: Probe(func(t *T) {
				s := t.Own()
				mark := s.Mark()
				s.Notify("nothing", nil)
				t.Expect(Settle(t, s, mark)).To(BeEmptyList[*driver.Frame]("nothing"))
			})}},
			options: Options{Jobs: 1},
		}.play(t)
		out.want(t, "a/one", tt.verdict, "")
	}
}
