package tasks

import (
	"time"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// creation are the checks of how calls are answered by tasks.
var creation = Suite{
	"tasks/create-result": Probe(func(t *T) {
		wantAugments(t)
		served := kit.Answered(tell(t).Calls)
		kit.Seen(t, len(served), "call that is to run as a task was answered", tell(t).Uncalled, kit.AnyTool)
		kit.EachCall(t, served, func(t *T, call kit.ToolCall) {
			kit.WantAnswer(t, call.Reply)
			if call.Reply.Error() != nil {
				t.Inconclusive("the call was refused: %s", Got(call.Reply))
			}
			broken := kit.Broken(t, "tasks/create-result", "CreateTaskResult", call.Reply.Member("result"))
			t.Expect(broken).To(BeEmptyList[string]("a task with all of its members"))
			t.Expect(Member(call.Reply.Result(), "content")).To(BeOneOf[any](Absent{}), "content beside the task")
		})
	}),

	"tasks/create-prompt": Probe(func(t *T) {
		long := max(slow, 4*t.Server.Pace)
		prompt := those(t, "task that was still at work when it was asked after", func(c *course) bool {
			return len(c.Heard) > 0 && (len(c.Moments("working", "input_required")) > 0 || c.Call.Took > long)
		})
		judgeAll(t, prompt, func(t *T, c *course) {
			first, _ := c.Heard[0].Result()["status"].(string)
			t.Expect(first == "working" || first == "input_required" || c.Call.Took <= long).To(Hold(
				"a task that is answered while it is at work", "one that is %s at once, %v after the call", first,
				c.Call.Took.Round(time.Millisecond)))
		})
	}),

	"tasks/initial-status-working": Probe(func(t *T) {
		judgeAll(t, tasks(t), func(t *T, c *course) {
			task := taskIn(c.Made.Result())
			if task == nil {
				t.Yield("there is no task")
			}
			if status, _ := task["status"].(string); !isStatus(status) {
				t.Yield("it is not a status")
			}
			t.Expect(task["status"]).To(BeOneOf[any]("working"))
		})
	}),

	"tasks/id-string": WatchAfter(follows, func(t *T, w Wire) {
		eachTold(t, w, func(t *T, x told) {
			t.Expect(Member(x.State, "taskId")).To(That("a string that is not empty", func(id string) bool {
				return id != ""
			}))
		})
	}),

	"tasks/id-unique": WatchAfter(twice, func(t *T, w Wire) {
		made := madeOn(t, w)
		if len(made) < 2 {
			nothing(t, "two tasks were made")
		}
		first := map[string]bool{}
		Each(t, made, told.Subject, func(t *T, x told) {
			key := x.id()
			if t.Site() == nil {
				key = x.Session.Name() + " " + key // each is a server of its own
			}
			t.Expect(!first[key]).To(Hold("an id of its own for each task", "%s once more", Show(x.id())))
			first[key] = true
		})
	}),

	"tasks/id-unguessable": WatchAfter(twice, func(t *T, w Wire) {
		if t.Server.Protected || t.Credentials.Bearer != "" {
			t.Because(NotOffered).Skip("tasks may be bound to the token")
		}
		var ids []string
		var made []Message
		for _, x := range madeOn(t, w) {
			ids, made = append(ids, x.id()), append(made, x.Message)
		}
		if len(ids) < 2 {
			nothing(t, "two tasks were made")
		}
		guessable := kit.Guessable(ids, time.Now()) != "" || kit.VaryingBits(ids) < fewBits
		want := Hold("ids that nobody can guess", "%s", Show(ids))
		if t.Site() == nil { // whoever starts the process is the only one to ask
			t.By(made).Warn(!guessable).To(want)
			return
		}
		t.By(made).Expect(!guessable).To(want)
	}),
}

// slow is how long a call takes whose tool does its work first, at the least.
const slow = 2 * time.Second

// fewBits is how much of an id somebody might try all of.
const fewBits = 48

// statuses are those that a task can have.
var statuses = append([]string{"working", "input_required"}, kit.Terminal...)

// twice sees to it that there are two tasks of one server, over HTTP in two sessions.
func twice(t *T) {
	told := tell(t)
	if len(told.Courses) == 0 || len(told.Courses) > 1 && t.Site() == nil {
		return
	}
	before := longest(t)
	for range 2 {
		giveUp(t, begin(t, t.Session(), before))
	}
}

// madeOn are the tasks that calls were answered by, those with an id.
func madeOn(t *T, w Wire) (made []told) {
	for _, x := range allTold(t, w) {
		if x.place == "tools/call" && x.id() != "" {
			made = append(made, x)
		}
	}
	return made
}
