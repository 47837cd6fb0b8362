package tasks

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// messages are the checks of what else a server sends for a task: what it says by itself, and what it asks.
var messages = Suite{
	"tasks/status-replies-without-related-meta": WatchAfter(follows, func(t *T, w Wire) {
		replies := w.Results().Established(t.Revision).Filter("result of tasks/get, tasks/list or tasks/cancel",
			func(m Message) bool {
				methods := []string{"tasks/get", "tasks/list", "tasks/cancel"}
				return m.Request != nil && slices.Contains(methods, m.Request.Method)
			})
		t.Judge(replies, func(t *T, m Message) {
			meta := kit.MetaOf(kit.ResultOf(m))
			t.Warn(!Has(meta, kit.RelatedTask)).To(Hold("no "+kit.RelatedTask+" in _meta", "%s", Show(meta)))
		})
	}),

	"tasks/status-notification": WatchAfter(follows, func(t *T, w Wire) {
		told := w.Notifications().Established(t.Revision).Filter("notification of the status of a task",
			func(m Message) bool { return m.Method == statusTold })
		t.Judge(told, func(t *T, m Message) {
			broken := kit.Broken(t, "tasks/status-notification", "TaskStatusNotification", m.JSON())
			t.Expect(broken).To(BeEmptyList[string]("the whole task"))
			params, _ := m.JSON()["params"].(M)
			t.Warn(!Has(kit.MetaOf(params), kit.RelatedTask)).To(Hold("no "+kit.RelatedTask+" in _meta", "%s",
				Show(kit.MetaOf(params))))
		})
	}),

	"tasks/nested-requests-carry-meta": Probe(func(t *T) {
		asked := questions(t)
		Each(t, asked, (*question).Subject, func(t *T, q *question) {
			if len(q.Told) == 0 && q.task() == "" {
				t.Because(NotObserved).Skip("it came before there was a task")
			}
			if q.task() == "" && tell(t).Asked.own[q.Method] {
				t.Because(NotObserved).Skip("the server asks for %s before any tool is called, too", q.Method)
			}
			t.Expect(q.task()).To(That("the id of a task as "+kit.RelatedTask+" in _meta", func(id string) bool {
				return tell(t).Asked.known[id]
			}))
		})
	}),

	"tasks/input-required-status": Probe(func(t *T) {
		all, known := questions(t), tell(t).Asked.known
		asked := slices.DeleteFunc(slices.Clone(all), func(q *question) bool { return !known[q.task()] })
		if len(asked) == 0 {
			t.Yield("no question says of which task it is")
		}
		asked = slices.DeleteFunc(asked, func(q *question) bool { return q.Told[q.task()].Result() == nil })
		if len(asked) == 0 {
			t.Because(NotObserved).Skip("the server tells nothing of a task that waits for an answer")
		}
		Each(t, asked, (*question).Subject, func(t *T, q *question) {
			t.Warn(q.Told[q.task()].Result()["status"]).To(BeOneOf[any]("input_required"), "the status meanwhile")
			if c := stuckWith(t, q, all); c != nil {
				t.Expect(c.Last().Result()["status"]).NotTo(BeOneOf[any]("input_required"), "the status at last")
			}
		})
	}),

	"tasks/progress-token-continues": Probe(func(t *T) {
		told := tell(t)
		if told.Session == nil {
			nothing(t, "task was made")
		}
		var all []report
		for _, c := range told.Courses {
			all = append(all, c.reports(told.Mark)...)
		}
		if len(all) == 0 {
			nothing(t, "progress of a task was reported")
		}
		kit.SayUnfinished(t, tell(t).Courses)
		Each(t, all, report.subject, func(t *T, r report) {
			const astray = time.Second // in which what came over another stream may have crossed
			switch {
			case r.end == nil || r.At <= r.end.At:
			case r.HTTP == r.end.HTTP:
				t.Fail("none after the task was "+r.End, "progress %s", Show(r.params()["progress"]))
			case r.At-r.end.At > astray:
				t.Fail("none after the task was "+r.End, "progress %s over another stream, %v later",
					Show(r.params()["progress"]), (r.At - r.end.At).Round(time.Millisecond))
			}
		})
	}),
}

// questions are what tasks asked the client for; without any the check ends.
func questions(t *T) []*question {
	tasks(t)
	asked := tell(t).Asked.all()
	if len(asked) == 0 {
		nothing(t, "task asked for input")
	}
	return asked
}

// stuckWith is the task that has not ended although a question, the last of those that it has asked, was answered; nil
// when there is none, or the server had no way to ask for more.
func stuckWith(t *T, q *question, all []*question) *course {
	for _, other := range slices.Backward(all) {
		if other.task() != q.task() {
			continue
		}
		if other != q {
			return nil
		}
		break
	}
	for _, c := range tell(t).Courses {
		if c.ID == q.task() && c.End == "" && c.Listening && q.answered {
			return c
		}
	}
	return nil
}

// report is a notification of the progress of a task.
type report struct {
	*course
	*driver.Frame
	end *driver.Frame // that has told that the task has ended; nil: none has
}

func (r report) params() M {
	params, _ := r.JSON()["params"].(M)
	return params
}

func (r report) subject() Subject {
	return Subject{Name: r.Call.Tool.Name, Frames: []*driver.Frame{r.Made.Request, r.end, r.Frame}}
}

// reports are those of the progress of the task, which came since a mark.
func (c *course) reports(mark int) (all []report) {
	var end *driver.Frame
	if c.End != "" {
		end = c.Last().Frame
	}
	for _, f := range news(c.Session, mark, c.ID) {
		params, _ := f.JSON()["params"].(M)
		status, _ := params["status"].(string)
		if end != nil && f.At < end.At && slices.Contains(kit.Terminal, status) {
			end = f
		}
	}
	for _, f := range c.Session.Since(mark) {
		params, _ := f.JSON()["params"].(M)
		if f.Side == driver.FromServer && kit.IsProgress(f) && params["progressToken"] == c.Token {
			all = append(all, report{c, f, end})
		}
	}
	return all
}
