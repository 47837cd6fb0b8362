package tasksext

import (
	"fmt"
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// course is a task that a call was answered by, and what was heard of it until its end.
type course struct {
	*kit.Course
	Updates []driver.Reply // to tasks/update

	t        *T
	client   M               // what requests about it declare
	told     int             // how many answers to tasks/get were heard when it was last given something
	answered map[string]bool // the keys of what it has asked for and got
}

// isTask reports whether a result is a task, by its type or, where that is wrong, by what it is made of.
func isTask(r driver.Reply) bool {
	result := r.Result()
	_, hasID := result["taskId"].(string)
	_, hasStatus := result["status"].(string)
	return result["resultType"] == "task" || hasID && hasStatus && !Has(result, "content")
}

// courseOf is the task that a call in a session was answered by.
func courseOf(t *T, s *driver.Session, call kit.ToolCall) *course {
	id, _ := call.Reply.Result()["taskId"].(string)
	c := &course{t: t, client: able, answered: map[string]bool{}}
	c.Course = &kit.Course{
		Call: call, Made: call.Reply, Begun: s.Moment(call.Reply.Request), Session: s, ID: id,
		Pause: "pollIntervalMs", Life: "ttlMs", Ask: c.ask, Give: c.answer,
		Patience: kit.PatienceFor(t),
	}
	c.Extend()
	return c
}

// ask sends a request about the task.
func (c *course) ask(method string, more M) driver.Reply {
	params := M{"taskId": c.ID}
	maps.Copy(params, more)
	return c.Session.Exchange(method, kit.Declaring(params, c.client))
}

// answer gives the task what it asks for now and has not got before.
func (c *course) answer() {
	responses, err := kit.Responses(c.t, c.Last())
	maps.DeleteFunc(responses, func(key string, _ any) bool { return c.answered[key] })
	switch {
	case err != nil:
		c.Why = err.Error()
	case len(responses) == 0: // the server may take its time
	case len(c.Updates) == kit.MostRounds:
		c.Why = fmt.Sprintf("it still asks for input after %d updates, mcpcheck's own limit", kit.MostRounds)
	default:
		if r := c.update(responses); r.Result() == nil {
			c.Why = "tasks/update was answered with " + Got(r)
		}
	}
}

// update gives the task responses.
func (c *course) update(responses M) driver.Reply {
	r := c.ask("tasks/update", M{"inputResponses": responses})
	c.Updates, c.told = append(c.Updates, r), len(c.Heard)
	if r.Result() != nil {
		for key := range responses {
			c.answered[key] = true
		}
	}
	c.Extend()
	return r
}

// moment is what was told of a task at one time.
type moment = kit.Moment

// judge tries a check on moments.
func judge(t *T, moments []moment, run func(*T, moment)) { Each(t, moments, moment.Subject, run) }

// judgeAll tries a check on tasks.
func judgeAll(t *T, courses []*course, run func(*T, *course)) {
	Each(t, courses, func(c *course) Subject { return c.Subject() }, run)
}
