package tasksext

import (
	"fmt"
	"maps"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// listening are the checks of what is told of tasks unasked.
var listening = Suite{
	"tasks-ext/listen-non-declaring": Probe(func(t *T) {
		s := t.Hostile()
		p, ack, r := listen(s, kit.NoTask, M{})
		defer s.Cancel(p, "it was answered")
		if ack != nil {
			t.By(ack).Fail(fmt.Sprintf("error %d", missingCapability), "an acknowledgment: %s", Show(paramsOf(ack)))
		}
		kit.WantRefuser(t, r)
		if kit.WantAnswer(t, r); isUnknown(r) {
			t.Because(NotOffered).Skip("there are no subscriptions: %s", Got(r))
		}
		t.Expect(r).To(BeError(missingCapability))
	}),

	"tasks-ext/listen-ack-subset": Probe(func(t *T) {
		l := listened(t)
		broken := kit.Broken(t, "tasks-ext/listen-ack-subset", "TaskSubscriptionsAcknowledgedNotification",
			l.ack.JSON())
		t.By(l.ack).Expect(broken).To(BeEmptyList[string]("a list of ids"))
		var others []any
		filter, _ := paramsOf(l.ack)["notifications"].(M)
		ids, _ := filter["taskIds"].([]any)
		for _, id := range ids {
			if id != any(l.ID) {
				others = append(others, id)
			}
		}
		t.By(l.ack).Expect(others).To(BeEmptyList[any]("no task but the one that was asked for"))
	}),

	"tasks-ext/notification-shape": Probe(func(t *T) {
		l := listened(t)
		var told []*driver.Frame
		for _, f := range l.notified {
			if f.Method == "notifications/tasks" {
				told = append(told, f)
			}
		}
		Judge(t, "notification of a task", told, subjectOf, func(t *T, f *driver.Frame) {
			var rules []string
			for _, v := range schemas.ValidateMessage(t.Revision, "TaskStatusNotification", f.JSON()) {
				rules = append(rules, v.String())
			}
			t.Expect(rules).To(BeEmptyList[string]("the whole task, as tasks/get tells it"))
			t.Expect(paramsOf(f)["taskId"]).To(BeOneOf[any](l.ID), "taskId")
			t.Expect(l.tagged(f)).To(Hold("the id of the subscription in _meta", "%s", Show(paramsOf(f)["_meta"])))
		})
	}),

	"tasks-ext/stream-no-progress": Probe(func(t *T) {
		l := listened(t)
		Judge(t, "notification for the task", l.forTask(), subjectOf, func(t *T, f *driver.Frame) {
			t.Expect(f.Method).NotTo(BeOneOf("notifications/progress", "notifications/message"))
		})
	}),
}

// listenFor are the params of who listens for a task.
func listenFor(id string) M { return M{"notifications": M{"taskIds": []any{id}}} }

// isUnknown reports whether an answer says that there is no such method.
func isUnknown(r driver.Reply) bool {
	code, _ := r.Code()
	return code == -32601
}

// subjectOf shows a frame.
func subjectOf(f *driver.Frame) Subject { return Subject{Frames: []*driver.Frame{f}} }

func paramsOf(f *driver.Frame) M {
	params, _ := f.JSON()["params"].(M)
	return params
}

// listen asks for news of a task, and waits until the subscription has begun or was refused.
func listen(s *driver.Session, id string, client M) (p driver.Pending, ack *driver.Frame, r driver.Reply) {
	mark := s.Mark()
	p = s.Stand("subscriptions/listen", kit.Declaring(listenFor(id), client))
	came, err := s.Wait(mark, s.Patience(), func(f *driver.Frame) bool { return isAck(f, p) || ends(f, p) })
	if err == nil && isAck(came, p) {
		return p, came, r
	}
	return p, nil, s.AwaitFor(p, 0)
}

// isAck reports whether a frame says that a subscription has begun.
func isAck(f *driver.Frame, p driver.Pending) bool {
	const acknowledged = "notifications/subscriptions/acknowledged"
	return f.Side == driver.FromServer && f.Method == acknowledged && (isTagged(f, p) || isOnStream(f, p))
}

// ends reports whether a frame answers a request for a subscription.
func ends(f *driver.Frame, p driver.Pending) bool {
	isResponse := f.Side == driver.FromServer && f.IsResponse() && driver.SameID(f.Answers(), p.ID)
	return isResponse || f.Side == driver.Status && isOnStream(f, p)
}

// isTagged reports whether a notification says that it belongs to a subscription.
func isTagged(f *driver.Frame, p driver.Pending) bool {
	id, has := kit.MetaOf(paramsOf(f))[driver.MetaSubscription]
	return has && driver.SameID(Compact(id), p.ID)
}

// isOnStream reports whether over HTTP a frame came in answer to a request.
func isOnStream(f *driver.Frame, p driver.Pending) bool {
	return f.HTTP != nil && driver.SameID(f.HTTP.Asked(), p.ID)
}

// listener is a task that somebody listens for.
type listener struct {
	*course
	p        driver.Pending
	ack      *driver.Frame
	notified []*driver.Frame // notifications that came since the call was answered
}

// ofTask is the token of a call that makes a task and wants to hear of its progress.
const ofTask = "mcpcheck-task"

// listened makes a task, listens for it, and follows it to its end. The call asks for progress and all log messages.
func listened(t *T) listener {
	before := longest(t)
	return Step(t, "task that is listened for", func(t *T) listener {
		s := before.Another(t, t.Session)
		meta := maps.Clone(kit.MetaOf(before.Call.Params(s)))
		maps.Copy(meta, M{"progressToken": ofTask, driver.MetaLogLevel: "debug"})
		l := listener{course: begin(t, s, before.Call, M{"_meta": meta})}
		mark := s.Mark()
		p, ack, r := listen(s, l.ID, able)
		defer s.Cancel(p, "the task has ended")
		l.p, l.ack = p, ack
		if kit.Follow(l.course); ack == nil {
			t.Because(NotOffered).Skip("the server sends no task notifications: %s", Got(r))
		}
		Settle(t, s, mark)
		for _, f := range s.Since(mark) {
			if f.Side == driver.FromServer && f.IsNotification() && f != ack {
				l.notified = append(l.notified, f)
			}
		}
		return l
	})
}

// tagged reports whether a notification says that it belongs to the subscription.
func (l listener) tagged(f *driver.Frame) bool { return isTagged(f, l.p) }

// forTask are the notifications that are for the task: over HTTP on the stream, and over stdio with its id or about the
// progress of its call.
func (l listener) forTask() (all []*driver.Frame) {
	for _, f := range l.notified {
		if l.tagged(f) || isOnStream(f, l.p) || paramsOf(f)["progressToken"] == ofTask {
			all = append(all, f)
		}
	}
	return all
}
