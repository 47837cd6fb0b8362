package tasksext

import (
	"fmt"
	"maps"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// listenChecks are the checks of notifications of tasks.
var listenChecks = check.Suite{
	"tasks-ext/listen-non-declaring": check.Probe(func(t *check.T) {
		s := t.Session(check.ForInvalidInput)
		p, ack, r := listen(s, taskrun.UnknownTaskID, check.M{})
		defer s.Cancel(p, "it was answered")
		if ack != nil {
			t.DecidedBy(ack).Fail(fmt.Sprintf("error %d", errcode.MissingRequiredClientCapability),
				"an acknowledgment: %s",
				check.Show(paramsOf(ack)))
		}
		invalid.SkipUnlessServerRejects(t, r)
		if taskrun.RequireAnswer(t, r); isMethodNotFound(r) {
			t.Skip(check.NotOffered, "there are no subscriptions: %s", check.Got(r))
		}
		t.Expect(r).To(check.BeError(errcode.MissingRequiredClientCapability))
	}),

	"tasks-ext/listen-ack-subset": check.Probe(func(t *check.T) {
		l := listenToTask(t)
		broken := protocol.Violations(t, "tasks-ext/listen-ack-subset", "TaskSubscriptionsAcknowledgedNotification",
			l.ack.JSON())
		t.DecidedBy(l.ack).Expect(broken).To(check.BeEmptyList[string]("a list of ids"))
		var others []any
		filter, _ := paramsOf(l.ack)["notifications"].(check.M)
		ids, _ := filter["taskIds"].([]any)
		for _, id := range ids {
			if id != any(l.ID) {
				others = append(others, id)
			}
		}
		t.DecidedBy(l.ack).Expect(others).To(check.BeEmptyList[any]("no task but the one that was asked for"))
	}).InOwnSession(),

	"tasks-ext/notification-shape": check.Probe(func(t *check.T) {
		l := listenToTask(t)
		var taskFrames []*driver.Frame
		for _, f := range l.notifications {
			if f.Method == "notifications/tasks" {
				taskFrames = append(taskFrames, f)
			}
		}
		check.Judge(t, "notification of a task", taskFrames, frameSubject, func(t *check.T, f *driver.Frame) {
			var rules []string
			for _, v := range schemas.ValidateMessage(t.Revision, "TaskStatusNotification", f.JSON()) {
				rules = append(rules, v.String())
			}
			t.Expect(rules).To(check.BeEmptyList[string]("the whole task, as tasks/get tells it"))
			t.Expect(paramsOf(f)["taskId"]).To(check.BeOneOf[any](l.ID), "taskId")
			t.Expect(l.isTagged(f)).To(check.ReportedBy(l.reporterOfTags(f),
				check.BeTrue("the id of the subscription in _meta", "%s", check.Show(paramsOf(f)["_meta"]))))
		})
	}).InOwnSession(),

	"tasks-ext/stream-no-progress": check.Probe(func(t *check.T) {
		l := listenToTask(t)
		check.Judge(t, "notification for the task", l.taskNotifications(), frameSubject,
			func(t *check.T, f *driver.Frame) {
				t.Expect(f.Method).NotTo(check.BeOneOf("notifications/progress", "notifications/message"))
			})
	}).InOwnSession(),
}

// listenParams returns the params of subscriptions/listen for a task.
func listenParams(id string) check.M { return check.M{"notifications": check.M{"taskIds": []any{id}}} }

// isMethodNotFound reports whether a reply is the error for an unknown method.
func isMethodNotFound(r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.MethodNotFound
}

// frameSubject returns a subject that shows a frame.
func frameSubject(f *driver.Frame) check.Subject { return check.Subject{Frames: []*driver.Frame{f}} }

func paramsOf(f *driver.Frame) check.M {
	params, _ := f.JSON()["params"].(check.M)
	return params
}

// listen subscribes to a task, and waits until the subscription is acknowledged or has ended.
func listen(s *driver.Session, id string, client check.M) (p driver.Pending, ack *driver.Frame, r driver.Reply) {
	mark := s.Mark()
	p = s.OpenStream("subscriptions/listen", protocol.WithCapabilities(listenParams(id), client))
	came, err := s.Wait(mark, s.ReplyTimeout(),
		func(f *driver.Frame) bool { return isAck(f, p) || endsSubscription(f, p) })
	if err == nil && isAck(came, p) {
		return p, came, r
	}
	return p, nil, s.AwaitFor(p, 0)
}

// isAck reports whether a frame acknowledges a subscription.
func isAck(f *driver.Frame, p driver.Pending) bool {
	const acknowledged = "notifications/subscriptions/acknowledged"
	return f.Side == driver.FromServer && f.Method == acknowledged && (isTagged(f, p) || isOnStream(f, p))
}

// endsSubscription reports whether a frame is the response to the request for a subscription.
func endsSubscription(f *driver.Frame, p driver.Pending) bool {
	isResponse := f.Side == driver.FromServer && f.IsResponse() && driver.SameID(f.RequestID(), p.ID)
	return isResponse || f.Side == driver.StatusOnly && isOnStream(f, p)
}

// isTagged reports whether a notification names a subscription.
func isTagged(f *driver.Frame, p driver.Pending) bool {
	id, has := protocol.MetaOf(paramsOf(f))[driver.MetaSubscription]
	return has && driver.SameID(text.CompactJSON(id), p.ID)
}

// isOnStream reports whether a frame was received on the response stream of a request, over HTTP.
func isOnStream(f *driver.Frame, p driver.Pending) bool {
	return f.RoundTrip != nil && driver.SameID(f.RoundTrip.RequestID(), p.ID)
}

// taskListener is a task with a subscription to it.
type taskListener struct {
	*taskRun
	subscription driver.Pending
	ack          *driver.Frame
	// notifications are the notifications since the response to the call.
	notifications []*driver.Frame
}

// taskToken is the progress token of the call.
const taskToken = "mcpcheck-task"

// listenToTask creates a task, subscribes to it, and follows it to its end. The call asks for progress and for all log
// messages.
func listenToTask(t *check.T) taskListener {
	before := slowestRun(t)
	return check.Step(t, "task that is listened for", func(t *check.T) taskListener {
		s := before.NextSession(t)
		meta := maps.Clone(protocol.MetaOf(before.ToolCall.Params(s)))
		maps.Copy(meta, check.M{"progressToken": taskToken, driver.MetaLogLevel: "debug"})
		l := taskListener{taskRun: startTask(t, s, before.ToolCall, check.M{"_meta": meta})}
		mark := s.Mark()
		p, ack, r := listen(s, l.ID, taskCapabilities)
		defer s.Cancel(p, "the task has ended")
		l.subscription, l.ack = p, ack
		if taskrun.FollowTasks(l.taskRun); ack == nil {
			t.Skip(check.NotOffered, "the server sends no task notifications: %s", check.Got(r))
		}
		check.Barrier(t, s, mark)
		for _, f := range s.ReceivedSince(mark) {
			if f.Side == driver.FromServer && f.IsNotification() && f != ack {
				l.notifications = append(l.notifications, f)
			}
		}
		return l
	})
}

// isTagged reports whether a notification names the subscription.
func (l taskListener) isTagged(f *driver.Frame) bool { return isTagged(f, l.subscription) }

// reporterOfTags is the entry that reports a wrong tag where other messages are wrong in the same way: the
// acknowledgment, or what is sent while another subscription of the session is open.
func (l taskListener) reporterOfTags(f *driver.Frame) string {
	id := protocol.MetaOf(paramsOf(f))[driver.MetaSubscription]
	switch {
	case !l.isTagged(l.ack):
		return "subscriptions/ack-id"
	case id != nil && !isOnStream(f, l.subscription):
		return "subscriptions/concurrent"
	}
	return "subscriptions/all-tagged"
}

// taskNotifications returns the notifications of the task: those on its stream, those that name its subscription, and
// progress of the call.
func (l taskListener) taskNotifications() (all []*driver.Frame) {
	for _, f := range l.notifications {
		if l.isTagged(f) || isOnStream(f, l.subscription) || paramsOf(f)["progressToken"] == taskToken {
			all = append(all, f)
		}
	}
	return all
}
